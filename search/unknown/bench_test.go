package unknown

import (
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// What a decision costs: 1,000 steps among strangers with a plan from the sixth episode on.
func BenchmarkLife(b *testing.B) {
	for b.Loop() {
		play(b, hunt(), "noisy(ns,.3)", 1000, rng.New(3), nil)
	}
}

// What the end of an episode costs: going over what was seen.
func BenchmarkLearn(b *testing.B) {
	p, _ := play(b, hunt(), "random", 1200, rng.New(3), nil)
	r := rng.New(1).Rand()
	for b.Loop() {
		p.lives[0].learn(&r)
	}
}
