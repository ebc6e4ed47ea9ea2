// Package batch holds played steps as flat arrays, and the only arithmetic that
// indexes them.
//
// Arrays are agent-major: everything of one agent lies together, because one
// agent learns from it. A slot is a moment, what is seen before acting; a step
// leads from slot t to t+1, so there is one slot more than steps. Agents leave
// at different times: a row whose Alive is false belongs to no loss, no
// statistic and no buffer, and its action is game.NoAction.
//
// The last slot of an episode keeps its final observation with nobody alive;
// the step from there only starts the next episode.
package batch

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/f32"
)

// End says how a step ended for an agent.
type End uint8

// How a step can end.
const (
	Going  End = iota // the agent acts again at the next slot, or was not alive
	Exited            // left by the rules, the game's horizon among them: nothing follows
	Cut               // the window or an outside limit stopped it: bootstrap from the next slot's Value
)

// Shape is the size of a Rollout.
type Shape struct {
	Agents, Steps, Envs int
	ObsLen, Actions     int
	GoalLen             int  // width of Goal and Others; 0 if no module infers goals
	Continuous          bool // actions are vectors of Actions numbers
}

// Rollout is one window of Steps steps of Envs copies of a game. Make it with
// New; nothing is allocated after.
type Rollout struct {
	Shape
	// Every array has one writer. Package rollout writes these.
	Obs     []float32 // [A][T+1][N][ObsLen] zero if the agent has long left
	Legal   []bool    // [A][T+1][N][Actions]
	Alive   []bool    // [A][T+1][N]
	Seat    []int8    // [A][T+1][N] where the agent sits in this episode
	Reward  []float32 // [A][T][N]
	End     []End     // [A][T][N]
	Reached []int8    // [A][T][N] the goal reached in this step, or game.NoGoal
	Start   []bool    // [T+1][N] the slot is an episode's first
	// The player that acts for the agent at a row writes these there, while it acts
	// or evaluates, and rollout clears rows at which nobody does. Nothing is written
	// after play: what a mind makes of a window is in memory of its own.
	Action  []int32   // [A][T][N] game.NoAction if not alive
	Vector  []float32 // [A][T][N][Actions] the action where actions are vectors; nil elsewhere
	LogProb []float32 // [A][T][N]
	Own     []bool    // [A][T][N] the agent's own policy acted, not a bot or a stand-in
	Value   []float32 // [A][T+1][N] also where End is Cut, at the slot after
	Goal    []float32 // [A][T+1][N][GoalLen] features of the others' goals, as believed, or of what came before; zero when off
	Target  []float32 // [A][T][N][Actions] the search's policy; zero when off

	// Encoded is rows as players encoded them to act by, so that who learns from them need not do so again.
	Encoded []f32.Sparse // [A][workers]
	Row     []int32      // [A][T][N] which of its agent's and worker's rows a step has, from 1 on; 0: none
}

// EncodedOf returns the rows that the worker of env n encoded for agent a.
func (r *Rollout) EncodedOf(a agent.ID, n int) *f32.Sparse {
	workers := len(r.Encoded) / r.Agents
	return &r.Encoded[int(a)*workers+((n+1)*workers-1)/r.Envs]
}

// Forget forgets what is encoded, for so many workers to begin anew, each with its share of the envs in their order.
func (r *Rollout) Forget(workers int) {
	if len(r.Encoded) != r.Agents*workers {
		r.Encoded = make([]f32.Sparse, r.Agents*workers)
	}
	for i := range r.Encoded {
		r.Encoded[i].Reset(r.Encoded[i].Cols)
	}
	clear(r.Row)
}

// Bytes returns what a rollout of this shape takes of the memory.
func (s Shape) Bytes() float64 {
	slots := float64(s.Agents) * float64(s.Steps+1) * float64(s.Envs)
	steps := float64(s.Agents) * float64(s.Steps) * float64(s.Envs)
	return slots*(4*float64(s.ObsLen)+float64(s.Actions)+1+1+4+4*float64(s.GoalLen)) +
		steps*(4+1+1+4+4+1+4+encoded+4*float64(s.Actions+s.numbers())) + float64(s.Steps+1)*float64(s.Envs)
}

// numbers returns the length of a vector that is an action; 0: actions are none.
func (s Shape) numbers() int {
	if s.Continuous {
		return s.Actions
	}
	return 0
}

// encoded is about what an encoded row takes, in bytes.
const encoded = 136

// New returns a zeroed rollout.
func New(s Shape) *Rollout {
	slots, steps := s.Agents*(s.Steps+1)*s.Envs, s.Agents*s.Steps*s.Envs
	return &Rollout{
		Shape: s,
		Obs:   make([]float32, slots*s.ObsLen), Legal: make([]bool, slots*s.Actions),
		Alive: make([]bool, slots), Seat: make([]int8, slots),
		Reward: make([]float32, steps), End: make([]End, steps), Reached: make([]int8, steps),
		Start:  make([]bool, (s.Steps+1)*s.Envs),
		Action: make([]int32, steps), LogProb: make([]float32, steps), Own: make([]bool, steps), Value: make([]float32, slots),
		Goal: make([]float32, slots*s.GoalLen), Target: make([]float32, steps*s.Actions),
		Vector: make([]float32, steps*s.numbers()), Row: make([]int32, steps),
	}
}

// CopyFrom makes r equal to o, which has the same shape.
func (r *Rollout) CopyFrom(o *Rollout) {
	clear(r.Row) // a copy is there to be changed
	copy(r.Obs, o.Obs)
	copy(r.Legal, o.Legal)
	copy(r.Alive, o.Alive)
	copy(r.Seat, o.Seat)
	copy(r.Reward, o.Reward)
	copy(r.End, o.End)
	copy(r.Reached, o.Reached)
	copy(r.Start, o.Start)
	copy(r.Action, o.Action)
	copy(r.Vector, o.Vector)
	copy(r.LogProb, o.LogProb)
	copy(r.Own, o.Own)
	copy(r.Value, o.Value)
	copy(r.Goal, o.Goal)
	copy(r.Target, o.Target)
}

// Slot indexes Alive, Seat and Value, and rows of Obs, Legal and Goal.
func (r *Rollout) Slot(a agent.ID, t, n int) int { return (int(a)*(r.Steps+1)+t)*r.Envs + n }

// Step indexes Reward, End, Reached, Action and LogProb, and rows of Target and Vector.
func (r *Rollout) Step(a agent.ID, t, n int) int { return (int(a)*r.Steps+t)*r.Envs + n }

// Moment indexes Start.
func (r *Rollout) Moment(t, n int) int { return t*r.Envs + n }

// ObsAt returns the observation of a slot, a view.
func (r *Rollout) ObsAt(slot int) []float32 { return r.Obs[slot*r.ObsLen : (slot+1)*r.ObsLen] }

// LegalAt returns the mask of a slot, a view.
func (r *Rollout) LegalAt(slot int) []bool { return r.Legal[slot*r.Actions : (slot+1)*r.Actions] }

// GoalAt returns the goal of a slot, a view.
func (r *Rollout) GoalAt(slot int) []float32 { return r.Goal[slot*r.GoalLen : (slot+1)*r.GoalLen] }

// TargetAt returns the search's policy at a step, a view.
func (r *Rollout) TargetAt(step int) []float32 { return r.Target[step*r.Actions : (step+1)*r.Actions] }

// VectorAt returns the action of a step where actions are vectors, a view; elsewhere it is empty.
func (r *Rollout) VectorAt(step int) []float32 {
	n := r.numbers()
	return r.Vector[step*n : (step+1)*n]
}

// Roll starts the next window: the last slot becomes the first. Value and Goal
// are the player's to write again; they start as zero.
func (r *Rollout) Roll() {
	n := r.Envs
	for a := range agent.ID(r.Agents) {
		from, to := r.Slot(a, r.Steps, 0), r.Slot(a, 0, 0)
		copy(r.Obs[to*r.ObsLen:(to+n)*r.ObsLen], r.Obs[from*r.ObsLen:])
		copy(r.Legal[to*r.Actions:(to+n)*r.Actions], r.Legal[from*r.Actions:])
		clear(r.Goal[to*r.GoalLen : (to+n)*r.GoalLen])
		copy(r.Alive[to:to+n], r.Alive[from:])
		copy(r.Seat[to:to+n], r.Seat[from:])
		clear(r.Value[to : to+n])
	}
	copy(r.Start[:n], r.Start[r.Moment(r.Steps, 0):])
}

// OwnRows appends the steps at which the agent was alive and its own policy
// acted, in order of time, then env, as indices for Step's arrays, and the
// matching slots. Only these are learnt from.
func (r *Rollout) OwnRows(a agent.ID, steps, slots []int32) ([]int32, []int32) {
	for t := range r.Steps {
		at, slot := r.Step(a, t, 0), r.Slot(a, t, 0)
		for n := range r.Envs {
			if r.Alive[slot+n] && r.Own[at+n] {
				steps = append(steps, int32(at+n))
				slots = append(slots, int32(slot+n))
			}
		}
	}
	return steps, slots
}

// SeatAt returns where the agent of a slot sits.
func (r *Rollout) SeatAt(slot int) game.Seat { return game.Seat(r.Seat[slot]) }
