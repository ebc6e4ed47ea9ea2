// Package learner says what learns for an agent.
//
// A Mind plays for its agents and learns from windows. What else it can do are
// abilities: interfaces of one to three methods that a mind may have. They are
// found once, with As, when a run is wired, so that the loop never asks what kind
// of mind it has before it, and a mind from outside has as many or as few of them
// as it likes.
//
// Minds of one run learn side by side: no mind reads what another writes, and
// everything that a mind draws comes from its own streams.
package learner

import (
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/cores"
)

// Mind plays and learns for one or more agents.
type Mind interface {
	// Agents returns whose rows it learns from.
	Agents() []agent.ID
	// Players returns a player of agent a for each worker. They play env n < envs.
	Players(a agent.ID, workers, envs int) ([]rollout.Player, error)
	// Learn takes one window. Statistics carry the number of alive rows behind
	// them; a window without rows of its own agents gives none.
	Learn(w *Window) ([]agent.Stat, error)
}

// Window is a played window, and how it is to be learnt from. Minds read it; none
// writes to it.
type Window struct {
	*batch.Rollout
	Rewards  Rewards   // how true rewards become what is learnt from
	Share    float64   // how much of the run lies behind
	Imagined *Imagined // steps that a world model made up; nil: none

	Cores *cores.Pool // whose workers help minds to learn; nil: each learns alone
}

// Imagined is a made-up window to learn from beside the played one.
type Imagined struct {
	*batch.Rollout         // of any length and number of envs; of the same agents
	RealRatio      float64 // share of played rows in what is learnt from, above 0 and below 1
	Again          bool    // the played window has been learnt from before: it is not counted again
}

// As returns the ability T of a mind. A mind that is put before another hides
// nothing that it does not replace, if it can Unwrap.
func As[T any](m Mind) (T, bool) {
	for {
		if t, ok := m.(T); ok {
			return t, true
		}
		w, ok := m.(interface{ Unwrap() Mind })
		if !ok {
			var none T
			return none, false
		}
		m = w.Unwrap()
	}
}

// Workers makes a player for each worker.
func Workers(n int, one func() rollout.Player) []rollout.Player {
	list := make([]rollout.Player, n)
	for w := range list {
		list[w] = one()
	}
	return list
}
