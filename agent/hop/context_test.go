package hop

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// held is what a player held about each co-player of each env at each slot.
type held struct {
	*player
	context map[[3]int][]float32
	belief  map[[3]int][]float64
}

func (h *held) Act(v *rollout.View, envs []int32) {
	h.player.Act(v, envs)
	for _, n := range envs {
		for j := range h.sees.others {
			at := [3]int{v.T, int(n), j}
			h.context[at] = slices.Clone(h.Believes(int(n), j).Mean)
			h.belief[at] = slices.Clone(h.beliefs.At(int(n), j))
		}
	}
}

// reading returns what a mind that reads contexts held in the last of some windows among bots,
// and that window.
func reading(t *testing.T, windows int, set func(c *Config)) (*Mind, *held, *batch.Rollout) {
	t.Helper()
	g := hunt(t, 12)
	m, p := among(t, g, amid, 4, func(c *Config) {
		c.Goals.Kind = "context"
		if set != nil {
			set(c)
		}
	})
	h := &held{p, map[[3]int][]float32{}, map[[3]int][]float64{}}
	e, err := rollout.New(rollout.Config{Game: g, Envs: 4, Workers: 1, Key: rng.New(4)})
	if err != nil {
		t.Fatal(err)
	}
	ro := batch.New(e.Shape(40, m.goalLen))
	for range windows {
		clear(h.context)
		clear(h.belief)
		if err := e.Collect(ro, [][]rollout.Player{{bot(t, g, "ns", 4), h, bot(t, g, "nh", 4), bot(t, g, "random", 4)}}); err != nil {
			t.Fatal(err)
		}
	}
	return m, h, ro
}

// Labels of contexts are what was read in play up to each step, of every co-player that the
// agent was there to see in an episode that began in the window, and of nobody else. Their
// types are drawn from what was believed at the last step.
func TestContextsAreLabelledAsTheyWereRead(t *testing.T) {
	m, h, ro := reading(t, 3, nil)
	began := make([]int, ro.Envs)
	want := 0
	for s := range ro.Steps {
		for n := range ro.Envs {
			if ro.Start[ro.Moment(s, n)] {
				began[n] = 1
			}
			for _, a := range m.sees.others {
				if ro.Alive[ro.Slot(a, s, n)] && ro.Alive[ro.Slot(m.sees.me, s, n)] {
					want += began[n]
				}
			}
		}
	}
	const draws = 300
	count, sum := make([]float64, m.shape.hypotheses), make([]float64, m.shape.hypotheses)
	for range draws {
		l := labelled(m, &learner.Window{Rollout: ro})
		if l.steps != want || want < 100 {
			t.Fatalf("%d steps are labelled, want %d, and many", l.steps, want)
		}
		row, width := 0, m.shape.features
		for _, p := range l.list {
			which := m.shape.doubt
			for s := p.lo; s < p.hi; s++ {
				got := l.goals[row*width : (row+1)*width]
				for k, x := range h.context[[3]int{s, p.env, p.other}] {
					if math.Abs(float64(got[k]-x)) > 1e-4 {
						t.Fatalf("step %d of env %d, co-player %d: the label is %v, what was read is %v", s, p.env, p.other, got,
							h.context[[3]int{s, p.env, p.other}])
					}
				}
				if g := slices.Index(got[4:], 1); s > p.lo && g != which && !(g < 0 && which == m.shape.doubt) {
					t.Fatalf("a trajectory is of the types %d and %d", which, g)
				} else if g >= 0 {
					which = g
				}
				row++
			}
			count[which]++
			for g, b := range h.belief[[3]int{p.hi - 1, p.env, p.other}] {
				sum[g] += b
			}
		}
	}
	total := 0.
	for _, c := range count {
		total += c
	}
	for g := range count {
		if math.Abs(count[g]-sum[g]) > 5*math.Sqrt(total) {
			t.Errorf("type %d was drawn %v times of %v, by the beliefs it is %.0f", g, count[g], total, sum[g])
		}
	}
}

// Somebody new is believed to act at random as likely as is set, and the other types keep
// their odds; what is read moves beliefs within an episode and across, unless either is off.
func TestContextsAreBeliefs(t *testing.T) {
	m, h, _ := reading(t, 1, func(c *Config) { c.Goals.DoubtStart = 0.125 })
	_, plain, _ := reading(t, 1, nil)
	first, was := h.belief[[3]int{0, 0, 0}], plain.belief[[3]int{0, 0, 0}]
	if math.Abs(first[m.shape.doubt]-0.125) > 1e-6 || math.Abs(first[0]/first[1]-was[0]/was[1]) > 1e-6 {
		t.Errorf("somebody new is believed to be %v, want 0.125 for the last one; as the lifetimes have it, it is %v", first, was)
	}
	for _, c := range []struct{ within, across bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		_, h, ro := reading(t, 1, func(s *Config) { s.Belief.Within, s.Belief.Across = c.within, c.across })
		within, across := false, false // whether beliefs move
		for at, b := range h.belief {
			start := ro.Start[ro.Moment(at[0], at[1])]
			if start && at[0] > 0 && !slices.Equal(b, h.belief[[3]int{0, at[1], at[2]}]) {
				across = true
			}
			if before, ok := h.belief[[3]int{at[0] - 1, at[1], at[2]}]; ok && !start && !slices.Equal(b, before) {
				within = true
			}
		}
		if within != c.within || across != c.across {
			t.Errorf("within %v and across %v: beliefs move within an episode: %v, across: %v", c.within, c.across, within, across)
		}
	}
}

// What is drawn for a tree is the context at its root and one type, by which the model of
// others predicts: its action head, which a sequence model learnt with.
func TestContextsArePredictedFrom(t *testing.T) {
	m, h, ro := reading(t, 1, nil)
	seq, types := m.models.Sequence, m.shape.doubt
	ws, k := seq.Act.Work(1), len(m.sees.spec.Actions)
	want, rows := make([]float32, k), 0
	for n := range ro.Envs {
		s := ro.Steps - 1
		for j, a := range m.sees.others {
			if !ro.Alive[ro.Slot(a, s, n)] || !ro.Alive[ro.Slot(m.sees.me, s, n)] {
				continue
			}
			for g := range types {
				given := append(slices.Clone(h.context[[3]int{s, n, j}]), make([]float32, types)...)
				given[4+g] = 1
				ws.Predict(m.models.Lifetimes, ro.ObsAt(ro.Slot(a, s, n)), given, want)
				got := m.predictions.of(m.sees.at(n, j))[g*k:][:k]
				for i := range want {
					if math.Abs(float64(got[i]-want[i])) > 1e-5 {
						t.Fatalf("co-player %d of env %d as type %d is expected to do %v, the sequence model says %v", j, n, g, got, want)
					}
				}
				rows++
			}
		}
	}
	if rows == 0 {
		t.Error("nobody was there")
	}
}
