package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hop/stats"
)

func fallen() *Ladder {
	return &Ladder{
		Subject: "hop-4x4", Game: "staghunt", Says: "The agent gets 3.000 as trained. Work on the goal inference first.",
		Vs: []string{"ns,ns,ns", "ns,nh,nh"}, Seeds: 2, Episodes: 100, Best: "true goals",
		Rungs: []LadderRung{
			{Name: "PPO agent", Module: "PPO", Total: true, Mean: 2, CI: stats.Interval{1.9, 2.1}, Vs: []float64{1, 3}},
			{Name: "its network alone", Module: "own network", Mean: 1.5, CI: stats.Interval{1.4, 1.6}, Delta: -0.5,
				DeltaCI: stats.Interval{-0.6, -0.4}, Vs: []float64{1, 2}},
			{Name: "as trained", Module: "planner", Total: true, Mean: 3, CI: stats.Interval{2.9, 3.1}, Delta: 1.5, DeltaCI: stats.Interval{1.3,
				1.7}, Vs: []float64{2, 4}},
			{Name: "best response", Module: "search", Oracle: true, Total: true, Mean: 4, CI: stats.Interval{3.9, 4.1}, Delta: 1,
				DeltaCI: stats.Interval{0.9, 1.1}, Vs: []float64{3, 5}},
		},
		Singles: []LadderSingle{{Name: "true goals", Module: "goal inference", Mean: 3.7, Delta: 0.7, CI: stats.Interval{0.6, 0.8}, Share: 0.7}},
		Command: "hop ladder hop-4x4",
	}
}

// The page, the text and the picture hold every rung and need nothing from
// elsewhere.
func TestLadderIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := WriteLadder(dir, fallen()); err != nil {
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
