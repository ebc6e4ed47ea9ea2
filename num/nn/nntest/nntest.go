// Package nntest checks hand-written gradients against finite differences.
//
// A model is described by its Params, the further inputs it has gradients for, a
// function that returns its loss and one that also goes backward. With a Twin,
// the same loss written slowly in float64, differences are exact to many digits
// and every weight must agree to 1e-3. Without one, the slope of the float32 loss
// is fitted over many steps with a standard error, along a part's gradient, random
// halves of it and single weights, with Tanh in place of ReLU, which has kinks
// everywhere (nn's own tests check ReLU against twins). A slope that rounding or
// another kink hides is left undecided; a part needs half of its slopes decided.
package nntest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Model is what Check needs to know of a network with its loss on one batch.
type Model struct {
	Params []*nn.Params
	Inputs []Input
	// Loss runs forward and returns the loss. The same weights and inputs must
	// give the same loss: fix all noise.
	Loss func() float64
	// Grad runs forward and backward: it adds to the Params' G, which Check has
	// cleared, and writes or adds to each Input's DX, cleared too.
	Grad func()
	// Twin, unless nil, is Loss in float64. at returns a part's or an input's
	// values by name.
	Twin func(at func(name string) []float64) float64
}

// Input is an array besides the weights that has a gradient.
type Input struct {
	Name  string
	X, DX []float32
}

// Tolerance is the relative error allowed between a gradient and a difference.
const Tolerance = 1e-3

// Check reports every gradient that differs from a finite difference by more than
// Tolerance.
func Check(t testing.TB, m Model) {
	t.Helper()
	for _, f := range Faults(m) {
		t.Error("nntest: " + f)
	}
}

// array is one thing to check.
type array struct {
	name string
	x, g []float32
}

// Faults returns what Check reports, for testing the check itself.
func Faults(m Model) []string {
	var as []array
	for _, p := range m.Params {
		if m.Twin == nil {
			p.Smooth(true)
			defer p.Smooth(false)
		}
		p.ZeroGrad()
		for _, q := range p.Parts {
			x, g := p.At(q.Span)
			as = append(as, array{q.Name, x, g})
		}
	}
	for _, in := range m.Inputs {
		clear(in.DX)
		as = append(as, array{in.Name, in.X, in.DX})
	}
	m.Grad()
	var faults []string
	for i := range as {
		as[i].g = slices.Clone(as[i].g)
		for j, v := range as[i].g {
			if v != v || math.IsInf(float64(v), 0) {
				faults = append(faults, fmt.Sprintf("%s[%d]: the gradient is %v", as[i].name, j, v))
			}
		}
	}
	if len(faults) > 0 {
		return faults
	}
	if m.Twin != nil {
		return twinFaults(m, as)
	}
	for _, a := range as {
		faults = append(faults, loss32(m, a)...)
	}
	return faults
}

// pick returns up to n indices of g: half of them where it is largest, the others
// at random. Arrays of up to n elements are taken whole.
func pick(g []float32, n int, name string) []int {
	all := make([]int, len(g))
	for i := range all {
		all[i] = i
	}
	if len(g) <= n {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Compare(math.Abs(float64(g[b])), math.Abs(float64(g[a])))
	})
	r := rng.New(1).Child(name).Rand()
	for i := n / 2; i < n; i++ {
		j := i + r.IntN(len(all)-i)
		all[i], all[j] = all[j], all[i]
	}
	return all[:n]
}

// twinFaults compares with central differences of the float64 twin.
func twinFaults(m Model, as []array) (faults []string) {
	values := map[string][]float64{}
	for _, a := range as {
		x := make([]float64, len(a.x))
		for i, v := range a.x {
			x[i] = float64(v)
		}
		values[a.name] = x
	}
	at := func(name string) []float64 {
		x, ok := values[name]
		if !ok {
			panic("nntest: the twin asks for an array that the model does not have")
		}
		return x
	}
	got, want := m.Loss(), m.Twin(at)
	if !(math.Abs(got-want) <= 1e-4*math.Max(1, math.Abs(want))) {
		return []string{fmt.Sprintf("the loss is %v, its twin's %v", got, want)}
	}
	for _, a := range as {
		x := values[a.name]
		where := pick(a.g, 200, a.name)
		diff := make([]float64, len(where))
		for i, j := range where {
			const h = 1e-5
			was := x[j]
			x[j] = was + h
			up := m.Twin(at)
			x[j] = was - h
			down := m.Twin(at)
			x[j] = was
			diff[i] = (up - down) / (2 * h)
		}
		top := largest(diff)
		for i, j := range where {
			g := float64(a.g[j])
			if tol := Tolerance*math.Max(math.Abs(g), math.Abs(diff[i])) + 1e-5*top + 1e-8; !(math.Abs(g-diff[i]) <= tol) {
				faults = append(faults, fmt.Sprintf("%s[%d]: the gradient is %v, the difference %v", a.name, j, g, diff[i]))
			}
		}
	}
	return faults
}

// loss32 compares one array with slopes of the float32 loss: along the gradient,
// along random halves of it, and along single elements.
func loss32(m Model, a array) (faults []string) {
	r := rng.New(2).Child(a.name).Rand()
	was, dir := slices.Clone(a.x), make([]float64, len(a.x))
	tries, undecided := 0, 0
	try := func(where string) {
		norm, want := 0., 0.
		var move []int
		for i, v := range dir {
			if v != 0 {
				move = append(move, i)
				norm += v * v
			}
		}
		if len(move) == 0 {
			return
		}
		for _, i := range move {
			dir[i] /= math.Sqrt(norm)
			want += dir[i] * float64(a.g[i])
		}
		at := func(h float64) float64 {
			for _, i := range move {
				a.x[i] = was[i] + float32(h*dir[i])
			}
			return m.Loss()
		}
		tries++
		got, se := 0., math.Inf(1)
		for _, far := range []float64{0.03, 0.1, 0.01} {
			if s, e := slope(at, far); e < se {
				got, se = s, e
			}
			if tol := Tolerance*math.Max(math.Abs(got), math.Abs(want)) + 1e-6; math.Abs(got-want) <= tol {
				break
			} else if far == 0.01 && math.Abs(got-want) <= 8*se {
				undecided++
			} else if far == 0.01 {
				faults = append(faults, fmt.Sprintf("%s%s: the gradient is %v, the difference %v ± %.1g", a.name, where, want, got, se))
			}
		}
		copy(a.x, was)
	}
	flat := !slices.ContainsFunc(a.g, func(v float32) bool { return v != 0 })
	for half := range 3 {
		for i, v := range a.g {
			dir[i] = float64(v)
			if flat {
				dir[i] = r.Norm()
			}
			if half > 0 && len(dir) > 1 && i != half%len(dir) && r.IntN(2) == 0 {
				dir[i] = 0
			}
		}
		try("")
	}
	for _, i := range pick(a.g, 4, a.name) {
		clear(dir)
		dir[i] = 1
		try(fmt.Sprintf("[%d]", i))
	}
	if len(faults) == 0 && 2*undecided > tries {
		faults = append(faults, fmt.Sprintf("%s: differences settle in only %d of %d directions: give the model a Twin",
			a.name, tries-undecided, tries))
	}
	return faults
}

func largest(x []float64) float64 {
	top := 0.
	for _, v := range x {
		top = math.Max(top, math.Abs(v))
	}
	return top
}

// slope returns f'(0) and its standard error. The odd part of f is fitted by
// a h + b h³ + c h⁵ at several steps up to far, so that rounding averages out, and
// what does not fit shows in the error.
func slope(f func(h float64) float64, far float64) (a, se float64) {
	const n, terms = 8, 3
	// The terms are made orthogonal, the highest first: the last, h, then
	// stands for the slope alone.
	var q [terms][n]float64
	var y [n]float64
	for j := range n {
		s := float64(j+1) / n
		q[0][j], q[1][j], q[2][j] = math.Pow(s, 5), s*s*s, s
		y[j] = (f(far*s) - f(-far*s)) / 2
	}
	for t := range terms {
		for u := range t {
			along(&q[t], &q[u])
		}
		a = along(&y, &q[t])
	}
	rss, norm := 0., 0.
	for j := range n {
		rss += y[j] * y[j]
		norm += q[terms-1][j] * q[terms-1][j]
	}
	return a / far, math.Sqrt(rss/(n-terms)/norm) / far
}

// along takes out of x its part along q and returns its coefficient.
func along(x, q *[8]float64) float64 {
	dot, norm := 0., 0.
	for i, v := range q {
		dot += x[i] * v
		norm += v * v
	}
	for i, v := range q {
		x[i] -= dot / norm * v
	}
	return dot / norm
}
