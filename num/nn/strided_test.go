package nn_test

import (
	"fmt"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// stridedTwin is the definition, cell by cell; activation none.
func stridedTwin(c nn.Strided, x, w, b []float64, m int) []float64 {
	var y []float64
	for i := range m {
		for r := range c.OutH {
			for s := range c.OutW {
				for o := range c.Out {
					sum := b[o]
					for ky := range c.K {
						for kx := range c.K {
							for ch := range c.Channels {
								at := ((i*c.H+r*c.Stride+ky)*c.W+s*c.Stride+kx)*c.Channels + ch
								sum += x[at] * w[((ky*c.K+kx)*c.Channels+ch)*c.Out+o]
							}
						}
					}
					y = append(y, sum)
				}
			}
		}
	}
	return y
}

func TestStridedGradients(t *testing.T) {
	for _, c := range []struct{ h, w, m, k, stride int }{{5, 7, 2, 3, 2}, {4, 4, 3, 4, 4}, {9, 8, 1, 3, 1}, {8, 6, 2, 2, 3}} {
		t.Run(fmt.Sprintf("%dx%d kernel %d every %d", c.h, c.w, c.k, c.stride), func(t *testing.T) {
			const channels, out = 2, 3
			p := &nn.Params{}
			l := p.Strided("c", c.h, c.w, channels, out, c.k, c.stride, nn.None)
			p.Init(rng.New(1))
			jitter(p)
			in, cells := l.Sizes()
			x, dx := random(c.m*in, "x"), make([]float32, c.m*in)
			y, dy, k := make([]float32, c.m*cells), make([]float32, c.m*cells), random(c.m*cells, "k")
			ws := nn.NewConvWork(l)
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
					return weigh64(stridedTwin(l, at("x"), at("c/w"), at("c/b"), c.m), k)
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
