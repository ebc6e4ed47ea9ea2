package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/search/bandit"
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

// A policy from outside plays by its name in a game of hop's, as a co-player and as the one who is
// scored, and no reference is made of it.
func TestAPolicyFromOutsidePlaysByItsName(t *testing.T) {
	t.Chdir(t.TempDir()) // here a folder has its name
	if out := outside(t, "list", "bots"); !strings.Contains(out, "turns") {
		t.Errorf("it is not listed:\n%s", out)
	}
	short := []string{"--lives", "2", "--steps", "120", "--last", "60", "--json"}
	var met struct {
		CoPlayers []struct{ Known string } `json:"co_players"`
		By        string                   `json:"best_response_by"`
		Score     float64
	}
	decode(t, &met, outside(t, append([]string{"adapt", "nh", "--vs", "turns"}, short...)...))
	if len(met.CoPlayers) != 1 || met.CoPlayers[0].Known != "stranger" || !strings.HasPrefix(met.By, "by ") || met.By == "by turns" {
		t.Errorf("among it: %+v, want a stranger whose best response is sought among candidates", met)
	}
	var scored struct {
		Strangers struct {
			Agent string
			N     int
		}
	}
	decode(t, &scored, outside(t, append([]string{"strangers", "score", "turns", "--some", "2", "--starts", "4"}, short...)...))
	if scored.Strangers.Agent != "turns" || scored.Strangers.N != 2 {
		t.Errorf("scored: %+v", scored.Strangers)
	}
	if out := outside(t, "play", "--team", "ns,ns,ns,turns", "--plain"); !strings.Contains(out, "turns") {
		t.Errorf("played:\n%.300s", out)
	}
}

// A game's own bots are as they were with one more that has joined.
func TestWhoJoinsIsNoBotOfTheGame(t *testing.T) {
	block, err := all().NewGame("staghunt")
	if err != nil {
		t.Fatal(err)
	}
	g, err := block.Build()
	if err != nil {
		t.Fatal(err)
	}
	if own, every := len(g.Bots()), game.AllBots(g); len(every) != own+1 || every[own].Name != "turns" {
		t.Errorf("%d bots of its own, and %v", own, every)
	}
	if slices.Contains(bandit.Scripts(g), "turns") {
		t.Error("a bandit chooses it")
	}
}

// decode reads the JSON that a command printed, after what it said.
func decode(t *testing.T, into any, out string) {
	t.Helper()
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), into); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
