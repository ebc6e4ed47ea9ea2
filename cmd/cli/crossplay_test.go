package cli

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/report/cross"
	"github.com/hop-marl/hop/train/registry"
)

// brief are settings of a training of a second.
var brief = []string{"--set", short, "--set", small, "--set", "train.steps=6000", "--set", "eval.episodes=40", "--set", "train.save=3000"}

func crossplay(t *testing.T, args ...string) (x crossed) {
	t.Helper()
	into(t, &x, append([]string{"crossplay"}, args...)...)
	return x
}

// cell finds a pair.
// crossed is what crossplay prints.
type crossed struct{ cross.Summary }

func (x crossed) cell(t *testing.T, newcomer, team string) cross.Cell {
	t.Helper()
	for _, c := range x.Cells {
		if c.Newcomer == newcomer && c.Team == team {
			return c
		}
	}
	t.Fatalf("%s among %s is not in %v", newcomer, team, x.Entries)
	return cross.Cell{}
}

func TestCrossPlayOfRunsPresetsBotsAndBestResponses(t *testing.T) {
	t.Chdir(t.TempDir())
	ok(t, append([]string{"train", "ppo-4x4", "--seeds", "1-2"}, brief...)...)
	x := crossplay(t, "runs/ppo-4x4-001", "ns", "nh", "br", "--episodes", "30", "--out", "x")
	if len(x.Cells) != 16 {
		t.Fatalf("%d cells, want 16", len(x.Cells))
	}
	best := x.cell(t, "br", "nh")
	if best.Own == nil || best.Own.Mean < x.cell(t, "nh", "nh").Own.Mean || best.Own.Mean > 1 {
		t.Errorf("the best response to nh gets %+v", best.Own)
	}
	if c := x.cell(t, "br", "ppo-4x4-001"); c.Own != nil || !strings.Contains(c.Missing, "bots") {
		t.Errorf("br among learners: %+v, want a reason why not", c)
	}
	if c := x.cell(t, "nh", "ns"); math.Abs(c.Own.Mean-0.998) > 0.05 || math.Abs(c.Others.Mean-3.57) > 0.3 {
		t.Errorf("nh among ns gets %.3f and leaves %.3f, want about 0.998 and 3.57", c.Own.Mean, c.Others.Mean)
	}
	if c := x.cell(t, "ppo-4x4-001", "ns"); c.Own.CI[0] >= c.Own.CI[1] {
		t.Errorf("two seeds give no interval: %v", c.Own.CI)
	}
	for _, name := range []string{"crossplay.html", "crossplay.md", "crossplay.png"} {
		if _, err := os.Stat(filepath.Join("x", name)); err != nil {
			t.Error(err)
		}
	}
	named := crossplay(t, "ppo-4x4", "ns", "--split", "--episodes", "10", "--out", "y", "--set", "game.stags=2")
	if got := strings.Join(named.Entries, " "); got != "ppo-4x4-001/seed-1 ppo-4x4-001/seed-2 ns" {
		t.Errorf("entries are %q", got)
	}
	t.Run("a person joins the run's agents", func(t *testing.T) {
		args := []string{"play", "--run", "runs/ppo-4x4-001", "--seat", "0", "--seed", "3"}
		for in, want := range map[string]struct {
			code  int
			words string
		}{strings.Repeat("stay\n", 40): {0, "[1] ppo-4x4#1"}, "": {1, "join in a terminal, where keys play"}} {
			var out bytes.Buffer
			code := run(&app{t.Context(), registry.New(), strings.NewReader(in), &out, &out, &ending{}}, args)
			if code != want.code || !strings.Contains(out.String(), want.words) || !strings.Contains(out.String(), "(0) you") {
				t.Errorf("exit %d, want %d, and %q in\n%s", code, want.code, want.words, out.String())
			}
		}
	})
}
