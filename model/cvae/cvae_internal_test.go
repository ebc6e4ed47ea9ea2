package cvae

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

var in = Input{Input: frame.Input{Height: 3, Width: 3, Planes: 4, Rest: 2}, Seats: 2, Actions: 3}

func small() Config {
	return Config{Dim: 3, Frame: frame.Egof, Feature: 5, GRU: 6, Hidden: []int{7, 6}}
}

// filled has sequences of those lengths, as of agents that left at different times.
func filled(t *testing.T, lengths ...int) (*Model, *nn.Params, *Sequences) {
	t.Helper()
	return filledAs(t, small(), lengths...)
}

// classed has two variables of three classes.
func classed() Config {
	c := small()
	c.Dim, c.Classes = 6, 3
	return c
}

func filledAs(t *testing.T, c Config, lengths ...int) (*Model, *nn.Params, *Sequences) {
	t.Helper()
	m, p, err := New(c, in, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	s, r := m.Sequences(), rng.New(2).Rand()
	obs, last := make([]float32, in.Len()), make([]int32, in.Seats)
	for _, n := range lengths {
		for i := range n {
			clear(obs)
			obs[r.IntN(9)*4] = 1
			obs[r.IntN(9)*4+1+r.IntN(3)] = 1
			obs[36] = r.Float32()
			for k := range last {
				if last[k] = int32(r.IntN(4)) - 1; i == 0 {
					last[k] = -1
				}
			}
			s.Add(obs, last)
			for range m.Dim {
				s.Mu, s.LogVar = append(s.Mu, float32(r.Norm())), append(s.LogVar, float32(r.Norm()))
			}
			if k := m.Classes; k > 0 {
				for at := len(s.Mu) - m.Dim; at < len(s.Mu); at += k {
					nn.Softmax(s.Mu[at:at+k], nn.Logits(s.Mu[at:at+k]), 1, k)
				}
			}
		}
		s.End()
	}
	return m, p, s
}

func order(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// The whole chain, memory included, with the noise and the target of the decoder
// held fixed. Half of the rows read the selected goal.
func TestGradients(t *testing.T) {
	t.Run("kl", func(t *testing.T) { checkGradients(t, Weights{KL: 0.2}) })
	t.Run("nce", func(t *testing.T) { checkGradients(t, Weights{KL: 1, Contrast: true}) })
}

func checkGradients(t *testing.T, w Weights) {
	m, p, s := filled(t, 4, 2, 1, 3)
	ws := m.Work(16)
	ws.Load(s, order(4))
	r := rng.New(3).Rand()
	ws.Forward(p)
	copy(ws.target, ws.f)
	ws.draw(Weights{Mix: 0.5, Tau: 1}, &r)
	eps := slices.Clone(ws.q.Eps)
	run := func() Terms {
		ws.Forward(p)
		ws.p.Set(ws.pmu, ws.plv, 16)
		ws.q.Set(ws.Mu, ws.LogVar, 16)
		copy(ws.q.Eps, eps)
		copy(ws.g, ws.Mu)
		f32.MulAdd(ws.g, ws.q.Std, ws.q.Eps)
		ws.blend(16)
		return ws.losses(p, w, 10)
	}
	nntest.Check(t, nntest.Model{
		Params: []*nn.Params{p},
		Loss: func() float64 {
			t := run()
			p.ZeroGrad()
			return t.Feature.Mean() + w.KL*t.KL.Mean()
		},
		Grad: func() { run() },
	})
}

// What lies after an agent's end changes nothing: alone or padded beside a longer
// sequence, it has the same goals, the same loss and the same gradients.
func TestPaddingReachesNothing(t *testing.T) {
	m, p, s := filled(t, 3, 7)
	ws := m.Work(14)
	learn := func(pick ...int) (Terms, []float32, []float32) {
		p.ZeroGrad()
		ws.Load(s, pick)
		ws.Forward(p)
		copy(ws.target, ws.f)
		for i := range ws.chosen {
			ws.chosen[i] = false
		}
		ws.p.Set(ws.pmu, ws.plv, ws.seq.T*ws.seq.N)
		ws.q.Set(ws.Mu, ws.LogVar, ws.seq.T*ws.seq.N)
		copy(ws.g, ws.Mu)
		terms := ws.losses(p, Weights{KL: 1}, 10)
		var mu []float32
		for t := range 3 {
			at := ws.Row(t, 0)
			mu = append(mu, ws.Mu[at*m.Dim:(at+1)*m.Dim]...)
		}
		return terms, mu, slices.Clone(p.G)
	}
	one, muOne, gOne := learn(0)
	two, _, gTwo := learn(1)
	both, muBoth, gBoth := learn(0, 1)
	if !slices.Equal(muOne, muBoth) {
		t.Errorf("the goals are %v alone and %v beside a longer sequence", muOne, muBoth)
	}
	if both.KL.Rows != 10 || math.Abs(both.KL.Sum-one.KL.Sum-two.KL.Sum) > 1e-4 {
		t.Errorf("the KL is %v over %d rows, want %v over 10", both.KL.Sum, both.KL.Rows, one.KL.Sum+two.KL.Sum)
	}
	for i := range gBoth {
		if math.Abs(float64(gBoth[i]-gOne[i]-gTwo[i])) > 1e-4 {
			t.Fatalf("gradient %d is %v, want %v", i, gBoth[i], gOne[i]+gTwo[i])
		}
	}
}

// At play, step by step with memories in shuffled places, the goals are those that
// were trained; a place that was forgotten starts anew.
func TestPlayIsTraining(t *testing.T) {
	for _, c := range []Config{small(), classed()} {
		playIsTraining(t, c)
	}
}

func playIsTraining(t *testing.T, c Config) {
	m, p, s := filledAs(t, c, 5, 5)
	ws, play, mem := m.Work(10), m.Work(2), m.Memory(9)
	ws.Load(s, order(2))
	ws.Forward(p)
	places := []int{7, 2}
	for round := range 2 {
		for t1 := range 5 {
			play.Reset()
			for n := range 2 {
				row := s.Lo[n] + t1
				play.x.AppendFrom(&s.X, row)
				copy(play.last[n*2:], s.Last[row*2:row*2+2])
			}
			play.Infer(p, mem, places)
			for n := range 2 {
				at := ws.Row(t1, n)
				got, want := play.Mu[n*m.Dim:(n+1)*m.Dim], ws.Mu[at*m.Dim:(at+1)*m.Dim]
				for d := range got {
					if math.Abs(float64(got[d]-want[d])) > 1e-5 {
						t.Fatalf("round %d, step %d, agent %d: the goal is %v at play and %v in training", round, t1, n, got, want)
					}
				}
			}
		}
		mem.Forget(m, 7)
		mem.Forget(m, 2)
	}
}

func TestSelectors(t *testing.T) {
	v := []float32{9, 1, 3, 3, 2, 0, 0, 8, 9}
	value := func(row int) float32 { return v[row] }
	for name, c := range map[string]struct {
		s           Selector
		t, hi, want int
	}{
		"the best, the furthest of equals":     {Optimistic, 0, 9, 3},
		"the worst, the nearest of equals":     {Conservative, 0, 9, 5},
		"never beyond the end":                 {Optimistic, 3, 6, 4},
		"no further than the horizon":          {Optimistic, 1, 9, 3},
		"the last row is its own subgoal":      {Optimistic, 8, 9, 8},
		"conservative among equals":            {Conservative, 4, 9, 5},
		"its own value does not matter":        {Conservative, 7, 9, 8},
		"the last row, conservative, as well":  {Conservative, 4, 5, 4},
		"optimistic sees the end of the world": {Optimistic, 3, 9, 8},
	} {
		if got := c.s.Pick(c.t, c.hi, Horizon, value); got != c.want {
			t.Errorf("%s: row %d, want %d", name, got, c.want)
		}
	}
}

func TestReturns(t *testing.T) {
	got := make([]float32, 4)
	Returns(got, []float32{0, 0, 4, 1}, 0.5)
	if want := []float32{1.125, 2.25, 4.5, 1}; !slices.Equal(got, want) {
		t.Errorf("returns are %v, want %v", got, want)
	}
}

func TestOrderSortsByLengthUnlessMixed(t *testing.T) {
	m, p, s := filled(t, 5, 1, 4, 2, 5, 3, 3, 1, 1, 4, 2, 2)
	for _, mixed := range []bool{false, true} {
		cfg := DefaultLearn()
		cfg.Batch, cfg.Mixed = 4, mixed
		l, err := NewLearner(m, p, cfg, 5, 6, rng.New(4))
		if err != nil {
			t.Fatal(err)
		}
		got, r := make([]int, s.Len()), rng.New(5).Rand()
		l.Order(got, s, &r)
		if sorted := slices.IsSortedFunc(got, func(a, b int) int { return s.Steps(a) - s.Steps(b) }); sorted == mixed {
			t.Errorf("mixed %v: sequences %v are sorted by length: %v", mixed, got, sorted)
		}
		if slices.Sort(got); !slices.Equal(got, order(s.Len())) {
			t.Errorf("mixed %v: the sequences are %v, want each once", mixed, got)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	for _, c := range []Config{small(), classed()} {
		nothingAllocates(t, c)
	}
}

func nothingAllocates(t *testing.T, c Config) {
	m, p, s := filledAs(t, c, 5, 2)
	ws, r, mem := m.Work(10), rng.New(1).Rand(), m.Memory(2)
	obs, last, pick := make([]float32, in.Len()), []int32{-1, 2}, order(2)
	obs[0], obs[5] = 1, 1
	if n := testing.AllocsPerRun(10, func() {
		ws.Load(s, pick)
		ws.Learn(p, Weights{KL: 1e-3, Mix: 0.5, Tau: 1}, 7, &r)
		ws.Reset()
		ws.Add(obs, last)
		ws.Add(obs, last)
		ws.Infer(p, mem, pick)
		mem.Forget(m, 0)
	}); n != 0 {
		t.Errorf("a step allocates %v times, want 0", n)
	}
}

func TestConfigFaultsAreNamed(t *testing.T) {
	for want, c := range map[string]Config{
		"hidden":  {Dim: 2, Frame: "ego", Feature: 1, GRU: 1},
		"frame":   {Dim: 2, Frame: "x", Feature: 1, GRU: 1, Hidden: []int{2}},
		"gru":     {Dim: 2, Frame: "ego", Feature: 1, Hidden: []int{2}},
		"classes": {Dim: 6, Classes: 4, Frame: "ego", Feature: 1, GRU: 1, Hidden: []int{2}},
	} {
		if _, _, err := New(c, in, rng.New(1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
