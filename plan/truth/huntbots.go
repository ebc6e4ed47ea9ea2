package truth

import (
	"math/bits"

	"hop/game"
	"hop/game/grid"
	"hop/game/staghunt"
	"hop/plan"
	"hop/rng"
)

func (h *hunt) draw(dst []int32, qs []plan.Query, goals, envs []int32, rs []rng.Rand) {
	n := h.n - 1
	for i := range qs {
		q := &qs[i]
		v, s := &h.envs[envs[q.Tree]], &h.slots[q.Slot]
		r := rs[q.Tree]
		for j, bot := range goals[int(q.Tree)*n : (int(q.Tree)+1)*n] {
			u, act := r.Uint64(), game.NoAction
			if s.cell[j+1] != gone {
				act = pick(h.options(v, s, j+1, h.model[bot]), u)
			}
			dst[i*n+j] = act
		}
		rs[q.Tree] = r
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
	c, stags := s.cell[place], s.left&h.stags
	switch kind {
	case huntRandom:
		return h.mask(v, s, place)
	case huntNH:
		return h.hare(v, s, place)
	case huntNS:
	default:
		end := h.c.Horizon
		if h.c.EndAfter > 0 && s.first > 0 {
			end = min(end, int(s.first)+h.c.EndAfter)
		}
		if d, _ := v.to(s.left&^h.stags, c); d < far && end-int(s.t) <= d+1 {
			return h.hare(v, s, place)
		}
		if kind >= huntStag {
			if one := stags & (1 << (kind - huntStag)); one != 0 {
				stags = one
			}
		}
	}
	if stags == 0 {
		return h.hare(v, s, place)
	}
	d, moves := v.to(stags, c)
	switch {
	case d > 0:
		return moves
	case s.crowd(c):
		return 1 << staghunt.HuntStag
	}
	return 1 << grid.Stay
}

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

func (h *hunt) rollout(env int, slot int32, script int, others []int32, discount float32, seed uint64, depth int32, r *rng.Rand) float32 {
	v, s := &h.envs[env], h.slots[slot]
	actions := h.joint[:h.n]
	weight := float32(1)
	for !s.over && s.cell[0] != gone {
		actions[0] = pick(h.options(v, &s, 0, h.script[script]), r.Uint64())
		draw := *r
		if seed != 0 {
			draw = plan.Common(seed, depth)
			depth++
		}
		for j, bot := range others {
			actions[j+1] = game.NoAction
			u := draw.Uint64()
			if s.cell[j+1] != gone {
				actions[j+1] = pick(h.options(v, &s, j+1, h.model[bot]), u)
			}
		}
		if seed == 0 {
			*r = draw
		}
		if x := h.advance(v, &s, actions); s.cell[0] == gone {
			return weight * x
		}
		weight *= discount
	}
	return 0
}
