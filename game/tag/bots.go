package tag

import (
	"hop/game"
	"hop/game/grid"
	"hop/rng"
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
		dy, dx := cell/w-st.pos[s]/w, cell%w-st.pos[s]%w
		return max(dy, -dy) + max(dx, -dx)
	}
	if st.from[s] != st.pos[s] {
		st.board.Distances(st.dist[s], st.pos[s])
		st.from[s] = st.pos[s]
	}
	return st.dist[s][cell]
}

// nearest returns the moves from a cell to the nearest prey, or the nearest predator.
func (st *State) nearest(cell int16, prey bool) int16 {
	best := grid.Far
	for s := range st.g.seats {
		if st.prey[s] == prey {
			best = min(best, st.moves(cell, s))
		}
	}
	return best
}

// best writes the actions that lead nearest to the other side, or farthest from it.
func (st *State) best(s game.Seat, farthest bool, mask *[actions]bool) {
	var score [actions]int16
	here := st.pos[s]
	top := int16(-grid.Far)
	for k := range mask {
		to := here
		if k < grid.Stay {
			to = st.board.Next[here][k]
		}
		if to == grid.None {
			continue
		}
		if score[k] = st.nearest(to, !st.prey[s]); !farthest {
			score[k] = -score[k]
		}
		mask[k] = true
		top = max(top, score[k])
	}
	for k := range mask {
		mask[k] = mask[k] && score[k] == top
	}
}

// chase plays its role: a predator goes to the nearest prey along a shortest
// path, prey goes where the nearest predator is farthest; ties are random.
type chase struct{}

func (chase) Name() string { return "chase" }

func (chase) mask(st game.State, s game.Seat) (mask [actions]bool) {
	h := st.(*State)
	h.best(s, h.prey[s], &mask)
	return mask
}

func (b chase) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	mask := b.mask(st, s)
	return game.Uniform(mask[:], r)
}

func (b chase) Probs(st game.State, s game.Seat, dst []float32) {
	mask := b.mask(st, s)
	game.Spread(dst, mask[:])
}

// flee goes where the nearest of the other side is farthest, whatever its role.
type flee struct{}

func (flee) Name() string { return "flee" }

func (flee) mask(st game.State, s game.Seat) (mask [actions]bool) {
	st.(*State).best(s, true, &mask)
	return mask
}

func (b flee) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	mask := b.mask(st, s)
	return game.Uniform(mask[:], r)
}

func (b flee) Probs(st game.State, s game.Seat, dst []float32) {
	mask := b.mask(st, s)
	game.Spread(dst, mask[:])
}

var (
	_ game.Policy = chase{}
	_ game.Policy = flee{}
)
