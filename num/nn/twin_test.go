package nn_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// The slow float64 twins of the layers, written from the definitions.

func actTwin(a nn.Act, x float64) float64 {
	switch a {
	case nn.ReLU:
		return math.Max(x, 0)
	case nn.Tanh:
		return math.Tanh(x)
	}
	return x
}

func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// affineTwin returns x[m][in] w[in][out] + b[out].
func affineTwin(x, w, b []float64, m, in, out int) []float64 {
	y := make([]float64, m*out)
	for i := range m {
		for j := range out {
			s := 0.
			if b != nil {
				s = b[j]
			}
			for k := range in {
				s += x[i*in+k] * w[k*out+j]
			}
			y[i*out+j] = s
		}
	}
	return y
}

func denseTwin(d nn.Dense, x, w, b []float64, m int) []float64 {
	y := affineTwin(x, w, b, m, d.In, d.Out)
	for i := range y {
		y[i] = actTwin(d.Act, y[i])
	}
	return y
}

// logSoftmaxTwin returns the log-probabilities of one row over the legal classes.
func logSoftmaxTwin(x []float64, legal []bool) []float64 {
	sum := 0.
	for k, v := range x {
		if legal == nil || legal[k] {
			sum += math.Exp(v)
		}
	}
	y := make([]float64, len(x))
	for k, v := range x {
		y[k] = v - math.Log(sum)
		if legal != nil && !legal[k] {
			y[k] = float64(f32.LogZero)
		}
	}
	return y
}

// random returns n standard normal numbers.
func random(n int, name string) []float32 {
	r := rng.New(11).Child(name).Rand()
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.Norm())
	}
	return x
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// weigh is the loss of the layer tests: the sum of y times fixed random numbers,
// whose gradient is those numbers.
func weigh(y []float32, c []float32) float64 {
	s := 0.
	for i, v := range y {
		s += float64(v) * float64(c[i])
	}
	return s
}

func weigh64(y []float64, c []float32) float64 {
	s := 0.
	for i, v := range y {
		s += v * float64(c[i])
	}
	return s
}

// rowsFor is a batch of n rows of which some are dead and some count double.
func rowsFor(n int) nn.Rows {
	r := nn.Rows{N: n, Alive: make([]bool, n), Weight: make([]float32, n), Scale: 0.7}
	for i := range n {
		r.Alive[i] = i%3 != 1
		r.Weight[i] = float32(i%2) + 0.5
	}
	return r
}

// meanTwin is 0.7 times the weighted mean over rowsFor of a row's loss: Scale
// belongs to the gradient, so the twin carries it.
func meanTwin(rows nn.Rows, row func(i int) float64) float64 {
	sum, total := 0., 0.
	for i := range rows.N {
		if rows.Alive[i] {
			sum += float64(rows.Weight[i]) * row(i)
			total += float64(rows.Weight[i])
		}
	}
	return 0.7 * sum / total
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// input names x and as much of dx as it needs.
func input(name string, x, dx []float32) nntest.Input {
	return nntest.Input{Name: name, X: x, DX: dx[:len(x)]}
}
