// Package nntest checks hand-written gradients against finite differences.
//
// A model is described by its Params, the further inputs it has gradients for, a
// function that returns its loss and one that also goes backward. With a Twin,
// the same loss written slowly in float64, differences are exact to many digits
// and every weight must agree to 1e-3. Without one, differences of the float32
// loss are extrapolated (Ridders 1982) over steps from large to small; a weight
// where they do not settle, because rounding or a kink of ReLU is in the way, is
// left undecided, and a part needs at least half of its weights decided.
package nntest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"hop/nn"
	"hop/rng"
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

// loss32 compares one array with extrapolated differences of the float32 loss.
func loss32(m Model, a array) (faults []string) {
	where := pick(a.g, 24, a.name)
	diff, err := make([]float64, len(where)), make([]float64, len(where))
	for i, j := range where {
		was := a.x[j]
		diff[i], err[i] = ridders(func(h float64) float64 {
			a.x[j] = was + float32(h)
			up, hi := m.Loss(), float64(a.x[j])
			a.x[j] = was - float32(h)
			down, lo := m.Loss(), float64(a.x[j])
			a.x[j] = was
			return (up - down) / (hi - lo)
		}, 0.04*math.Max(1, math.Abs(float64(was))))
	}
	scale := math.Max(largest(diff), float64(slices.Max(a.g)))
	undecided := 0
	for i, j := range where {
		g := float64(a.g[j])
		tol := Tolerance * math.Max(math.Max(math.Abs(g), math.Abs(diff[i])), 0.3*scale)
		if math.Abs(g-diff[i]) <= tol {
			continue
		}
		if err[i] > tol/2 {
			undecided++
			if math.Abs(g-diff[i]) <= 10*err[i] {
				continue
			}
		}
		faults = append(faults, fmt.Sprintf("%s[%d]: the gradient is %v, the difference %v ± %.1g", a.name, j, g, diff[i], err[i]))
	}
	if len(faults) == 0 && 2*undecided > len(where) {
		faults = append(faults, fmt.Sprintf("%s: differences settle for only %d of %d elements: give the model a Twin", a.name, len(where)-undecided, len(where)))
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

// ridders extrapolates diff(h) to h = 0 from steps h, h/2, h/4, ... and returns
// the value that changed least from its neighbours, and by how much.
func ridders(diff func(h float64) float64, h float64) (best, err float64) {
	const n = 7
	var d [n][n]float64 // [step][order]
	err = math.Inf(1)
	for i := range n {
		d[i][0] = diff(h)
		h /= 2
		four := 1.
		for k := 1; k <= i; k++ {
			four *= 4
			d[i][k] = (d[i][k-1]*four - d[i-1][k-1]) / (four - 1)
			e := math.Max(math.Abs(d[i][k]-d[i][k-1]), math.Abs(d[i][k]-d[i-1][k-1]))
			if e < err {
				best, err = d[i][k], e
			}
		}
	}
	return best, err
}
