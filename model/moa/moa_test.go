package moa

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

const (
	side    = 4
	planes  = 5 // 3 agents, blocks, prey
	actions = 5 // up, down, left, right, stay
	seats   = 3
)

// input is that of a small game on a board, whose observations hold planes,
// mask, time and last joint action.
func input(goals int) Input {
	at := side * side * planes
	return Input{
		Input:   frame.Input{Height: side, Width: side, Planes: planes, Rest: actions + 1 + seats*actions},
		Actions: actions, GoalLen: goals, LegalAt: at, LastAt: at + actions + 1, Seats: seats, Moves: []int32{0, 1, 2, 3},
	}
}

// definition is what the model must compute in that game.
func definition(augment string) reference.Others {
	return reference.Others{
		OthersSettings: reference.OthersSettings{Frame: frame.Board, Augment: augment, Distances: true},
		Spec: game.Spec{
			Seats: seats, Actions: []string{"up", "down", "left", "right", "stay"},
			Obs: game.Layout{
				Height: side, Width: side, Planes: []string{"self", "second", "third", "block", "prey"}, Legal: actions, Time: 1, Last: seats,
			},
		},
	}
}

// look draws an observation of an agent at a cell.
func look(r *rng.Rand, last int) []float32 {
	obs := make([]float32, side*side*planes+actions+1+seats*actions)
	y, x := r.IntN(side), r.IntN(side)
	obs[(y*side+x)*planes] = 1
	for p := 1; p < planes; p++ {
		obs[r.IntN(side*side)*planes+p] = 1
	}
	legal := obs[side*side*planes:]
	for k, ok := range []bool{y > 0, y < side-1, x > 0, x < side-1, true} {
		if ok {
			legal[k] = 1
		}
	}
	legal[actions] = r.Float32()
	tail := legal[actions+1:]
	if last >= 0 {
		tail[last] = 1
		for s := 1; s < seats; s++ {
			tail[s*actions+r.IntN(actions)] = 1
		}
	}
	return obs
}

// chase returns what a hunter of the prey in plane 4 does (goal 0) or one who
// stays (goal 1), among the legal actions.
func chase(obs []float32, goal int) int32 {
	if goal == 1 {
		return 4
	}
	var me, prey int
	for c := range side * side {
		if obs[c*planes] != 0 {
			me = c
		}
		if obs[c*planes+4] != 0 {
			prey = c
		}
	}
	switch {
	case prey/side < me/side:
		return 0
	case prey/side > me/side:
		return 1
	case prey%side < me%side:
		return 2
	case prey%side > me%side:
		return 3
	}
	return 4
}

func newModel(t *testing.T, c Config, goals int) (*Model, *nn.Params) {
	t.Helper()
	m, p, err := New(c, input(goals), rng.New(1))
	must(t, err)
	return m, p
}

func learner(t *testing.T, c Config, cfg Learning, goals int) *Learner {
	t.Helper()
	l, err := NewLearner(c, cfg, input(goals), rng.New(1))
	must(t, err)
	return l
}

// fill adds sequences of chasers with goals 0 and 1 in turn, and returns them.
func fill(rows *Rows, n, steps int, r *rng.Rand) []int32 {
	var seqs []int32
	for i := range n {
		goal, last := make([]float32, rows.m.GoalLen), -1
		if len(goal) > 0 {
			goal[i%2] = 1
		}
		seqs = append(seqs, int32(len(rows.Seqs)))
		rows.Begin()
		for range 1 + r.IntN(steps) {
			obs := look(r, last)
			a := chase(obs, i%2)
			rows.Add(obs, goal, a)
			last = int(a)
		}
	}
	return seqs
}

var nets = map[string]Config{
	"dense":         {Net: "dense", Frame: "egof", Hidden: []int{7, 6}},
	"dense history": {Net: "dense", Frame: "ego", Hidden: []int{7, 6, 5}, History: 4},
	"conv":          {Net: "conv", Frame: "board"},
	"conv history":  {Net: "conv", Frame: "board", History: 4},
}

func TestGradients(t *testing.T) {
	for name, c := range nets {
		t.Run(name, func(t *testing.T) {
			m, p := newModel(t, c, 2)
			const steps, n = 3, 2
			ws := m.Work(steps * n)
			r := rng.New(2).Rand()
			for range steps * n {
				ws.Add(look(&r, 1), []float32{float32(r.Norm()), float32(r.Norm())})
			}
			seq := nn.Seq{T: steps, N: n, Alive: []bool{true, true, true, false, true, false}}
			forward, backward := func() { ws.Forward(p) }, func() { ws.Backward(p) }
			if c.History > 0 {
				forward, backward = func() { ws.ForwardSeq(p, seq) }, func() { ws.BackwardSeq(p, seq) }
			}
			weight := func(i int) float32 { return float32(i%7) - 2.5 }
			loss := func() float64 {
				forward()
				sum := 0.
				for i := range steps * n * actions {
					x := float64(ws.Logits[i])
					sum += float64(weight(i)) * x * (1 + x)
				}
				return sum
			}
			grad := func() {
				forward()
				for i := range steps * n * actions {
					ws.DLogits[i] = weight(i) * (1 + 2*ws.Logits[i])
				}
				backward()
			}
			nntest.Check(t, nntest.Model{
				Params: []*nn.Params{p}, Inputs: []nntest.Input{{Name: "goals", X: ws.Goals, DX: ws.DGoals}}, Loss: loss, Grad: grad,
			})
		})
	}
}

// Predictions are those of the training path, legal, and zero for the absent.
func TestPredictIsMaskedAndZeroForThoseWhoLeft(t *testing.T) {
	for name, c := range nets {
		t.Run(name, func(t *testing.T) {
			m, p := newModel(t, c, 2)
			for i := range p.W {
				p.W[i] *= 3 // away from uniform
			}
			const rows = 7
			r := rng.New(2).Rand()
			var obs, goals []float32
			for i := range rows {
				o := look(&r, 1)
				if i == 3 {
					clear(o[m.LegalAt : m.LegalAt+actions])
				}
				obs = append(obs, o...)
				goals = append(goals, float32(i%2), float32(1-i%2))
			}
			ws := m.Work(4) // fewer than rows: it goes through them in parts
			probs, hidden := make([]float32, rows*actions), make([]float32, rows*m.History)
			for i := range hidden {
				hidden[i] = float32(r.Norm())
			}
			before := slices.Clone(hidden)
			predict := func() { ws.Predict(p, obs, goals, probs) }
			if c.History > 0 {
				predict = func() { ws.predict(p, obs, goals, hidden, probs, false) }
			}
			for i := range probs {
				probs[i] = 9 // left from before
			}
			predict()
			if !slices.Equal(hidden, before) {
				t.Error("predicting changed what is remembered")
			}
			one, legal := m.Work(1), make([]bool, actions)
			cat := nn.NewCategorical(actions, 1)
			for i := range rows {
				row := obs[i*m.Len() : (i+1)*m.Len()]
				got := probs[i*actions : (i+1)*actions]
				if !m.Mask(legal, row) {
					if slices.Max(got) != 0 {
						t.Errorf("row %d of an agent that has left is %v, want zeros", i, got)
					}
					continue
				}
				one.Reset()
				one.Add(row, goals[i*2:i*2+2])
				if c.History > 0 {
					h := slices.Clone(hidden[i*m.History : (i+1)*m.History])
					one.Step(p, h)
				} else {
					one.Forward(p)
				}
				cat.Set(one.Logits, legal, 1)
				sum := float32(0)
				for k, v := range got {
					sum += v
					if !legal[k] && v != 0 || math.Abs(float64(v-cat.P[k])) > 1e-6 {
						t.Errorf("row %d gives %v, want %v with mask %v", i, got, cat.P[:actions], legal)
						break
					}
				}
				if math.Abs(float64(sum)-1) > 1e-5 {
					t.Errorf("row %d sums to %v", i, sum)
				}
			}
			every := make([]float32, rows*2*actions)
			ws.PredictGoals(p, obs, hidden, every)
			for i := range rows {
				at := (i*2 + 1 - i%2) * actions // the one-hot goal that row had
				if !slices.Equal(every[at:at+actions], probs[i*actions:(i+1)*actions]) {
					t.Errorf("row %d: PredictGoals gives %v, Predict %v", i, every[at:at+actions], probs[i*actions:(i+1)*actions])
				}
			}
			if n := testing.AllocsPerRun(10, func() {
				predict()
				ws.PredictGoals(p, obs, hidden, every)
			}); n != 0 {
				t.Errorf("predicting allocates %v times, want 0", n)
			}
		})
	}
}

// Step by step in play gives what whole sequences give in training.
func TestRememberingFollowsTheSequence(t *testing.T) {
	m, p := newModel(t, nets["dense history"], 0)
	const steps, n = 5, 2
	r := rng.New(2).Rand()
	seq := m.Work(steps * n)
	var obs [][]float32
	for range steps {
		var o []float32
		for range n {
			row := look(&r, 2)
			seq.Add(row, nil)
			o = append(o, row...)
		}
		obs = append(obs, o)
	}
	seq.ForwardSeq(p, nn.Seq{T: steps, N: n})
	ws := m.Work(n)
	hidden, probs := make([]float32, n*m.History), make([]float32, n*actions)
	cat, legal := nn.NewCategorical(actions, n), make([]bool, n*actions)
	for s := range steps {
		ws.predict(p, obs[s], nil, hidden, probs, false)
		ws.Remember(p, obs[s], hidden)
		for i := range n {
			m.Mask(legal[i*actions:(i+1)*actions], obs[s][i*m.Len():])
		}
		cat.Set(seq.Logits[s*n*actions:], legal, n)
		for i, v := range probs {
			if math.Abs(float64(v-cat.P[i])) > 1e-6 {
				t.Fatalf("step %d: %v, the sequence gives %v", s, probs, cat.P[:n*actions])
			}
		}
	}
	gone := make([]float32, m.Len())
	h := slices.Clone(hidden[:m.History])
	ws.Remember(p, gone, h)
	if !slices.Equal(h, hidden[:m.History]) {
		t.Error("an agent that has left was remembered further")
	}
}

func TestTurnedRowsAreThoseOfATurnedBoard(t *testing.T) {
	sorted := func(s *f32.Sparse) []int32 {
		x := slices.Clone(s.Idx)
		slices.Sort(x)
		return x
	}
	for _, kind := range []string{"board", "ego", "egof", "egof distances"} {
		t.Run(kind, func(t *testing.T) {
			kind, distances := strings.CutSuffix(kind, " distances")
			m, _ := newModel(t, Config{Net: "dense", Frame: kind, Hidden: []int{4, 4}, Distances: distances}, 0)
			ts, err := m.newTurns("all")
			must(t, err)
			if len(ts.cols) != 16 {
				t.Fatalf("%d turns, want 8 of the board times 2 orders of the others", len(ts.cols))
			}
			r := rng.New(3).Rand()
			for i, cols := range ts.cols {
				obs := look(&r, 1)
				want, acts := []float32(nil), make([]int32, actions)
				for a := range acts {
					s := definition("all").Turned(reference.Step{Obs: obs, Legal: make([]bool, actions), Action: int32(a)})[i]
					want, acts[a] = s.Obs, s.Action
				}
				var a, b f32.Sparse
				a.Reset(m.Cols())
				b.Reset(m.Cols())
				m.Encoder().Add(&a, obs, m.newDistances().of(obs))
				m.Encoder().Add(&b, want, m.newDistances().of(want))
				for j, c := range a.Idx {
					a.Idx[j] = cols[c]
				}
				if got, want := sorted(&a), sorted(&b); !slices.Equal(got, want) {
					t.Fatalf("turn %d: columns %v, the turned board gives %v", i, got, want)
				}
				if !slices.Equal(ts.acts[i], acts) {
					t.Errorf("turn %d: actions %v, want %v", i, ts.acts[i], acts)
				}
			}
		})
	}
}

func TestTurningNeedsABoard(t *testing.T) {
	in := input(0)
	in.Moves = nil
	cfg := DefaultLearning()
	cfg.Augment = "turn"
	_, err := NewLearner(nets["dense"], cfg, in, rng.New(1))
	if err == nil || !strings.Contains(err.Error(), "augment to none") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
}
