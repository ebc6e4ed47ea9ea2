package probe

import (
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

// Two windows part in a decision only if what was seen, and all that was done before, is the same, and not by which action is drawn.
func TestWindowsPart(t *testing.T) {
	type change func(s *stage)
	const a, n = 1, 2
	window := func(changes ...change) *stage {
		ro := batch.New(batch.Shape{Agents: 2, Steps: 4, Envs: 3, Actions: 2})
		s := &stage{Rollout: ro, seen: make([]uint64, len(ro.Alive))}
		for _, c := range changes {
			c(s)
		}
		return s
	}
	seen := func(t int) change { return func(s *stage) { s.seen[s.Slot(a, t, n)]++ } }
	value := func(t int) change { return func(s *stage) { s.Value[s.Slot(a, t, n)]++ } }
	action := func(t int) change { return func(s *stage) { s.Action[s.Step(a, t, n)]++ } }
	chance := func(t int) change { return func(s *stage) { s.LogProb[s.Step(a, t, n)]++ } }
	paid := func(t int) change { return func(s *stage) { s.Reward[s.Step(a, t, n)]++ } }
	for _, c := range []struct {
		name            string
		changes         []change
		decides, played bool
	}{
		{"the same", nil, false, false},
		{"another value", []change{value(2), action(2), seen(3)}, true, true},
		{"another value after the window", []change{value(4)}, true, true},
		{"another probability", []change{chance(2)}, true, true},
		{"another action", []change{action(1), chance(1), seen(2), value(2)}, false, true},
		{"another sight", []change{seen(2), value(2)}, false, true},
		{"other pay", []change{paid(0), value(1)}, false, true},
	} {
		who, decides, played := window().parts(window(c.changes...))
		if decides != c.decides || played != c.played || played && who != agent.ID(a) {
			t.Errorf("%s: agent %d, decides %v, played otherwise %v", c.name, who, decides, played)
		}
	}
}
