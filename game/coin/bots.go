package coin

import (
	"hop/game"
	"hop/game/grid"
	"hop/rng"
)

// seeker goes to the coin, to any or only to its own, and takes it.
type seeker struct {
	name string
	all  bool
}

func (b seeker) Name() string { return b.name }

// mask writes the actions among which the seeker chooses at random: the moves
// that lead nearer to the coin; on it, take; no coin to seek, stay.
func (b seeker) mask(state game.State, s game.Seat) (mask [maxActions]bool) {
	st := state.(*State)
	here := st.pos[s]
	switch {
	case st.coin == grid.None || !b.all && st.owner != int8(s):
		mask[grid.Stay] = true
	case here == st.coin:
		mask[Take] = true
	default:
		size := int16(st.g.c.Size)
		y, x := here/size, here%size
		cy, cx := st.coin/size, st.coin%size
		mask[grid.Up], mask[grid.Down] = cy < y, cy > y
		mask[grid.Left], mask[grid.Right] = cx < x, cx > x
	}
	return mask
}

func (b seeker) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	mask := b.mask(st, s)
	return game.Uniform(mask[:], r)
}

func (b seeker) Probs(st game.State, s game.Seat, dst []float32) {
	mask := b.mask(st, s)
	game.Spread(dst, mask[:len(dst)])
}

var _ game.Policy = seeker{}
