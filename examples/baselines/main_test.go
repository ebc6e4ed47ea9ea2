package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/spec/spectest"
)

// The test binary is the program if it is told to be.
func TestMain(m *testing.M) {
	if os.Getenv("BASELINES") != "" {
		main()
		return
	}
	spectest.Registry = newRegistry
	os.Exit(m.Run())
}

func baselines(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "BASELINES=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("baselines %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The program lists, trains, resumes, plays, reports and audits them as hop does its own. Its
// two audits, on the small board, take sixteen seconds together.
func TestWhatHopDoesWithItsOwnItDoesWithThese(t *testing.T) {
	dir := t.TempDir()
	presets, minds := baselines(t, "list", "presets"), baselines(t, "list", "minds")
	for _, name := range []string{"a3c", "pr2"} {
		preset := name + "-8x8"
		if !strings.Contains(presets, preset) || !strings.Contains(presets, "ppo-8x8") || !strings.Contains(minds, name) {
			t.Errorf("%s is not listed among\n%s\n%s", name, presets, minds)
		}
		baselines(t, "train", preset, "--set", "train.steps=3000", "--set", "eval.episodes=20", "--out", dir)
		run := filepath.Join(dir, preset+"-001")
		baselines(t, "train", "--resume", run, "--steps", "4000")
		baselines(t, "report", run)
		baselines(t, "adapt", run, "--vs", "ns,nh,nh", "--steps", "300", "--last", "100", "--out", filepath.Join(dir, name))
		if out := baselines(t, "audit", preset, "--seeds", "1", "--set", "game.size=4", "--set", "game.blocks=0",
			"--out", filepath.Join(dir, "audit")); strings.Contains(out, "FAULT") {
			t.Errorf("the audit of %s accuses the innocent:\n%s", preset, out)
		}
	}
	baselines(t, "crossplay", filepath.Join(dir, "a3c-8x8-001"), filepath.Join(dir, "pr2-8x8-001"), "ns", "--episodes", "5",
		"--out", filepath.Join(dir, "cross"))
}

// Mean squares, Q, the model of answers and streams are among what is restored.
func TestRunsKeepTheirPromises(t *testing.T) {
	for mind, block := range map[string]string{"a3c": "{n: 5}", "pr2": "{hidden: [8], alpha: 0.1, alpha_end: 0.01}"} {
		text := "mind: " + mind + "\n" + mind + ": " + block + "\n" + spectest.Small("  standins: {share: 0.2, who: [ns]}\n")
		spectest.Promises(t, spectest.With(t, text, "train.steps=3000"), 3)
	}
}

// What they cannot learn with is refused by name.
func TestWhatCannotBeIsRefused(t *testing.T) {
	for set, want := range map[string]string{
		"a3c actor.lstm=8": "actor.lstm is 8, want 0, because mind is a3c", "a3c a3c.decay=1": "a3c.decay is 1, want below 1",
		"a3c imagine.on=true": "imagine.on", "pr2 imagine.on=true": "imagine.on",
		"pr2 actor.lstm=8": "actor.lstm is 8, want 0, because mind is pr2", "pr2 train.brains=[0,0,1,2]": "train.brains",
		"pr2 pr2.alpha_end=0": "pr2.alpha_end is 0, want above 0, or -1", "pr2 pr2.hidden=[]": "pr2.hidden",
	} {
		mind, field, _ := strings.Cut(set, " ")
		spectest.Refused(t, want, "mind: "+mind, field)
	}
}

// Of the two equilibria of the stag hunt played once, gradients that take the other for
// part of the world find the safe one, hare and hare at 2; reasoning about its answer finds
// the one that pays, stag and stag at 4. It is PR2's differential game with two actions
// in place of a line: the better hill is the narrower one.
func TestTheBetterEquilibriumIsFound(t *testing.T) {
	for mind, want := range map[string]float64{"ppo": 2, "pr2": 4} {
		block := ""
		if mind == "pr2" {
			block = "pr2: {hidden: [16], alpha: 0.1, alpha_end: 0.01, lr: 5e-3}\n"
		}
		seen := spectest.Play(t, fmt.Sprintf(`
game: {name: matrix, matrix: staghunt, rounds: 1, memory: false}
mind: %s
actor: {frame: board, hidden: [16]}
ppo: {lr: 5e-3}
%strain: {envs: 32, window: 20, steps: 16000}
`, mind, block), 1, 1).Seen
		got := 0.
		for _, r := range seen[len(seen)-1].Rows {
			if r.Name == "return/mean" {
				got = r.Value
			}
		}
		if got < want-0.2 || got > want+0.2 {
			t.Errorf("two %s learners earn %.2f at the stag hunt, want %.0f", mind, got, want)
		}
	}
}
