package staghunt

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// towards writes to mask the moves from cell that lead along a shortest path to
// the nearest prey in [lo, hi), and returns the distance to it, or grid.Far if
// none is left.
func (st *State) towards(cell int16, lo, hi int, mask *game.Mask) int16 {
	return st.board.Towards(cell, st.prey[:], st.left&(1<<hi-1<<lo), mask)
}

// stagMask writes the actions among which "ns" chooses at random: the steps
// along shortest paths to the nearest stag; on it, hunt if legal, else wait.
func (st *State) stagMask(s game.Seat, mask *game.Mask) {
	cell := st.Pos[s]
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
func (st *State) hareMask(s game.Seat, mask *game.Mask) {
	switch st.towards(st.Pos[s], st.g.c.Stags, st.g.c.Stags+st.g.c.Hares, mask) {
	case grid.Far:
		st.Legal(s, mask[:])
	case 0:
		mask[HuntHare] = true
	}
}

func (st *State) ns(s game.Seat) (mask game.Mask) {
	st.stagMask(s, &mask)
	return mask
}

func (st *State) nh(s game.Seat) (mask game.Mask) {
	st.hareMask(s, &mask)
	return mask
}

// nsAfter and nhAfter say what the two are after: a stag while one is left, else a
// hare while one is left, else nothing.
func (st *State) nsAfter(s game.Seat) int {
	if st.left&(1<<st.g.c.Stags-1) != 0 {
		return GoalStag
	}
	return st.nhAfter(s)
}

func (st *State) nhAfter(game.Seat) int {
	if st.left>>st.g.c.Stags != 0 {
		return GoalHare
	}
	return game.NoGoal
}

// switcher is ns if a partner's last episode ended in a stag, else nh.
type switcher struct{ stag bool }

func (*switcher) Name() string { return "switcher" }

func (b *switcher) Act(st game.State, s game.Seat, r *rng.Rand) int32 { return b.now().Act(st, s, r) }

func (b *switcher) Probs(st game.State, s game.Seat, dst []float32) { b.now().Probs(st, s, dst) }

func (b *switcher) now() game.Scripted[*State] {
	if b.stag {
		return game.Scripted[*State]{Rule: (*State).ns}
	}
	return game.Scripted[*State]{Rule: (*State).nh}
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
func (st *State) deadline(s game.Seat) game.Mask {
	if st.turned(s) {
		return st.nh(s)
	}
	return st.ns(s)
}

func (st *State) deadlineAfter(s game.Seat) int {
	if st.turned(s) {
		return st.nhAfter(s)
	}
	return st.nsAfter(s)
}

// turned reports that it is time for a deadline to go for the hare.
func (st *State) turned(s game.Seat) bool {
	var toHare game.Mask
	d := st.towards(st.Pos[s], st.g.c.Stags, st.g.c.Stags+st.g.c.Hares, &toHare)
	end := st.g.c.Horizon
	if st.g.c.EndAfter > 0 && st.first > 0 {
		end = min(end, int(st.first)+st.g.c.EndAfter)
	}
	return d != grid.Far && end-int(st.T) <= int(d)+1
}

var (
	_ game.Policy = (*switcher)(nil)
	_ game.Keeper = (*switcher)(nil)
)
