package exp_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hop/exp"
	"hop/registry"
	"hop/runlog"
	"hop/train"
)

// taken returns how many bytes a training of two workers holds after its first windows.
func taken(t *testing.T, s *exp.Spec, windows int) float64 {
	t.Helper()
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), []byte("name: x\n"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	loop, err := s.Build(1, exp.Machine{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = loop.Run(ctx, run, func(*train.Progress) {
		if windows--; windows == 0 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(loop)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// What is estimated is what is taken, to a fifth.
func TestMemoryIsEstimated(t *testing.T) {
	for _, what := range []string{
		"ppo-4x4", "ppo-shared-4x4", "ppo-lstm-4x4 ppo.epochs=1", "ppo-tag ppo.epochs=1", "ppo-imagine-4x4 imagine.rows=65536 imagine.steps=1",
		"hop-4x4 train.warm.windows=0 search.sims=8 search.trees=2", "hop-coin train.warm.windows=0 search.sims=5 search.trees=2",
	} {
		words := strings.Fields(what)
		s, err := registry.New().Load(words[0], words[1:])
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.Memory(1, 2)
		if err != nil {
			t.Fatal(err)
		}
		want, got := taken(t, &s, 1), 0.
		for _, p := range parts {
			got += p.Bytes
		}
		t.Logf("%s: %.1f MB, estimated %.1f MB", what, want/1e6, got/1e6)
		if math.Abs(got/want-1) > 0.2 {
			t.Errorf("%s takes %.1f MB, estimated are %.1f MB: %+v", what, want/1e6, got/1e6, parts)
		}
	}
}

// What does not fit is refused in a sentence: how much, by what, and what would fit.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	reg := registry.New()
	for _, c := range []struct {
		what  string
		words []string
	}{
		{"ppo-4x4 train.envs=65536 train.window=4096",
			[]string{"the machine has 8 GB", "the windows with", "train.envs 65536 and train.window 4096", "it would fit"}},
		{"ppo-8x8 actor.hidden=[4096,4096,4096,4096,4096,4096,4096]", []string{"the own networks with", "actor.hidden"}},
		{"hop-4x4 search.sims=1000000", []string{"the search trees with", "search.sims 1000000", "--set search.sims="}},
	} {
		words := strings.Fields(c.what)
		s, err := reg.Load(words[0], words[1:])
		if err != nil {
			t.Fatal(err)
		}
		err = s.FitsMemory(8_000_000_000, 1, 2)
		for _, w := range c.words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v, want one with %q", c.what, err, w)
			}
		}
	}
	for _, name := range reg.PresetNames() { // presets are for ordinary machines
		s, err := reg.Load(name, nil)
		if err == nil {
			err = s.FitsMemory(4_000_000_000, 1, 2)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
