package adapted

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/plot"
)

// Text is the table for a terminal.
func (t *Table) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(&b, "%s\n\n", strings.Join(t.Headlines(), "\n"))
	fmt.Fprintf(&b, "%s; last %d of %d steps; intervals (95 %%) %s\n\n", t.Words, t.Last, t.Steps, t.Over())
	fmt.Fprintln(w, "against\twho\tscore\t95 %\tbest response\trandom\tnormalised\t95 %\tregret\tfirst episode\tco-players")
	for _, r := range t.Table {
		for i, l := range r.Lines() {
			first, note := "", r.Acquainted(l.VS)
			if i == 0 {
				first = fmt.Sprintf("%.3f", r.First)
			}
			if i > 0 && r.Back != nil {
				note += "; " + r.Recovery()
			}
			fmt.Fprintf(w, "%s\t%s\t%.3f\t%s\t%s\t%.3f\t%s\t%s\t%.3f\t%s\t%s\n", r.Part(i), r.Run, l.Score, l.CI.Text(),
				l.bestBy(" "), l.Random, plot.Number(l.Share()), l.NormalisedCI.Text(), l.Regret, first, note)
		}
	}
	w.Flush()
	heads, rows := t.Readings()
	if len(rows) == 0 {
		return b.String()
	}
	fmt.Fprintln(w, "\n"+strings.Join(heads, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	fmt.Fprintf(w, "\n%s\n", ReadingLegend)
	w.Flush()
	return b.String()
}
