package rollout_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// asks is a player that asks.
type asks struct {
	rollout.Player
	t     *testing.T
	acted *int // at which slot an agent of the worker acted last
	asked []int32
	times int
}

func (p *asks) Ask(v *rollout.View, envs []int32) {
	if p.asked = slices.Clone(envs); *p.acted == v.T {
		p.t.Errorf("slot %d: agent %d asks when another one has acted", v.T, v.Agent)
	}
	p.times++
}

func (p *asks) Act(v *rollout.View, envs []int32) {
	if *p.acted = v.T; !slices.Equal(p.asked, envs) {
		p.t.Errorf("slot %d: agent %d has asked about the envs %v and acts in %v", v.T, v.Agent, p.asked, envs)
	}
	p.asked = nil
	p.Player.Act(v, envs)
}

func (p *asks) Evaluate(v *rollout.View, envs []int32) {
	if p.asked != nil {
		p.t.Errorf("slot %d: agent %d evaluates while it waits for an answer", v.T, v.Agent)
	}
	p.Player.Evaluate(v, envs)
}

// All agents of a worker ask before one of them acts, each about the envs in which it then acts, also where episodes are cut.
func TestAgentsAskBeforeOneOfThemActs(t *testing.T) {
	for _, workers := range []int{1, 3} {
		e := envs(t, rollout.Config{Game: toy{seats: 4, horizon: 5, limit: true}, Envs: 6, Key: rng.New(1), Workers: workers})
		players := drawers(workers, 4)
		for _, row := range players {
			acted := -1
			for _, a := range []int{0, 1, 3} { // the third asks nothing
				row[a] = &asks{Player: row[a], t: t, acted: &acted}
			}
		}
		if err := e.Collect(batch.New(e.Shape(40, 0)), players); err != nil {
			t.Fatal(err)
		}
		if players[0][3].(*asks).times < 8 {
			t.Error("an agent has hardly asked")
		}
	}
}
