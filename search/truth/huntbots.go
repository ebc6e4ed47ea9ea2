package truth

import (
	"math/bits"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

func (h *hunt) draw(dst []int32, qs []search.Query, goals, envs []int32, rs []rng.Rand) {
	n := h.n - 1
	for i := range qs {
		q := &qs[i]
		r := stream{Rand: rs[q.Tree]}
		h.others(dst[i*n:(i+1)*n], &h.envs[envs[q.Tree]], &h.slots[q.Slot], goals[int(q.Tree)*n:(int(q.Tree)+1)*n], &r)
		r.settle()
		rs[q.Tree] = r.Rand
	}
}

// others draws what the co-players do: one number each, whether it is needed or
// not.
func (h *hunt) others(dst []int32, v *huntEnv, s *huntState, bots []int32, r *stream) {
	for j, bot := range bots {
		if s.cell[j+1] == gone {
			dst[j] = game.NoAction
			r.owed++
			continue
		}
		dst[j] = r.pick(h.options(v, s, j+1, h.model[bot]))
	}
}

// pick turns a random number into one of the set's bits.
func pick(set uint32, u uint64) int32 {
	if set&(set-1) != 0 {
		i, _ := bits.Mul64(u, uint64(bits.OnesCount32(set)))
		for ; i > 0; i-- {
			set &= set - 1
		}
	}
	return int32(bits.TrailingZeros32(set))
}

// options returns a bit for each of the equally likely actions of a policy.
func (h *hunt) options(v *huntEnv, s *huntState, place, kind int) uint32 {
	if kind == huntRandom {
		return h.mask(v, s, place)
	}
	if stags := h.aim(v, s, s.cell[place], kind); stags != 0 {
		return h.stag(v, s, place, stags)
	}
	return h.hare(v, s, place)
}

// aim returns the stags that a policy on cell c is after, none if it wants a hare.
func (h *hunt) aim(v *huntEnv, s *huntState, c uint16, kind int) uint64 {
	stags := s.left & h.stags
	switch kind {
	case huntNH:
		return 0
	case huntNS:
		return stags
	}
	if rest := h.end(s) - int(s.t); rest <= v.reach+1 {
		if d, _ := v.to(s.left&^h.stags, c); d < far && rest <= d+1 {
			return 0
		}
	}
	if kind >= huntStag {
		if one := stags & (1 << (kind - huntStag)); one != 0 {
			return one
		}
	}
	return stags
}

// stag returns the options of who wants one of a set of stags.
func (h *hunt) stag(v *huntEnv, s *huntState, place int, stags uint64) uint32 {
	c := s.cell[place]
	d, moves := v.to(stags, c)
	switch {
	case d > 0:
		return moves
	case s.crowd(c):
		return 1 << staghunt.HuntStag
	}
	return 1 << grid.Stay
}

// hare returns the options of who wants a hare.
func (h *hunt) hare(v *huntEnv, s *huntState, place int) uint32 {
	hares := s.left &^ h.stags
	if hares == 0 {
		return h.mask(v, s, place)
	}
	d, moves := v.to(hares, s.cell[place])
	if d == 0 {
		return 1 << staghunt.HuntHare
	}
	return moves
}

// play plays a position on to the end, from step i of a rollout.
func (h *hunt) play(v *huntEnv, s huntState, ro *roll, i int, r *stream) float32 {
	actions := h.joint[:h.n]
	for ; !s.over && s.cell[0] != gone; i++ {
		actions[0] = r.pick(h.options(v, &s, 0, h.script[ro.script]))
		if ro.seed == 0 {
			h.others(actions[1:], v, &s, ro.others, r)
		} else {
			draw := stream{Rand: search.Common(ro.seed, ro.depth+int32(i))}
			h.others(actions[1:], v, &s, ro.others, &draw)
		}
		if x := h.advance(v, &s, actions); s.cell[0] == gone {
			return h.weight[i] * x
		}
	}
	return 0
}
