package cross

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/plot"
)

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
