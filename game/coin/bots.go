package coin

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// seek is the rule of "any", and of "own" for coins of one's own: the moves that
// lead nearer to the coin; on it, take; no coin to seek, stay.
func (st *State) seek(s game.Seat, all bool) (mask game.Mask) {
	here := st.Pos[s]
	switch {
	case st.coin == grid.None || !all && st.owner != int8(s):
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
