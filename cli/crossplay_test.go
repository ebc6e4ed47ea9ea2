package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// brief are settings of a training of a second.
var brief = []string{"--set", "train.steps=6000", "--set", "eval.episodes=40", "--set", "train.save=3000"}

func crossplay(t *testing.T, args ...string) crossplayJSON {
	t.Helper()
	code, out, errs := hop(t, append(append([]string{"crossplay"}, args...), "--json")...)
	if code != 0 {
		t.Fatalf("hop crossplay %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	var x crossplayJSON
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// cell finds a pair.
func (x crossplayJSON) cell(t *testing.T, newcomer, team string) crossCellJSON {
	t.Helper()
	for _, c := range x.Cells {
		if c.Newcomer == newcomer && c.Team == team {
			return c
		}
	}
	t.Fatalf("%s among %s is not in %v", newcomer, team, x.Entries)
	return crossCellJSON{}
}

func TestCrossPlayOfRunsPresetsBotsAndBestResponses(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, errs := hop(t, append([]string{"train", "ppo-4x4", "--seeds", "1-2"}, brief...)...); code != 0 {
		t.Fatal(errs)
	}
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
}

func TestWrongCrossPlayIsExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ns", "nss"}, "no player of staghunt"},
		{[]string{"ppo-4x4", "ns"}, "has not been trained yet"},
		{[]string{"ns", "ns"}, "entered twice"},
		{[]string{"ns", "nh", "--episodes", "0"}, "at least 1"},
		{[]string{"random", "--game", "cartpole"}, "one seat"},
		{[]string{"ns", "--set", "stags=2"}, "game.FIELD"},
	} {
		code, _, errs := hop(t, append([]string{"crossplay"}, c.args...)...)
		if code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("hop crossplay %v: exit %d, want 2 and %q:\n%s", c.args, code, c.want, errs)
		}
	}
}
