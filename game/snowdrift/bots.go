package snowdrift

import (
	"hop/game"
	"hop/game/grid"
)

// distances returns [drifts][cells], the moves from each cell to each drift's
// cell, computed once an episode.
func (st *State) distances() [][]int16 {
	if !st.mapped {
		for d := range st.dist {
			st.board.Distances(st.dist[d], st.drift[d])
		}
		st.mapped = true
	}
	return st.dist
}

// nearest is the rule of "nd": on a drift, remove; elsewhere the moves along
// shortest paths to the nearest drifts; stay if there is no path, which only a
// position read from text can bring about.
func (st *State) nearest(s game.Seat) (mask game.Mask) {
	cell := st.pos[s]
	if st.here(cell) {
		mask[Remove] = true
		return mask
	}
	dist := st.distances()
	best := grid.Far
	for d := range dist {
		if st.left>>d&1 != 0 {
			best = min(best, dist[d][cell])
		}
	}
	if best == grid.Far {
		mask[grid.Stay] = true
		return mask
	}
	for k, to := range st.board.Next[cell] {
		if to == grid.None {
			continue
		}
		for d := range dist {
			if st.left>>d&1 != 0 && dist[d][to] == best-1 {
				mask[k] = true
				break
			}
		}
	}
	return mask
}

// wander is the rule of "fix": the moves and stay.
func (st *State) wander(s game.Seat) (mask game.Mask) {
	st.Legal(s, mask[:])
	mask[Remove] = false
	return mask
}
