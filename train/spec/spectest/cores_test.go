package spectest_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// Two windows of presets end in the same checkpoint and metrics for any number of workers.
func TestPresetsLearnTheSameOnAnyNumberOfCores(t *testing.T) {
	reg := registry.New()
	for name, sets := range map[string][]string{
		"ppo-4x4":         {"ppo.epochs=2"},
		"ppo-imagine-4x4": {"imagine.trust=0", "imagine.steps=2", "train.envs=16", "ppo.epochs=1"},
		"hop-4x4": {"train.envs=16", "train.window=8", "search.sims=2", "search.trees=1",
			"train.warm.windows=1", "train.strangers.every=0"},
		"lstm":      {"actor.lstm=16", "train.envs=64", "ppo.epochs=2"},
		"one brain": {"train.brains=[0, 0, 0, 0]", "train.envs=64", "ppo.epochs=1", "ppo.clip_value=true"},
	} {
		t.Run(name, func(t *testing.T) {
			preset := name
			if name == "lstm" || name == "one brain" {
				preset = "ppo-4x4"
			}
			spec, err := reg.Load(preset, sets)
			if err != nil {
				t.Fatal(err)
			}
			var want [2][]byte
			for _, workers := range []int{1, 3, 16} {
				got := twoWindows(t, &spec, workers)
				if want[0] == nil {
					want = got
				}
				for i, what := range []string{"checkpoint", "metrics"} {
					if !bytes.Equal(got[i], want[i]) {
						t.Errorf("%d workers leave other bytes than one: %s", workers, what)
					}
				}
			}
		})
	}
}

// twoWindows returns the checkpoint and the metrics after two windows.
func twoWindows(t *testing.T, s *spec.Spec, workers int) (out [2][]byte) {
	t.Helper()
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	loop, err := s.Build(3, spec.Machine{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := loop.Run(ctx, run, func(p *train.Progress) {
		if p.Update == 2 {
			stop()
		}
	}); err == nil {
		t.Fatal("it was not stopped")
	}
	if out[0], err = loop.Save(); err == nil {
		out[1], err = os.ReadFile(filepath.Join(run.Dir(), "metrics.csv"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
