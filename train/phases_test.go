package train_test

import (
	"math"
	"testing"
	"time"

	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// A clock that goes one millisecond ahead whenever it is read: what the parts of
// a search are told must sum to the search, and the search fit into collecting.
func TestPhasesOfSearchesAddUp(t *testing.T) {
	now := time.Duration(0)
	run, err := spectest.Try(t, spectest.Planner, 3, 1, func(p *train.Parts) {
		p.Clock = func() time.Duration { now += time.Millisecond; return now }
	})
	if err != nil {
		t.Fatal(err)
	}
	got := run.Seen[len(run.Seen)-1].Phases
	sum := 0.
	for _, name := range []string{"select", "others", "dynamics", "leaf", "backup"} {
		if got["collect/search/"+name] <= 0 {
			t.Errorf("no time in %s: %v", name, got)
		}
		sum += got["collect/search/"+name]
	}
	if math.Abs(sum-got["collect/search"]) > 1e-6 || sum <= 0 || sum > got["collect"] {
		t.Errorf("parts sum to %.3f s, the search has %.3f s of %.3f s of collecting", sum, got["collect/search"], got["collect"])
	}
}
