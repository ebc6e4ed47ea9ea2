package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const stagedSpec = `
game: {name: staghunt, size: 4}
train: {steps: 4096}
eval: {episodes: 50}
imagine: {on: true, world: "{world}"}
prepare:
  - {name: data, run: "collect {game} --mix ns,nh --rows 1000 --seed 7"}
  - {name: world, run: "pretrain world --data {data} --set epochs=2 --set model.hidden=[16] --probe 100 --plays 4"}
`

func staged(t *testing.T, args ...string) trainJSON {
	t.Helper()
	code, out, errs := hop(t, append([]string{"train", "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	var r trainJSON
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Preparing a training is part of it: what is there is reused, what changed is
// not, and the agents are the same either way.
func TestStagesOfATrainingAreReused(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("s.yaml", []byte(stagedSpec), 0o644); err != nil {
		t.Fatal(err)
	}
	first, second := staged(t, "s.yaml"), staged(t, "s.yaml")
	for i, s := range first.Stages {
		if again := second.Stages[i]; s.Reused || s.Name != "train" && !again.Reused {
			t.Errorf("stage %s: reused %v, then %v; want false, then true", s.Name, s.Reused, again.Reused)
		}
	}
	if first.Mean != second.Mean {
		t.Errorf("mean %v from fresh stages, %v from reused ones", first.Mean, second.Mean)
	}
	larger := staged(t, "s.yaml", "--set", "game.hares=3")
	if larger.Stages[0].Reused || larger.Stages[1].Reused {
		t.Error("the stages of another game were reused")
	}
	if first.Stages[1].Status == "" {
		t.Error("the card of the world model is not in the result")
	}
}

// Stopping in a stage loses nothing, and --resume goes on from there.
func TestATrainingStoppedInAStageGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("s.yaml", []byte(stagedSpec), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var out bytes.Buffer
	errs := &tripwire{at: "world", cut: cancel}
	if code := run(&app{ctx, strings.NewReader(""), &out, errs}, []string{"train", "s.yaml"}); code != 1 || !strings.Contains(errs.String(), "--resume") {
		t.Fatalf("exit %d, want 1 and how to resume:\n%s", code, errs.String())
	}
	whole, _ := filepath.Glob("runs/stages/*/done.json")
	if len(whole) != 1 {
		t.Fatalf("whole stages after stopping in the second: %v, want the first", whole)
	}
	resumed := staged(t, "--resume", "runs/s-001")
	if !resumed.Stages[0].Reused || resumed.Stages[1].Reused {
		t.Errorf("stages after resuming: %+v, want the first reused and the second run", resumed.Stages)
	}
	if fresh := staged(t, "s.yaml"); fresh.Mean != resumed.Mean {
		t.Errorf("mean %v after resuming, %v without a stop", resumed.Mean, fresh.Mean)
	}
}

func TestAFailingStageIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	spec := strings.Replace(stagedSpec, "--seed 7", "--sede 7", 1)
	if err := os.WriteFile("s.yaml", []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := hop(t, "train", "s.yaml"); code != 1 || !strings.Contains(errs, "stage data (collect") || !strings.Contains(errs, "--sede") {
		t.Errorf("exit %d, want 1, the stage and the flag:\n%s", code, errs)
	}
}

// tripwire cancels as soon as a word is written.
type tripwire struct {
	bytes.Buffer
	at  string
	cut context.CancelFunc
}

func (w *tripwire) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "] "+w.at) {
		w.cut()
	}
	return w.Buffer.Write(b)
}
