package hunt

import (
	"math/bits"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

// trace is one future of the co-players as it would be without oneself.
//
// With common random numbers they draw the same whatever oneself does, and
// oneself changes what they can do only by standing on a stag's cell with one of
// them, or by a catch, which ends a rollout. So all leaves of a tree and all
// scripts at a leaf share the futures of its co-players, and a rollout has only
// oneself to move.
type trace struct {
	seed   uint64
	look   uint64     // decision.look: belongs to one position read
	others [8]int32   // their models
	kind   [8]int     // by place
	depth  int32      // of the first moment
	wait   bool       // from the last moment on all who are left wait
	at     []position // moments; last holds the joint action into each, cell[0] anything
}

// moment returns moment k of a future, or its end if that comes before.
func (h *hunt) moment(v *decision, f *trace, k int) *position {
	if k >= len(f.at) {
		return h.later(v, f, k)
	}
	return &f.at[k]
}

func (h *hunt) later(v *decision, f *trace, k int) *position {
	for len(f.at) <= k && !f.at[len(f.at)-1].over {
		h.extend(v, f)
	}
	return &f.at[min(k, len(f.at)-1)]
}

// extend plays one more step of a future. There is room for all moments.
func (h *hunt) extend(v *decision, f *trace) {
	n := len(f.at)
	f.at = f.at[:n+1]
	was, s := &f.at[n-1], &f.at[n]
	own := was.cell[0]
	was.cell[0] = gone
	*s = *was
	s.t++
	if !f.wait {
		r := truth.Stream{Rand: search.Common(f.seed, f.depth+int32(n-1))}
		h.turn(v, f, was, s, &r)
	}
	s.over = int(s.t) >= h.end(s)
	was.cell[0] = own
}

// turn lets the co-players act at a moment, and writes what they do and where they
// are then.
func (h *hunt) turn(v *decision, f *trace, was, s *position, r *truth.Stream) {
	hunts := false
	f.wait = true
	for j := 1; j < h.n; j++ {
		c := was.cell[j]
		if c == gone {
			r.Skip(1)
			s.last[j] = none
			continue
		}
		set := h.options(v, was, j, f.kind[j])
		f.wait = f.wait && set == 1<<grid.Stay && f.kind[j] == ns
		act := r.Pick(set)
		s.last[j] = uint8(act)
		if act < grid.Stay {
			s.cell[j] = uint16(v.board.Next[c][act])
		}
		hunts = hunts || act > grid.Stay
	}
	if !hunts {
		return
	}
	actions := h.joint[:h.n]
	actions[0] = game.NoAction
	for j := 1; j < h.n; j++ {
		actions[j] = int32(int8(s.last[j]))
	}
	h.resolve(v, s, actions)
}

// future returns the future that a rollout meets, and the moment of it at which
// the rollout's position is.
func (h *hunt) future(v *decision, s *position, ro *truth.Roll) (*trace, int) {
	for len(h.traces) <= ro.Future {
		h.traces = append(h.traces, trace{at: make([]position, 0, h.c.Horizon+2)})
	}
	f := &h.traces[ro.Future]
	if k := int(ro.Depth - f.depth); f.seed == ro.Seed && f.look == v.looked && uint(k) < uint(len(f.at)) && f.at[k].alike(s) && h.meets(f,
		ro) {
		return f, k
	}
	f.seed, f.look, f.depth, f.wait = ro.Seed, v.looked, ro.Depth, false
	for j, bot := range ro.Others {
		f.others[j], f.kind[j+1] = bot, h.model[bot]
	}
	f.at = append(f.at[:0], *s)
	return f, 0
}

// meets reports whether a future is one of the co-players that a rollout has.
func (h *hunt) meets(f *trace, ro *truth.Roll) bool {
	for j, bot := range ro.Others {
		if f.others[j] != bot {
			return false
		}
	}
	return true
}

// alike reports whether two positions differ at most in where oneself is.
func (s *position) alike(o *position) bool {
	for i := 1; i < len(s.cell); i++ {
		if s.cell[i] != o.cell[i] {
			return false
		}
	}
	return s.left == o.left && s.t == o.t && s.first == o.first
}

func (h *hunt) Rollout(ro *truth.Roll, r *truth.Stream) float32 {
	v, s := &h.envs[ro.Env], &h.slots[ro.Slot]
	h.weigh(ro.Discount)
	if ro.Seed == 0 {
		return h.play(v, *s, ro, 0, r)
	}
	f, k := h.future(v, s, ro)
	kind, c := h.script[ro.Script], s.cell[0]
	for i := 0; ; i++ {
		now := h.moment(v, f, k+i)
		if now.over {
			return 0
		}
		now.cell[0] = c
		set, stags := uint32(0), uint64(0)
		if kind != random {
			stags = h.aim(v, now, c, kind)
		}
		switch {
		case kind == random:
			set = h.mask(v, now, 0)
		case stags == 0:
			if steps, x := h.catch(v, f, k+i, c); steps > 0 {
				r.Skip(steps)
				return h.weight[i+steps-1] * x
			}
			set = h.hare(v, now, 0)
		default:
			if steps := h.walk(v, f, k+i, c, stags); steps > 0 {
				r.Skip(steps)
				i += steps - 1
				c = uint16(v.prey[bits.TrailingZeros64(stags)])
				continue
			}
			if set = h.stag(v, now, 0, stags); set == 1<<grid.Stay {
				steps := h.wait(v, f, k+i, c, kind)
				r.Skip(steps)
				i += steps - 1
				continue
			}
		}
		act := r.Pick(set)
		if h.meet(v, now, c) {
			s := *now
			x, same := h.together(v, f, k+i, &s, act)
			if s.cell[0] == gone {
				return h.weight[i] * x
			}
			if !same {
				return h.play(v, s, ro, i+1, r)
			}
		} else if act == staghunt.HuntHare {
			return h.weight[i] * h.shared(v, f, k+i, c)
		}
		if act < grid.Stay {
			c = uint16(v.board.Next[c][act])
		}
	}
}

// walk returns how many steps it takes from cell c at moment k to a stag, if
// nothing can happen on the path: it is one stag and still there then, the path does
// not cross another's cell, and there is time for a hare after it. Otherwise 0.
//
// A hare is at most as far from any cell of the path as from its end by way of it,
// so that time at the start is time at every step.
func (h *hunt) walk(v *decision, f *trace, k int, c uint16, stags uint64) int {
	if stags&(stags-1) != 0 {
		return 0
	}
	x := v.distance(stags).to[c]
	d := int(x >> 8)
	if d == 0 || d == far || x&crossing != 0 {
		return 0
	}
	then := h.moment(v, f, k+d)
	if then.left&stags == 0 {
		return 0
	}
	rest := h.end(then) - int(f.at[k].t)
	if rest <= d {
		return 0
	}
	if f.at[k].left&^h.stags != 0 {
		hare, _ := v.to(then.left&^h.stags, uint16(v.prey[bits.TrailingZeros64(stags)]))
		if rest <= d+hare+1 { // also where none is left then
			return 0
		}
	}
	return d
}

// wait returns how many steps one alone at a stag waits from moment k on until
// somebody comes, prey is gone, it must go for a hare, or the end.
func (h *hunt) wait(v *decision, f *trace, k int, c uint16, kind int) int {
	now := f.at[k]
	until := far
	if d, _ := v.to(now.left&^h.stags, c); kind != ns && d < far {
		until = h.end(&now) - d - 1
	}
	for n := 1; ; n++ {
		s := h.moment(v, f, k+n)
		if s.over || s.left != now.left || int(s.t) >= until {
			return n
		}
		if s.cell[0] = gone; s.on(c) != 0 {
			return n
		}
	}
}

// meet reports whether oneself stands on a stag's cell with somebody else.
func (h *hunt) meet(v *decision, s *position, c uint16) bool {
	p := v.preyAt[c]
	return p >= 0 && int(p) < h.c.Stags && s.left>>p&1 != 0 && s.crowd(c)
}

// catch returns after how many steps one who goes to the nearest hare from cell c
// at moment k has it, or the end comes, and what it gets, if that is sure: until
// then nobody takes one of the nearest, and the path does not cross a stag's cell.
// Otherwise no steps. Hares that are not among the nearest now are among them at no
// cell of the path, so it does not matter who takes them.
func (h *hunt) catch(v *decision, f *trace, k int, c uint16) (steps int, pays float32) {
	hares := f.at[k].left &^ h.stags
	if hares == 0 {
		return 0, 0
	}
	w := v.distance(hares)
	x, nearest := w.to[c], w.aim[c]
	d := int(x >> 8)
	if d == far || x&crossing != 0 {
		return 0, 0
	}
	then := h.moment(v, f, k+d+1)
	if nearest&^then.left != 0 {
		return 0, 0
	}
	if steps = int(then.t - f.at[k].t); steps <= d {
		return steps, 0
	}
	return steps, float32(h.c.HarePays)
}

// shared is what a hare caught at moment k on cell c pays.
func (h *hunt) shared(v *decision, f *trace, k int, c uint16) float32 {
	next := h.moment(v, f, k+1)
	now, total := &f.at[k], 1.
	for j := 1; j < h.n; j++ {
		if next.last[j] == staghunt.HuntHare && now.cell[j] == c {
			total++
		}
	}
	return float32(h.c.HarePays / total)
}

// together plays the step from moment k with oneself on a stag's cell among others,
// and reports whether they do what they would have done anyway. Those elsewhere do.
func (h *hunt) together(v *decision, f *trace, k int, s *position, act int32) (reward float32, same bool) {
	next := h.moment(v, f, k+1)
	actions := h.joint[:h.n]
	actions[0] = act
	r := truth.Stream{Rand: search.Common(f.seed, f.depth+int32(k))}
	same = true
	for j := 1; j < h.n; j++ {
		actions[j] = int32(int8(next.last[j]))
		if s.cell[j] != s.cell[0] {
			r.Skip(1)
			continue
		}
		if a := r.Pick(h.options(v, s, j, f.kind[j])); a != actions[j] {
			actions[j], same = a, false
		}
	}
	return h.advance(v, s, actions), same
}

// weigh makes the table of what a reward counts after so many steps.
func (h *hunt) weigh(discount float32) {
	if len(h.weight) > 1 && h.weight[1] == discount {
		return
	}
	h.weight = append(h.weight[:0], 1)
	for range h.c.Horizon {
		h.weight = append(h.weight, h.weight[len(h.weight)-1]*discount)
	}
}
