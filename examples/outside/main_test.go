package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is the program if it is told to be.
func TestMain(m *testing.M) {
	if os.Getenv("OUTSIDE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func outside(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "OUTSIDE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("outside %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Every command of this program in the tutorial runs, made short.
func TestTutorialCommandsRun(t *testing.T) {
	text, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := os.ReadFile("weaklink.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("weaklink.yaml", spec, 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "outside" {
			continue
		}
		n++
		args := words[1:]
		if args[0] == "train" {
			args = append(args, "--set", "train.steps=5000", "--set", "eval.episodes=50")
		}
		outside(t, args...)
	}
	if n < 4 {
		t.Errorf("the tutorial has %d commands of this program", n)
	}
}

// A game and a mind from outside are listed, trained, resumed, played and audited
// like hop's own.
func TestWhatHopDoesWithItsOwnItDoesWithThese(t *testing.T) {
	dir := t.TempDir()
	for what, want := range map[string]string{"games": "weaklink", "minds": "reinforce"} {
		if out := outside(t, "list", what); !strings.Contains(out, want) {
			t.Errorf("list %s does not know %s:\n%s", what, want, out)
		}
	}
	outside(t, "train", "weaklink.yaml", "--set", "train.steps=20000", "--set", "eval.episodes=50", "--out", dir)
	run := filepath.Join(dir, "weaklink-001")
	outside(t, "train", "--resume", run)
	outside(t, "eval", "--game", "weaklink", "--team", "hard,hard,idle", "--episodes", "50")
	outside(t, "crossplay", run, "hard", "--episodes", "10", "--out", filepath.Join(dir, "cross"))
	for _, what := range []string{"weaklink.yaml", run} {
		if out := outside(t, "audit", what, "--out", filepath.Join(dir, "audit")); strings.Contains(out, "FAULT") {
			t.Errorf("the audit of %s accuses the innocent:\n%s", what, out)
		}
		found, err := filepath.Glob(filepath.Join(dir, "audit", "*", "audit.json"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no audit was written: %v", err)
		}
		if text, err := os.ReadFile(found[len(found)-1]); err != nil || !strings.Contains(string(text), "are what the rules of weaklink say") {
			t.Errorf("the audit of %s does not hold steps against the second rules (%v)", what, err)
		}
	}
	// hop's own minds play the game from outside, too.
	outside(t, "train", "ppo", "--set", "game.name=weaklink", "--set", "actor.frame=board", "--set", "train.steps=5000",
		"--set", "eval.episodes=50", "--out", dir)
}
