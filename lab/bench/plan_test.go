package bench

import (
	"testing"

	"hop/exp"
	"hop/mind/hop"
	"hop/registry"
)

// A decision allocates nothing once a search has begun, whatever evaluates leaves.
func TestPlanBenchAllocatesNothing(t *testing.T) {
	for _, leaf := range []string{"zero", "scripts", "nets", "conv16", "conv"} {
		b, err := NewPlan(registry.New(), leaf, 4, 4, 10)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			b.decide()
		}
		if n := testing.AllocsPerRun(10, b.decide); n != 0 {
			t.Errorf("leaf %s: a decision allocates %v times, want 0", leaf, n)
		}
	}
}

// The loop is timed with real trees: a preset that looks one step ahead once made
// it eight times as fast as it is.
func TestLoopSearchesDeep(t *testing.T) {
	spec, err := loopSpec(registry.New())
	if err != nil {
		t.Fatal(err)
	}
	c, ok := exp.ConfigOf[hop.Config](&spec)
	if !ok {
		t.Fatal("the loop does not plan")
	}
	if s := c.Search; s.Kind != "tree" || s.Depth != 0 || s.Trees != 3 || s.Sims != 200 || c.Leaf.Kind != "net" {
		t.Errorf("search %s, depth %d, %d trees of %d, leaf %s; want tree, 0, 3 of 200, net", s.Kind, s.Depth, s.Trees, s.Sims, c.Leaf.Kind)
	}
}
