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
		b := st.g.board
		for move, to := range b.Next[here] {
			mask[move] = to != grid.None && b.Manhattan(to, st.coin) < b.Manhattan(here, st.coin)
		}
	}
	return mask
}
