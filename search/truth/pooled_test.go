package truth_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/truth"
)

// Where co-players are counted and not shown, states in which two of them have changed places
// are seen alike and have different keys: what each of them would do is kept by the key.
func TestKeysDifferByWhomObservationsCount(t *testing.T) {
	c := cleanup.Default()
	c.Size, c.Agents, c.Pooled = 5, 4, true
	g := gametest.New(t, cleanup.New, c)
	r := rng.New(1).Rand()
	st, swapped := g.New(), g.New()
	st.Reset(&r)
	swapped.(game.Permuter).Permute(st, []game.Seat{0, 2, 1, 3})
	m, err := truth.Plain(g, truth.For{Envs: 1})
	must(t, err)
	m.Size(1)
	var keys [2]uint64
	var seen [2][]float32
	for i, x := range []game.State{st, swapped} {
		m.Set(0, x, []game.Seat{0, 1, 2, 3})
		_, keys[i] = m.Root(0, 0)
		seen[i] = make([]float32, g.Spec().Obs.Len())
		x.Observe(0, seen[i])
	}
	if !slices.Equal(seen[0], seen[1]) || keys[0] == keys[1] {
		t.Errorf("seen alike: %v; keys %x and %x, want different ones", slices.Equal(seen[0], seen[1]), keys[0], keys[1])
	}
}
