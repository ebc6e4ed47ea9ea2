package audit

import (
	"slices"

	"hop/agent"
	checks "hop/audit/check"
	"hop/check"
	"hop/mind"
	"hop/rollout"
)

// insight is what was found inside single decisions: one of every agent in an early
// window and one in a late one.
type insight struct {
	checks.Decisions
	done map[int][]agent.ID // by window
}

// look examines an agent's decision, if it is one to be examined: some steps into a
// window, so that there is a past, and at another step for each agent.
func (u *session) look(r *recorder, v *rollout.View, envs []int32) {
	if _, ok := mind.As[mind.Acting](r.tap.Mind); !ok || u.spec.Opaque {
		return // what such a player writes down beside its action is its own affair, and some states cannot be put back
	}
	early, late := u.exp.Train.Warm.Windows, updates(&u.exp, u.opt)-1
	if w := u.window; v.Imagined() || w != early && w != late || v.T < 3+int(v.Agent) || slices.Contains(u.insight.done[w], v.Agent) {
		return
	}
	if !slices.ContainsFunc(envs, func(n int32) bool { return !v.Start[v.Moment(v.T, int(n))] }) {
		return
	}
	if u.insight.done == nil {
		u.insight.done = map[int][]agent.ID{}
	}
	u.insight.done[u.window] = append(u.insight.done[u.window], v.Agent)
	s := checks.Subject{Mind: r.tap.Mind, Player: r.Player, Hop: r.tap.hop, Game: u.parts.Game, Scale: r.tap.exp.PPO.RewardScale}
	u.insight.Look(s, v, envs) // what cannot be put back is found by probes of learning
}

// inner is what decisions show from inside.
func (u *session) inner() []check.Finding {
	return append(u.insight.Searching(), u.insight.Peeking(u.hop != nil)...)
}

// legal reports whether what was played is.
func (r *recorder) legal(v *rollout.View, envs []int32) bool {
	for _, n := range envs {
		legal, act := v.LegalAt(v.SlotOf(int(n))), v.Action[v.StepOf(int(n))]
		if act < 0 || int(act) >= len(legal) || !legal[act] {
			return false
		}
	}
	return true
}

// culprit is the module in which a run broke: the player's whose decision panicked or
// was not legal, else the rollout's.
func (u *session) culprit() string {
	switch {
	case u.guilty == nil:
		return "rollout"
	case u.guilty.tap.hop != nil:
		return "planner"
	}
	return "ppo"
}
