// Package windowtest draws windows for tests of learners.
package windowtest

import (
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
)

// Draw draws a window with exits, cuts, dead rows and, in env 0, stand-ins. What belongs to
// rows that nobody may learn from is NaN: if it reached anything, it would show.
func Draw(shape batch.Shape, gamma float64, r *rng.Rand) *learner.Window {
	ro := batch.New(shape)
	for a := range agent.ID(ro.Agents) {
		for n := range ro.Envs {
			life(ro, a, n, r)
		}
	}
	return &learner.Window{Rollout: ro, Rewards: learner.Rewards{Scale: 1, Gamma: gamma}}
}

// life draws what happens to an agent in an env.
func life(ro *batch.Rollout, a agent.ID, n int, r *rng.Rand) {
	nan, alive := float32(math.NaN()), true
	for t := range ro.Steps + 1 {
		slot := ro.Slot(a, t, n)
		ro.Alive[slot], ro.Seat[slot], ro.Value[slot] = alive, int8((int(a)+n)%ro.Agents), nan
		for i := range ro.ObsAt(slot) {
			ro.ObsAt(slot)[i] = nan
			if alive {
				ro.ObsAt(slot)[i] = float32(r.Norm())
			}
		}
		for k := range ro.Actions {
			ro.LegalAt(slot)[k] = k == 1 || r.IntN(3) > 0
		}
		if alive || t > 0 && ro.End[ro.Step(a, t-1, n)] == batch.Cut {
			ro.Value[slot] = float32(r.Norm())
		}
		if t == ro.Steps {
			return
		}
		step := ro.Step(a, t, n)
		ro.Reward[step], ro.Action[step], ro.Reached[step] = nan, game.NoAction, game.NoGoal
		if !alive {
			alive = r.IntN(2) == 0
			continue
		}
		ro.Reward[step], ro.Own[step] = float32(r.Norm()), n > 0
		for ro.Action[step] = int32(r.IntN(ro.Actions)); !ro.LegalAt(slot)[ro.Action[step]]; {
			ro.Action[step] = int32(r.IntN(ro.Actions))
		}
		switch r.IntN(7) {
		case 0:
			ro.End[step], alive = batch.Exited, false
		case 1:
			ro.End[step], alive = batch.Cut, false
		}
		if t == ro.Steps-1 && alive {
			ro.End[step] = batch.Cut
		}
	}
}
