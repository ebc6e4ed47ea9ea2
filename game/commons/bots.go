package commons

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// spares reports whether there is an apple on a cell with enough others within reach, so that
// whoever harvests it spares.
func (st *State) spares(c int16) bool { return st.apple[c] && st.others(c) >= st.g.c.Keep }

// towards marks the moves that bring one nearer to the nearest orchard cells that are wanted, or Stay
// where none is.
func (st *State) towards(here int16, wanted func(c int16) bool, mask *game.Mask) {
	best := grid.Far
	for _, c := range st.g.orchard {
		d := st.g.board.Manhattan(here, c)
		if d > best || !wanted(c) {
			continue
		}
		if d < best {
			best, *mask = d, game.Mask{}
		}
		st.g.board.Steer(here, c, mask)
	}
	mask[grid.Stay] = best == grid.Far
}

// greedyMask harvests where it can, else goes to the nearest apple, else stays.
func (st *State) greedyMask(s game.Seat) game.Mask {
	return st.harvestMask(s, func(c int16) bool { return st.apple[c] })
}

// sparingMask harvests where that leaves enough, else goes to the nearest apple of which the same
// holds, else stays.
func (st *State) sparingMask(s game.Seat) game.Mask { return st.harvestMask(s, st.spares) }

// harvestMask harvests, or goes to, the nearest apple that is wanted.
func (st *State) harvestMask(s game.Seat, wanted func(c int16) bool) (mask game.Mask) {
	if here := st.Pos[s]; wanted(here) {
		mask[Harvest] = true
	} else {
		st.towards(here, wanted, &mask)
	}
	return mask
}
