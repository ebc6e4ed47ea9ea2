package search

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// A journal changes no number, and holds every simulation.
func TestAJournalChangesNothing(t *testing.T) {
	for _, hashed := range []bool{false, true} {
		c := Default()
		c.Trees, c.Sims, c.Hashed = 3, 20, hashed
		g := corridor(5, 1, []int{0, 1, 2})
		var found [2]string
		for i := range found {
			f, err := New(c, g.actions, g.others, 2, 64)
			if err != nil {
				t.Fatal(err)
			}
			g.at = make([]int, f.Slots())
			if i == 1 {
				f.Journal = &Journal{}
			}
			f.Search(g, g, g, rng.New(4).Rands("tree", 2*f.Trees))
			found[i] = fmt.Sprint(f.Policy, f.Q, f.Visits, f.Value, f.Prior)
			if i == 0 {
				continue
			}
			sims := 0
			for _, tree := range f.Journal.Grown {
				for _, e := range tree.Log {
					if e.What == Backed {
						sims++
					}
				}
			}
			if sims != 2*3*20 || !slices.Equal(f.Journal.Visits, f.Visits) {
				t.Errorf("hashed %v: %d simulations in the journal, want 120, and the visits", hashed, sims)
			}
		}
		if found[0] != found[1] {
			t.Errorf("hashed %v: with a journal %s, without %s", hashed, found[1], found[0])
		}
	}
}

// Steps of a hashed search have names of their own: what one plays does not cancel
// what another does.
func TestStepsOfAHashedSearchHaveNamesOfTheirOwn(t *testing.T) {
	f := &Forest{Others: 2, buffers: buffers{acts: make([]int32, 2)}}
	seen := map[uint64]string{}
	for from := range int32(4) {
		for action := range int32(8) {
			for a := int32(-1); a < 8; a++ {
				for b := int32(-1); b < 8; b++ {
					f.acts[0], f.acts[1] = a, b
					key, name := f.edgeKey(&Leaf{From: from, Action: action}, 0), fmt.Sprint(from, action, a, b)
					if other, ok := seen[key]; ok {
						t.Fatalf("steps %s and %s have one name", other, name)
					}
					seen[key] = name
				}
			}
		}
	}
}
