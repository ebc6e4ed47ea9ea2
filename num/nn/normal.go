package nn

import (
	"math"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// Normal holds diagonal normal distributions of D numbers, one per row, with a mean of the
// row's own and deviations that all rows share: the usual policy over continuous actions.
// Numbers that a row has not (legal) are 0 and count for nothing.
type Normal struct {
	D       int
	Mean    []float32 // [m][D], a view of what Set got
	LogStd  []float32 // [D], a view of what Set got
	DLogStd []float32 // [D] the gradient that losses leave; Set zeroes it

	legal    []bool    // [m][D], a view
	std, inv []float32 // [D] the deviation, and 1 over it
}

// NewNormal allocates for D numbers, for any batch.
func NewNormal(d int) *Normal {
	return &Normal{D: d, DLogStd: make([]float32, d), std: make([]float32, d), inv: make([]float32, d)}
}

// Set takes the means [m][D], which numbers rows have [m][D], and the logarithms of the
// deviations [D], all of which must stay as they are until the losses have been taken.
func (g *Normal) Set(mean []float32, legal []bool, logStd []float32, m int) {
	g.Mean, g.legal, g.LogStd = mean[:m*g.D], legal[:m*g.D], logStd[:g.D]
	f32.Exp(g.std, g.LogStd)
	for j, s := range g.std {
		g.inv[j] = 1 / s
	}
	clear(g.DLogStd)
}

// row returns row i's means and which numbers it has.
func (g *Normal) row(i int) (mean []float32, legal []bool) {
	return g.Mean[i*g.D : (i+1)*g.D], g.legal[i*g.D : (i+1)*g.D]
}

// Mode writes row i's mean to x[D].
func (g *Normal) Mode(x []float32, i int) {
	mean, legal := g.row(i)
	for j, has := range legal {
		if x[j] = 0; has {
			x[j] = mean[j]
		}
	}
}

// Sample draws x[D] from row i, with one draw of r a number that it has.
func (g *Normal) Sample(x []float32, i int, r *rng.Rand) {
	mean, legal := g.row(i)
	for j, has := range legal {
		if x[j] = 0; has {
			x[j] = mean[j] + g.std[j]*float32(r.Norm())
		}
	}
}

// LogProb returns the logarithm of row i's density at x[D].
func (g *Normal) LogProb(i int, x []float32) float32 {
	mean, legal := g.row(i)
	sum := float32(0)
	for j, has := range legal {
		if has {
			z := (x[j] - mean[j]) * g.inv[j]
			sum -= z*z/2 + g.LogStd[j] + halfLog2Pi
		}
	}
	return sum
}

// GradTo writes to d[D] the gradient by row i's means of a loss that has the derivative dlogp
// by the log-density at x and dentropy by the entropy, and adds that by the deviations to
// DLogStd. It returns the entropy.
func (g *Normal) GradTo(d []float32, i int, x []float32, dlogp, dentropy float32) float32 {
	mean, legal := g.row(i)
	h := float32(0)
	for j, has := range legal {
		if d[j] = 0; has {
			z := (x[j] - mean[j]) * g.inv[j]
			d[j] = dlogp * z * g.inv[j]
			g.DLogStd[j] += dlogp*(z*z-1) + dentropy
			h += g.LogStd[j] + halfLog2Pi + 0.5
		}
	}
	return h
}

// halfLog2Pi is log(2 pi) / 2.
var halfLog2Pi = float32(math.Log(2*math.Pi) / 2)
