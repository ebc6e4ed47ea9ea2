package main

import "testing"

// A decision allocates nothing once a search has begun, whatever judges leaves.
func TestPlanBenchAllocatesNothing(t *testing.T) {
	for _, leaf := range []string{"zero", "scripts", "nets", "conv16", "conv"} {
		b, err := newPlanBench(leaf, 4, 4, 10)
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
