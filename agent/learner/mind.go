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
	"strings"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
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
	Rewards  Rewards        // how true rewards become what is learnt from
	Share    float64        // how much of the run lies behind
	Imagined *Imagined      // steps that a world model made up; nil: none
	Recorded *batch.Rollout // what known players did, to learn about others from; nil: none

	Cores  *cores.Pool // whose workers help minds to learn; nil: each learns alone
	Beside int         // minds that learn side by side, for whom those workers are; 0: one
	Played bool        // it is as it was played: what players encoded is what it holds
	Sent   func()      // is called when a device has all that it needs to learn, before it has; nil: nobody asks
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

// Part is a part of a run, and about what it takes of the memory.
type Part struct {
	Name   string
	Bytes  float64
	Fields []string // of the spec, that make it large, the best to lower first
}

// Sizes is how large a run is, for the estimate of its memory.
type Sizes struct{ Envs, Window, Workers int }

// RowBytes returns about what a network takes for each row that it computes: what its
// layers put out, which is as much as they have biases. A convolution puts it out for each
// of so many cells. To learn takes twice that, because of the gradients.
func RowBytes(p *nn.Params, cells int) float64 {
	n := 0
	for _, part := range p.Parts {
		switch {
		case len(part.Shape) > 1:
		case strings.HasPrefix(part.Name, "conv"):
			n += part.Len * cells
		default:
			n += part.Len
		}
	}
	return 4 * float64(n)
}
