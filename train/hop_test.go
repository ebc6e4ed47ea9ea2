package train_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hop/exp"
	"hop/registry"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// planner is a short run of agents that plan.
const planner = `
actor: {hidden: [16]}
ppo: {lambda: 1, epochs: 1, minibatch: 128}
plan: {on: true, leaf: both}
search: {trees: 2, sims: 6, act: visits}
moa: {hidden: [16, 16]}
train:
  envs: 6
  window: 40
  steps: 1400
  save: 300
  warm: {windows: 2, who: [ns, nh]}
  standins: {share: 0.2, teams: 0.2, who: [nh, ns]}
`

func last(t *testing.T, dir string) []byte {
	t.Helper()
	body, _, err := runlog.Last(dir)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestPlannersDoNotDependOnWorkers(t *testing.T) {
	_, one := play(t, planner, 3, 1)
	_, two := play(t, planner, 3, 2)
	if !bytes.Equal(last(t, one), last(t, two)) {
		t.Error("one and two workers end in different checkpoints")
	}
}

// Stopped anywhere and resumed, a planner goes on as if nothing had happened:
// beliefs, expectations and the model of others are in the checkpoint.
func TestPlannersResume(t *testing.T) {
	_, whole := play(t, planner, 3, 1)
	want := last(t, whole)
	s, err := registry.New().Parse([]byte(planner), "test.yaml", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	run, err := runlog.Create(dir, nil, runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var saved []byte
	for range 12 { // a few updates a life
		loop, err := s.Build(3, exp.Machine{Workers: 1})
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
	}
	if !bytes.Equal(saved, want) {
		t.Error("a run stopped every two updates ends differently")
	}
}

// The model of others learns for every agent (fault 10): its numbers carry their
// rows, and its weights are no longer those of a run that takes no passes.
func TestEveryPlannerLearnsItsModelOfOthers(t *testing.T) {
	seen, dir := play(t, planner, 5, 1)
	_, still := play(t, strings.Replace(planner, "leaf: both", "leaf: both, passes: 0", 1), 5, 1)
	learnt, start := parse(t, last(t, dir)), parse(t, last(t, still))
	for agent := range 4 {
		judged := 0
		for _, p := range seen {
			for _, s := range p.Stats[agent] {
				if s.Name == "moa/top1" && s.N > 0 {
					judged++
				}
			}
		}
		if judged < len(seen)/2 {
			t.Errorf("agent %d: the model of others was judged in %d of %d updates", agent, judged, len(seen))
		}
		prefix, parts, moved := fmt.Sprintf("brain/%d/moa/", agent), 0, 0
		for name, data := range start {
			if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, "/w") {
				parts++
				if !bytes.Equal(data, learnt[name]) {
					moved++
				}
			}
		}
		if parts == 0 || moved != parts {
			t.Errorf("agent %d: %d of %d weight matrices of its model of others moved", agent, moved, parts)
		}
	}
}

// parse returns a checkpoint's tensors by name.
func parse(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	f, err := safetensors.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	tensors := map[string][]byte{}
	for _, x := range f.Tensors {
		tensors[x.Name] = x.Data
	}
	return tensors
}
