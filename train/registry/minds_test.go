package registry_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// What cannot be is refused when the spec is read, not when a run has begun.
func TestPlannersThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct{ sets, want string }{
		{"game.name=tag mind=hop", "goals.kind is hand, want none, because tag has no hand-made goals"},
		{"game.name=matrix mind=hop goals.kind=none actor.frame=board",
			"moa.frame is egof, want board and a dense net, because matrix has no board"},
		{"game.name=matrix mind=hop goals.kind=none actor.frame=board moa.frame=board moa.distances=true",
			"moa.distances is true, want false, because matrix has no board"},
		{"game.name=matrix mind=hop goals.kind=none actor.frame=board moa.frame=board moa.augment=turn",
			"moa.augment is turn, want none"},
		{"mind=hop moa.history=4", "moa.history is 4, want 0, because a search asks about single states"},
		{"mind=hop leaf.kind=scripts leaf.scripts=[switcher]", `leaf.scripts is [switcher], want other scripts or leaf.partners: `},
		{"mind=hop leaf.kind=scripts leaf.partners=[ns,nh]", "leaf.partners is [ns, nh], want a bot for each of"},
		{"mind=hop actor.lstm=4", "actor.lstm is 4, want 0, because mind is hop"},
		{"mind=hop train.brains=[0,0,1,2]", "want one for each agent, because mind is hop"},
		{"mind=hop own=ppo train.warm.windows=1 train.warm.who=[ns,nh]", "train.warm.windows is 1, want 0, because own is ppo"},
		{"game.name=cartpole actor.frame=board imagine.on=true", "imagine.on is true, want false, because imagination needs a game on a board"},
		{"train.stages=[{at:\u00a00,set:\u00a0[game.size=6]}]", "train.stages[0].set is [game.size=6], want parameters that leave the"},
	} {
		sets := strings.Split(c.sets, " ")
		for i := range sets {
			sets[i] = strings.ReplaceAll(sets[i], "\u00a0", " ") // a space within a value
		}
		_, err := registry.New().Parse([]byte("name: x\n"), "x.yaml", "x", sets)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.sets, err, c.want)
		}
	}
}
