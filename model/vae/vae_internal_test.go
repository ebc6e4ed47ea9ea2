package vae

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

var in = Input{Input: frame.Input{Height: 3, Width: 4, Planes: 5, Rest: 6}, Agents: 3, Actions: 3}

// small is a model of every kind, small enough to check whole.
func small(loss, net, agents string, discrete int) Config {
	return Config{Loss: loss, Net: net, Frame: frame.Board, Reads: "observation", Hidden: []int{7, 6}, Dim: 3, Discrete: discrete, Groups: 2,
		Agents: agents, Things: 0.5, Outcome: 0.4, MOA: 8}
}

// observation draws agents on cells or gone, and things.
func observation(r *rng.Rand) (obs []float32, legal []bool, action int32) {
	obs = make([]float32, in.Len())
	for a := range in.Agents {
		if a == 0 || r.IntN(4) > 0 {
			obs[r.IntN(12)*in.Planes+a] = 1
		}
	}
	for range 3 {
		obs[r.IntN(12)*in.Planes+in.Agents+r.IntN(2)] = 1
	}
	for i := range in.Rest {
		obs[60+i] = float32(r.IntN(2)) * r.Float32()
	}
	return obs, []bool{true, r.IntN(2) == 0, true}, 2 * int32(r.IntN(2))
}

func filled(t *testing.T, c Config, n int) (*Model, *nn.Params, *Rows) {
	t.Helper()
	m, p, err := New(c, in, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	rows, r := m.Rows(), rng.New(2).Rand()
	for range n {
		rows.Add(observation(&r))
	}
	for i := range rows.Outcome {
		rows.Outcome[i] = int32(i%4) - 1
	}
	return m, p, rows
}

// loaded returns memory with all rows in it.
func loaded(m *Model, rows *Rows) *Work {
	ws := m.Work(rows.Len())
	for i := range rows.Len() {
		ws.Add(rows, i)
	}
	return ws
}

// Every composite passes a gradient check with its noise held fixed: z is drawn
// once, then moves with its mean and deviation only. Discrete z are checked by
// hand below, because forward and backward differ there on purpose.
func TestGradients(t *testing.T) {
	for name, c := range map[string]Config{
		"a":      small("a", "dense", "cells", 0),
		"a bits": small("a", "dense", "bits", 0),
		"a conv": small("a", "conv", "cells", 0),
		"b":      small("b", "dense", "cells", 0),
		"b conv": small("b", "conv", "cells", 0),
	} {
		t.Run(name, func(t *testing.T) {
			const kl, unknown = 0.3, 2. / 6
			m, p, rows := filled(t, c, 6)
			ws := loaded(m, rows)
			eps, r := make([]float32, 6*m.Width()), rng.New(3).Rand()
			for i := range eps {
				eps[i] = float32(r.Norm())
			}
			run := func() Terms {
				ws.Encode(p)
				copy(ws.post.Eps, eps)
				copy(ws.Z, ws.Mu)
				f32.MulAdd(ws.Z, ws.post.Std, ws.post.Eps)
				return ws.learn(p, Weights{KL: kl}, 6, false)
			}
			nntest.Check(t, nntest.Model{
				Params: []*nn.Params{p},
				Loss: func() float64 {
					t := run()
					p.ZeroGrad()
					return t.Cells.Mean() + 0.5*t.Bits.Mean() + t.Action.Mean() + 0.4*(1-unknown)*t.Outcome.Mean() + kl*t.KL.Mean()
				},
				Grad: func() { run() },
			})
		})
	}
}

// What discrete goals tell of the last action, they tell by their probabilities,
// so its gradient has no noise and passes a check.
func TestGradientsOfDiscreteOutcomes(t *testing.T) {
	const unknown = 2. / 6
	m, p, rows := filled(t, small("b", "dense", "cells", 4), 6)
	ws := loaded(m, rows)
	run := func() float64 {
		ws.Encode(p)
		clear(ws.dlogits)
		loss := ws.learnOutcome(p, nil, nn.Rows{N: 6, Total: 6})
		m.logits.Backward(p, ws.trunk.DY, ws.dlogits, ws.trunk.Y, ws.logits, 6)
		m.trunk.BackwardSparse(p, ws.trunk, &ws.X)
		return 0.4 * (1 - unknown) * loss.Mean()
	}
	nntest.Check(t, nntest.Model{
		Params: []*nn.Params{p},
		Loss: func() float64 {
			loss := run()
			p.ZeroGrad()
			return loss
		},
		Grad: func() { run() },
	})
}

// In loss B the decoder learns to read z but z does not learn to be read.
func TestReadoutDoesNotReachTheEncoder(t *testing.T) {
	m, p, rows := filled(t, small("b", "dense", "cells", 0), 6)
	grads := func(readout bool) map[string][]float32 {
		ws := loaded(m, rows)
		r := rng.New(3).Rand()
		p.ZeroGrad()
		ws.Encode(p)
		ws.Sample(1, &r)
		ws.learn(p, Weights{KL: 0.1}, 6, readout)
		out := map[string][]float32{}
		for _, q := range p.Parts {
			_, g := p.At(q.Span)
			out[q.Name] = slices.Clone(g)
		}
		return out
	}
	with, without := grads(true), grads(false)
	for name := range with {
		decoder := strings.HasPrefix(name, "dec") || strings.HasPrefix(name, "cells") || strings.HasPrefix(name, "bits")
		switch same := slices.Equal(with[name], without[name]); {
		case decoder && f32.SumSquares(with[name]) == 0:
			t.Errorf("%s: the decoder gets no gradient", name)
		case !decoder && !same:
			t.Errorf("%s: the gradient changes with the readout", name)
		}
	}
}

// All parts that a loss needs are moved by a step.
func TestOneStepMovesEveryPart(t *testing.T) {
	for name, c := range map[string]Config{
		"a": small("a", "dense", "cells", 0), "b": small("b", "dense", "cells", 0),
		"a discrete": small("a", "dense", "cells", 4), "b discrete": small("b", "dense", "cells", 4),
	} {
		m, p, rows := filled(t, c, 64)
		cfg := DefaultLearn()
		cfg.Batch = 64
		l, err := NewLearner(m, p, cfg, 10, rng.New(4))
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(p.W)
		if _, err := l.Step(rows, order(64), nil); err != nil {
			t.Fatal(err)
		}
		for _, q := range p.Parts {
			if slices.Equal(before[q.Off:q.Off+q.Len], p.W[q.Off:q.Off+q.Len]) {
				t.Errorf("loss %s: a step leaves %s as it was", name, q.Name)
			}
		}
	}
}

func order(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// A discrete z is one-hot in every group, and its KL is that of the definition.
func TestDiscreteGoals(t *testing.T) {
	m, p, rows := filled(t, small("a", "dense", "cells", 4), 5)
	ws := loaded(m, rows)
	r := rng.New(3).Rand()
	got := ws.Learn(p, Weights{KL: 0.1, Tau: 0.7}, 5, &r)
	want := 0.
	for i := range 10 {
		ones := 0
		for k := range 4 {
			z, q := ws.Z[i*4+k], float64(ws.Class.P[i*4+k])
			if z == 1 {
				ones++
			} else if z != 0 {
				t.Errorf("z[%d] is %v, want 0 or 1", i*4+k, z)
			}
			want += q * math.Log(4*q)
		}
		if ones != 1 {
			t.Errorf("group %d has %d ones, want 1", i, ones)
		}
	}
	if d := got.KL.Sum - want; math.Abs(d) > 1e-5 {
		t.Errorf("the KL is %v, want %v", got.KL.Sum, want)
	}
	// The gradients of KL and blur against differences, through the logits alone.
	for name, term := range map[string]func() nn.Loss{
		"KL":   func() nn.Loss { return ws.uniform(nn.Rows{N: 5, Total: 5, Scale: 1}) },
		"blur": func() nn.Loss { return ws.blur(1, 5) },
	} {
		ws.Class.Set(ws.logits[:40], nil, 10)
		clear(ws.dlogits)
		term()
		g := slices.Clone(ws.dlogits[:40])
		at := func(i int, d float32) float64 {
			ws.logits[i] += d
			ws.Class.Set(ws.logits[:40], nil, 10)
			ws.logits[i] -= d
			return term().Mean()
		}
		for i := range g {
			if want := (at(i, 0.01) - at(i, -0.01)) / 0.02; math.Abs(float64(g[i])-want) > 1e-4 {
				t.Errorf("the gradient of the %s by logit %d is %v, want %v", name, i, g[i], want)
			}
		}
	}
}

// Whoever is on the board is found even where no cell reaches a half.
func TestFaintAgentsAreFound(t *testing.T) {
	for _, agents := range []string{"cells", "bits"} {
		m, p, rows := filled(t, small("a", "dense", agents, 0), 40)
		ws, got := loaded(m, rows), make([]int32, in.Agents)
		hiddenRows := 0
		ws.Evaluate(p) // an untrained model: every probability is faint
		for i := range 40 {
			_, _, hidden := ws.Exact(i, got)
			if hidden {
				hiddenRows++
			}
			for a, c := range got {
				best := int32(0)
				for k := range m.Cells() {
					if ws.Plane(i, a, k) > ws.Plane(i, a, int(best)) {
						best = int32(k)
					}
				}
				if c != best && int(c) != m.Cells() {
					t.Fatalf("%s: row %d, agent %d is on cell %d, want the likeliest, %d", agents, i, a, c, best)
				}
			}
		}
		if agents == "cells" && hiddenRows != 40 {
			t.Errorf("rounding hides agents in %d rows of 40, want all: no probability reaches a half", hiddenRows)
		}
	}
}

func TestRowsHoldTheState(t *testing.T) {
	m, _, _ := filled(t, small("b", "dense", "cells", 0), 0)
	rows := m.Rows()
	obs := make([]float32, in.Len())
	obs[7*in.Planes], obs[2*in.Planes+2], obs[11*in.Planes+4] = 1, 1, 1
	rows.Add(obs, nil, nn.NoClass)
	if want := []int32{7, 12, 2}; !slices.Equal(rows.Cell, want) {
		t.Errorf("the agents' cells are %v, want %v (12: gone)", rows.Cell, want)
	}
	for i, b := range rows.Bit {
		if want := uint8(0); (i == 11*2+1) != (b == 1) {
			t.Errorf("bit %d is %d, want %d or the one at 23", i, b, want)
		}
	}
}

// The KL weight follows its formula.
func TestWarmUp(t *testing.T) {
	m, p, _ := filled(t, small("a", "dense", "cells", 4), 1)
	l, err := NewLearner(m, p, DefaultLearn(), 100, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{0, 1000, 20000, 100000} {
		if got, want := l.Weights(step).KL, 1e-4*(1-math.Exp(-float64(step)/20000)); math.Abs(got-want) > 1e-15 {
			t.Errorf("a at step %d is %v, want %v", step, got, want)
		}
	}
	for step, want := range map[int]float64{0: 1, 50: 0.75, 100: 0.5, 1000: 0.5} {
		if got := l.Weights(step).Tau; math.Abs(got-want) > 1e-12 {
			t.Errorf("the temperature at step %d is %v, want %v", step, got, want)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	for name, c := range map[string]Config{
		"a": small("a", "conv", "cells", 0), "b": small("b", "dense", "cells", 0), "discrete": small("b", "dense", "bits", 4),
	} {
		m, p, rows := filled(t, c, 8)
		ws, r := m.Work(8), rng.New(1).Rand()
		g := Gate{Layout: in.Input, Prey: []int{3, 4}, Distance: 2}
		obs, _, _ := observation(&r)
		if n := testing.AllocsPerRun(10, func() {
			ws.Reset()
			for i := range 8 {
				ws.Add(rows, i)
			}
			ws.Learn(p, Weights{KL: 1e-4, Blur: 1, Tau: 1}, 8, &r)
			ws.Evaluate(p)
			g.Apply(ws.Z[:m.Width()], obs)
		}); n != 0 {
			t.Errorf("%s: a step allocates %v times, want 0", name, n)
		}
	}
}

func TestConfigFaultsAreAllNamed(t *testing.T) {
	err := Config{Loss: "c", Net: "conv", Frame: "ego", Reads: "all", Dim: 0, Discrete: 1, Agents: "x", Things: 1}.Validate()
	for _, want := range []string{"loss", "reads", "hidden", "dim", "discrete", "frame", "agents", "groups", "moa"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if _, _, err := New(Default(), Input{Input: frame.Input{Rest: 4}, Agents: 1}, rng.New(1)); err == nil {
		t.Error("an input without planes was accepted")
	}
}
