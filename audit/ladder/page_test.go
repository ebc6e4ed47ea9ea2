package ladder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/stats"
)

func fallen() *Report {
	step := func(name, module string, mean, first, second float64) Step {
		ci := stats.Interval{mean - 0.1, mean + 0.1}
		return Step{Name: name, Module: module, Mean: Mean{mean, ci}, Vs: []Mean{{Mean: first}, {Mean: second}}}
	}
	res := &Result{
		Says: "The agent gets 3.000 as trained. Work on the goal inference first.", Seeds: 2, Best: "true goals",
		Rungs: []Step{
			step("PPO agent", "PPO", 2, 1, 3), step("its network alone", "own network", 1.5, 1, 2),
			step(asTrained, "planner", 3, 2, 4), step("best response", "search", 4, 3, 5),
		},
		Deltas: []Delta{
			{Delta: -0.5, CI: stats.Interval{-0.6, -0.4}}, {Delta: 1.5, CI: stats.Interval{1.3, 1.7}}, {Delta: 1, CI: stats.Interval{0.9, 1.1}},
		},
		Singles: []Single{{
			Name: "true goals", Module: "goal inference", Mean: Mean{Mean: 3.7}, Delta: 0.7, DeltaCI: stats.Interval{0.6, 0.8}, Share: 0.7,
		}},
	}
	res.Rungs[3].Oracle = true
	return &Report{
		Subject: "hop-4x4", Game: "staghunt", Teams: []string{"ns,ns,ns", "ns,nh,nh"}, Episodes: 100, Result: res, Command: "hop ladder hop-4x4",
	}
}

// The page, the text and the picture hold every rung and need nothing from
// elsewhere.
func TestLadderIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := fallen().Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ladder.html", "ladder.md"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"PPO agent", "its network alone", "best response", "1.500", "−0.500", "true goals", "70 %",
			"vs ns,nh,nh", "Work on the goal inference first"} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
		if strings.Contains(string(b), "http://") || strings.Contains(string(b), "https://") {
			t.Errorf("%s names an address", name)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "ladder.png")); err != nil || info.Size() < 1000 {
		t.Errorf("ladder.png: %v, %v", info, err)
	}
}

// In the terminal a bar starts where the one before ended.
func TestLadderBarsStartWhereTheLastEnded(t *testing.T) {
	lines := strings.Split(strings.TrimRight(fallen().Bars(40), "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	const name = 2 + 17 + 2 // of the longest
	for i, c := range []struct {
		mark   string
		lo, hi int
	}{{"█", 0, 20}, {"░", 15, 20}, {"█", 15, 30}, {"▒", 30, 40}} {
		line := []rune(lines[i])
		got := strings.Repeat(" ", c.lo) + strings.Repeat(c.mark, c.hi-c.lo)
		if bar := string(line[name : name+c.hi]); bar != got {
			t.Errorf("rung %d is drawn as %q, want %q", i, bar, got)
		}
	}
}
