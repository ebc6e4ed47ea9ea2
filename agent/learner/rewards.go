package learner

import (
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

// Rewards says how true rewards become what agents learn from. Its zero value
// with Scale 1 changes nothing.
type Rewards struct {
	Scale     float64   // multiplies everything
	Prosocial float64   // share of the team's mean
	Goal      []float64 // [goals] factor of the rewards of steps in which the goal was reached; nil: 1
	Gamma     float64   // discount of what the team earns after one has left
}

// Weighed reports whether it matters which goal was reached.
func (s Rewards) Weighed() bool {
	return slices.ContainsFunc(s.Goal, func(x float64) bool { return x != s.Goal[0] })
}

// Apply writes agent a's rewards to learn from, dst [T][N].
//
// With a team share, an agent that has left still earns: what the others get
// after its exit is discounted back to its last step, as far as the window shows
// it.
func (s Rewards) Apply(dst []float32, ro *batch.Rollout, a agent.ID) {
	n := ro.Envs
	own, share := float32(s.Scale*(1-s.Prosocial)), float32(s.Scale*s.Prosocial/float64(ro.Agents))
	for t := range ro.Steps {
		for e := range n {
			dst[t*n+e] = own * s.reward(ro, a, t, e)
		}
	}
	if s.Prosocial == 0 {
		return
	}
	for e := range n {
		owed := float32(0) // team reward of this step and of later ones, if nobody is there to take it
		for t := ro.Steps - 1; t >= 0; t-- {
			if ro.Start[ro.Moment(t+1, e)] {
				owed = 0
			}
			team := float32(0)
			for b := range agent.ID(ro.Agents) {
				team += s.reward(ro, b, t, e)
			}
			owed = share*team + float32(s.Gamma)*owed
			if ro.Alive[ro.Slot(a, t, e)] {
				dst[t*n+e] += owed
				owed = 0
			}
		}
	}
}

func (s Rewards) reward(ro *batch.Rollout, a agent.ID, t, e int) float32 {
	i := ro.Step(a, t, e)
	r := ro.Reward[i]
	if g := int(ro.Reached[i]); s.Goal != nil && g != game.NoGoal {
		r *= float32(s.Goal[g])
	}
	return r
}
