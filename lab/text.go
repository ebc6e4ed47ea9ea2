package lab

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/plot"
)

// ZooText is a table of co-players for a terminal.
func (l *Lab) ZooText(list []ZooEntry) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tkind\tage\theld out\tmean\tagents\tenv steps\tgame\tfolder")
	for _, e := range list {
		var agents []string
		for _, x := range e.Agents {
			agents = append(agents, fmt.Sprintf("%.2f", x))
		}
		mean := e.Status
		if e.Status == "done" {
			mean = fmt.Sprintf("%.3f", e.Mean)
		}
		held := ""
		if e.HeldOut {
			held = "held out"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Name, e.Kind, e.Age, held, mean, strings.Join(agents, " "),
			plot.Short(float64(e.EnvSteps)), l.GameWords(e.Game), e.Run)
	}
	w.Flush()
	return b.String()
}

// Text is a table for a terminal, with the game's goals.
func (out *Evaluation) Text(goals []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "member\tmean\t95 %%\tlifetime\t")
	for _, goal := range goals {
		fmt.Fprintf(w, "%s\t", goal)
	}
	fmt.Fprintln(w)
	for _, s := range out.Seats {
		fmt.Fprintf(w, "%s\t%.3f\t± %s\t%.1f\t", s.Name, s.Mean, plot.Number((s.CI[1]-s.CI[0])/2), s.Life)
		for _, goal := range goals {
			fmt.Fprintf(w, "%.0f %%\t", 100*s.Goals[goal])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "all\t%.3f\t± %s\t%.1f\t\n", out.Mean, plot.Number((out.CI[1]-out.CI[0])/2), out.Lifetime)
	if out.Lost != nil {
		fmt.Fprintf(w, "regret of %s\t%.3f\t± %s\t\n", out.Team[out.Focal], out.Regret, plot.Number(1.96*float64(out.RegretSE)))
		fmt.Fprintf(w, "without luck\t%.3f\t± %s\t\n", out.Loss, plot.Number(1.96*float64(out.LossSE)))
	}
	w.Flush()
	return b.String()
}
