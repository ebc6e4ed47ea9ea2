package learned_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/model/vector"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/learned"
)

// vectors returns a world of vectors of the small hunt, whose model is as it was drawn.
func vectors(t *testing.T) (game.Game, *learned.Vectors) {
	g := hunting(t)
	spec := g.Spec()
	in := vector.Input{Agents: spec.Seats, Actions: len(spec.Actions), Width: spec.Obs.LegalAt(), Masks: true, Timed: true}
	m, p, err := vector.New(vector.Config{Hidden: []int{8}}, in, rng.New(1))
	must(t, err)
	c := search.Default()
	c.Trees, c.Sims = 2, 4
	f, err := search.New(c, len(spec.Actions), spec.Seats-1, 2, 4)
	must(t, err)
	s, b := vector.NewScale(in), vector.NewBatch(in, 1)
	clear(b.Joint)
	b.Next[0] = 1 // something changes
	s.Add(b)
	return g, learned.NewVectors(spec, m, p, s, f)
}

// At the root every place sees what its seat sees, masks and all, whoever plans.
func TestTheRootOfVectorsIsTheState(t *testing.T) {
	g, w := vectors(t)
	spec := g.Spec()
	want, got, legal := make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len()), make([]bool, len(spec.Actions))
	first := 0
	walk(g, 40, 3, func(was, _ game.State, _ []int32, _ []float32) {
		seats := []game.Seat{game.Seat(first % 3), game.Seat((first + 2) % 3), game.Seat((first + 1) % 3)}
		first++
		w.Set(1, was, seats)
		w.Root(2, 1)
		for place, s := range seats {
			was.Observe(s, want)
			w.Observe(got, 2, 1, place)
			was.Legal(s, legal)
			set := uint32(0)
			for k, ok := range legal {
				if ok {
					set |= 1 << k
				}
			}
			if w.Legal(2, 1, place) != set || was.Alive(s) && !slices.Equal(got, want) {
				t.Fatalf("place %d, seat %d sees %v with mask %b\nwant %v, %b", place, s, got, w.Legal(2, 1, place), want, set)
			}
		}
	})
}

// A step is the model's, from every seat's place: the time goes on, and everybody sees what was done. What is played
// from one state alike has one key; another joint action, or another state, has another.
func TestStepsOfVectors(t *testing.T) {
	g, w := vectors(t)
	spec := g.Spec()
	r := rng.New(5).Rand()
	st := g.New()
	st.Reset(&r)
	w.Set(0, st, []game.Seat{1, 0, 2})
	_, root := w.Root(0, 0)
	w.Root(1, 5)
	acts := make([]int32, 3)
	for s := range acts {
		acts[s] = (&game.Random{Actions: len(spec.Actions)}).Act(st, game.Seat(s), &r)
	}
	leaves := []search.Leaf{{Tree: 0, From: 0, To: 1, Action: acts[1]}, {Tree: 1, From: 5, To: 6, Action: acts[1]}}
	w.Expand(leaves, []int32{acts[0], acts[2], acts[0], acts[2]}, nil)
	if leaves[0].Key != leaves[1].Key || leaves[0].Key == root || leaves[0].Reward != leaves[1].Reward {
		t.Errorf("the same step twice: %+v", leaves)
	}
	seen := make([]float32, spec.Obs.Len())
	for place, s := range []int{1, 0, 2} {
		w.Observe(seen, 0, 1, place)
		if at := seen[spec.Obs.TimeAt()]; at != 1/float32(spec.Horizon) {
			t.Errorf("place %d sees the time %v", place, at)
		}
		for i := range 3 {
			if a := spec.Obs.LastOf(seen, i, len(spec.Actions)); a != acts[(s+i)%3] {
				t.Errorf("place %d sees that the place %d further on did %d, want %d", place, i, a, acts[(s+i)%3])
			}
		}
	}
	other := []search.Leaf{{Tree: 0, From: 0, To: 2, Action: acts[1]}}
	w.Expand(other, []int32{(acts[0] + 1) % 5, acts[2]}, nil)
	if other[0].Key == leaves[0].Key {
		t.Error("another joint action leads to a state of the same key")
	}
}
