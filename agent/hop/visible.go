package hop

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
)

// visible is what an agent sees of its co-players, for models of them.
//
// Where every seat sees everything, a co-player is modelled by its own observation: it says
// what the agent's says, from the co-player's place. Where seats see no further than a view
// (game.Spec.View), an agent knows neither what the co-player sees nor, once it is out of
// view, where it is. It is then modelled by what the agent itself sees, told from the
// co-player's place, and one who is out of view is as absent as one who has left. What the
// co-player may do is seen by nobody else: its mask is all ones. Searches suppose the rest
// (supposed.go).
//
// It holds no memory and is for any number of goroutines.
type visible struct {
	spec   game.Spec
	me     agent.ID
	others []agent.ID // the co-players, by their numbers j
}

func newVisible(spec game.Spec, me agent.ID) *visible {
	s := &visible{spec: spec, me: me}
	for a := range agent.ID(spec.Seats) {
		if a != me {
			s.others = append(s.others, a)
		}
	}
	return s
}

// at indexes co-player j of env n in arrays [N][others].
func (s *visible) at(n, j int) int { return n*len(s.others) + j }

// after returns how many seats after the agent a co-player sits.
func (s *visible) after(ro *batch.Rollout, a agent.ID, t, n int) int {
	me, other := ro.Seat[ro.Slot(s.me, t, n)], ro.Seat[ro.Slot(a, t, n)]
	return (int(other) - int(me) + s.spec.Seats) % s.spec.Seats
}

// place returns where a co-player sits in ego-first order, from 0 for the next seat.
func (s *visible) place(ro *batch.Rollout, a agent.ID, t, n int) int { return s.after(ro, a, t, n) - 1 }

// there reports whether co-player a plays at slot t of env n and, with a view, whether the
// agent, who must play too, has it in view.
func (s *visible) there(ro *batch.Rollout, a agent.ID, t, n int) bool {
	if s.spec.View == 0 {
		return ro.Alive[ro.Slot(a, t, n)]
	}
	me := ro.Slot(s.me, t, n)
	return ro.Alive[me] && shows(&s.spec.Obs, ro.ObsAt(me), s.after(ro, a, t, n))
}

// saw reports whether the agent saw what co-player a did in the step before slot t.
func (s *visible) saw(ro *batch.Rollout, a agent.ID, t, n int) bool {
	return s.spec.View == 0 || s.spec.Obs.LastOf(ro.ObsAt(ro.Slot(s.me, t, n)), s.after(ro, a, t, n), len(s.spec.Actions)) >= 0
}

// lastAction returns what co-player j of env n did in the last step, as the
// agent's own observation shows it; in games whose observations have no place for
// it, what was earned tells it.
func (s *visible) lastAction(v *rollout.View, n, j int) int32 {
	if s.spec.Obs.Last == 0 {
		return v.PlayedOf(n, s.others[j])
	}
	return s.spec.Obs.LastOf(v.ObsAt(v.SlotOf(n)), s.after(v.Rollout, s.others[j], v.T, n), len(s.spec.Actions))
}

// reached returns the goal of the game that co-player j of env n, who plays on, was
// just seen to reach, so that its next one is open; game.NoGoal if it was not.
func (s *visible) reached(v *rollout.View, n, j int) int {
	if a := s.others[j]; s.there(v.Rollout, a, v.T, n) && s.saw(v.Rollout, a, v.T, n) {
		return v.ReachedOf(n, a)
	}
	return game.NoGoal
}

// ended returns the goal of the game that co-player j of env n reached in the last step
// of its episode, or left with: those before it were counted when they were reached. Out
// of view that is not known.
func (s *visible) ended(v *rollout.View, n, j int) int {
	a := s.others[j]
	switch {
	case s.spec.View > 0:
		return game.NoGoal
	case v.Alive[v.Slot(a, v.T, n)]:
		return v.ReachedOf(n, a)
	}
	return v.GoalOf(n, a)
}

// obs returns what co-player a is modelled by: its own observation, a view, or what the
// agent sees, told from a's place and written to dst, for which nil makes memory.
func (s *visible) obs(dst []float32, ro *batch.Rollout, a agent.ID, t, n int) []float32 {
	if s.spec.View == 0 {
		return ro.ObsAt(ro.Slot(a, t, n))
	}
	if dst == nil {
		dst = make([]float32, ro.ObsLen)
	}
	turn(&s.spec, dst, ro.ObsAt(ro.Slot(s.me, t, n)), s.after(ro, a, t, n))
	return dst
}

// legal returns what co-player a may do as far as is known: its mask, or all.
func (s *visible) legal(ro *batch.Rollout, a agent.ID, t, n int) []bool {
	if s.spec.View == 0 {
		return ro.LegalAt(ro.Slot(a, t, n))
	}
	return all[:len(s.spec.Actions)]
}

var all = func() (mask [game.MaxActions]bool) {
	for k := range mask {
		mask[k] = true
	}
	return mask
}()

// episodes returns the steps of the others' episodes that began in the window and,
// unless cut ones are wanted too, ended in it.
func (s *visible) episodes(ro *batch.Rollout, cut bool) (list []trajectory) {
	for j, a := range s.others {
		for n := range ro.Envs {
			for t := 0; t < ro.Steps; t++ {
				if !ro.Start[ro.Moment(t, n)] {
					continue
				}
				end := t
				for end < ro.Steps && ro.Alive[ro.Slot(a, end, n)] && ro.End[ro.Step(a, end, n)] == batch.Going {
					end++
				}
				if !cut && (end == ro.Steps || ro.Alive[ro.Slot(a, end+1, n)]) {
					break // the window ends first: at a limit, seen or not, nobody is left
				}
				list = s.runs(list, ro, trajectory{j, a, n, t, min(end, ro.Steps-1) + 1})
			}
		}
	}
	return list
}

// runs appends a trajectory or, with a view, each unbroken run of its steps that the agent saw.
func (s *visible) runs(list []trajectory, ro *batch.Rollout, p trajectory) []trajectory {
	if s.spec.View == 0 {
		return append(list, p)
	}
	for t := p.lo; t < p.hi; t++ {
		from := t
		for t < p.hi && s.there(ro, p.agent, t, p.env) {
			t++
		}
		if t > from {
			list = append(list, trajectory{p.other, p.agent, p.env, from, t})
		}
	}
	return list
}

// trajectory is one co-player's steps lo to hi-1 of an episode.
type trajectory struct {
	other  int // which of the others
	agent  agent.ID
	env    int
	lo, hi int
}

// last returns the index of the trajectory's last step.
func (t trajectory) last(ro *batch.Rollout) int { return ro.Step(t.agent, t.hi-1, t.env) }

// shows reports whether an observation shows the seat that is so many places further on.
func shows(l *game.Layout, obs []float32, place int) bool { return l.CellOf(obs, place) >= 0 }

// turn writes to dst what obs says, from the place so many seats further on: who is there,
// what belongs to whom and what everybody did begin with the one who sits there. Its mask is
// all ones, or zeros if obs does not show it.
func turn(spec *game.Spec, dst, obs []float32, place int) {
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
