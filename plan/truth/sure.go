package truth

import (
	"hop/plan"
	"hop/rng"
)

// Sure is beliefs that are sure.
type Sure []int32

// Draw writes what is known.
func (k Sure) Draw(dst []int32, _ int, _ *rng.Rand) { copy(dst, k) }

// Among draws goals as Believed has them, because leaves read them, and actions as the
// co-players really would.
type Among struct{ Believed, Real plan.Others }

// Goals draws both.
func (t Among) Goals(tree int32, r *rng.Rand) {
	t.Believed.Goals(tree, r)
	t.Real.Goals(tree, r)
}

// Draw draws the real actions.
func (t Among) Draw(dst []int32, qs []plan.Query, rs []rng.Rand) { t.Real.Draw(dst, qs, rs) }

var _ plan.Others = Among{}
