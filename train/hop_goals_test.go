package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hop/exp"
	"hop/frame"
	"hop/model/actor"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/model/world"
	"hop/nn"
	"hop/pretrain"
	"hop/registry"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// folder writes a model into a folder as hop pretrain leaves it.
func folder(t *testing.T, kind string, config, input any, p *nn.Params) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), kind)
	run, err := runlog.Create(dir, []byte("{}\n"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	meta, err := json.Marshal(map[string]any{"Config": config, "Input": input})
	if err != nil {
		t.Fatal(err)
	}
	f := &safetensors.File{Meta: map[string]string{kind: string(meta)}}
	p.Save(f, "best/")
	p.Save(f, "brain/net/") // where hop pretrain response has it
	body, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Checkpoint(1, body, 0, runlog.Keep{Last: 1}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// untrained writes small models with weights as they were drawn, for boards of
// that size: what they say does not matter to these tests. Points of 3
// dimensions, and 3 classes.
func untrained(t *testing.T, size int) (points, infer, classes string) {
	t.Helper()
	in := frame.Input{Height: size, Width: size, Planes: 7, Rest: 7 + 1 + 28}
	c := vae.Default()
	c.Loss, c.Hidden, c.Dim, c.MOA, c.Outcome = "b", []int{8}, 3, 8, 0.5
	vin := vae.Input{Input: in, Agents: 4, Actions: 7}
	_, p, err := vae.New(c, vin, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	points = folder(t, "vae", c, vin, p)
	c.Discrete = 3
	if _, p, err = vae.New(c, vin, rng.New(2)); err != nil {
		t.Fatal(err)
	}
	classes = folder(t, "vae", c, vin, p)
	q := cvae.Config{Dim: 3, Frame: frame.Egof, Feature: 4, GRU: 5, Hidden: []int{6}}
	cin := cvae.Input{Input: in, Seats: 4, Actions: 7}
	if _, p, err = cvae.New(q, cin, rng.New(3)); err != nil {
		t.Fatal(err)
	}
	return points, folder(t, "cvae", q, cin, p), classes
}

// untrainedWorld writes a small world model.
func untrainedWorld(t *testing.T) string {
	t.Helper()
	c := world.Default()
	c.Hidden = []int{8}
	in := world.Input{Height: 4, Width: 4, Planes: 7, Agents: 4, Actions: 7, Horizon: 35, Legal: 7, Time: 1, Last: 4, Rewards: []float32{0, 1, 5}}
	_, p, err := world.New(c, in, rng.New(4))
	if err != nil {
		t.Fatal(err)
	}
	return folder(t, "world", c, in, p)
}

// untrainedResponse writes a small response network that knows the default bots.
func untrainedResponse(t *testing.T) string {
	t.Helper()
	c := actor.Default()
	c.Hidden = []int{8}
	in := pretrain.ResponseInput{
		Input: actor.Input{Input: frame.Input{Height: 4, Width: 4, Planes: 7, Rest: 7 + 1 + 28, Extra: 9}, Actions: 7},
		Seats: 4, Who: []string{"ns", "nh", "random"}, Scale: 0.2,
	}
	_, p, err := actor.New(c, in.Input, rng.New(5))
	if err != nil {
		t.Fatal(err)
	}
	return folder(t, "response", c, in, p)
}

// kinds returns short runs of planners with models that were trained before.
func kinds(t *testing.T) map[string]string {
	points, infer, classes := untrained(t, 4)
	with := func(goals, vae, rest string) string {
		s := strings.Replace(planner, "leaf: both", "leaf: both, goals: "+goals+rest, 1)
		return s + fmt.Sprintf("models:\n  vae: %q\n  cvae: %q\n", vae, infer)
	}
	return map[string]string{
		"world": strings.Replace(planner, "leaf: both", "leaf: net, dynamics: world", 1) +
			fmt.Sprintf("models: {world: %q}\n", untrainedWorld(t)),
		"latent":         with("latent", points, ""),
		"latent, all of": with("latent", points, ", train: [moa, cvae, vae], gate: 1"),
		"codes":          with("codes", classes, ", train: [moa, vae]"),
		"response": strings.Replace(with("latent", points, ""), "leaf: both", "leaf: response", 1) +
			fmt.Sprintf("  response: %q\n", untrainedResponse(t)),
	}
}

func TestLearntGoalsDoNotDependOnWorkersOrCaches(t *testing.T) {
	for name, text := range kinds(t) {
		_, one := play(t, text, 3, 1)
		_, two := play(t, text, 3, 2)
		if !bytes.Equal(last(t, one), last(t, two)) {
			t.Errorf("%s: one and two workers end in different checkpoints", name)
		}
		// A cache that mixes what belongs to different goals changes what is
		// planned; one that hardly keeps anything cannot mix.
		_, small := play(t, strings.Replace(text, "leaf: ", "cache_log: 4, leaf: ", 1), 3, 1)
		if !bytes.Equal(last(t, one), last(t, small)) {
			t.Errorf("%s: the size of the caches changes what is played", name)
		}
	}
}

// Resumed every two updates, mid-episode, a run ends in the same bytes; and it
// does so after the folders of its models are gone.
func TestLearntGoalsResumeWithoutTheirFolders(t *testing.T) {
	for name, text := range kinds(t) {
		_, whole := play(t, text, 3, 1)
		want := last(t, whole)
		s, err := registry.New().Parse([]byte(text), "test.yaml", "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{})
		if err != nil {
			t.Fatal(err)
		}
		var saved []byte
		for range 12 {
			loop, err := s.Build(3, exp.Machine{Workers: 1, Saved: saved})
			if err != nil {
				t.Fatal(err)
			}
			if saved != nil {
				if err := loop.Load(saved); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(context.Background())
			updates := 0
			err = loop.Run(ctx, run, func(*train.Progress) {
				if updates++; updates == 2 {
					stop()
				}
			})
			stop()
			if saved, _ = loop.Save(); err == nil {
				break
			}
			s.Models.VAE, s.Models.CVAE, s.Models.World = "gone", "gone", "gone"
		}
		run.Close()
		if !bytes.Equal(saved, want) {
			t.Errorf("%s: a run stopped every two updates ends differently", name)
		}
	}
}

// What has been trained plays without the folders that its models came from.
func TestAgentsCarryTheirModels(t *testing.T) {
	points, infer, _ := untrained(t, 4)
	text := strings.Replace(planner, "leaf: both", "leaf: both, goals: latent", 1) + fmt.Sprintf("models: {vae: %q, cvae: %q}\n", points, infer)
	_, dir := play(t, text, 3, 1)
	for _, gone := range []string{points, infer} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := registry.New().LoadAgents(dir); err != nil {
		t.Error(err)
	}
}

// Goals that are switched off leave nothing behind: the run is direct-OM's, bit
// for bit, whatever models the spec names.
func TestGoalsOffIsDirectOM(t *testing.T) {
	off := strings.Replace(planner, "leaf: both", "leaf: net, goals: none", 1)
	_, plain := play(t, off, 3, 1)
	points, infer, _ := untrained(t, 4)
	_, named := play(t, off+fmt.Sprintf("models: {vae: %q, cvae: %q}\n", points, infer), 3, 1)
	if !bytes.Equal(last(t, plain), last(t, named)) {
		t.Error("models that are not used change the run")
	}
}

func TestModelsMustFit(t *testing.T) {
	points, infer, classes := untrained(t, 4)
	wide, far, _ := untrained(t, 5)
	for _, c := range []struct{ goals, vae, cvae, want string }{
		{"latent", "", infer, "models.vae"},
		{"latent", points, "", "models.cvae"},
		{"latent", wide, infer, "models.vae"},
		{"latent", points, far, "models.cvae"},
		{"latent", classes, infer, "codes"},
		{"codes", points, "", "discrete"},
		{"latent", "{vae}", "{cvae}", "hop train"},
		{"latent", filepath.Join(t.TempDir(), "none"), infer, "models.vae"},
	} {
		text := strings.Replace(planner, "leaf: both", "leaf: both, goals: "+c.goals, 1) + fmt.Sprintf("models: {vae: %q, cvae: %q}\n", c.vae, c.cvae)
		s, err := registry.New().Parse([]byte(text), "test.yaml", "test", nil)
		if err == nil {
			_, err = s.Build(1, exp.Machine{Workers: 1})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("goals %s, vae %q, cvae %q: the error is %v, want one that names %s", c.goals, c.vae, c.cvae, err, c.want)
		}
	}
}
