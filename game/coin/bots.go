package coin

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// seek is the rule of "any", and of "own" for coins of one's own: the moves that
// lead nearer to the nearest coin, or to any that is as near; on it, take; no coin to seek, stay.
func (st *State) seek(s game.Seat, all bool) (mask game.Mask) {
	here, nearest := st.Pos[s], grid.Far
	for c, owner := range st.lies {
		if owner < 0 || !all && owner != int8(s) {
			continue
		}
		d := st.board.Manhattan(here, int16(c))
		if d < nearest {
			nearest, mask = d, game.Mask{}
		}
		if d == nearest {
			st.near(here, int16(c), &mask)
		}
	}
	if nearest == grid.Far {
		mask[grid.Stay] = true
	}
	return mask
}

// near marks the moves from a cell that lead nearer to a coin; there, what takes it.
func (st *State) near(here, coin int16, mask *game.Mask) {
	if here == coin {
		mask[Take] = true
		return
	}
	for move, to := range st.board.Next[here] {
		if to != grid.None && st.board.Manhattan(to, coin) < st.board.Manhattan(here, coin) {
			mask[move] = true
		}
	}
}
