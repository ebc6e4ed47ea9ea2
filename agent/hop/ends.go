package hop

import (
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// ends counts which of a game's own goals go with which last actions of trajectories:
// what a code of a state, which tells the last action, leads to.
type ends struct {
	count []float32 // [actions][goals] trajectories that ended with an action and a goal
	spec  game.Spec
	plane []int // [goals] where the board shows what is wanted; -1: nowhere
}

func newEnds(spec game.Spec) *ends {
	e := &ends{count: make([]float32, len(spec.Actions)*len(spec.Goals)), spec: spec}
	for _, goal := range spec.Goals {
		e.plane = append(e.plane, slices.Index(spec.Obs.Planes, goal))
	}
	return e
}

// add counts a trajectory by its last action, the goal that was reached with it and what its
// agent saw then. Whoever reached nothing was after what it was standing at in the end: a
// hunter who waited at the stag in vain wanted the stag.
func (e *ends) add(action int32, goal int, obs []float32) {
	if goal == game.NoGoal {
		goal = e.standingAt(obs)
	}
	if goal != game.NoGoal {
		e.count[int(action)*len(e.plane)+goal]++
	}
}

// standingAt returns the goal whose thing is on the observer's own cell, the first of
// several, or game.NoGoal.
func (e *ends) standingAt(obs []float32) int {
	l := &e.spec.Obs
	for at := 0; at < l.PlanesLen(); at += len(l.Planes) {
		if obs[at] == 0 {
			continue // the first plane is the observer
		}
		for g, k := range e.plane {
			if k >= 0 && obs[at+k] != 0 {
				return g
			}
		}
	}
	return game.NoGoal
}

// goals writes how likely each goal is, given how likely each action is the last one, by
// what trajectories that ended so reached.
func (e *ends) goals(dst, last []float32) {
	k := len(dst)
	clear(dst)
	total := float32(0)
	for a, p := range last {
		counts := e.count[a*k : (a+1)*k]
		sum := float32(0)
		for _, n := range counts {
			sum += n
		}
		if sum == 0 {
			continue // nothing that ended so has been seen
		}
		for g, n := range counts {
			dst[g] += p * n / sum
			total += p * n / sum
		}
	}
	for g := range dst {
		if total > 0 {
			dst[g] /= total
		} else {
			dst[g] = 1 / float32(k)
		}
	}
}

// outcomes says which of the game's goals codes lead to, for one worker.
type outcomes struct {
	codes *codes
	last  []float32 // [actions] how trajectories of a code end
	goal  []float32 // [goals]
}

func (c *codes) outcomes() outcomes {
	return outcomes{c, make([]float32, len(c.sees.spec.Actions)), make([]float32, len(c.sees.spec.Goals))}
}

// draw draws the number of the goal that code z leads to.
func (o outcomes) draw(z []float32, r *rng.Rand) int32 { return game.Sample(o.of(z), r) }

// mean names the goals that some codes lead to, in the mean.
func (o outcomes) mean(codes [][]float32) (list []Word) {
	for _, name := range o.codes.sees.spec.Goals {
		list = append(list, Word{name, 0})
	}
	for _, z := range codes {
		for g, p := range o.of(z) {
			list[g].Share += float64(p) / float64(len(codes))
		}
	}
	return list
}

// of returns how likely each goal is for code z, a view: by its last action, and
// by what trajectories that ended so reached.
func (o outcomes) of(z []float32) []float32 {
	o.codes.vae.Outcomes(o.codes.params, o.last, z, 1)
	o.codes.ends.goals(o.goal, o.last)
	return o.goal
}
