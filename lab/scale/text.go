package scale

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text is a table for a terminal.
func Text(rows []Row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "job\tcores\ts of the clock\ts of processor time\tspeed-up\tefficiency\tnumbers\t")
	for _, r := range rows {
		same := "the same"
		if !r.Same {
			same = "DIFFER"
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.0f %%\t%s\t\n", r.Job, r.Cores, r.Wall, r.CPU, r.Speedup, 100*r.Efficiency, same)
	}
	w.Flush()
	return b.String()
}
