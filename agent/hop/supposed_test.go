package hop

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	fast "github.com/hop-marl/hop/search/hunt"
)

// What is out of view changes nothing: the same agent among other co-players, in episodes that begin
// alike, decides alike to the bit as long as it sees the same, though the boards differ by then.
func TestWhatIsOutOfViewChangesNothing(t *testing.T) {
	c := staghunt.Default()
	c.Size, c.View, c.Horizon = 6, 1, 12
	g := game.With(gametest.New(t, staghunt.New, c), fast.Fast{})
	for _, by := range []string{"drawn", "seen"} {
		var plays [2]*batch.Rollout
		var states [2][]string
		for i, who := range []string{"ns", "nh"} {
			_, p := makeMind(t, g, 0, 24, func(c *Config) {
				c.Search.Depth, c.Search.Unseen, c.Leaf.Kind, c.Belief.Count = 1, by, "scripts", "evidence"
			})
			look := acting(func(v *rollout.View, envs []int32) {
				for _, n := range envs {
					states[i] = append(states[i], gametest.Text(t, v.State(int(n))))
				}
				p.Act(v, envs)
			})
			plays[i] = collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 24, Steps: 6}, []string{"", who, who, who}, look)
		}
		a, b, alike, hidden, at := plays[0], plays[1], 0, 0, [2]int{}
		same := slices.Repeat([]bool{true}, a.Envs)
		for step := range a.Steps {
			for n := range a.Envs {
				slot, row := a.Slot(0, step, n), a.Step(0, step, n)
				var texts [2]string
				for i, ro := range plays {
					if ro.Alive[slot] {
						texts[i] = states[i][at[i]]
						at[i]++
					}
				}
				if same[n] = same[n] && a.Alive[slot] && b.Alive[slot] && slices.Equal(a.ObsAt(slot), b.ObsAt(slot)); !same[n] {
					continue
				}
				if alike++; texts[0] != texts[1] {
					hidden++
				}
				if !slices.Equal(a.TargetAt(row), b.TargetAt(row)) || a.Value[slot] != b.Value[slot] {
					t.Fatalf("%s: env %d, step %d: what is out of view changes the plan from %v to %v", by, n, step, a.TargetAt(row), b.TargetAt(row))
				}
			}
		}
		if alike < 30 || hidden < 10 {
			t.Errorf("%s: %d decisions were seen alike, %d of them on other boards: the test saw too little", by, alike, hidden)
		}
	}
}
