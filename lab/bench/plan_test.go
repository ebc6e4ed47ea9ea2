package bench

import (
	"testing"

	"hop/registry"
)

// A decision allocates nothing once a search has begun, whatever judges leaves.
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
	if s := spec.Search; s.Depth != 0 || s.Trees != 3 || s.Sims != 200 || spec.Plan.Leaf != "net" {
		t.Errorf("depth %d, %d trees of %d, leaf %s; want 0, 3 of 200, net", s.Depth, s.Trees, s.Sims, spec.Plan.Leaf)
	}
}
