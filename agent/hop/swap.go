package hop

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

// known is what an agent knows for sure of its co-players; its zero value is
// nothing.
type known struct {
	goals []int32 // [others] the hypothesis that holds about each
	// others makes how co-players act in a search on w.
	others func(w learner.Rules, envs int) (search.Others, error)
}

// Swap replaces what the agent believes of its co-players by the truth.
func (m *Mind) Swap(t learner.Truth) error {
	if len(t.Team) != m.sees.spec.Seats {
		return fmt.Errorf("the game has %d agents, the team %d", m.sees.spec.Seats, len(t.Team))
	}
	var bots []string
	for a, bot := range t.Team {
		if agent.ID(a) != m.sees.me {
			bots = append(bots, bot)
		}
	}
	m.truth, m.inferred.blind = known{}, t.Blind
	if t.Goals {
		if m.cfg.Goals.Kind != "hand" {
			return fmt.Errorf("goals.kind is %s: a co-player's true goal is known only where goals are hand-made", m.cfg.Goals.Kind)
		}
		for _, bot := range bots {
			at := slices.Index(m.cfg.Leaf.Partners, bot)
			if at < 0 || at >= m.shape.hypotheses {
				return fmt.Errorf("none of its hypotheses is bot %q; leaf.partners are %v", bot, m.cfg.Leaf.Partners)
			}
			m.truth.goals = append(m.truth.goals, int32(at))
		}
	}
	if t.Others {
		m.knowOthers(bots)
	}
	return nil
}

// knowOthers lets co-players act in a search as the bots that they are.
func (m *Mind) knowOthers(bots []string) {
	all := slices.Clone(m.cfg.Leaf.Partners)
	for _, bot := range bots {
		if !slices.Contains(all, bot) {
			all = append(all, bot)
		}
	}
	m.rules = func(f *search.Forest) (learner.Rules, learner.Scripts, error) {
		return m.trueRules(all, m.cfg.Leaf.Scripts, f)
	}
	sure := make(truth.Sure, len(bots))
	for j, bot := range bots {
		sure[j] = int32(slices.Index(all, bot))
	}
	m.truth.others = func(w learner.Rules, envs int) (search.Others, error) {
		return truth.NewBots(worldOf(w), sure, envs), nil
	}
}
