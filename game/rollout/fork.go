package rollout

import (
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
)

// Fork returns what the agent would see on other arrays, for audits: states and
// streams are copies, so that nothing a player does there reaches the run. With a
// salt, everything that is still to come by chance is different: what the rules draw,
// and what the other agents draw.
func (v *View) Fork(ro *batch.Rollout, salt uint64) *View {
	e := *v.envs
	e.env = slices.Clone(v.envs.env)
	for n := range e.env {
		c := &e.env[n]
		st := e.Game.New()
		st.CopyFrom(c.st)
		c.st = st
		c.cut, _ = st.(game.Limited)
		c.goals, _ = st.(game.Goaler)
		c.seated, _ = st.(Seated)
		c.act, c.seat, c.log, c.goal = slices.Clone(c.act), slices.Clone(c.seat), slices.Clone(c.log), slices.Clone(c.goal)
		if salt == 0 {
			continue
		}
		c.rules, c.deal = salted(c.rules, salt), salted(c.deal, salt)
		for a := range c.act {
			if a != int(v.Agent) {
				c.act[a] = salted(c.act[a], salt)
			}
		}
	}
	return &View{Rollout: ro, Agent: v.Agent, T: v.T, envs: &e}
}

// salted returns another stream.
func salted(r rng.Rand, salt uint64) rng.Rand { return rng.Raw(r.Uint64(), r.Uint64()^salt) }
