package coin

import (
	"slices"

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

// grudge is the rule of "grudge". Until a coin of its own was stolen it takes its own coins alone, and goes to
// another's, if none of its own lies, as "any" does, but for the step that takes it: only a theft tells the two apart.
func (st *State) grudge(s game.Seat) game.Mask {
	robbed := st.robbed[s] > 0
	if robbed || slices.Contains(st.lies, int8(s)) {
		return st.seek(s, robbed)
	}
	mask, moves := st.seek(s, true), false
	for a := range st.g.actions {
		takes := a == Take || st.g.actions == Take && st.lies[st.board.After(st.Pos[s], a)] >= 0
		mask[a] = mask[a] && !takes
		moves = moves || mask[a]
	}
	mask[grid.Stay] = mask[grid.Stay] || !moves
	return mask
}
