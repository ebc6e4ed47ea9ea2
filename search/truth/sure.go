package truth

import (
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// Sure is beliefs that are sure.
type Sure []int32

// Draw writes what is known.
func (k Sure) Draw(dst []int32, _ int, _ *rng.Rand) { copy(dst, k) }

// Among draws goals as Believed has them, because leaves read them, and actions as the
// co-players really would.
type Among struct{ Believed, Real search.Others }

// Goals draws both.
func (t Among) Goals(tree int32, r *rng.Rand) {
	t.Believed.Goals(tree, r)
	t.Real.Goals(tree, r)
}

// Draw draws the real actions.
func (t Among) Draw(dst []int32, qs []search.Query, rs []rng.Rand) { t.Real.Draw(dst, qs, rs) }

var _ search.Others = Among{}
