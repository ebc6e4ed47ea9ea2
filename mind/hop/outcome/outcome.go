// Package outcome counts which of a game's own goals go with which last actions of
// trajectories: what a code of a state, which tells the last action, leads to.
package outcome

import (
	"slices"

	"hop/game"
)

// Ends are what was counted in a game.
type Ends struct {
	Count []float32 // [actions][goals] trajectories that ended with an action and a goal
	spec  game.Spec
	plane []int // [goals] where the board shows what is wanted; -1: nowhere
}

// New returns counts of nothing.
func New(spec game.Spec) *Ends {
	e := &Ends{Count: make([]float32, len(spec.Actions)*len(spec.Goals)), spec: spec}
	for _, goal := range spec.Goals {
		e.plane = append(e.plane, slices.Index(spec.Obs.Planes, goal))
	}
	return e
}

// Add counts a trajectory by its last action, the goal that was reached with it and what its
// agent saw then. Whoever reached nothing was after what it was standing at in the end: a
// hunter who waited at the stag in vain wanted the stag.
func (e *Ends) Add(action int32, goal int, obs []float32) {
	if goal == game.NoGoal {
		goal = e.standingAt(obs)
	}
	if goal != game.NoGoal {
		e.Count[int(action)*len(e.plane)+goal]++
	}
}

// standingAt returns the goal whose thing is on the observer's own cell, the first of
// several, or game.NoGoal.
func (e *Ends) standingAt(obs []float32) int {
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

// Goals writes how likely each goal is, given how likely each action is the last one, by
// what trajectories that ended so reached.
func (e *Ends) Goals(dst, last []float32) {
	k := len(dst)
	clear(dst)
	total := float32(0)
	for a, p := range last {
		ends := e.Count[a*k : (a+1)*k]
		sum := float32(0)
		for _, n := range ends {
			sum += n
		}
		if sum == 0 {
			continue // nothing that ended so has been seen
		}
		for g, n := range ends {
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
