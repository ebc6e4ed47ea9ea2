package nn_test

import (
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// The slow float64 twins of the layers are those of audit/reference.

// mat is x as a matrix of so many rows.
func mat(x []float64, rows int) *reference.Mat {
	return &reference.Mat{Rows: rows, Cols: len(x) / rows, V: x}
}

// bend puts y through an activation.
func bend(t *reference.Tape, a nn.Act, y *reference.Mat) []float64 {
	switch a {
	case nn.ReLU:
		y = t.ReLU(y)
	case nn.Tanh:
		y = t.Tanh(y)
	}
	return y.V
}

func denseTwin(d nn.Dense, x, w, b []float64, m int) []float64 {
	t := &reference.Tape{}
	return bend(t, d.Act, t.Affine(mat(x, m), mat(w, d.In), mat(b, 1)))
}

// logSoftmaxTwin returns the log-probabilities of one row over the legal classes.
func logSoftmaxTwin(x []float64, legal []bool) []float64 {
	return (&reference.Tape{}).LogSoftmax(mat(x, 1), legal).V
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
