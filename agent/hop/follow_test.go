package hop

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/vector"
)

// In a world in which every step pays 1 and nothing else happens, an action is worth what it pays, the discounted steps
// that are followed after it, and then what the network, here zeros, says.
func TestLeavesAreFollowed(t *testing.T) {
	for ahead, want := range map[int]float64{0: 1, 1: 1.5, 3: 1.875} {
		g := hunt(t, 9)
		m, _ := makeMind(t, g, 0, 1, func(c *Config) {
			c.Goals.Kind, c.Search.Dynamics, c.Leaf.Ahead = "none", "vectors", ahead
			c.Search.Sims, c.Search.Depth, c.Search.Discount, c.Search.Resample = 7, 1, 0.5, "depth"
		})
		b := vector.NewBatch(m.vectors.model.Input, 1)
		for at := range b.Reward {
			b.Joint[at], b.Reward[at] = 0, 1
		}
		m.vectors.scale.Add(b)
		clear(m.vectors.params.W)
		clear(m.own.brain.Params.W)
		p, err := m.player(1)
		if err != nil {
			t.Fatal(err)
		}
		collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 1, Steps: 1}, []string{"", "random", "random", "random"}, p)
		for k, q := range p.search.forest.Q {
			if q != 0 && math.Abs(float64(q)-want) > 1e-6 {
				t.Errorf("%d steps ahead action %d is worth %v, want %v", ahead, k, q, want)
			}
		}
	}
}
