package lab

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// TestCrossplayOnAnyCores: the same bytes whoever plays beside whom, agents that remember
// co-players among them, and a count that only rises.
func TestCrossplayOnAnyCores(t *testing.T) {
	l, out := &Lab{Reg: registry.New(), Version: "test"}, t.TempDir()
	spec, err := l.Reg.Load("hop-4x4", []string{
		"train.steps=200", "train.envs=2", "train.warm.windows=1", "eval.episodes=2", "search.trees=2", "search.sims=8", "leaf.repeat=1",
		"actor.hidden=[16]", "moa.hidden=[16,16]"})
	if err != nil {
		t.Fatal(err)
	}
	training, err := l.NewTraining(spec, []uint64{1, 2}, out, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Train(t.Context(), training); err != nil {
		t.Fatal(err)
	}
	config := CrossConfig{Entries: []string{filepath.Join(out, "hop-4x4-001"), "ns", "random"}, Episodes: 6, Seed: 3}
	var first string
	for _, workers := range []int{1, 3} {
		var count []int
		c := config
		c.Workers = workers
		c.Progress = func(done, total int) { count = append(count, done*1000/total) }
		x, _, err := l.Crossplay(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(b)
		}
		if string(b) != first {
			t.Errorf("%d workers: %s\nwant %s", workers, b, first)
		}
		if len(count) < 10 || count[0] > 500 || !slices.IsSorted(count) || count[len(count)-1] != 1000 {
			t.Errorf("%d workers: the count says %v", workers, count)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	config.Workers, config.Episodes, config.Progress = 3, 100000, func(int, int) { stop() }
	if _, _, err := l.Crossplay(ctx, config); !errors.Is(err, context.Canceled) {
		t.Errorf("a cross-play that is stopped ends with %v", err)
	}
}
