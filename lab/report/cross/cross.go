// Package cross is the page of a cross-play: what everyone gets among everyone, and
// who is the best newcomer where, as far as that can be told.
package cross

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
)

// Table is what cross-play found: every entry as a newcomer in a team of every
// entry.
type Table struct {
	Game    string // and its setting
	Entries []Entry
	Cells   [][]Cell // [newcomer][team]
	Starts  int      // of each pair of seeds
	Seats   int
	Greedy  bool
	Command string
	Used    []runlog.Used // the checkpoints of those that are runs
}

// Entry is who plays.
type Entry struct {
	Name  string
	Kind  string // what it is: a bot, a planner, a run
	Seeds int    // 0: it has none
}

// Cell is a newcomer among a team.
type Cell struct {
	Newcomer string  `json:"newcomer"`
	Team     string  `json:"team"`
	Own      *Mean   `json:"own"` // nil: it could not be played
	Others   *Mean   `json:"others"`
	Missing  string  `json:"missing,omitempty"` // why it could not; "": it was
	Seats    []*Mean `json:"seats,omitempty"`   // Own by the newcomer's seat, where seats have roles
}

// Mean is a mean with its 95 % interval.
type Mean struct {
	Mean float64        `json:"mean"`
	CI   stats.Interval `json:"ci"`
	of   stats.Acc
}

// MeanOf returns the mean of pairs of seeds, or of starts.
func MeanOf(of stats.Acc) *Mean { return &Mean{of.Mean(), of.CI(0.95), of} }

// over is what pairs of seeds got: over starts, or over the pairs where there are several.
func over(pairs []*eval.Crossed, got func(p *eval.Crossed) stats.Acc) *Mean {
	if len(pairs) == 1 {
		return MeanOf(got(pairs[0]))
	}
	var means stats.Acc
	for _, p := range pairs {
		of := got(p)
		means.Add(of.Mean())
	}
	return MeanOf(means)
}

// Sum sums up what pairs of seeds got, by seat too where seats have roles. It reports whether there
// is a number.
func (c *Cell) Sum(pairs []*eval.Crossed, roles bool) bool {
	c.Own = over(pairs, func(p *eval.Crossed) stats.Acc { return p.Own })
	c.Others = over(pairs, func(p *eval.Crossed) stats.Acc { return p.Others })
	if roles {
		for s := range pairs[0].Seats {
			c.Seats = append(c.Seats, over(pairs, func(p *eval.Crossed) stats.Acc { return p.Seats[s] }))
		}
	}
	return !math.IsNaN(c.Own.Mean)
}

// Seeded says that some entry has more than one seed, over which intervals are.
func (c *Table) Seeded() bool {
	return slices.ContainsFunc(c.Entries, func(e Entry) bool { return e.Seeds > 1 })
}

// Best returns the newcomers that may be the best in a team: the one that gets
// most, first, and all that cannot be told apart from it. They can be if Welch's
// interval of the difference leaves out 0; its level is such that all of a team's
// hold together in 95 of 100 (Bonferroni), as the best is chosen after looking.
func (c *Table) Best(team int) []int {
	best, n := -1, 0
	for i := range c.Cells {
		if cell := c.Cells[i][team]; cell.Missing == "" {
			if n++; best < 0 || cell.Own.Mean > c.Cells[best][team].Own.Mean {
				best = i
			}
		}
	}
	if best < 0 {
		return nil
	}
	out, level := []int{best}, 1-0.05/float64(max(1, n*(n-1)/2))
	for i := range c.Cells {
		if cell := c.Cells[i][team]; i != best && cell.Missing == "" {
			if _, ci := stats.DiffOf(c.Cells[best][team].Own.of, cell.Own.of, level); !(ci[0] > 0) {
				out = append(out, i)
			}
		}
	}
	return out
}

// IsBest says whether a newcomer may be the best in a team.
func (c *Table) IsBest(newcomer, team int) bool { return slices.Contains(c.Best(team), newcomer) }

// Headline says who is the best newcomer where, as far as that can be told.
func (c *Table) Headline() string {
	where, open := make([][]string, len(c.Entries)), []string{} // teams: by who alone is the best, and where several may be
	played := 0
	for k, team := range c.Entries {
		switch best := c.Best(k); len(best) {
		case 0:
		case 1:
			where[best[0]], played = append(where[best[0]], team.Name), played+1
		default:
			open, played = append(open, team.Name), played+1
		}
	}
	var says []string
	for i, e := range c.Entries {
		switch n := len(where[i]); {
		case n == 0:
		case n == played && n > 1:
			return fmt.Sprintf("%s is the best newcomer in every one of the %d teams.", e.Name, n)
		default:
			says = append(says, fmt.Sprintf("%s is the best newcomer among %s", e.Name, strings.Join(where[i], ", ")))
		}
	}
	switch {
	case played == 0:
		return "No pair could be played."
	case len(says) == 0:
		return fmt.Sprintf("In none of the %s can the best newcomer be told from the next.", plot.Count(played, "team"))
	case len(open) == 0:
		return strings.Join(says, "; ") + "."
	}
	return fmt.Sprintf("%s; among %s the best cannot be told from the next.", strings.Join(says, "; "), strings.Join(open, ", "))
}

// Average returns what a newcomer gets on average over the teams, each team
// counting alike; NaN if it could not join all of them.
func (c *Table) Average(newcomer int) float64 {
	var acc stats.Acc
	for _, cell := range c.Cells[newcomer] {
		if cell.Missing != "" {
			return math.NaN()
		}
		acc.Add(cell.Own.Mean)
	}
	return acc.Mean()
}

// Absent says why some pairs could not be played, each reason once.
func (c *Table) Absent() []string {
	var out []string
	for _, row := range c.Cells {
		for _, cell := range row {
			if cell.Missing != "" && !slices.Contains(out, cell.Missing) {
				out = append(out, cell.Missing)
			}
		}
	}
	return out
}

// heats returns the two tables: what newcomers get, and what the others get.
func (c *Table) heats() (own, others *plot.Heat) {
	own, others = &plot.Heat{Title: "What the newcomer gets"}, &plot.Heat{Title: "What each of the others gets"}
	for i, e := range c.Entries {
		for _, h := range []*plot.Heat{own, others} {
			h.Rows, h.Cols, h.Cells = append(h.Rows, e.Name), append(h.Cols, e.Name), append(h.Cells, nil)
		}
		for k, cell := range c.Cells[i] {
			own.Cells[i] = append(own.Cells[i], cell.Own.cell(cell.Missing))
			own.Cells[i][k].Best = c.IsBest(i, k)
			others.Cells[i] = append(others.Cells[i], cell.Others.cell(cell.Missing))
		}
	}
	plot.Scale(own, others)
	return own, others
}

func (m *Mean) cell(missing string) plot.Cell {
	if missing != "" {
		return plot.Cell{Value: math.NaN(), Text: "–", Hint: missing}
	}
	return plot.Cell{Value: m.Mean, Text: plot.Number(m.Mean), Sub: "± " + plot.Number(m.Half()), Hint: plot.Range(m.CI)}
}

// Half is half the width of the interval.
func (m *Mean) Half() float64 { return (m.CI[1] - m.CI[0]) / 2 }

//go:embed cross.html
var pageText string

//go:embed cross.md
var markdownText string

// Write writes crossplay.html, one file that opens offline, crossplay.md
// and crossplay.png into a folder.
func Write(dir string, c *Table) error {
	own, others := c.heats()
	data := struct {
		*Table
		Own, Others *plot.Heat
	}{c, own, others}
	f := &plot.Figure{Name: "crossplay", Title: "Rows join teams of columns: " + c.Game, Panels: []plot.Panel{own.Panel(), others.Panel()}}
	doc := plot.Document{Name: "crossplay", HTML: pageText, Text: markdownText, Data: data, Figures: []*plot.Figure{f}}
	return doc.Write(dir)
}

// Text is the table for a terminal.
func (x *Table) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: rows join teams of columns; what the newcomer gets / what each of the others gets\n\n", x.Game)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "newcomer\t")
	for _, e := range x.Entries {
		fmt.Fprintf(w, "%s\t", e.Name)
	}
	fmt.Fprintln(w)
	for i, row := range x.Cells {
		fmt.Fprintf(w, "%s\t", x.Entries[i].Name)
		for _, cell := range row {
			if cell.Missing != "" {
				fmt.Fprint(w, "–\t")
				continue
			}
			fmt.Fprintf(w, "%.3f ± %s / %.3f\t", cell.Own.Mean, plot.Number(cell.Own.Half()), cell.Others.Mean)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	for _, why := range x.Absent() {
		fmt.Fprintf(&b, "\nNot played where there is a dash: %s.", why)
	}
	if len(x.Cells[0]) > 0 && x.Cells[0][0].Seats != nil {
		fmt.Fprint(&b, "\nSeats have roles here, over which these are means: --json has what a newcomer gets on each.\n")
	}
	over := "starts"
	if x.Seeded() {
		over = "pairs of seeds, or over starts where neither has several seeds"
	}
	fmt.Fprintf(&b, "\n\n± is half the 95 %% interval over %s.", over)
	return b.String()
}

// Summary is a table in numbers, row by row.
type Summary struct {
	Game     string   `json:"game"`
	Entries  []string `json:"entries"`
	Episodes int      `json:"episodes"`
	Seed     uint64   `json:"seed"`
	Cells    []Cell   `json:"cells"` // row by row
	Page     string   `json:"page"`
}

// Summary returns the table in numbers.
func (x *Table) Summary(game string, seed uint64, page string) Summary {
	out := Summary{Game: game, Episodes: x.Starts, Seed: seed, Page: page, Cells: slices.Concat(x.Cells...)}
	for _, e := range x.Entries {
		out.Entries = append(out.Entries, e.Name)
	}
	return out
}
