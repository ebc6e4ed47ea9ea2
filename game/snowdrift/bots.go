package snowdrift

import (
	"hop/game"
	"hop/game/grid"
	"hop/rng"
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

// nd goes to the nearest drift and removes it.
type nd struct{}

func (nd) Name() string { return "nd" }

// mask writes the actions among which nd chooses at random: on a drift, remove;
// elsewhere the moves along shortest paths to the nearest drifts; stay if there
// is no path, which only a position read from text can bring about.
func (nd) mask(state game.State, s game.Seat) (mask [actions]bool) {
	st := state.(*State)
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

func (b nd) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	mask := b.mask(st, s)
	return game.Uniform(mask[:], r)
}

func (b nd) Probs(st game.State, s game.Seat, dst []float32) {
	mask := b.mask(st, s)
	game.Spread(dst, mask[:])
}

// fix is uniform over the moves and stay.
type fix struct{}

func (fix) Name() string { return "fix" }

func (fix) mask(st game.State, s game.Seat) (mask [actions]bool) {
	st.(*State).Legal(s, mask[:]) // not by the interface, so that mask stays on the stack
	mask[Remove] = false
	return mask
}

func (b fix) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	mask := b.mask(st, s)
	return game.Uniform(mask[:], r)
}

func (b fix) Probs(st game.State, s game.Seat, dst []float32) {
	mask := b.mask(st, s)
	game.Spread(dst, mask[:])
}

var (
	_ game.Policy = nd{}
	_ game.Policy = fix{}
)
