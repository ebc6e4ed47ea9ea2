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
