package spec_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// estimated returns the parts of a preset with changes that are counted, in bytes.
func estimated(t *testing.T, what string, counts func(part string) bool) (spec.Spec, float64) {
	t.Helper()
	words := strings.Fields(what)
	s, err := registry.New().Load(words[0], words[1:])
	if err != nil {
		t.Fatal(err)
	}
	parts, err := s.Memory(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0.
	for _, p := range parts {
		if counts(p.Name) {
			bytes += p.Bytes
		}
	}
	return s, bytes
}

// Peaks of whole trainings, from peak_memory_bytes in their env.json, on two cores, are
// within a factor of two of the estimate. They were taken with
//
//	hop train PRESET --set train.steps=N
//
// with N from 4,000 (hop-8x8) to 3,000,000 (the last).
func TestMemoryIsEstimatedWithinAFactorOfTwo(t *testing.T) {
	for what, peak := range map[string]float64{ // MB
		"ppo-4x4": 143, "ppo-8x8": 440, "ppo-tag": 229, "ppo-lstm-4x4": 170, "ppo-imagine-4x4": 284,
		"hop-4x4": 288, "hop-8x8": 751, "hop-coin": 88, "ppo-4x4 train.envs=4096 train.window=256": 4504,
	} {
		_, bytes := estimated(t, what, func(string) bool { return true })
		t.Logf("%s: %.0f MB, measured %.0f MB, %.2f", what, bytes/1e6, peak, peak*1e6/bytes)
		if bytes < peak*1e6/2 || bytes > peak*1e6*2 {
			t.Errorf("%s took %.0f MB at most, estimated are %.0f MB", what, peak, bytes/1e6)
		}
	}
}

// taken returns how many bytes a training of two workers holds after its first window.
func taken(t *testing.T, s *spec.Spec) float64 {
	t.Helper()
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), []byte("name: x\n"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	loop, err := s.Build(1, spec.Machine{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err = loop.Run(ctx, run, func(*train.Progress) { stop() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(loop)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// What a training holds now is what is estimated for it, within a factor of two: the
// peaks above were measured once.
func TestWhatATrainingHoldsIsEstimated(t *testing.T) {
	for _, what := range []string{
		"ppo-4x4 train.envs=512 train.window=32 ppo.epochs=1", "hop-coin train.warm.windows=0 train.window=8 search.sims=5 search.trees=2",
	} {
		s, bytes := estimated(t, what, func(part string) bool { return part != "scoring and report" })
		holds := taken(t, &s)
		t.Logf("%s: %.1f MB, holds %.1f MB", what, bytes/1e6, holds/1e6)
		if bytes < holds/2 || bytes > holds*2 {
			t.Errorf("%s holds %.1f MB, estimated are %.1f MB", what, holds/1e6, bytes/1e6)
		}
	}
}

// What does not fit is refused in a sentence: how much, by which parts, and what would fit.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	reg := registry.New()
	for _, c := range []struct {
		what  string
		words []string
	}{
		{"ppo-4x4 train.envs=65536 train.window=4096",
			[]string{"the machine has 8 GB", "windows 1.03 TB (train.envs 65536, train.window 4096)", "with --set train.envs=256 it would fit"}},
		{"ppo-8x8 actor.hidden=[4096,4096,4096,4096,4096,4096,4096]", []string{"networks ", "(actor.hidden [4096, "}},
		{"hop-4x4 search.sims=1000000", []string{"search trees ", "(search.sims 1000000, ", "--set search.sims="}},
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
	for _, name := range reg.PresetNames() { // presets are for small machines
		s, err := reg.Load(name, nil)
		memory := uint64(2_000_000_000)
		if strings.HasSuffix(name, "-64") {
			memory *= 2 // 64 agents on 32x32: see what it takes in docs/games/cleanup.md and commons.md
		}
		if err == nil {
			err = s.FitsMemory(memory, 1, 2)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
