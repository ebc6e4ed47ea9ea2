package hunt

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

func (h *hunt) Draw(dst []int32, qs []search.Query, goals, envs []int32, rs []rng.Rand) {
	n := h.n - 1
	for i := range qs {
		q := &qs[i]
		r := truth.Stream{Rand: rs[q.Tree]}
		h.others(dst[i*n:(i+1)*n], &h.envs[envs[q.Tree]], &h.slots[q.Slot], goals[int(q.Tree)*n:(int(q.Tree)+1)*n], &r)
		r.Settle()
		rs[q.Tree] = r.Rand
	}
}

// others draws what the co-players do: one number each, whether it is needed or
// not.
func (h *hunt) others(dst []int32, v *decision, s *position, bots []int32, r *truth.Stream) {
	for j, bot := range bots {
		if s.cell[j+1] == gone {
			dst[j] = game.NoAction
			r.Skip(1)
			continue
		}
		dst[j] = r.Pick(h.options(v, s, j+1, h.model[bot]))
	}
}

// options returns a bit for each of the equally likely actions of a policy.
func (h *hunt) options(v *decision, s *position, place, kind int) uint32 {
	if kind == random {
		return h.mask(v, s, place)
	}
	if stags := h.aim(v, s, s.cell[place], kind); stags != 0 {
		return h.stag(v, s, place, stags)
	}
	return h.hare(v, s, place)
}

// aim returns the stags that a policy on cell c is after, none if it wants a hare.
func (h *hunt) aim(v *decision, s *position, c uint16, kind int) uint64 {
	stags := s.left & h.stags
	switch kind {
	case nh:
		return 0
	case ns:
		return stags
	}
	if rest := h.end(s) - int(s.t); rest <= v.reach+1 {
		if d, _ := v.to(s.left&^h.stags, c); d < far && rest <= d+1 {
			return 0
		}
	}
	if kind >= oneStag {
		if one := stags & (1 << (kind - oneStag)); one != 0 {
			return one
		}
	}
	return stags
}

// stag returns the options of who wants one of a set of stags.
func (h *hunt) stag(v *decision, s *position, place int, stags uint64) uint32 {
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
func (h *hunt) hare(v *decision, s *position, place int) uint32 {
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
func (h *hunt) play(v *decision, s position, ro *truth.Roll, i int, r *truth.Stream) float32 {
	actions := h.joint[:h.n]
	for ; !s.over && s.cell[0] != gone; i++ {
		actions[0] = r.Pick(h.options(v, &s, 0, h.script[ro.Script]))
		if ro.Seed == 0 {
			h.others(actions[1:], v, &s, ro.Others, r)
		} else {
			draw := truth.Stream{Rand: search.Common(ro.Seed, ro.Depth+int32(i))}
			h.others(actions[1:], v, &s, ro.Others, &draw)
		}
		if x := h.advance(v, &s, actions); s.cell[0] == gone {
			return h.weight[i] * x
		}
	}
	return 0
}
