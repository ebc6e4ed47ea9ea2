package check

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
)

// Rewards to learn from are what defines them whoever leaves when, also where those of a team cancel and where one is no number; where
// they are others that is the buffers' fault.
func TestEarnings(t *testing.T) {
	r := rng.New(1).Child("earnings").Rand()
	w := &learner.Window{Rollout: batch.New(batch.Shape{Agents: 3, Steps: 12, Envs: 5, Actions: 2})}
	for n := range w.Envs {
		for s := 0; s <= w.Steps; s++ {
			w.Start[w.Moment(s, n)] = s%4 == 0
			for a := range agent.ID(w.Agents) {
				w.Alive[w.Slot(a, s, n)] = s%4 <= int(a)+n%2 && s%4 < 3
				if s < w.Steps {
					w.Reward[w.Step(a, s, n)] = 8*r.Float32() - 4
					w.Reached[w.Step(a, s, n)] = int8(r.IntN(3)) - 1
				}
			}
		}
	}
	agents := []agent.ID{0, 1, 2}
	var e Earnings
	for _, share := range []float64{0, 0.3, 1} {
		w.Rewards = learner.Rewards{Scale: 0.2, Prosocial: share, Gamma: 0.9, Goal: []float64{2, 0.5}}
		e.Take(w, agents, 1)
	}
	w.Rewards.Goal = nil
	for i := range w.Reward { // of one step all together nothing
		if a := i / (w.Steps * w.Envs); a == 2 {
			w.Reward[i] = -w.Reward[i%(w.Steps*w.Envs)] - w.Reward[i%(w.Steps*w.Envs)+w.Steps*w.Envs]
		}
	}
	e.Take(w, agents, 2)
	w.Reward[7] = float32(math.Inf(1))
	e.Take(w, agents, 3)
	if f := e.Finding(); f.Status != check.Pass || f.Rows == 0 {
		t.Errorf("%v of %d rows: %s", f.Status, f.Rows, f.Says)
	}
	e.miss(1, "at step 0", 1)
	if f := e.Finding(); f.Status != check.Fault || f.Module != "buffers" {
		t.Errorf("%v in %s: %s", f.Status, f.Module, f.Says)
	}
}
