package snowdrift

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// nearest is the rule of "nd": on a drift, remove; elsewhere the moves along
// shortest paths to the nearest drifts; stay if there is no path, which only a
// position read from text can bring about.
func (st *State) nearest(s game.Seat) (mask game.Mask) {
	cell := st.Pos[s]
	if st.here(cell) {
		mask[Remove] = true
		return mask
	}
	if st.board.Towards(cell, st.drift[:], uint64(st.left), &mask) == grid.Far {
		mask[grid.Stay] = true
	}
	return mask
}

// wander is the rule of "fix": the moves and stay.
func (st *State) wander(s game.Seat) (mask game.Mask) {
	st.Legal(s, mask[:])
	mask[Remove] = false
	return mask
}
