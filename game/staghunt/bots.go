package staghunt

import (
	"fmt"

	"hop/game"
	"hop/game/grid"
	"hop/rng"
)

// distances returns [prey][cells], the moves from each cell to each prey's cell,
// computed once an episode.
func (st *State) distances() [][]int16 {
	if !st.mapped {
		for p := range st.dist {
			st.board.Distances(st.dist[p], st.prey[p])
		}
		st.mapped = true
	}
	return st.dist
}

// towards writes to mask the moves from cell that lead along a shortest path to
// the nearest prey in [lo, hi), and returns the distance to it, or grid.Far if
// none is left.
func (st *State) towards(cell int16, lo, hi int, mask *[actions]bool) int16 {
	dist := st.distances()
	best := grid.Far
	for p := lo; p < hi; p++ {
		if st.left>>p&1 != 0 {
			best = min(best, dist[p][cell])
		}
	}
	if best == 0 || best == grid.Far {
		return best
	}
	for k, to := range st.board.Next[cell] {
		if to == grid.None {
			continue
		}
		for p := lo; p < hi; p++ {
			if st.left>>p&1 != 0 && dist[p][to] == best-1 {
				mask[k] = true
				break
			}
		}
	}
	return best
}

// stagMask writes the actions among which "ns" chooses at random: the steps
// along shortest paths to the nearest stag; on it, hunt if legal, else wait.
func (st *State) stagMask(s game.Seat, mask *[actions]bool) {
	cell := st.pos[s]
	switch st.towards(cell, 0, st.g.c.Stags, mask) {
	case grid.Far:
		st.hareMask(s, mask)
	case 0:
		if st.crowd(cell) >= 2 {
			mask[HuntStag] = true
		} else {
			mask[grid.Stay] = true
		}
	}
}

// hareMask is the same for "nh": shortest paths to the nearest hare; on it,
// hunt; no hare left, anything legal.
func (st *State) hareMask(s game.Seat, mask *[actions]bool) {
	switch st.towards(st.pos[s], st.g.c.Stags, st.g.c.Stags+st.g.c.Hares, mask) {
	case grid.Far:
		st.Legal(s, mask[:])
	case 0:
		mask[HuntHare] = true
	}
}

func nsMask(st game.State, s game.Seat) (mask [actions]bool) {
	st.(*State).stagMask(s, &mask)
	return mask
}

func nhMask(st game.State, s game.Seat) (mask [actions]bool) {
	st.(*State).hareMask(s, &mask)
	return mask
}

// ns goes to the nearest stag.
type ns struct{}

func (ns) Name() string { return "ns" }

func (ns) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	mask := nsMask(st, s)
	return game.Uniform(mask[:], r)
}

func (ns) Probs(st game.State, s game.Seat, dst []float32) {
	mask := nsMask(st, s)
	game.Spread(dst, mask[:])
}

// nh goes to the nearest hare.
type nh struct{}

func (nh) Name() string { return "nh" }

func (nh) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	mask := nhMask(st, s)
	return game.Uniform(mask[:], r)
}

func (nh) Probs(st game.State, s game.Seat, dst []float32) {
	mask := nhMask(st, s)
	game.Spread(dst, mask[:])
}

// switcher is ns if a partner's last episode ended in a stag, else nh.
type switcher struct{ stag bool }

func (*switcher) Name() string { return "switcher" }

func (b *switcher) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	if b.stag {
		return ns{}.Act(st, s, r)
	}
	return nh{}.Act(st, s, r)
}

func (b *switcher) Probs(st game.State, s game.Seat, dst []float32) {
	if b.stag {
		ns{}.Probs(st, s, dst)
		return
	}
	nh{}.Probs(st, s, dst)
}

func (b *switcher) Watch(st game.State, s game.Seat) {
	h := st.(*State)
	b.stag = false
	for o := range h.g.c.Agents {
		if game.Seat(o) != s && h.caught[o] == GoalStag {
			b.stag = true
		}
	}
}

// AppendBinary appends what the bot remembers.
func (b *switcher) AppendBinary(dst []byte) ([]byte, error) {
	if b.stag {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

// UnmarshalBinary remembers what AppendBinary wrote.
func (b *switcher) UnmarshalBinary(src []byte) error {
	if len(src) != 1 || src[0] > 1 {
		return fmt.Errorf("staghunt: loading a switcher: %x, want 00 or 01", src)
	}
	b.stag = src[0] == 1
	return nil
}

// deadline is ns until the last step from which a hare is still in reach. It
// needs d moves and one hunt, so it turns when only d+1 steps are left.
type deadline struct{}

func (deadline) Name() string { return "deadline" }

func (deadline) mask(st game.State, s game.Seat) [actions]bool {
	h := st.(*State)
	var toHare [actions]bool
	d := h.towards(h.pos[s], h.g.c.Stags, h.g.c.Stags+h.g.c.Hares, &toHare)
	end := h.g.c.Horizon
	if h.g.c.EndAfter > 0 && h.first > 0 {
		end = min(end, int(h.first)+h.g.c.EndAfter)
	}
	if d != grid.Far && end-int(h.t) <= int(d)+1 {
		return nhMask(st, s)
	}
	return nsMask(st, s)
}

func (b deadline) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	mask := b.mask(st, s)
	return game.Uniform(mask[:], r)
}

func (b deadline) Probs(st game.State, s game.Seat, dst []float32) {
	mask := b.mask(st, s)
	game.Spread(dst, mask[:])
}

var (
	_ game.Policy = ns{}
	_ game.Policy = nh{}
	_ game.Policy = deadline{}
	_ game.Policy = (*switcher)(nil)
	_ game.Keeper = (*switcher)(nil)
)
