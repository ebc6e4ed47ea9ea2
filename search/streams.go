package search

import (
	"math"

	"github.com/hop-marl/hop/num/rng"
)

// Fork fills dst with streams of their own, named by two draws from r each.
func Fork(dst []rng.Rand, r *rng.Rand) {
	for i := range dst {
		dst[i] = Stream(r.Uint64(), r.Uint64())
	}
}

// Common returns the stream from which the co-players' actions at a depth are
// drawn in a tree with that seed, for rollouts that go on where the tree ends.
func Common(seed uint64, depth int32) rng.Rand {
	return Stream(mix(seed+uint64(depth)*0x9e3779b97f4a7c15), seed)
}

// Stream returns the stream named by two numbers, such as a state's key: what
// is drawn from it is then a function of the state.
func Stream(hi, lo uint64) rng.Rand {
	return rng.Raw(hi, lo)
}

// gamma draws from a Gamma distribution of shape a and scale 1 (Marsaglia and
// Tsang, 2000, with their boost for a below 1).
func gamma(a float64, r *rng.Rand) float64 {
	boost := 1.
	if a < 1 {
		boost = math.Pow(1-r.Float64(), 1/a)
		a++
	}
	d := a - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.Norm()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return boost * d * v
		}
	}
}
