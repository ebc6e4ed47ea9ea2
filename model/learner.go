package model

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Learner is a Trainer of a model that learns for a number of steps, at a rate that falls
// along half a cosine to a tenth.
type Learner[W any, T interface{ Plus(T) T }] struct {
	*nn.Trainer[W, T]
	Total int // steps planned, for the schedules

	key rng.Key
}

// NewLearner prepares to train for a number of steps, with as many shards as there
// are works.
func NewLearner[W any, T interface{ Plus(T) T }](
	p *nn.Params, lr, maxGrad float64, steps int, key rng.Key, works []W,
) *Learner[W, T] {
	rate := nn.Cosine(lr, lr/10, steps)
	return &Learner[W, T]{nn.NewTrainer[W, T](p, nn.TrainerConfig{Clip: maxGrad}, rate, works), steps, key}
}

// Shards returns into how many shards a batch of so many rows is cut, unless a number was
// asked for.
func Shards(asked, rows int) int {
	if asked > 0 {
		return asked
	}
	return nn.ShardsOf(rows)
}

// Noise returns the stream that a shard of the step draws from.
func (l *Learner[W, T]) Noise(shard int) rng.Rand {
	return l.key.Child("noise", l.Steps(), shard).Rand()
}

// Step takes one gradient step on n rows, or sequences, and returns the terms of its loss.
func (l *Learner[W, T]) Step(n int, add func(s *nn.Shard[W]) T) (sum T, err error) {
	if _, err := l.Trainer.Step(n, &sum, add); err != nil {
		return sum, fmt.Errorf("%w; lower lr", err)
	}
	return sum, nil
}

// Save adds everything that is needed to go on to f, under prefix.
func (l *Learner[W, T]) Save(f *safetensors.File, prefix string) {
	l.Params.Save(f, prefix+"model/")
	l.Adam.Save(f, prefix+"adam/")
	f.PutInt64(prefix+"steps", []int64{int64(l.Steps())}, 1)
}

// Load restores what Save stored.
func (l *Learner[W, T]) Load(f *safetensors.File, prefix string) error {
	var steps [1]int64
	return errors.Join(l.Params.Load(f, prefix+"model/"), l.Adam.Load(f, prefix+"adam/"), f.Int64(steps[:], prefix+"steps", 1))
}
