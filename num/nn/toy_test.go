package nn_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// toy is one hidden layer and logits.
type toy struct {
	p    *nn.Params
	hid  nn.MLP
	head nn.Dense
	ws   *nn.MLPWork
	cat  *nn.Categorical
	opt  *nn.Adam
	y, d []float32
}

func newToy(t *testing.T, in, hidden, k, rows int) *toy {
	p := &nn.Params{}
	n := &toy{p: p, hid: p.MLP("h", nn.Tanh, in, hidden), head: p.Dense("out", hidden, k, nn.None)}
	p.Init(rng.New(1))
	n.ws, n.cat = n.hid.Work(rows), nn.NewCategorical(k, rows)
	n.y, n.d = make([]float32, rows*k), make([]float32, rows*k)
	n.opt = nn.NewAdam(p, nn.AdamConfig{})
	return n
}

// train takes steps of cross-entropy and returns the last loss and the errors.
func (n *toy) train(t *testing.T, x []float32, target []int32, steps int) (loss float64, wrong int) {
	m := len(target)
	for range steps {
		n.hid.Forward(n.p, n.ws, x, m)
		n.head.Forward(n.p, n.y, n.ws.Y, m)
		n.cat.Set(n.y, nil, m)
		clear(n.d)
		loss = n.cat.CrossEntropy(n.d, target, nil, nn.Rows{N: m}).Mean()
		n.head.Backward(n.p, n.ws.DY, n.d, n.ws.Y, n.y, m)
		n.hid.Backward(n.p, n.ws, nil, x, m)
		_, err := n.opt.Step(1e-2, 0)
		must(t, err)
	}
	for i, k := range target {
		if n.cat.Mode(i) != k {
			wrong++
		}
	}
	return loss, wrong
}

func TestToysAreLearnt(t *testing.T) {
	two := struct {
		x []float32
		y []int32
	}{random(200*2, "two"), make([]int32, 200)}
	for i := range two.y { // two classes, apart by a margin
		two.y[i] = int32(i % 2)
		two.x[2*i] += float32(8*(i%2) - 4)
	}
	if loss, wrong := newToy(t, 2, 8, 2, 200).train(t, two.x, two.y, 200); wrong != 0 {
		t.Errorf("two classes: %d of 200 wrong, loss %.4f", wrong, loss)
	}
	if loss, wrong := newToy(t, 2, 8, 2, 4).train(t, []float32{0, 0, 0, 1, 1, 0, 1, 1}, []int32{0, 1, 1, 0}, 500); wrong != 0 {
		t.Errorf("XOR: %d of 4 wrong, loss %.4f", wrong, loss)
	}
}

// sevenClasses are seven directions in the plane with a little noise.
func sevenClasses(n int) (x []float32, y []int32) {
	x, y = random(2*n, "seven"), make([]int32, n)
	for i := range n {
		y[i] = int32(i % 7)
		a := 2 * math.Pi * float64(y[i]) / 7
		x[2*i] = 0.05*x[2*i] + float32(math.Cos(a))
		x[2*i+1] = 0.05*x[2*i+1] + float32(math.Sin(a))
	}
	return x, y
}

// docs/faults.md#double-softmax: a softmax of a softmax cannot get below ln(1+6/e) = 1.165
// with seven classes. Cross-entropy from logits gets below 0.01 on the same data.
func TestSevenClassesFallBelowTheDoubleSoftmaxFloor(t *testing.T) {
	const m, k = 140, 7
	x, y := sevenClasses(m)
	n := newToy(t, 2, 32, k, m)
	if loss, wrong := n.train(t, x, y, 1500); loss >= 0.01 || wrong != 0 {
		t.Errorf("loss %.4f with %d wrong, want below 0.01 and none", loss, wrong)
	}
	// What the users computed, by force: the types refuse it without this copy.
	twice := nn.NewCategorical(k, m)
	probs := append(nn.Probs{}, n.cat.P...)
	twice.Set([]float32(probs), nil, m)
	floor := math.Log(1 + 6/math.E)
	if math.Abs(floor-1.165) > 1e-3 {
		t.Errorf("the floor is %v, want 1.165", floor)
	}
	if l := twice.CrossEntropy(nil, y, nil, nn.Rows{N: m}).Mean(); l < floor || l > floor+0.01 {
		t.Errorf("softmax twice gives %.4f for a perfect net, want just above %.4f", l, floor)
	}
}

func TestLinearRegressionReachesTheClosedForm(t *testing.T) {
	const m, in = 60, 3
	x, y := random(m*in, "x"), random(m, "noise")
	for i := range m {
		y[i] = 0.3*y[i] + 2*x[i*in] - x[i*in+1] + 0.5
	}
	p := &nn.Params{}
	l := p.Dense("l", in, 1, nn.None)
	p.Init(rng.New(1))
	opt := nn.NewAdam(p, nn.AdamConfig{})
	out, d := make([]float32, m), make([]float32, m)
	lr := nn.Cosine(0.05, 0, 2000)
	for step := range 2000 {
		l.Forward(p, out, x, m)
		clear(d)
		nn.MSE(d, out, y, 1, nn.Rows{N: m})
		l.Backward(p, nil, d, x, out, m)
		_, err := opt.Step(lr(step), 0)
		must(t, err)
	}
	want := leastSquares(x, y, m, in)
	w, _ := p.Find("l/w")
	b, _ := p.Find("l/b")
	got, _ := p.At(w.Span)
	bias, _ := p.At(b.Span)
	for i, v := range append(reference.Wide(got), float64(bias[0])) {
		if math.Abs(v-want[i]) > 1e-4 {
			t.Errorf("coefficient %d: %v, want %v", i, v, want[i])
		}
	}
}

// leastSquares solves the normal equations of y = x w + b by elimination.
func leastSquares(x, y []float32, m, in int) []float64 {
	n := in + 1
	a := make([][]float64, n)
	row := func(i, j int) float64 {
		if j == in {
			return 1
		}
		return float64(x[i*in+j])
	}
	for r := range a {
		a[r] = make([]float64, n+1)
		for i := range m {
			for c := range n {
				a[r][c] += row(i, r) * row(i, c)
			}
			a[r][n] += row(i, r) * float64(y[i])
		}
	}
	for c := range n {
		for r := range n {
			if r != c {
				f := a[r][c] / a[c][c]
				for k := range a[r] {
					a[r][k] -= f * a[c][k]
				}
			}
		}
	}
	w := make([]float64, n)
	for i := range w {
		w[i] = a[i][n] / a[i][i]
	}
	return w
}
