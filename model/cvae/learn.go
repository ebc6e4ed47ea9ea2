package cvae

import (
	"slices"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
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
