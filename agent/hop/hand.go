package hop

import (
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// handmade is the game's own goals, a hypothesis each, or one hypothesis that says
// nothing. Without goals, partners are drawn from all bots. Nothing is inferred but by
// beliefs, so it is every worker's Inference too.
type handmade struct {
	sees     *visible
	names    []string // of the goals
	silent   bool     // there are none
	partners int      // how many bots may stand for a co-player without a goal; 0: nobody asks
	x        *Inferred
}

func newHandmade(m *Mind, silent bool) *handmade {
	w := &handmade{sees: m.sees, names: m.sees.spec.Goals, silent: silent}
	if silent {
		w.names = []string{"any"}
		if m.cfg.Leaf.partnered() {
			w.partners = len(m.population.names)
		}
	}
	return w
}

// Remember writes the features, once and for all.
func (w *handmade) Remember(x *Inferred, _ int) {
	w.x = x
	if x.oneHot(len(w.names)); !w.silent {
		x.Counts = ByGoal
	}
}

func (w *handmade) Inference(int) Inference { return w }

// Apart returns a copy.
func (w *handmade) Apart() GoalModel { c := *w; return &c }

// Infer does nothing: what the co-players are after, beliefs find out.
func (w *handmade) Infer(*rollout.View, []int32) {}

// Draw returns what the hypothesis says; without goals any of the bots stands for it.
func (w *handmade) Draw(dst []float32, _, _ int, g int32, r *rng.Rand) (partner int32) {
	copy(dst, w.x.of(0, int(g)))
	if w.partners > 0 {
		return int32(r.IntN(w.partners))
	}
	return g
}

func (w *handmade) Explain(_, _, g int) []Word { return []Word{{w.names[g], 1}} }

// Trajectories returns steps up to the last goal that was reached in the window,
// because what the rest was done for is not known; without goals whole episodes.
func (w *handmade) Trajectories(ro *batch.Rollout) []trajectory {
	list := w.sees.episodes(ro, !w.silent)
	kept := list[:0]
	for _, p := range list {
		for !w.silent && p.hi > p.lo && ro.Reached[p.last(ro)] == game.NoGoal {
			p.hi--
		}
		if p.hi > p.lo {
			kept = append(kept, p)
		}
	}
	return kept
}

// Label gives every step the goal that its trajectory reached next; trajectories
// end with one.
func (w *handmade) Label(dst []float32, ro *batch.Rollout, list []trajectory, _ float64, _ *rng.Rand) []agent.Stat {
	first, n := 0, len(w.names)
	for _, p := range list {
		goal := 0
		for t := p.hi - 1; t >= p.lo; t-- {
			if reached := ro.Reached[ro.Step(p.agent, t, p.env)]; !w.silent && reached != game.NoGoal {
				goal = int(reached)
			}
			row := first + t - p.lo
			copy(dst[row*n:(row+1)*n], w.x.of(0, goal))
		}
		first += p.hi - p.lo
	}
	return nil
}

// Fit does nothing: there is nothing to learn.
func (w *handmade) Fit(*rng.Rand) ([]agent.Stat, error) { return nil, nil }

// Networks returns none.
func (w *handmade) Networks() []learner.Network { return nil }

func (w *handmade) Save(*safetensors.File, string)             {}
func (w *handmade) Load(*safetensors.File, string, bool) error { return nil }
