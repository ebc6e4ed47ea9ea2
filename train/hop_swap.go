package train

import (
	"hop/plan"
	"hop/rng"
)

// Swap replaces what an agent thinks of its co-players by the truth, to measure
// what not knowing costs. Its zero value replaces nothing.
type Swap struct {
	Goals []int32 // [others] the hypothesis that holds about each co-player; nil: as believed
	// Others makes how co-players act in a search on w, for up to envs decisions;
	// nil: as the model of others says.
	Others func(w Rules, envs int) (plan.Others, error)
}

// Swap makes the agent play with modules replaced. Call it before Players.
func (h *HOP) Swap(s Swap) { h.swap = s }

// modelled returns how a player's search takes the co-players to act.
func (p *hopPlayer) modelled(envs int) (plan.Others, error) {
	if p.h.swap.Others == nil {
		return p.others, nil
	}
	act, err := p.h.swap.Others(p.world, envs)
	return truly{p.others, act}, err
}

// truly draws goals as a HOP does, because its prior is told them, and actions
// as the co-players really would.
type truly struct {
	*hopOthers
	act plan.Others
}

func (t truly) Goals(tree int32, r *rng.Rand) {
	t.hopOthers.Goals(tree, r)
	t.act.Goals(tree, r)
}

func (t truly) Draw(dst []int32, qs []plan.Query, rs []rng.Rand) { t.act.Draw(dst, qs, rs) }

var _ plan.Others = truly{}
