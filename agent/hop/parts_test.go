package hop

import (
	"fmt"
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/cores"
)

// Agents decide the same, bit for bit, on any number of cores: whatever they take the others to
// be after, and whatever evaluates their leaves, in windows in which some have left.
func TestDecisionsDoNotDependOnCores(t *testing.T) {
	for name, set := range map[string]func(c *Config){
		"networks":  func(c *Config) { c.Goals.Read = true },
		"bots":      func(c *Config) { c.Leaf.Kind = "scripts" },
		"points":    func(c *Config) { c.Goals.Kind, c.Leaf.Kind = "latent", "both" },
		"classes":   func(c *Config) { c.Goals.Kind = "classes" },
		"no goals":  func(c *Config) { c.Goals.Kind, c.Leaf.Kind = "none", "response" },
		"histories": func(c *Config) { c.Goals.Kind, c.Leaf.Kind = "context", "response" },
		"the truth": func(c *Config) { c.Leaf.Kind = "scripts" },
	} {
		var want string
		for _, workers := range []int{1, 2, 3, 7} {
			g := hunt(t, 4)
			m, p := makeMind(t, g, 0, 2, func(c *Config) {
				set(c)
				c.Search.Trees, c.Search.Sims, c.Search.Act, c.Search.Depth = 7, 150, "mixed", 4
			})
			if name == "the truth" {
				if err := m.Swap(learner.Truth{Team: []string{"", "ns", "nh", "random"}, Others: true}); err != nil {
					t.Fatal(err)
				}
				var err error
				if p, err = m.player(2); err != nil {
					t.Fatal(err)
				}
			}
			pool := cores.New(workers, nil)
			pool.Open()
			shape := batch.Shape{Envs: 2, Steps: 6, GoalLen: m.goalLen}
			ro := collect(t, rollout.Config{Game: g, Cores: pool}, shape, []string{"", "ns", "nh", "random"}, p)
			pool.Close()
			if len(p.search.parts) != workers {
				t.Fatalf("%s: a search of 2,100 simulations in %d parts on %d workers", name, len(p.search.parts), workers)
			}
			got := fmt.Sprint(ro.Action, bitsOf(ro.Target), bitsOf(ro.Value), p.search.forest.Count.Sims, p.search.forest.Count.Leaves)
			if workers == 1 {
				want = got
			}
			if got != want {
				t.Errorf("%s: on %d workers\n%s\nwant\n%s", name, workers, got, want)
			}
		}
	}
}

// bitsOf keeps apart what prints alike.
func bitsOf(list []float32) (all []uint32) {
	for _, x := range list {
		all = append(all, math.Float32bits(x))
	}
	return all
}

// Nothing is allocated on several cores, once the parts are there.
func TestSharedDecisionsAllocateNothing(t *testing.T) {
	g := hunt(t, 50)
	_, p := makeMind(t, g, 0, 1, func(c *Config) { c.Search.Trees, c.Search.Sims = 7, 300 })
	pool := cores.New(3, nil)
	pool.Open()
	defer pool.Close()
	c := &allocating{Player: p}
	collect(t, rollout.Config{Game: g, Cores: pool}, batch.Shape{Envs: 1, Steps: 12}, []string{"", "ns", "nh", "random"}, c)
	if c.acts < 2 || c.allocs != 0 || len(p.search.parts) != 3 {
		t.Errorf("%d decisions in %d parts allocate %v times, want 0", c.acts, len(p.search.parts), c.allocs)
	}
}

// allocating counts what decisions allocate after the first.
type allocating struct {
	rollout.Player
	acts   int
	allocs float64
}

func (c *allocating) Act(v *rollout.View, envs []int32) {
	if c.acts++; c.acts == 1 {
		c.Player.Act(v, envs)
		return
	}
	c.allocs += testing.AllocsPerRun(1, func() { c.Player.Act(v, envs) })
}
