package record

import (
	"math"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

// Deed is what was seen and done at a row while it was played, as a recorder
// beside the players kept it.
type Deed struct {
	Acted          bool // the others mean something
	Own            bool // as it was marked
	Action         int32
	LogProb, Value float32
	Obs            uint64 // Print of the observation
	Legal          uint64 // a bit for each legal action
}

// Bits returns a mask as a word.
func Bits(legal []bool) uint64 {
	w := uint64(0)
	for k, ok := range legal {
		if ok {
			w |= 1 << k
		}
	}
	return w
}

// Print is a fingerprint of an observation (FNV-1a over the bits).
func Print(obs []float32) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range obs {
		h = (h ^ uint64(math.Float32bits(v))) * 1099511628211
	}
	return h
}

// Each calls f at every step of an agent.
func Each(ro *batch.Rollout, a agent.ID, f func(t, n, step, slot int)) {
	for t := range ro.Steps {
		for n := range ro.Envs {
			f(t, n, ro.Step(a, t, n), ro.Slot(a, t, n))
		}
	}
}
