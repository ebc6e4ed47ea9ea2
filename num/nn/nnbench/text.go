package nnbench

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text is a table for a terminal.
func (r *Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernels %s, measured peak %.0f GFLOP/s on one core\n\n", r.Kernels, r.Peak)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "net\top\tbatch\tus\tGFLOP/s\tof peak\t")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f\t%.1f\t%.0f %%\t\n", row.Net, row.Op, row.Batch, row.US, row.GFLOPS, 100*row.Share)
	}
	w.Flush()
	return b.String()
}
