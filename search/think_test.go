package search

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// In the corridor the line is "right" to the end, with what the co-players were
// drawn to do on each of the steps: with one tree, exactly that.
func TestTheLineIsThePathToTheGoal(t *testing.T) {
	const long = 2
	drawn := map[int][]int32{} // by state, when walking right
	g := corridor(long, 1, []int{0, 1, 2})
	inner := g.next
	g.moves = 50
	g.next = func(s int, a int32, o []int32, r *rng.Rand) (int, float32, bool) {
		if a == 1 && s >= 0 && s < 1000 {
			drawn[s] = slices.Clone(o)
		}
		return inner(s, a, o, r)
	}
	for _, resample := range []string{"depth", "child", "node"} {
		c := Default()
		c.Trees, c.Sims, c.Resample = 1, 200, resample
		f, err := New(c, g.actions, g.others, 1, 1)
		must(t, err)
		f.Trace()
		g.at = make([]int, f.Slots())
		f.Search(g, g, g, rng.New(1).Rands("search", 1))
		th := f.Think(0, 10)
		if len(th.Line) != long {
			t.Fatalf("%s: line %+v, want %d steps", resample, th.Line, long)
		}
		for i, m := range th.Line {
			if m.Action != 1 || !slices.Equal(m.Others, drawn[i]) || m.Over != (i == long-1) || m.Visits < 1 {
				t.Errorf("%s, step %d: %+v, want action 1 among %v, over %v", resample, i, m, drawn[i], i == long-1)
			}
		}
		if !slices.Equal(th.Visits, f.Visits) || th.Value != f.Value[0] {
			t.Errorf("%s: visits %v value %v, want %v %v", resample, th.Visits, th.Value, f.Visits, f.Value[0])
		}
		if most := f.Line(0, 2); len(most) != 2 {
			t.Errorf("%s: %d steps, want the 2 asked for", resample, len(most))
		}
	}
}

// Most of 41 trees see its co-player play 0; the line shows that, and every tree
// of the decision is looked at, and none of another.
func TestTheLineIsWhatMostTreesSee(t *testing.T) {
	g := corridor(2, 1, []int{0, 1})
	g.moves = 4
	c := Default()
	c.Trees, c.Sims = 41, 30
	f, err := New(c, 2, 1, 2, 82)
	must(t, err)
	f.Trace()
	g.at = make([]int, f.Slots())
	f.Search(g, biased{g}, biased{g}, rng.New(3).Rands("search", 82))
	seen := map[int32]bool{}
	for i := range f.live {
		seen[f.drawnAt(f.edges[i*f.stride*f.row+1].child)[0]] = true
	}
	if len(seen) < 3 {
		t.Errorf("82 trees drew %v only", seen)
	}
	for env := range 2 {
		line := f.Line(env, 1)
		if len(line) != 1 || line[0].Others[0] != 0 {
			t.Errorf("decision %d: line %+v, want the co-player's usual 0", env, line)
		}
	}
	f.Search(g, biased{g}, biased{g}, rng.New(3).Rands("search", 41))
	if line := f.Line(1, 5); len(line) != 0 {
		t.Errorf("a decision that was not made has the line %+v", line)
	}
}

// biased draws 0 in two cases of three.
type biased struct{ *toy }

func (biased) Draw(dst []int32, qs []Query, rs []rng.Rand) {
	for i := range dst {
		dst[i] = max(0, int32(rs[qs[i].Tree].IntN(9))-5)
	}
}
