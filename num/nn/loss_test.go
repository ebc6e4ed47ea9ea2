package nn_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// lossCase is a loss of x that adds its gradient to dx.
type lossCase struct {
	name string
	n    int // elements of x
	loss func(dx, x []float32, rows nn.Rows) nn.Loss
	row  func(x []float64, i int) float64 // the definition, one row
}

const lossRows, lossCols = 13, 7

func legalFor(rows, cols int) []bool {
	legal := make([]bool, rows*cols)
	for i := range legal {
		legal[i] = i%cols == 4 || i*7%5 > 1
	}
	return legal
}

func lossCases() []lossCase {
	const m, k = lossRows, lossCols
	legal := legalFor(m, k)
	target := make([]int32, m)
	class := []float32{1, 2, 0.5, 1, 3, 1, 0.1}
	cat := nn.NewCategorical(k, m)
	soft := make(nn.Probs, m*k)
	nn.Softmax(soft, random(m*k, "soft"), m, k)
	for i := range m {
		mass := float32(0)
		for j := range k {
			if !legal[i*k+j] {
				soft[i*k+j] = 0
			}
			mass += soft[i*k+j]
		}
		f32.Scale(soft[i*k:(i+1)*k], 1/mass)
		if target[i] = int32(i % k); !legal[i*k+i%k] {
			target[i] = 4
		}
		if i%3 == 1 {
			target[i] = nn.NoClass // these rows are dead
		}
	}
	at := func(x []float64, i int) []float64 { return x[i*k : (i+1)*k] }
	row := func(x []float64, i int) []float64 { return logSoftmaxTwin(at(x, i), legal[i*k:(i+1)*k]) }
	bits := make([]float32, m*k)
	for i := range bits {
		bits[i] = float32(i % 2)
	}
	y := random(m*k, "target")
	bern, bernW := nn.NewBernoulli(k, m), nn.NewBernoulli(k, m)
	bernW.Weight = class
	g, q := nn.NewGaussian(k, m), nn.NewGaussian(k, m)
	bernTwin := func(w []float32) func(x []float64, i int) float64 {
		return func(x []float64, i int) float64 {
			s := 0.
			for j, v := range at(x, i) {
				p := 1 / (1 + math.Exp(-v))
				t := float64(bits[i*k+j])
				c := 1.
				if w != nil {
					c = float64(w[j])
				}
				s -= c * (t*math.Log(p) + (1-t)*math.Log(1-p))
			}
			return s
		}
	}
	return []lossCase{
		{"cross-entropy", m * k, func(dx, x []float32, rows nn.Rows) nn.Loss {
			cat.Set(x, legal, m)
			return cat.CrossEntropy(dx, target, nil, rows)
		}, func(x []float64, i int) float64 { return -row(x, i)[target[i]] }},
		{"soft cross-entropy", m * k, func(dx, x []float32, rows nn.Rows) nn.Loss {
			cat.Set(x, legal, m)
			return cat.SoftCrossEntropy(dx, soft, rows)
		}, func(x []float64, i int) float64 {
			s := 0.
			for j, p := range row(x, i) {
				s -= p * float64(soft[i*k+j])
			}
			return s
		}},
		{"Bernoulli", m * k, func(dx, x []float32, rows nn.Rows) nn.Loss {
			bern.Set(x, m)
			return bern.Loss(dx, bits, rows)
		}, bernTwin(nil)},
		{"weighted Bernoulli", m * k, func(dx, x []float32, rows nn.Rows) nn.Loss {
			bernW.Set(x, m)
			return bernW.Loss(dx, bits, rows)
		}, bernTwin(class)},
		{"MSE", m * k, func(dx, x []float32, rows nn.Rows) nn.Loss {
			return nn.MSE(dx, x, y, k, rows)
		}, func(x []float64, i int) float64 {
			s := 0.
			for j, v := range at(x, i) {
				s += math.Pow(v-float64(y[i*k+j]), 2) / k
			}
			return s
		}},
		{"KL to standard", 2 * m * k, func(dx, x []float32, rows nn.Rows) nn.Loss {
			g.Set(x[:m*k], x[m*k:], m)
			l := g.KLStandard(rows)
			if dx != nil {
				copy(dx, g.DMu)
				copy(dx[m*k:], g.DLogVar)
			}
			return l
		}, func(x []float64, i int) float64 {
			s := 0.
			for j := range k {
				mu, lv := x[i*k+j], x[m*k+i*k+j]
				s += 0.5 * (mu*mu + math.Exp(lv) - 1 - lv)
			}
			return s
		}},
		{"KL of two", 4 * m * k, func(dx, x []float32, rows nn.Rows) nn.Loss {
			g.Set(x[:m*k], x[m*k:2*m*k], m)
			q.Set(x[2*m*k:3*m*k], x[3*m*k:], m)
			l := g.KL(q, false, rows)
			for i, d := range [][]float32{g.DMu, g.DLogVar, q.DMu, q.DLogVar} {
				if dx != nil {
					copy(dx[i*m*k:], d)
				}
			}
			return l
		}, func(x []float64, i int) float64 {
			s := 0.
			for j := range k {
				at := i*k + j
				m1, v1, m2, v2 := x[at], x[m*k+at], x[2*m*k+at], x[3*m*k+at]
				s += 0.5 * (v2 - v1 + (math.Exp(v1)+(m1-m2)*(m1-m2))/math.Exp(v2) - 1)
			}
			return s
		}},
		{"policy and entropy", m * k, func(dx, x []float32, rows nn.Rows) nn.Loss {
			cat.Set(x, legal, m)
			var l nn.Loss
			total := rows.Sum()
			for i := range rows.N {
				if !rows.Alive[i] || rows.Weight[i] == 0 {
					continue
				}
				w := float64(rows.Weight[i])
				l.Sum += w * (1.3*float64(cat.LogProb(i, target[i])) - 0.4*float64(cat.Entropy(i)))
				l.Weight += w
				l.Rows++
				if dx != nil {
					u := float32(0.7 * w / total)
					cat.Grad(dx[i*k:], i, target[i], 1.3*u, -0.4*u)
				}
			}
			return l
		}, func(x []float64, i int) float64 {
			logp, h := row(x, i), 0.
			for _, v := range logp {
				h -= math.Exp(v) * v
			}
			return 1.3*logp[target[i]] - 0.4*h
		}},
	}
}

func TestLossGradients(t *testing.T) {
	for _, c := range lossCases() {
		t.Run(c.name, func(t *testing.T) {
			x, dx := random(c.n, c.name), make([]float32, c.n)
			rows := rowsFor(lossRows)
			nntest.Check(t, nntest.Model{
				Inputs: []nntest.Input{input("x", x, dx)},
				Loss:   func() float64 { return 0.7 * c.loss(nil, x, rows).Mean() },
				Grad:   func() { c.loss(dx, x, rows) },
				Twin: func(at func(string) []float64) float64 {
					return meanTwin(rows, func(i int) float64 { return c.row(at("x"), i) })
				},
			})
		})
	}
}

// Dead rows and rows of weight 0 may hold anything, NaN included: loss and
// gradient of the others do not move by a bit, and their own stays 0.
func TestDeadRowsAddNothing(t *testing.T) {
	for _, c := range lossCases() {
		rows := rowsFor(lossRows)
		rows.Weight[3] = 0
		counted := 0
		for i, a := range rows.Alive {
			if a && rows.Weight[i] != 0 {
				counted++
			}
		}
		clean := random(c.n, c.name)
		want := make([]float32, c.n)
		wantLoss := c.loss(want, clean, rows)
		cols := c.n / lossRows
		if c.n%(lossRows*lossCols) == 0 {
			cols = lossCols
		}
		for _, junk := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1e30} {
			x, got := append([]float32{}, clean...), make([]float32, c.n)
			for i := range x {
				if r := i / cols % lossRows; !rows.Alive[r] || rows.Weight[r] == 0 {
					x[i] = junk
				}
			}
			if l := c.loss(got, x, rows); l != wantLoss || l.Rows != counted {
				t.Errorf("%s with %v in dead rows: loss %v, want %v over %d rows", c.name, junk, l, wantLoss, counted)
			}
			for i := range got {
				r := i / cols % lossRows
				if dead := !rows.Alive[r] || rows.Weight[r] == 0; dead && got[i] != 0 {
					t.Errorf("%s with %v: dead element %d has gradient %v", c.name, junk, i, got[i])
				} else if !dead && got[i] != want[i] {
					t.Errorf("%s with %v: element %d has gradient %v, want %v", c.name, junk, i, got[i], want[i])
				}
			}
		}
		none := nn.Rows{N: lossRows, Alive: make([]bool, lossRows), Weight: rows.Weight}
		got := make([]float32, c.n)
		if l := c.loss(got, clean, none); l.Rows != 0 || l.Mean() != 0 || f32.SumSquares(got) != 0 {
			t.Errorf("%s without a live row: loss %v, gradient %v; want nothing", c.name, l, f32.SumSquares(got))
		}
	}
}

// A batch cut in two, with Total set, gives the whole batch's loss and gradient.
func TestLossesOfShardsAddUp(t *testing.T) {
	const m, k = 10, 3
	x, y := random(m*k, "x"), random(m*k, "y")
	rows := rowsFor(m)
	whole, parts := make([]float32, m*k), make([]float32, m*k)
	want := nn.MSE(whole, x, y, k, rows)
	var got nn.Loss
	for _, cut := range [][2]int{{0, 4}, {4, m}} {
		lo, hi := cut[0], cut[1]
		got = got.Plus(nn.MSE(parts[lo*k:hi*k], x[lo*k:hi*k], y[lo*k:hi*k], k, nn.Rows{
			N: hi - lo, Alive: rows.Alive[lo:hi], Weight: rows.Weight[lo:hi], Scale: rows.Scale, Total: rows.Sum(),
		}))
	}
	if got.Rows != want.Rows || math.Abs(got.Mean()-want.Mean()) > 1e-12 {
		t.Errorf("got %v, want %v", got, want)
	}
	for i := range whole {
		if whole[i] != parts[i] {
			t.Errorf("element %d: gradient %v, want %v", i, parts[i], whole[i])
		}
	}
}

// With class weights the mean is weighted by them, as in other frameworks.
func TestClassWeightsWeighTheMean(t *testing.T) {
	c := nn.NewCategorical(2, 2)
	c.Set(nn.Logits{0, 1, 2, 0}, nil, 2)
	d := make([]float32, 4)
	l := c.CrossEntropy(d, []int32{0, 1}, []float32{3, 1}, nn.Rows{N: 2})
	want := (3*math.Log(1+math.E) + math.Log(1+math.E*math.E)) / 4
	if math.Abs(l.Mean()-want) > 1e-6 {
		t.Errorf("got %v, want %v", l.Mean(), want)
	}
	if got, want := float64(d[0]), 3./4*(1/(1+math.E)-1); math.Abs(got-want) > 1e-6 {
		t.Errorf("the gradient is %v, want %v", got, want)
	}
}

// An illegal target is a fault of the data: it shows in the loss, and moves nothing.
func TestIllegalTargetsAreLoud(t *testing.T) {
	c := nn.NewCategorical(3, 1)
	c.Set(nn.Logits{1, 2, 3}, []bool{true, true, false}, 1)
	d := make([]float32, 3)
	hard := c.CrossEntropy(d, []int32{2}, nil, nn.Rows{N: 1})
	soft := c.SoftCrossEntropy(d, nn.Probs{0, 0, 1}, nn.Rows{N: 1})
	if hard.Mean() < 1e8 || soft.Mean() < 1e8 || d[0] != 0 || d[1] != 0 || d[2] != 0 {
		t.Errorf("losses %v and %v with gradient %v, want about 1e9 and none", hard.Mean(), soft.Mean(), d)
	}
}

// The product of thousands of probabilities must not underflow.
func TestWidePlanesKeepTheirLoss(t *testing.T) {
	const cols = 5000
	b := nn.NewBernoulli(cols, 1)
	b.Set(make(nn.Logits, cols), 1)
	if got, want := b.Loss(nil, make([]float32, cols), nn.Rows{N: 1}).Mean(), cols*math.Ln2; math.Abs(got-want) > 1e-3 {
		t.Errorf("%d undecided cells cost %v, want %v", cols, got, want)
	}
}

// Each bound is 5 standard errors.
func TestSamplesFollowTheDistribution(t *testing.T) {
	const n, k = 20000, 4
	r := rng.New(5).Rand()
	logits := nn.Logits{0.3, -1, 2, 1}
	legal := []bool{true, true, false, true}
	c := nn.NewCategorical(k, 1)
	c.Set(logits, legal, 1)
	hard, u := make([]float32, k), nn.NewGumbel(k, 1)
	masked := append(nn.Logits{}, logits...)
	masked[2] = -1e9
	var count, gumbel [k]float64
	for range n {
		count[c.Sample(0, &r)]++
		u.Sample(hard, masked, nil, 0.5, &r)
		for j, v := range hard {
			gumbel[j] += float64(v)
		}
	}
	for j := range k {
		p := float64(c.P[j])
		tol := 5 * math.Sqrt(p*(1-p)/n)
		if got := count[j] / n; math.Abs(got-p) > tol {
			t.Errorf("class %d: sampled %.4f, want %.4f ± %.4f", j, got, p, tol)
		}
		if got := gumbel[j] / n; math.Abs(got-p) > tol {
			t.Errorf("class %d: Gumbel sampled %.4f, want %.4f ± %.4f", j, got, p, tol)
		}
	}
	if c.P[2] != 0 || c.Mode(0) != 3 {
		t.Errorf("the illegal class has probability %v and mode is %d, want 0 and 3", c.P[2], c.Mode(0))
	}
	c.Set(logits, make([]bool, k), 1)
	if got := c.Sample(0, &r); got != nn.NoClass || c.Mode(0) != nn.NoClass {
		t.Errorf("sampled %d with no legal class, want %d", got, nn.NoClass)
	}
	g, z := nn.NewGaussian(2, 1), make([]float32, 2)
	g.Set([]float32{1, -2}, []float32{0, 2}, 1)
	var sum, square [2]float64
	for range n {
		g.Sample(z, nil, &r)
		for j, v := range z {
			sum[j] += float64(v) / n
			square[j] += float64(v) * float64(v) / n
		}
	}
	for j, want := range [][2]float64{{1, 1}, {-2, math.Exp(2)}} {
		mean, v := sum[j], square[j]-sum[j]*sum[j]
		if math.Abs(mean-want[0]) > 5*math.Sqrt(want[1]/n) || math.Abs(v/want[1]-1) > 5*math.Sqrt(2./n) {
			t.Errorf("dimension %d: mean %.3f variance %.3f, want %v", j, mean, v, want)
		}
	}
}

// The gradient through a sample: reparameterised for the Gaussian, straight
// through for Gumbel, where the soft sample is what is differentiated.
func TestGradientsPassThroughSamples(t *testing.T) {
	const m, k = 6, 5
	alive := []bool{true, false, true, true, true, false}
	c := random(m*k, "c")
	t.Run("Gaussian", func(t *testing.T) {
		g := nn.NewGaussian(k, m)
		x, dx, z := random(2*m*k, "x"), make([]float32, 2*m*k), make([]float32, m*k)
		forward := func() {
			r := rng.New(9).Rand()
			g.Set(x[:m*k], x[m*k:], m)
			g.Sample(z, alive, &r)
		}
		forward()
		eps := append([]float32{}, g.Eps...)
		nntest.Check(t, nntest.Model{
			Inputs: []nntest.Input{input("x", x, dx)},
			Loss:   func() float64 { forward(); return weigh(z, c) },
			Grad: func() {
				forward()
				g.SampleGrad(c)
				copy(dx, g.DMu)
				copy(dx[m*k:], g.DLogVar)
			},
			Twin: func(at func(string) []float64) float64 {
				x, s := at("x"), 0.
				for i := range m * k {
					s += float64(c[i]) * (x[i] + math.Exp(x[m*k+i]/2)*float64(eps[i]))
				}
				return s
			},
		})
		for i, a := range alive {
			if !a && (z[i*k] != x[i*k] || eps[i*k] != 0) {
				t.Errorf("dead row %d was sampled: %v, mean %v", i, z[i*k], x[i*k])
			}
		}
	})
	t.Run("Gumbel", func(t *testing.T) {
		u := nn.NewGumbel(k, m)
		x, dx, y := random(m*k, "x"), make([]float32, m*k), make([]float32, m*k)
		forward := func() {
			r := rng.New(9).Rand()
			u.Sample(y, x, alive, 0.6, &r)
		}
		nntest.Check(t, nntest.Model{
			Inputs: []nntest.Input{input("x", x, dx)},
			Loss:   func() float64 { forward(); return weigh(u.Soft, c) },
			Grad:   func() { forward(); u.Grad(dx, c) },
			Twin: func(at func(string) []float64) float64 {
				r, s := rng.New(9).Rand(), 0.
				for i := range m {
					if !alive[i] {
						continue
					}
					row := make([]float64, k)
					for j := range k {
						row[j] = (at("x")[i*k+j] + r.Gumbel()) / 0.6
					}
					for j, v := range logSoftmaxTwin(row, nil) {
						s += float64(c[i*k+j]) * math.Exp(v)
					}
				}
				return s
			},
		})
		for i, a := range alive {
			sum := float32(0)
			for _, v := range y[i*k : (i+1)*k] {
				sum += v
			}
			if a && sum != 1 || !a && sum != 0 {
				t.Errorf("row %d, alive %v: the sample adds up to %v", i, a, sum)
			}
		}
	})
}

// GradTo writes what Grad adds, and returns the entropy.
func TestGradToIsGrad(t *testing.T) {
	const rows, k = 20, 7
	r := rng.New(4).Rand()
	logits, legal := make(nn.Logits, rows*k), make([]bool, rows*k)
	for i := range logits {
		logits[i], legal[i] = float32(r.Norm()), i%k == 3 || r.IntN(3) > 0
	}
	c := nn.NewCategorical(k, rows)
	c.Set(logits, legal, rows)
	for i := range rows {
		want, got := make([]float32, k), make([]float32, k)
		for j := range got {
			got[j] = 99
		}
		c.Grad(want, i, 3, 0.7, -0.2)
		if h := c.GradTo(got, i, 3, 0.7, -0.2); h != c.Entropy(i) {
			t.Errorf("row %d: entropy %v, want %v", i, h, c.Entropy(i))
		}
		for j := range want {
			if d := got[j] - want[j]; d > 1e-6 || d < -1e-6 {
				t.Errorf("row %d class %d: got %v, want %v", i, j, got[j], want[j])
			}
		}
	}
}
