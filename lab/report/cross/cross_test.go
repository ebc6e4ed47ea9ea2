package cross

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/stats"
)

func tableOf(means ...[]float64) *Table {
	c := &Table{Game: "test", Starts: 10, Seats: 4}
	for i, row := range means {
		c.Entries = append(c.Entries, Entry{Name: string(rune('a' + i)), Kind: "bot"})
		c.Cells = append(c.Cells, nil)
		for _, m := range row {
			var of stats.Acc // of mean m and interval ± 0.1
			for i := range 10 {
				of.Add(m + 0.1326*(2*float64(i%2)-1))
			}
			cell := Cell{Own: MeanOf(of), Others: &Mean{Mean: m + 1, CI: stats.Interval{m, m + 2}}}
			if math.IsNaN(m) {
				cell = Cell{Missing: "it cannot"}
			}
			c.Cells[i] = append(c.Cells[i], cell)
		}
	}
	return c
}

func TestBestNewcomerOfATeam(t *testing.T) {
	c := tableOf([]float64{1, 5, math.NaN()}, []float64{3, 4, math.NaN()}, []float64{2, 6, math.NaN()})
	for team, want := range [][]int{{1}, {2}, nil} {
		if got := c.Best(team); !slices.Equal(got, want) {
			t.Errorf("team %d: newcomers %d may be the best, want %d", team, got, want)
		}
	}
	if got := c.Average(0); !math.IsNaN(got) {
		t.Errorf("a newcomer that could not join all teams averages %v, want none", got)
	}
	if got := tableOf([]float64{1, 2}, []float64{3, 5}).Average(1); got != 4 {
		t.Errorf("average %v, want 4", got)
	}
	if got := c.Absent(); len(got) != 1 {
		t.Errorf("%d reasons are given, want one: %v", len(got), got)
	}
}

// Equal colours mean equal values in both tables.
func TestHeatsShareOneScale(t *testing.T) {
	own, others := tableOf([]float64{0, 10}, []float64{4, 2}).heats()
	if math.Abs(own.Low) > 1e-9 || own.High != 11 || others.Low != own.Low || others.High != own.High {
		t.Errorf("scales %v to %v and %v to %v, want 0 to 11", own.Low, own.High, others.Low, others.High)
	}
}

func TestCrossPlayPageIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	if err := Write(dir, tableOf([]float64{1, 2.25}, []float64{math.NaN(), 4})); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]string{
		"crossplay.html": {"2.250", "± 0.100", "color-mix", "it cannot", "class=\"best\""},
		"crossplay.md":   {"| a | **1.000** ± 0.100 / 2.000 | 2.250 ± 0.100 / 3.250 |", "| b | – |"},
		"crossplay.png":  {"PNG"},
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range list {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
}

// The best newcomer is named where it can be told from all others; where it cannot,
// all that may be the best are framed.
func TestBestNewcomerIsBeyondChance(t *testing.T) {
	c := tableOf([]float64{1, 5}, []float64{1.05, 4}, []float64{0.5, 3})
	for _, row := range c.Cells { // two teams
		if len(row) != 2 {
			t.Fatal("want two teams")
		}
	}
	c.Entries = c.Entries[:3]
	if got := c.Best(0); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("newcomers %d may be the best in the first team, want 1 and 0, whose intervals overlap", got)
	}
	c.Entries = c.Entries[:2] // the teams
	if got, want := c.Headline(), "a is the best newcomer among b; among a the best cannot be told from the next."; got != want {
		t.Errorf("headline %q, want %q", got, want)
	}
	for _, q := range []struct {
		means [][]float64
		want  string
	}{
		{[][]float64{{2, 2}, {1, 1}}, "a is the best newcomer in every one of the 2 teams."},
		{[][]float64{{1, 1}, {1, 1}}, "In none of the 2 teams can the best newcomer be told from the next."},
		{[][]float64{{1, 2}, {2, 1}}, "a is the best newcomer among b; b is the best newcomer among a."},
		{[][]float64{{math.NaN()}}, "No pair could be played."},
	} {
		if got := tableOf(q.means...).Headline(); got != q.want {
			t.Errorf("headline %q, want %q", got, q.want)
		}
	}
}
