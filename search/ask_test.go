package search

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// asker is a toy that notes what it is asked.
type asker struct {
	*toy
	evaluated, drawn []Query
}

func (a *asker) Eval(logits, value []float32, qs []Query) {
	a.evaluated = append(a.evaluated, qs...)
	a.toy.Eval(logits, value, qs)
	for i, q := range qs {
		for k := range a.actions {
			if q.End {
				logits[i*a.actions+k] = float32(k) * 1e6 // must not be read
			}
		}
	}
}

func (a *asker) Draw(dst []int32, qs []Query, rs []rng.Rand) {
	a.drawn = append(a.drawn, qs...)
	a.toy.Draw(dst, qs, rs)
}

// line is a game that never ends, with a co-player that does one of two things.
func line() *asker {
	return &asker{toy: &toy{actions: 3, others: 1, moves: 2, next: func(s int, a int32, o []int32, _ *rng.Rand) (int, float32, bool) {
		return 4*s + int(a) + int(o[0]) + 1, float32(o[0]), false
	}}}
}

func (a *asker) plan(t *testing.T, c Config) *Forest {
	t.Helper()
	f, err := New(c, a.actions, a.others, 1, c.Trees)
	must(t, err)
	a.at = make([]int, f.Slots())
	f.Search(a, a, a, rng.New(1).Rands("search", c.Trees))
	return f
}

// Where nothing is searched below a state, the prior is told so, and what it says
// about actions there does not count. Where equal states are one node, a state may
// be met again nearer to the root.
func TestPriorsKnowWhereTheSearchEnds(t *testing.T) {
	for _, depth := range []int{0, 1, 2} {
		for _, hashed := range []bool{false, true} {
			c := Default()
			c.Trees, c.Sims, c.Depth, c.Hashed = 2, 20, depth, hashed
			a := line()
			f := a.plan(t, c)
			if want := line().search(t, c, 1, c.Trees); !slices.Equal(f.Visits, want.Visits) || !slices.Equal(f.Q, want.Q) {
				t.Errorf("depth %d, hashed %v: visits %v Q %v, want %v %v", depth, hashed, f.Visits, f.Q, want.Visits, want.Q)
			}
			ends := 0
			for _, q := range a.evaluated {
				if want := depth > 0 && !hashed && int(q.Depth) == depth; q.End != want {
					t.Fatalf("depth %d, hashed %v: a state %d steps from the root has End %v, want %v", depth, hashed, q.Depth, q.End, want)
				}
				if q.End {
					ends++
				}
			}
			if depth > 0 && !hashed && ends == 0 {
				t.Errorf("depth %d: no end was evaluated", depth)
			}
		}
	}
}

// With random numbers that depend on the depth only, co-players would do the same
// each time they are asked at a node, so they are asked once.
func TestCommonNumbersAreDrawnOnceANode(t *testing.T) {
	for _, resample := range []string{"depth", "node", "child"} {
		c := Default()
		c.Trees, c.Sims, c.Resample = 2, 50, resample
		a := line()
		f := a.plan(t, c)
		seen := map[int32]int{}
		twice := false
		for _, q := range a.drawn {
			seen[q.Slot]++
			twice = twice || seen[q.Slot] > 1
		}
		if want := resample == "child"; twice != want {
			t.Errorf("%s: co-players were asked twice at a node: %v, want %v (%d questions, %d steps)", resample, twice, want, len(a.drawn),
				f.Count.Steps)
		}
	}
}
