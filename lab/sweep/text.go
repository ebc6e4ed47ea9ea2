package sweep

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/plot"
)

// Text is the sweep's jobs for a terminal.
func (x *Index) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", x.Line())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "phase\tjob\ttries\tworker\tprocessor s\t")
	for _, e := range x.Jobs {
		why := e.Why
		if why == "" {
			why = e.Line
		}
		if e.Again != "" {
			why = strings.TrimSpace(why + " (done again: " + e.Again + ")")
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%.1f\t%s\n", e.Phase, e.Name, e.Attempt, e.Worker, e.Cost.CPU, why)
	}
	w.Flush()
	return b.String()
}

// Plan says what a sweep with these jobs would run.
func (s *Sweep) Plan(jobs *Index) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s would run", plot.Count(len(jobs.Jobs), "job"))
	if h := s.Halving; h != nil {
		fmt.Fprintf(&b, "; then the best one of %d variants to each of the env steps %v", h.Keep, h.Rungs[1:])
	}
	b.WriteString(":\n")
	for _, e := range jobs.Jobs {
		fmt.Fprintf(&b, "  %s\n", e.Name)
	}
	return b.String()
}
