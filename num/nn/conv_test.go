package nn_test

import (
	"fmt"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

func convTwin(c nn.Conv3x3, x, w, b []float64, m int) []float64 {
	t := &reference.Tape{}
	return bend(t, c.Act, t.Conv3x3(mat(x, m), mat(w, 9*c.In), mat(b, 1), c.H, c.W, c.In))
}

func TestConvGradients(t *testing.T) {
	for _, c := range []struct {
		h, w, m int
		act     nn.Act
	}{{4, 3, 5, nn.ReLU}, {1, 1, 3, nn.None}, {1, 4, 2, nn.Tanh}, {5, 1, 2, nn.None}, {2, 2, 40, nn.ReLU}, {12, 12, 2, nn.None}} {
		t.Run(fmt.Sprintf("%dx%d batch %d act %d", c.h, c.w, c.m, c.act), func(t *testing.T) {
			const in, out = 2, 3
			p := &nn.Params{}
			l := p.Conv3x3("c", c.h, c.w, in, out, c.act)
			p.Init(rng.New(1))
			jitter(p)
			cells := c.m * c.h * c.w
			x, dx := random(cells*in, "x"), make([]float32, cells*in)
			y, dy, k := make([]float32, cells*out), make([]float32, cells*out), random(cells*out, "k")
			ws := l.Work()
			nntest.Check(t, nntest.Model{
				Params: []*nn.Params{p},
				Inputs: []nntest.Input{input("x", x, dx)},
				Loss:   func() float64 { l.Forward(p, ws, y, x, c.m); return weigh(y, k) },
				Grad: func() {
					l.Forward(p, ws, y, x, c.m)
					copy(dy, k)
					l.Backward(p, ws, dx, dy, x, y, c.m)
				},
				Twin: func(at func(string) []float64) float64 {
					return weigh64(convTwin(l, at("x"), at("c/w"), at("c/b"), c.m), k)
				},
			})
			if n := testing.AllocsPerRun(10, func() {
				l.Forward(p, ws, y, x, c.m)
				l.Backward(p, ws, dx, dy, x, y, c.m)
			}); n != 0 {
				t.Errorf("the layer allocates %v times, want 0", n)
			}
		})
	}
}
