package hop

import (
	"testing"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/rng"
)

// An agent without goals takes a model of others that was trained without them.
func TestAModelOfOthersWithoutGoalsIsTaken(t *testing.T) {
	g := hunt(t, 12)
	c, spec := Default(), g.Spec()
	c.Goals.Kind, c.MOA.Hidden = "none", []int{8, 8}
	_, params, err := moa.New(c.MOA.Config, moaInput(spec), rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	l := spec.Obs
	in := frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen()}
	b, err := ppo.New(ppo.Default(), actor.Default(), actor.Input{Input: in, Actions: len(spec.Actions)}, []agent.ID{0}, 1, rng.New(2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(c, g, pretrained.Models{MOA: params}, b, 1, rng.New(3)); err != nil {
		t.Error(err)
	}
}
