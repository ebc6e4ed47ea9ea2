package vae

import (
	"math"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// LearnConfig sets how a model learns.
type LearnConfig struct {
	LR      float64 `yaml:"lr" doc:"Adam's step size at the start; it falls along half a cosine to a tenth" range:"0<..1"`
	Batch   int     `yaml:"batch" doc:"rows of a gradient step" range:"1..65536"`
	KL      float64 `yaml:"kl" doc:"weight a of the KL term after warm-up: a = kl (1 - exp(-step/warmup))" range:"0..100"`
	Warmup  float64 `yaml:"warmup" doc:"gradient steps of the warm-up" range:"0<..1e9"`
	Blur    float64 `yaml:"blur" doc:"discrete goals: weight of the term that asks for sure classes, all used equally often over a batch; without it one class takes all" range:"0..100"`
	Tau     float64 `yaml:"tau" doc:"temperature of discrete goals at the start" range:"0<..100"`
	TauEnd  float64 `yaml:"tau_end" doc:"and at the end" range:"0<..100"`
	MaxGrad float64 `yaml:"max_grad" doc:"largest norm of a gradient; 0: any" range:"0..1e9"`
	Shards  int     `yaml:"shards" doc:"parts of a batch that may run side by side, part of the numbers; 0: one for every 32 rows" range:"0..64"`
}

// DefaultLearn returns the KL weight and warm-up of hop+types.
func DefaultLearn() LearnConfig {
	return LearnConfig{LR: 2e-3, Batch: 256, KL: 1e-4, Warmup: 20000, Blur: 0.1, Tau: 1, TauEnd: 0.5, MaxGrad: 1}
}

// Learner trains a model: the encoder, the decoder and, in loss B, the model of
// the action are one set of weights under one optimiser.
type Learner struct {
	*Model
	*model.Learner[*Work, Terms]
	cfg LearnConfig
}

// NewLearner prepares to train for a number of steps. Noise comes from key, by
// step and shard.
func NewLearner(m *Model, p *nn.Params, cfg LearnConfig, steps int, key rng.Key) (*Learner, error) {
	if err := config.Check(cfg); err != nil {
		return nil, err
	}
	var works []*Work
	shards := model.Shards(cfg.Shards, 4*cfg.Batch) // its rows are long work
	for range shards {
		works = append(works, m.Work((cfg.Batch+shards-1)/shards))
	}
	return &Learner{m, model.NewLearner[*Work, Terms](p, cfg.LR, cfg.MaxGrad, steps, key, works), cfg}, nil
}

// Weights returns what the terms of the loss weigh at a step.
func (l *Learner) Weights(step int) Weights {
	return Weights{
		KL: l.cfg.KL * (1 - math.Exp(-float64(step)/l.cfg.Warmup)), Blur: l.cfg.Blur,
		Tau: nn.Linear(l.cfg.Tau, l.cfg.TauEnd, l.Total)(step),
	}
}

// Step takes one gradient step on the picked rows, at most a batch of them. ahead,
// unless nil, gives for each the row whose action z shall help to predict.
func (l *Learner) Step(rows *Rows, pick, ahead []int) (Terms, error) {
	if len(pick) > l.cfg.Batch {
		panic("vae: more rows than a batch holds")
	}
	w := l.Weights(l.Steps())
	return l.Learner.Step(len(pick), func(s *nn.Shard[*Work]) Terms {
		s.Work.Reset()
		for n, i := range pick[s.Lo:s.Hi] {
			j := i
			if ahead != nil {
				j = ahead[s.Lo+n]
			}
			s.Work.AddAhead(rows, i, j)
		}
		r := l.Noise(s.Number)
		return s.Work.Learn(s.Params, w, len(pick), &r)
	})
}
