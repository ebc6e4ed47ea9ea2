package tag

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// forget drops the distances, which belong to the board.
func (st *State) forget() {
	for s := range st.from {
		st.from[s] = grid.None
	}
}

// moves returns the number of moves from a cell to the cell of a seat. With
// blocks on the board it is searched for once for each cell the seat comes to.
func (st *State) moves(cell int16, s int) int16 {
	if len(st.board.Blocks) == 0 {
		w := int16(st.g.c.Size)
		dy, dx := cell/w-st.Pos[s]/w, cell%w-st.Pos[s]%w
		return max(dy, -dy) + max(dx, -dx)
	}
	if st.from[s] != st.Pos[s] {
		st.board.Distances(st.dist[s], st.Pos[s])
		st.from[s] = st.Pos[s]
	}
	return st.dist[s][cell]
}

// nearest returns the moves from a cell to the nearest prey, or the nearest predator.
func (st *State) nearest(cell int16, prey bool) int16 {
	best := grid.Far
	for s := range st.g.seats {
		if st.prey(s) == prey {
			best = min(best, st.moves(cell, s))
		}
	}
	return best
}

// best writes the actions that lead nearest to the other side, or farthest from it.
func (st *State) best(s game.Seat, farthest bool, mask *game.Mask) {
	var score [actions]int16
	here := st.Pos[s]
	top := int16(-grid.Far)
	for k := range score {
		to := here
		if k < grid.Stay {
			to = st.board.Next[here][k]
		}
		if to == grid.None {
			continue
		}
		if score[k] = st.nearest(to, !st.prey(int(s))); !farthest {
			score[k] = -score[k]
		}
		mask[k] = true
		top = max(top, score[k])
	}
	for k := range score {
		mask[k] = mask[k] && score[k] == top
	}
}

// chase plays its role: a predator goes to the nearest prey along a shortest
// path, prey goes where the nearest predator is farthest; ties are random.
func (st *State) chase(s game.Seat) (mask game.Mask) {
	st.best(s, st.prey(int(s)), &mask)
	return mask
}

// flee goes where the nearest of the other side is farthest, whatever its role.
func (st *State) flee(s game.Seat) (mask game.Mask) {
	st.best(s, true, &mask)
	return mask
}
