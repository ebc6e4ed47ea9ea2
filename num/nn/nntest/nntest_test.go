package nntest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

const rows, in, hid, out = 12, 6, 6, 6 // square, so that a transposed matrix fits

// net is two dense layers under a masked cross-entropy, written out so that each
// planted fault is one line of its backward pass.
type net struct {
	p              *nn.Params
	a, b           nn.Dense
	x, dx          []float32
	h, dh, y, dy   []float32
	legal          []bool
	alive, noAlive []bool
	target         []int32
	cat            *nn.Categorical
	fault          string
}

func newNet(act nn.Act, fault string) *net {
	p := &nn.Params{}
	n := &net{p: p, a: p.Dense("a", in, hid, act), b: p.Dense("b", hid, out, nn.None), cat: nn.NewCategorical(out, rows), fault: fault}
	p.Init(rng.New(4))
	r := rng.New(5).Rand()
	n.x, n.dx = make([]float32, rows*in), make([]float32, rows*in)
	for i := range n.x {
		n.x[i] = float32(r.Norm())
	}
	n.h, n.dh, n.y, n.dy = make([]float32, rows*hid), make([]float32, rows*hid), make([]float32, rows*out), make([]float32, rows*out)
	n.legal, n.alive, n.noAlive, n.target = make([]bool, rows*out), make([]bool, rows), make([]bool, rows), make([]int32, rows)
	for i := range rows {
		n.alive[i], n.noAlive[i] = i%4 != 1, true
		n.target[i] = int32(i % out)
		for k := range out {
			n.legal[i*out+k] = k == i%out || (i+k)%3 != 0
		}
	}
	return n
}

func (n *net) loss() float64 {
	n.a.Forward(n.p, n.h, n.x, rows)
	n.b.Forward(n.p, n.y, n.h, rows)
	n.cat.Set(n.y, n.legal, rows)
	return n.cat.CrossEntropy(nil, n.target, nil, nn.Rows{N: rows, Alive: n.alive}).Mean()
}

func (n *net) grad() {
	n.loss()
	clear(n.dy)
	legal, alive := n.legal, n.alive
	if n.fault == "forgotten action mask" {
		legal = nil
	}
	if n.fault == "forgotten alive mask" {
		alive = n.noAlive
	}
	n.cat.Set(n.y, legal, rows)
	n.cat.CrossEntropy(n.dy, n.target, nil, nn.Rows{N: rows, Alive: alive})
	if n.fault == "sum instead of mean" {
		f32.Scale(n.dy, rows)
	}
	n.b.Backward(n.p, n.dh, n.dy, n.h, n.y, rows)
	if n.fault == "transposed weight" {
		w, _ := n.p.Find("b/w")
		m, _ := n.p.At(w.Span)
		f32.MulNN(n.dh, n.dy, m, rows, out, hid, false)
	}
	if n.fault != "forgotten activation" {
		n.a.Backward(n.p, n.dx, n.dh, n.x, n.h, rows)
	} else {
		linear := n.a
		linear.Act = nn.None
		linear.Backward(n.p, n.dx, n.dh, n.x, n.h, rows)
	}
	if n.fault == "missing bias gradient" {
		b, _ := n.p.Find("a/b")
		_, g := n.p.At(b.Span)
		clear(g)
	}
	if n.fault == "one weight wrong by a percent" {
		top := slices.Index(n.p.G, slices.Max(n.p.G))
		n.p.G[top] *= 1.01
	}
}

func (n *net) model() nntest.Model {
	return nntest.Model{
		Params: []*nn.Params{n.p},
		Inputs: []nntest.Input{{Name: "x", X: n.x, DX: n.dx}},
		Loss:   n.loss, Grad: n.grad,
	}
}

func TestPlantedFaultsAreFound(t *testing.T) {
	for _, act := range []nn.Act{nn.Tanh, nn.ReLU} {
		for fault, where := range map[string]string{
			"": "", "transposed weight": "a/w", "missing bias gradient": "a/b", "forgotten action mask": "b/w",
			"forgotten alive mask": "b/w", "forgotten activation": "a/w", "sum instead of mean": "b/b",
			"one weight wrong by a percent": "/w",
		} {
			faults := nntest.Faults(newNet(act, fault).model())
			if fault == "" && len(faults) > 0 {
				t.Errorf("act %d: a right gradient is blamed: %v", act, faults)
			}
			if fault != "" && !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, where) }) {
				t.Errorf("act %d: %s: found %q, want something about %s", act, fault, faults, where)
			}
		}
	}
}

func TestGradientsThatAreNotNumbersAreFound(t *testing.T) {
	n := newNet(nn.Tanh, "")
	m := n.model()
	m.Grad = func() {
		n.grad()
		zero := float32(0)
		n.p.G[3] = zero / zero
	}
	if faults := nntest.Faults(m); len(faults) != 1 || !strings.Contains(faults[0], "a/w[3]: the gradient is NaN") {
		t.Errorf("got %q, want a/w[3] named", faults)
	}
}

// A loss that rounding drowns is not passed in silence.
func TestUndecidedPartsAreReported(t *testing.T) {
	n := newNet(nn.Tanh, "")
	m := n.model()
	calls := 0
	m.Loss = func() float64 { calls++; return n.loss() + 1e-2*float64(calls*7919%13) }
	faults := nntest.Faults(m)
	if len(faults) == 0 {
		t.Error("a loss of noise passed")
	}
}

// A twin that computes something else is found before any gradient is blamed.
func TestWrongTwinsAreFound(t *testing.T) {
	n := newNet(nn.Tanh, "")
	m := n.model()
	m.Twin = func(func(string) []float64) float64 { return n.loss() + 0.1 }
	if faults := nntest.Faults(m); len(faults) != 1 || !strings.Contains(faults[0], "its twin's") {
		t.Errorf("got %q, want the twin blamed", faults)
	}
}
