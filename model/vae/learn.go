package vae

import (
	"errors"
	"fmt"
	"math"

	"hop/field"
	"hop/nn"
	"hop/rng"
	"hop/safetensors"
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
	Shards  int     `yaml:"shards" doc:"parts of a batch that may run side by side; part of the numbers" range:"1..64"`
}

// DefaultLearn returns HOP+'s KL weight and warm-up.
func DefaultLearn() LearnConfig {
	return LearnConfig{LR: 2e-3, Batch: 256, KL: 1e-4, Warmup: 20000, Blur: 0.1, Tau: 1, TauEnd: 0.5, MaxGrad: 1, Shards: 2}
}

// Learner trains a model: the encoder, the decoder and, in loss B, the model of
// the action are one set of weights under one optimiser.
type Learner struct {
	*Model
	Params *nn.Params
	Steps  int // gradient steps taken

	cfg    LearnConfig
	total  int // steps planned, for the schedules
	opt    *nn.Adam
	shards *nn.Shards
	works  []*Work
	terms  []Terms
	key    rng.Key
}

// NewLearner prepares to train for a number of steps. Noise comes from key, by
// step and shard.
func NewLearner(m *Model, p *nn.Params, cfg LearnConfig, steps int, key rng.Key) (*Learner, error) {
	if err := field.Check(cfg); err != nil {
		return nil, err
	}
	opt, err := nn.NewAdam(nn.AdamConfig{}, p)
	if err != nil {
		return nil, err
	}
	if err := opt.Check(p); err != nil {
		return nil, err
	}
	l := &Learner{Model: m, Params: p, cfg: cfg, total: steps, opt: opt, shards: nn.NewShards(p, cfg.Shards), key: key,
		terms: make([]Terms, cfg.Shards)}
	for range cfg.Shards {
		l.works = append(l.works, m.Work((cfg.Batch+cfg.Shards-1)/cfg.Shards))
	}
	return l, nil
}

// KLWeight returns a at the current step.
func (l *Learner) KLWeight() float64 {
	return l.cfg.KL * (1 - math.Exp(-float64(l.Steps)/l.cfg.Warmup))
}

// Tau returns the temperature at the current step.
func (l *Learner) Tau() float64 {
	return nn.Linear(l.cfg.Tau, l.cfg.TauEnd, l.total)(l.Steps)
}

// Step takes one gradient step on the picked rows, at most a batch of them. ahead,
// unless nil, gives for each the row whose action z shall help to predict.
func (l *Learner) Step(rows *Rows, pick, ahead []int) (Terms, error) {
	if len(pick) > l.cfg.Batch {
		panic("vae: more rows than a batch holds")
	}
	kl, tau := l.KLWeight(), l.Tau()
	clear(l.terms)
	l.shards.Do(len(pick), func(shard, lo, hi int) {
		ws := l.works[shard]
		ws.Reset()
		for n, i := range pick[lo:hi] {
			j := i
			if ahead != nil {
				j = ahead[lo+n]
			}
			ws.AddAhead(rows, i, j)
		}
		r := l.key.Child("noise", l.Steps, shard).Rand()
		l.terms[shard] = ws.Learn(l.shards.Params[shard], Weights{KL: kl, Blur: l.cfg.Blur, Tau: tau}, len(pick), &r)
	})
	lr := nn.Cosine(l.cfg.LR, l.cfg.LR/10, l.total)(l.Steps)
	if _, err := l.opt.Step(lr, l.cfg.MaxGrad); err != nil {
		return Terms{}, fmt.Errorf("vae: step %d: %w; lower lr", l.Steps, err)
	}
	l.Steps++
	var sum Terms
	for _, t := range l.terms {
		sum = sum.Plus(t)
	}
	return sum, nil
}

// Save adds everything that is needed to go on to f, under prefix.
func (l *Learner) Save(f *safetensors.File, prefix string) {
	l.Params.Save(f, prefix+"model/")
	l.opt.Save(f, prefix+"adam/")
	f.PutInt64(prefix+"steps", []int64{int64(l.Steps)}, 1)
}

// Load restores what Save stored.
func (l *Learner) Load(f *safetensors.File, prefix string) error {
	var steps [1]int64
	err := errors.Join(l.Params.Load(f, prefix+"model/"), l.opt.Load(f, prefix+"adam/"), f.Int64(steps[:], prefix+"steps", 1))
	if err != nil {
		return fmt.Errorf("vae: loading: %w", err)
	}
	l.Steps = int(steps[0])
	return nil
}
