package report

import (
	"math"
	"path/filepath"
	"testing"

	"hop/stats"
)

func crossOf(means ...[]float64) *Cross {
	c := &Cross{Game: "test", Starts: 10, Seats: 4}
	for i, row := range means {
		c.Entries = append(c.Entries, CrossEntry{Name: string(rune('a' + i)), Kind: "bot"})
		c.Cells = append(c.Cells, nil)
		for _, m := range row {
			cell := CrossCell{Own: &CrossMean{m, stats.Interval{m - 0.1, m + 0.1}}, Others: &CrossMean{m + 1, stats.Interval{m, m + 2}}}
			if math.IsNaN(m) {
				cell = CrossCell{Missing: "it cannot"}
			}
			c.Cells[i] = append(c.Cells[i], cell)
		}
	}
	return c
}

func TestBestNewcomerOfATeam(t *testing.T) {
	c := crossOf([]float64{1, 5, math.NaN()}, []float64{3, 4, math.NaN()}, []float64{2, 6, math.NaN()})
	for team, want := range []int{1, 2, -1} {
		if got := c.Best(team); got != want {
			t.Errorf("team %d: newcomer %d does best, want %d", team, got, want)
		}
	}
	if got := c.Average(0); !math.IsNaN(got) {
		t.Errorf("a newcomer that could not join all teams averages %v, want none", got)
	}
	if got := crossOf([]float64{1, 2}, []float64{3, 5}).Average(1); got != 4 {
		t.Errorf("average %v, want 4", got)
	}
	if got := c.Absent(); len(got) != 1 {
		t.Errorf("%d reasons are given, want one: %v", len(got), got)
	}
}

// Equal colours mean equal values in both tables.
func TestHeatsShareOneScale(t *testing.T) {
	own, others := crossOf([]float64{0, 10}, []float64{4, 2}).heats()
	if own.Low != 0 || own.High != 11 || others.Low != own.Low || others.High != own.High {
		t.Errorf("scales %v to %v and %v to %v, want 0 to 11", own.Low, own.High, others.Low, others.High)
	}
}

func TestCrossPlayPageIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	if err := WriteCross(dir, crossOf([]float64{1, 2.25}, []float64{math.NaN(), 4})); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"crossplay.html": {"2.250", "± 0.100", "color-mix", "it cannot", "class=\"best\""},
		"crossplay.md":   {"| a | **1.000** ± 0.100 / 2.000 | 2.250 ± 0.100 / 3.250 |", "| b | – |"},
	} {
		says(t, name, load(t, dir, name), want...)
	}
	pictures(t, filepath.Join(dir, "crossplay.png"))
}
