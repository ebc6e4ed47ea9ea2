// Package sight is what an agent sees of its co-players, for models of them.
//
// Where every seat sees everything, a co-player is modelled by its own observation: it says
// what the agent's says, from the co-player's place. Where seats see no further than a view
// (game.Spec.View), an agent knows neither what the co-player sees nor, once it is out of
// view, where it is. It is then modelled by what the agent itself sees, told from the
// co-player's place, and one who is out of view is as absent as one who has left. What the
// co-player may do is seen by nobody else: its mask is all ones.
package sight

import (
	"hop/agent"
	"hop/batch"
	"hop/game"
)

// Sight is an agent's. It holds no memory and is for any number of goroutines.
type Sight struct {
	Spec game.Spec
	Me   agent.ID
}

// place returns how many seats after the agent a co-player sits.
func (s Sight) place(ro *batch.Rollout, a agent.ID, t, n int) int {
	me, other := ro.Seat[ro.Slot(s.Me, t, n)], ro.Seat[ro.Slot(a, t, n)]
	return (int(other) - int(me) + s.Spec.Seats) % s.Spec.Seats
}

// There reports whether co-player a plays at slot t of env n and, with a view, whether the
// agent, who must play too, has it in view.
func (s Sight) There(ro *batch.Rollout, a agent.ID, t, n int) bool {
	if s.Spec.View == 0 {
		return ro.Alive[ro.Slot(a, t, n)]
	}
	me := ro.Slot(s.Me, t, n)
	return ro.Alive[me] && shows(&s.Spec.Obs, ro.ObsAt(me), s.place(ro, a, t, n))
}

// Saw reports whether the agent saw what co-player a did in the step before slot t.
func (s Sight) Saw(ro *batch.Rollout, a agent.ID, t, n int) bool {
	return s.Spec.View == 0 || s.Spec.Obs.LastOf(ro.ObsAt(ro.Slot(s.Me, t, n)), s.place(ro, a, t, n), len(s.Spec.Actions)) >= 0
}

// Obs returns what co-player a is modelled by: its own observation, a view, or what the
// agent sees, told from a's place and written to dst, for which nil makes memory.
func (s Sight) Obs(dst []float32, ro *batch.Rollout, a agent.ID, t, n int) []float32 {
	if s.Spec.View == 0 {
		return ro.ObsAt(ro.Slot(a, t, n))
	}
	if dst == nil {
		dst = make([]float32, ro.ObsLen)
	}
	Turn(&s.Spec, dst, ro.ObsAt(ro.Slot(s.Me, t, n)), s.place(ro, a, t, n))
	return dst
}

// Legal returns what co-player a may do as far as is known: its mask, or all.
func (s Sight) Legal(ro *batch.Rollout, a agent.ID, t, n int) []bool {
	if s.Spec.View == 0 {
		return ro.LegalAt(ro.Slot(a, t, n))
	}
	return all[:len(s.Spec.Actions)]
}

var all = func() (mask [game.MaxActions]bool) {
	for k := range mask {
		mask[k] = true
	}
	return mask
}()

// Runs calls do with the steps lo to hi-1 of co-player a in env n that lie between two
// moments: all of them or, with a view, each unbroken run of those that the agent saw.
func (s Sight) Runs(ro *batch.Rollout, a agent.ID, n, lo, hi int, do func(lo, hi int)) {
	if s.Spec.View == 0 {
		do(lo, hi)
		return
	}
	for t := lo; t < hi; t++ {
		from := t
		for t < hi && s.There(ro, a, t, n) {
			t++
		}
		if t > from {
			do(from, t)
		}
	}
}

// Episodes calls do with env and steps, as Runs does, of co-player a's episodes that began in
// the window and, unless cut ones are wanted too, ended in it.
func (s Sight) Episodes(ro *batch.Rollout, a agent.ID, cut bool, do func(n, lo, hi int)) {
	for n := range ro.Envs {
		for t := 0; t < ro.Steps; t++ {
			if !ro.Start[ro.Moment(t, n)] {
				continue
			}
			end := t
			for end < ro.Steps && ro.Alive[ro.Slot(a, end, n)] && ro.End[ro.Step(a, end, n)] == batch.Going {
				end++
			}
			if !cut && (end == ro.Steps || ro.End[ro.Step(a, end, n)] != batch.Exited) {
				break // the window ends first
			}
			s.Runs(ro, a, n, t, min(end, ro.Steps-1)+1, func(lo, hi int) { do(n, lo, hi) })
		}
	}
}

// shows reports whether an observation shows the seat that is so many places further on.
func shows(l *game.Layout, obs []float32, place int) bool {
	for i := place; i < l.PlanesLen(); i += len(l.Planes) {
		if obs[i] != 0 {
			return true
		}
	}
	return false
}

// Turn writes to dst what obs says, from the place so many seats further on: who is there,
// what belongs to whom and what everybody did begin with the one who sits there. Its mask is
// all ones, or zeros if obs does not show it.
func Turn(spec *game.Spec, dst, obs []float32, place int) {
	l, n := &spec.Obs, spec.Seats
	copy(dst, obs)
	rotate := func(at, width int) { // [n][width], the first one's is place's
		for k := range n {
			copy(dst[at+k*width:at+(k+1)*width], obs[at+(k+place)%n*width:])
		}
	}
	for at := 0; at < l.PlanesLen(); at += len(l.Planes) {
		if rotate(at, 1); l.Owned > 0 {
			rotate(at+n, 1)
		}
	}
	if len(l.Planes) > 0 && l.Features >= n {
		rotate(l.FeaturesAt(), 1)
	}
	if l.Last > 0 {
		rotate(l.LastAt(), l.Legal)
	}
	mask, there := dst[l.LegalAt():l.TimeAt()], float32(0)
	if shows(l, obs, place) {
		there = 1
	}
	for k := range mask {
		mask[k] = there
	}
}
