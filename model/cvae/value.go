package cvae

import (
	"fmt"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

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
