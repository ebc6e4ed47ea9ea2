package model

import (
	"errors"
	"fmt"

	"hop/internal/cores"
	"hop/nn"
	"hop/rng"
	"hop/safetensors"
)

// Learner takes gradient steps. The shards of a batch are computed side by side,
// each with memory W of its own, and leave terms T of the loss; one optimiser holds
// all weights. Its rate falls along half a cosine to a tenth.
type Learner[W any, T interface{ Plus(T) T }] struct {
	Params *nn.Params
	Steps  int // taken
	Total  int // planned, for the schedules

	lr, maxGrad float64
	opt         *nn.Adam
	shards      *nn.Shards
	works       []W
	terms       []T
	key         rng.Key
}

// NewLearner prepares to train for a number of steps, with as many shards as there
// are works. Noise comes from key, by step and shard.
func NewLearner[W any, T interface{ Plus(T) T }](
	p *nn.Params, lr, maxGrad float64, steps int, key rng.Key, works []W,
) (*Learner[W, T], error) {
	opt, err := nn.NewAdam(nn.AdamConfig{}, p)
	if err == nil {
		err = opt.Check(p)
	}
	return &Learner[W, T]{
		Params: p, Total: steps, lr: lr, maxGrad: maxGrad, opt: opt, shards: nn.NewShards(p, len(works)), works: works,
		terms: make([]T, len(works)), key: key,
	}, err
}

// Shards returns into how many shards a batch of so many rows is cut, unless a number was
// asked for.
func Shards(asked, rows int) int {
	if asked > 0 {
		return asked
	}
	return nn.ShardsOf(rows)
}

// Share lets the workers of a pool compute shards; nil: a goroutine each.
func (l *Learner[W, T]) Share(pool *cores.Pool) { l.shards.Cores, l.opt.Cores = pool, pool }

// Step takes one gradient step on n rows, or sequences: do leaves the gradient of
// those from lo to hi in p.
func (l *Learner[W, T]) Step(n int, do func(ws W, p *nn.Params, lo, hi int, r *rng.Rand) T) (sum T, err error) {
	clear(l.terms)
	l.shards.Do(n, func(shard, lo, hi int) {
		r := l.key.Child("noise", l.Steps, shard).Rand()
		l.terms[shard] = do(l.works[shard], l.shards.Params[shard], lo, hi, &r)
	})
	if _, err := l.opt.Step(nn.Cosine(l.lr, l.lr/10, l.Total)(l.Steps), l.maxGrad); err != nil {
		return sum, fmt.Errorf("step %d: %w; lower lr", l.Steps, err)
	}
	l.Steps++
	for _, t := range l.terms {
		sum = sum.Plus(t)
	}
	return sum, nil
}

// Save adds everything that is needed to go on to f, under prefix.
func (l *Learner[W, T]) Save(f *safetensors.File, prefix string) {
	l.Params.Save(f, prefix+"model/")
	l.opt.Save(f, prefix+"adam/")
	f.PutInt64(prefix+"steps", []int64{int64(l.Steps)}, 1)
}

// Load restores what Save stored.
func (l *Learner[W, T]) Load(f *safetensors.File, prefix string) error {
	var steps [1]int64
	err := errors.Join(l.Params.Load(f, prefix+"model/"), l.opt.Load(f, prefix+"adam/"), f.Int64(steps[:], prefix+"steps", 1))
	if err == nil {
		l.Steps = int(steps[0])
	}
	return err
}
