package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/stats"
)

// Text is the comparison for a terminal.
func (c *Comparison) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", c.Headline())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "variant\tmean\t95 %\tIQM\tdifference\t95 %\twins\treached\tsteps to\tprocessor\t\n")
	for i, x := range c.Variants {
		fmt.Fprintf(w, "%s\t%.3f\t%s\t%.3f\t", x.Name, x.Mean, x.CI.Text(), x.IQM)
		if i == 0 {
			fmt.Fprint(w, "\t\t\t")
		} else {
			fmt.Fprintf(w, "%+.3f\t%s\t%.0f %%\t", x.Diff, x.DiffCI.Text(), 100*c.Improve[i][0].P)
		}
		fmt.Fprintf(w, "%d of %d\t%s\t%s\t\n", x.Reached, len(x.Seeds), x.Short(), x.Time())
	}
	w.Flush()
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "\nDifferences and wins are to %s. Intervals: Student's and Welch's over seeds. "+
		"Steps and processor time are to a return of %.3f.", c.Variants[0].Name, c.Threshold)
	return b.String()
}

// WinOver says how likely a run of one variant does better than one of another.
type WinOver struct {
	Row string         `json:"row"`
	Col string         `json:"col"`
	P   float64        `json:"p"`
	CI  stats.Interval `json:"ci"`
}

// Wins returns how likely each variant does better than each other.
func (c *Comparison) Wins() (list []WinOver) {
	for i, row := range c.Improve {
		for k, w := range row {
			if k != i {
				list = append(list, WinOver{c.Variants[i].Name, c.Variants[k].Name, w.P, w.CI})
			}
		}
	}
	return list
}
