package train

import (
	"hop/batch"
	"hop/model/moa"
	"hop/plan"
	"hop/ppo"
)

// Watching sees every window between playing and learning: played ones, and
// those that were imagined. It is for audits; what it changes is learnt from.
type Watching func(ro *batch.Rollout, imagined bool)

// show shows a window to who watches.
func (s *SelfPlay) show(ro *batch.Rollout, imagined bool) {
	if s.parts.Watch != nil {
		s.parts.Watch(ro, imagined)
	}
}

// Plain returns the mind of a brain that learns by PPO and nothing else, what
// the loop uses where Parts has no Minds.
func Plain(b *ppo.Brain) Mind { return plain{b} }

// Insides are the parts of a HOP that an audit compares with the spec. Search
// and Rules may be changed before the first Players.
type Insides struct {
	Search *plan.Config
	Rules  *RulesMaker
	Others *moa.Learner
}

// Insides returns them.
func (h *HOP) Insides() Insides { return Insides{&h.search, &h.world, h.moa} }
