package hunt

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/truth"
)

// Reading a position allocates nothing, not even the first time that several
// stand on one cell: four on four cells nearly always do.
func TestReadingAPositionAllocatesNothing(t *testing.T) {
	g := hunting(t, func(c *staghunt.Config) { c.Size, c.Hares = 2, 1 })
	st, r := g.New(), rng.New(1).Rand()
	st.Reset(&r)
	seats := []game.Seat{0, 1, 2, 3}
	count := func(read bool) float64 {
		return testing.AllocsPerRun(20, func() {
			h, err := newHunt(g, truth.For{Models: []string{"ns"}, Envs: 1})
			must(t, err)
			if read {
				h.Set(0, st, seats)
			}
		})
	}
	if with, without := count(true), count(false); with != without {
		t.Errorf("a world allocates %v times, and %v with its first position", without, with)
	}
}
