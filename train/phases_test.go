package train_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"time"

	"hop/exp"
	"hop/registry"
	"hop/runlog"
	"hop/train"
)

// A clock that goes one millisecond ahead whenever it is read: what the parts of
// a search are told must sum to the search, and the search fit into collecting.
func TestPhasesOfSearchesAddUp(t *testing.T) {
	s, err := registry.New().Parse([]byte(planner), "test.yaml", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Duration(0)
	loop, err := s.Build(3, exp.Machine{Workers: 1, Clock: func() time.Duration { now += time.Millisecond; return now }})
	if err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var got map[string]float64
	if err := loop.Run(context.Background(), run, func(p *train.Progress) { got = p.Phases }); err != nil {
		t.Fatal(err)
	}
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
