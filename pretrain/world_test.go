package pretrain_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hop/dataset"
	"hop/game/staghunt"
	"hop/model/world"
	"hop/pretrain"
	"hop/rng"
	"hop/runlog"
)

// huntData collects stag hunts of random teams and of ns with nh.
func huntData(t *testing.T, rows int) (*staghunt.Game, []*dataset.Data) {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Horizon = 3, 12
	g, err := staghunt.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var data []*dataset.Data
	for i, cfg := range []dataset.Config{{Mix: []string{"ns", "nh"}}, {Team: []string{"random", "random", "random", "random"}}} {
		cfg.Game, cfg.GameSpec, cfg.Rows, cfg.Seed, cfg.Dir, cfg.Workers = g, map[string]any{"name": "staghunt"}, rows, uint64(i), t.TempDir(), 1
		if _, err := dataset.Collect(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		d, err := dataset.Open(cfg.Dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, d)
	}
	return g, data
}

func worldConfig(epochs int) pretrain.WorldConfig {
	c := pretrain.DefaultWorld()
	c.Epochs, c.Batch, c.LR, c.Model.Hidden, c.Model.Dense = epochs, 128, 5e-3, []int{32}, []int{64}
	return c
}

// learnWorld trains, in the folder dir.
func learnWorld(t *testing.T, c pretrain.WorldConfig, data []*dataset.Data, dir string) *pretrain.World {
	t.Helper()
	w, err := pretrain.NewWorld(c, data, 1)
	if err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Create(dir, []byte("world: {}\n"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := w.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWorldIsTheSameOnAnyNumberOfCores(t *testing.T) {
	_, data := huntData(t, 600)
	var first []float32
	for _, cores := range []int{1, 2} {
		was := runtime.GOMAXPROCS(cores)
		w := learnWorld(t, worldConfig(2), data, filepath.Join(t.TempDir(), "run"))
		runtime.GOMAXPROCS(was)
		if first == nil {
			first = slices.Clone(w.Net.W)
		} else if !slices.Equal(first, w.Net.W) {
			t.Error("the weights after 2 epochs differ between 1 and 2 cores")
		}
	}
}

// resumeWorld opens the run in dir and goes on to its end.
func resumeWorld(t *testing.T, c pretrain.WorldConfig, data []*dataset.Data, dir string) *pretrain.World {
	t.Helper()
	w, err := pretrain.NewWorld(c, data, 1)
	if err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	body, step, _, err := run.Resume()
	if err == nil {
		err = w.Resume(body, step)
	}
	if err == nil {
		err = w.Run(context.Background(), run, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestResumedWorldEqualsUninterrupted(t *testing.T) {
	_, data := huntData(t, 600)
	c := worldConfig(4)
	c.Patience = 2
	dirs := [2]string{filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "cut")}
	whole := learnWorld(t, c, data, dirs[0])
	w, err := pretrain.NewWorld(c, data, 1)
	if err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Create(dirs[1], []byte("world: {}\n"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := w.Run(ctx, run, func(p pretrain.WorldProgress) {
		if p.Epoch == 2 {
			cancel()
		}
	}); err == nil {
		t.Fatal("a cancelled run returned no error")
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if w := resumeWorld(t, c, data, dirs[1]); !slices.Equal(w.Net.W, whole.Net.W) {
		t.Error("the weights differ from those of a run that was never stopped")
	}
	if w := resumeWorld(t, c, data, dirs[1]); !slices.Equal(w.Net.W, whole.Net.W) {
		t.Error("a finished run, resumed, has other weights")
	}
	_, p, err := world.Load(dirs[1])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.W, whole.Net.W) {
		t.Error("the loaded weights are not those at the end of the run")
	}
	a, _ := os.ReadFile(filepath.Join(dirs[0], "metrics.csv"))
	b, _ := os.ReadFile(filepath.Join(dirs[1], "metrics.csv"))
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("metrics differ:\n%s\n%s", a, b)
	}
}

// Each planted fault breaks the events it must and the card says which; without
// a fault none breaks. Thresholds are far from what was seen: 3x3, 8,000 rows.
func TestPlantedFaultsAreNamedByTheirEvents(t *testing.T) {
	g, data := huntData(t, 4000)
	for _, c := range []struct {
		fault         string
		broken, whole []string
	}{
		{world.NoFault, nil, []string{"hare_by_1", "stag_by_2", "failed_hunt_stag", "moves", "all_gone", "time_up"}},
		{world.SeatOrder, []string{"moves", "hare_by_1"}, nil},
		{world.NoEnd, []string{"hare_by_1", "stag_by_2", "all_gone", "time_up"}, []string{"moves", "stays"}},
		{world.MeanPool, []string{"moves", "stag_by_2"}, nil},
	} {
		t.Run(c.fault, func(t *testing.T) {
			cfg := worldConfig(3)
			cfg.Model.Fault = c.fault
			w := learnWorld(t, cfg, data, filepath.Join(t.TempDir(), "run"))
			probe := pretrain.ProbeWorld(w.Model, w.Net, g, 4000, rng.New(5))
			card, err := pretrain.WorldCard(w.Model, "test", pretrain.WorldJudgement{
				Held: w.Judge(), Probe: probe, OpenLoop: pretrain.OpenLoop(w.Model, w.Net, g, 50, 10, rng.New(6)), Planes: g.Spec().Obs.Planes,
			})
			if err != nil {
				t.Fatal(err)
			}
			text := card.Markdown()
			for _, e := range c.broken {
				if a := probe.Events[e].Accuracy; a > 0.95 {
					t.Errorf("%s is foreseen in %.1f %% of cases, want it broken", e, 100*a)
				}
				if !strings.Contains(text, e+" (") {
					t.Errorf("the card does not name %s:\n%s", e, text)
				}
			}
			for _, e := range c.whole {
				if a := probe.Events[e].Accuracy; a < 0.97 {
					t.Errorf("%s is foreseen in %.1f %% of %d cases, want it whole", e, 100*a, probe.Events[e].N)
				}
			}
		})
	}
}
