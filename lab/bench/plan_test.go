package bench

import (
	"testing"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// A decision allocates nothing once a search has begun, whatever evaluates leaves, and on
// several cores.
func TestPlanBenchAllocatesNothing(t *testing.T) {
	for _, c := range []PlanConfig{
		{Leaf: "zero"}, {Leaf: "scripts"}, {Leaf: "nets"}, {Leaf: "conv16"}, {Leaf: "conv"},
		{Leaf: "scripts", Sims: 2000, CPU: 3}, {Leaf: "nets", Sims: 2000, Envs: 1, CPU: 3},
	} {
		c.Size, c.Agents, c.Sims, c.CPU = 4, 4, max(c.Sims, 10), max(c.CPU, 1)
		b, err := NewPlan(registry.New(), c)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			b.decide()
		}
		if n := testing.AllocsPerRun(10, b.decide); n != 0 || len(b.asked) != c.CPU {
			t.Errorf("%+v: a decision in %d parts allocates %v times, want 0", c, len(b.asked), n)
		}
		b.Close()
	}
}

// The loop is timed with real trees: a preset that looks one step ahead once made
// it eight times as fast as it is.
func TestLoopSearchesDeep(t *testing.T) {
	sp, err := loopSpec(registry.New())
	if err != nil {
		t.Fatal(err)
	}
	c, ok := spec.SettingsAs[*hop.Config](&sp)
	if !ok {
		t.Fatal("the loop does not plan")
	}
	if s := c.Search; s.Kind != "tree" || s.Depth != 0 || s.Trees != 3 || s.Sims != 200 || c.Leaf.Kind != "net" {
		t.Errorf("search %s, depth %d, %d trees of %d, leaf %s; want tree, 0, 3 of 200, net", s.Kind, s.Depth, s.Trees, s.Sims, c.Leaf.Kind)
	}
}
