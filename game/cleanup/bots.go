package cleanup

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// towards marks the moves that lead nearer to the nearest of the cells, of the
// full ones if full is set, and reports whether there is any.
func (st *State) towards(here int16, cells []int16, full bool, mask *game.Mask) bool {
	best := grid.Far
	for _, c := range cells {
		if full && !st.full[c] {
			continue
		}
		d := st.g.board.Manhattan(here, c)
		if d > best {
			continue
		}
		if d < best {
			best, *mask = d, game.Mask{}
		}
		st.g.board.Steer(here, c, mask)
	}
	return best != grid.Far
}

// cleanMask cleans where it can, else goes to the nearest waste, else stays.
func (st *State) cleanMask(s game.Seat) (mask game.Mask) {
	here := st.Pos[s]
	switch {
	case st.canClean(here):
		mask[Clean] = true
	case !st.towards(here, st.g.river, true, &mask):
		mask[grid.Stay] = true
	}
	return mask
}

// harvestMask harvests where it can, else goes to the nearest apple, else to the
// orchard, else stays.
func (st *State) harvestMask(s game.Seat) (mask game.Mask) {
	here := st.Pos[s]
	switch {
	case st.canHarvest(here):
		mask[Harvest] = true
	case st.towards(here, st.g.orchard, true, &mask):
	case st.g.inOrchard(here):
		mask[grid.Stay] = true
	default:
		st.towards(here, st.g.orchard, false, &mask)
	}
	return mask
}

// stint is how often "fair" does the one before it turns to the other.
const stint = 4

// fairMask takes turns with itself. Where no apple is left it cleans, or a team
// of harvesting fair agents would wait for ever.
func (st *State) fairMask(s game.Seat) game.Mask {
	if done := st.cleaned[s] + st.harvested[s]; done/stint%2 == 1 {
		for _, c := range st.g.orchard {
			if st.full[c] {
				return st.harvestMask(s)
			}
		}
	}
	return st.cleanMask(s)
}
