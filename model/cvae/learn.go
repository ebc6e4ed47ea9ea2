package cvae

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// LearnConfig sets how a model learns.
type LearnConfig struct {
	LR      float64 `yaml:"lr" doc:"Adam's step size at the start; it falls along half a cosine to a tenth" range:"0<..1"`
	Batch   int     `yaml:"batch" doc:"sequences of a gradient step" range:"1..65536"`
	Loss    string  `yaml:"loss" doc:"what draws the inferred goal to the subgoal's code: kl, OMG's divergence; nce, InfoNCE: among all rows of a shard it must name its own subgoal (continuous goals)" oneof:"kl|nce"`
	KL      float64 `yaml:"kl" doc:"weight of the KL term; those of discrete goals and of nce are always 1" range:"0<..100"`
	Mix     float64 `yaml:"mix" doc:"probability that the decoder reads the selected goal at the start; it falls to 0 at half of the steps" range:"0..1"`
	MaxGrad float64 `yaml:"max_grad" doc:"largest norm of a gradient; 0: any" range:"0..1e9"`
	Mixed   bool    `yaml:"mixed" doc:"batches of sequences of any length; false: of like length, less padding and several times as fast, but each batch is of agents that lived as long, and a bounded gradient weighs them wrongly"`
	Shards  int     `yaml:"shards" doc:"parts of a batch that may run side by side, part of the numbers; 0: one for every 16 sequences" range:"0..64"`
}

// DefaultLearn returns OMG's KL weight.
func DefaultLearn() LearnConfig {
	return LearnConfig{LR: 2e-3, Batch: 64, Loss: "kl", KL: 0.001, Mix: 1, MaxGrad: 1}
}

// Learner trains a model.
type Learner struct {
	*Model
	*model.Learner[*Work, Terms]
	cfg LearnConfig
}

// NewLearner prepares to train for a number of steps on sequences of at most
// longest rows. Noise comes from key, by step and shard.
func NewLearner(m *Model, p *nn.Params, cfg LearnConfig, longest, steps int, key rng.Key) (*Learner, error) {
	if err := config.Check(cfg); err != nil {
		return nil, err
	}
	if cfg.Loss != "kl" && m.Classes > 0 {
		return nil, config.Bad("loss", cfg.Loss, "kl, because the VAE's goals are discrete")
	}
	var works []*Work
	shards := cfg.Parts()
	for range shards {
		works = append(works, m.Work((cfg.Batch+shards-1)/shards*longest))
	}
	return &Learner{m, model.NewLearner[*Work, Terms](p, cfg.LR, cfg.MaxGrad, steps, key, works), cfg}, nil
}

// Parts returns into how many shards a batch is cut.
func (c LearnConfig) Parts() int { return model.Shards(c.Shards, c.Batch*sequence) }

// sequence is how many rows a sequence counts for where a batch is cut into shards.
const sequence = 8

// tauStart and tauEnd are between which the temperature of discrete goals falls, as
// the VAE's does.
const tauStart, tauEnd = 1, 0.5

// Weights returns what the terms of the loss weigh at a step, and how often the decoder then
// reads the selected goal.
func (l *Learner) Weights(step int) Weights {
	w := Weights{KL: l.cfg.KL, Mix: nn.Linear(l.cfg.Mix, 0, l.Total/2)(step), Tau: nn.Linear(tauStart, tauEnd, l.Total)(step)}
	if w.Contrast = l.cfg.Loss == "nce"; w.Contrast || l.Classes > 0 {
		w.KL = 1
	}
	return w
}

// Step takes one gradient step on the picked sequences, at most a batch of them.
func (l *Learner) Step(s *Sequences, pick []int) (Terms, error) {
	if len(pick) > l.cfg.Batch {
		panic("cvae: more sequences than a batch holds")
	}
	rows := 0
	for _, i := range pick {
		rows += s.Steps(i)
	}
	w := l.Weights(l.Steps())
	return l.Learner.Step(len(pick), func(part *nn.Shard[*Work]) Terms {
		part.Work.Load(s, pick[part.Lo:part.Hi])
		r := l.Noise(part.Number)
		return part.Work.Learn(part.Params, w, rows, &r)
	})
}

// Order fills order with all sequences for one pass: in random order, but, unless
// Mixed, with sequences of like length in one batch, so that little is padding.
func (l *Learner) Order(order []int, s *Sequences, r *rng.Rand) {
	const chunk = 16 // batches sorted together
	if r.Perm(order); l.cfg.Mixed {
		return
	}
	n := chunk * l.cfg.Batch
	for lo := 0; lo < len(order); lo += n {
		part := order[lo:min(lo+n, len(order))]
		slices.SortStableFunc(part, func(a, b int) int { return s.Steps(a) - s.Steps(b) })
	}
}

// ValueConfig says how the value of states is learnt.
type ValueConfig struct {
	Hidden []int   `yaml:"hidden" doc:"widths of the layers" range:"1..4096"`
	LR     float64 `yaml:"lr" doc:"Adam's step size at the start; it falls along half a cosine to a tenth" range:"0<..1"`
	Decay  float64 `yaml:"decay" doc:"decoupled weight decay" range:"0.."`
	Batch  int     `yaml:"batch" doc:"rows of a gradient step" range:"1..65536"`
	Epochs int     `yaml:"epochs" doc:"times the rows are gone through" range:"1..10000"`
}

// DefaultValue returns a small network.
func DefaultValue() ValueConfig {
	return ValueConfig{Hidden: []int{128, 64}, LR: 2e-3, Decay: 0.1, Batch: 256, Epochs: 4}
}

// Validate returns everything that is wrong, joined.
func (c ValueConfig) Validate() error {
	if len(c.Hidden) == 0 {
		return config.Bad("hidden", c.Hidden, "at least one layer")
	}
	return config.Check(c)
}

// Value is V(s): what an agent that sees s can expect to earn from there on,
// whoever it is. A recorded return is what one agent did earn; V is its mean over
// all who have been there.
type Value struct {
	Params *nn.Params

	cfg   ValueConfig
	body  nn.MLP
	out   nn.Dense
	ws    *nn.MLPWork
	v, dv []float32 // [batch]
}

// NewValue returns a value of observations of that many columns, with weights
// drawn from key.
func NewValue(cfg ValueConfig, cols int, key rng.Key) (*Value, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	v := &Value{Params: &nn.Params{}, cfg: cfg, v: make([]float32, cfg.Batch), dv: make([]float32, cfg.Batch)}
	v.body = v.Params.MLP("body", nn.ReLU, append([]int{cols}, cfg.Hidden...)...)
	v.out = v.Params.Dense("out", cfg.Hidden[len(cfg.Hidden)-1], 1, nn.None)
	v.Params.Init(key)
	v.ws = v.body.Work(cfg.Batch)
	return v, nil
}

// Learn goes through the rows of x as often as the settings say, towards what
// was earned from each on, and calls epoch after each time; an error of its ends
// the learning.
func (v *Value) Learn(x *f32.Sparse, earned []float32, r *rng.Rand, epoch func(loss float64) error) error {
	order, target := make([]int, x.Rows()), make([]float32, v.cfg.Batch)
	pick, part := make([]int32, 0, v.cfg.Batch), *x
	steps := (len(order) + v.cfg.Batch - 1) / v.cfg.Batch
	trainer := nn.NewTrainer[*nn.MLPWork, nn.Loss](v.Params, nn.TrainerConfig{Adam: nn.AdamConfig{WeightDecay: v.cfg.Decay}, Clip: 1},
		nn.Cosine(v.cfg.LR, v.cfg.LR/10, steps*v.cfg.Epochs), []*nn.MLPWork{v.ws})
	for range v.cfg.Epochs {
		r.Perm(order)
		var all nn.Loss
		for s := range steps {
			pick = pick[:0]
			for _, i := range order[s*v.cfg.Batch : min((s+1)*v.cfg.Batch, len(order))] {
				target[len(pick)] = earned[i]
				pick = append(pick, int32(i))
			}
			part.Pick = pick
			n := len(pick)
			if _, err := trainer.Step(n, &all, func(*nn.Shard[*nn.MLPWork]) nn.Loss {
				v.forward(&part)
				clear(v.dv)
				loss := nn.MSE(v.dv, v.v, target, 1, nn.Rows{N: n, Total: float64(n)})
				v.out.Backward(v.Params, v.ws.DY, v.dv, v.ws.Y, v.v, n)
				v.body.BackwardSparse(v.Params, v.ws, &part)
				return loss
			}); err != nil {
				return fmt.Errorf("cvae: learning the value of states: %w; lower lr", err)
			}
		}
		if err := epoch(all.Mean()); err != nil {
			return err
		}
	}
	return nil
}

// Of writes the values of the rows of x.
func (v *Value) Of(dst []float32, x *f32.Sparse) {
	var part f32.Sparse
	for lo := 0; lo < x.Rows(); lo += v.cfg.Batch {
		hi := min(lo+v.cfg.Batch, x.Rows())
		part.View(x, lo, hi)
		v.forward(&part)
		copy(dst[lo:hi], v.v)
	}
}

func (v *Value) forward(x *f32.Sparse) {
	v.body.ForwardSparse(v.Params, v.ws, x)
	v.out.Forward(v.Params, v.v, v.ws.Y, x.Rows())
}
