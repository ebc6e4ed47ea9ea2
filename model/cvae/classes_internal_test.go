package cvae

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// The whole chain of discrete goals, with Gumbel's noise held fixed and the relaxed
// draws, whose gradient the one-hot ones borrow, in the one-hot ones' place. Half of
// the rows read the selected classes.
func TestGradientsOfDiscreteGoals(t *testing.T) {
	const kl, tau = 0.2, 0.7
	m, p, s := filledAs(t, classed(), 4, 2, 1, 3)
	ws := m.Work(16)
	ws.Load(s, order(4))
	ws.Forward(p)
	target := slices.Clone(ws.f)
	run := func() Terms {
		r := rng.New(3).Rand()
		ws.Forward(p)
		copy(ws.target, target)
		ws.draw(Weights{Mix: 0.5, Tau: tau}, &r)
		copy(ws.g, ws.class.gumbel.Soft)
		ws.blend(16)
		return ws.losses(p, Weights{KL: kl}, 10)
	}
	nntest.Check(t, nntest.Model{
		Params: []*nn.Params{p},
		Loss: func() float64 {
			t := run()
			p.ZeroGrad()
			return t.Feature.Mean() + kl*t.KL.Mean()
		},
		Grad: func() { run() },
	})
}

// Padding beside a longer sequence changes neither the loss nor what is inferred,
// and is never drawn.
func TestPaddingReachesNoDiscreteGoal(t *testing.T) {
	m, p, s := filledAs(t, classed(), 3, 7)
	ws, r := m.Work(14), rng.New(3).Rand()
	ws.Load(s, order(2))
	terms := ws.Learn(p, Weights{KL: 1, Tau: 1}, 10, &r)
	sum, alone := 0., m.Work(7)
	for i := range 2 {
		alone.Load(s, []int{i})
		alone.Forward(p)
		for row := range s.Steps(i) {
			at := (s.Lo[i] + row) * m.Dim
			sum += m.KL(alone.Mu[row*m.Dim:(row+1)*m.Dim], s.Mu[at:at+m.Dim])
		}
	}
	if terms.KL.Rows != 10 || math.Abs(terms.KL.Sum-sum) > 1e-4 {
		t.Errorf("the KL is %v over %d rows, want %v over 10", terms.KL.Sum, terms.KL.Rows, sum)
	}
	for t1 := range 7 {
		for n := range 2 {
			at, ones := ws.Row(t1, n)*m.Dim, float32(0)
			for _, x := range ws.g[at : at+m.Dim] {
				ones += x
			}
			if want := map[bool]float32{true: 2, false: 0}[t1 < s.Steps(n)]; ones != want {
				t.Errorf("step %d of sequence %d has %v classes, want %v", t1, n, ones, want)
			}
		}
	}
}

// Draws are one class of each variable, as often as is inferred; a variable without
// probabilities has none, and without spread a draw is the probabilities themselves.
func TestDrawsOfDiscreteGoals(t *testing.T) {
	m, _, _ := filledAs(t, classed(), 1)
	q, z, r := []float32{0.7, 0.1, 0.2, 0, 0.5, 0.5}, make([]float32, 6), rng.New(1).Rand()
	const n = 20000
	var count [6]float64
	for range n {
		m.Draw(z, q, nil, 1, &r)
		for k, x := range z {
			count[k] += float64(x)
		}
		if a, b := z[0]+z[1]+z[2], z[3]+z[4]+z[5]; a != 1 || b != 1 {
			t.Fatalf("%v is not one class of each variable", z)
		}
	}
	for k, c := range count {
		// Five standard errors of a share are at most .018.
		if math.Abs(c/n-float64(q[k])) > 0.018 {
			t.Errorf("class %d is drawn with %.3f, want %v", k, c/n, q[k])
		}
	}
	if m.Draw(z, q, nil, 0, &r); !slices.Equal(z, q) {
		t.Errorf("without spread %v is drawn, want %v", z, q)
	}
	if m.Draw(z, make([]float32, 6), nil, 1, &r); slices.Max(z) != 0 {
		t.Errorf("of nobody %v is drawn, want zeros", z)
	}
}

// What is learnt is how likely each class is, not the likeliest alone: of histories
// that look alike, two thirds lead to one class and a third to another.
func TestDiscreteGoalsAreCalibrated(t *testing.T) {
	c := small()
	c.Dim, c.Classes = 2, 2
	m, p, err := New(c, in, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	s := m.Sequences()
	obs := make([]float32, in.Len())
	obs[0] = 1
	for i := range 9 {
		s.Add(obs, []int32{-1, -1})
		s.End()
		s.Mu, s.LogVar = append(s.Mu, []float32{0.999, 0.001, 0.001, 0.999}[i%3/2*2:][:2]...), append(s.LogVar, 0, 0)
	}
	cfg := DefaultLearn()
	cfg.Batch = 9
	l, err := NewLearner(m, p, cfg, 1, 300, rng.New(4))
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if _, err := l.Step(s, order(9)); err != nil {
			t.Fatal(err)
		}
	}
	ws := m.Work(1)
	ws.Load(s, []int{0})
	ws.Forward(p)
	if q := float64(ws.Mu[0]); math.Abs(q-2./3) > 0.03 {
		t.Errorf("the first class is inferred with %.3f, want 2/3", q)
	}
}
