package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
)

// Earnings holds the rewards that agents are to learn from against what defines them, before anything is learnt from them.
type Earnings struct {
	rows, bad int
	who       []agent.ID
	far       float64
	says      string
	dst       []float32
}

// Take holds a window's rewards, for each of a mind's agents.
func (e *Earnings) Take(w *learner.Window, agents []agent.ID, window int) {
	e.dst = slices.Grow(e.dst[:0], w.Steps*w.Envs)[:w.Steps*w.Envs]
	top := paidMost(w)
	for _, a := range agents {
		w.Rewards.Apply(e.dst, w.Rollout, a)
		for i, want := range windowOf(w).Earned(a) {
			t, n := i/w.Envs, i%w.Envs
			if !w.Alive[w.Slot(a, t, n)] {
				continue
			}
			e.rows++
			got := float64(e.dst[i])
			if math.Abs(got-want) > 3e-4*top+1e-4*math.Abs(want) { // what may cancel is summed in float32
				e.miss(a, fmt.Sprintf("at step %d of env %d in window %d, the reward to learn from is %.4g; what the agent and its team were "+
					"paid comes to %.4g", t, n, window, got, want), math.Abs(got-want))
			}
		}
	}
}

func (e *Earnings) miss(a agent.ID, says string, far float64) {
	if e.bad++; e.bad == 1 {
		e.says = says
	}
	if e.far = max(e.far, far); !slices.Contains(e.who, a) {
		e.who = append(e.who, a)
	}
}

// paidMost is the largest reward of a window as it is learnt from.
func paidMost(w *learner.Window) (top float64) {
	for i, r := range w.Reward {
		weight := 1.
		if g := w.Reached[i]; w.Rewards.Goal != nil && g != game.NoGoal {
			weight = w.Rewards.Goal[g]
		}
		top = max(top, math.Abs(w.Rewards.Scale*weight*float64(r)))
	}
	return top
}

// Finding says whether they are.
func (e *Earnings) Finding() check.Finding {
	f := check.Finding{
		Step: 3, Check: "rewards to learn from are what was paid", Module: "buffers", Unit: "share of rows", Rows: e.rows,
		Says: "Rewards to learn from are the agent's own and its share of the team's, later ones too once it has left, by goal and scale.",
	}
	if e.bad > 0 {
		slices.Sort(e.who)
		f.Accuse(check.Fault, float64(e.bad)/float64(e.rows), fmt.Sprintf("%s: %s (%d of %d rows).", check.Capital(check.Agents(e.who)), e.says,
			e.bad, e.rows), "learner: Rewards.Apply and reward")
		f.Saw(e.far, 0, "the largest difference")
	}
	return f
}
