package a3c

import (
	"errors"
	"math"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// rmsProp moves weights along gradients (Tieleman and Hinton 2012), by the paper's
// equations 8 and 9:
//
//	g <- alpha g + (1 - alpha) d^2
//	theta <- theta - eta d / sqrt(g + eps)
//
// g is shared by all workers (the paper's Shared RMSProp) and starts at 0.
type rmsProp struct {
	p          *nn.Params
	decay, eps float64
	square     []float32 // g, with the gaps of p, where it stays 0
}

func newRMSProp(p *nn.Params, decay, eps float64) *rmsProp {
	return &rmsProp{p, decay, eps, make([]float32, len(p.W))}
}

// step takes one step along d, scaled down to a norm of at most clip unless that is 0.
// It returns the norm before that. If a gradient is not finite nothing is changed.
func (o *rmsProp) step(d []float32, lr, clip float64) (norm float64, err error) {
	norm = math.Sqrt(f32.SumSquares(d))
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, errors.New("a3c: the gradient is not finite; the weights were left as they are")
	}
	scale := float32(1)
	if clip > 0 && norm > clip {
		scale = float32(clip / norm)
	}
	keep, eps, rate := float32(o.decay), float32(o.eps), float32(lr)
	w, square := o.p.W[:len(d)], o.square[:len(d)]
	for i, x := range d {
		if x == 0 { // most of the first layer, in most parts
			square[i] *= keep
			continue
		}
		x *= scale
		g := keep*square[i] + (1-keep)*x*x
		square[i] = g
		w[i] -= rate * x / float32(math.Sqrt(float64(g+eps)))
	}
	return norm, nil
}
