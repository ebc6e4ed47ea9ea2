package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/plot"
)

type evalCmd struct {
	gameFlags
	Ask  flags[lab.EvalConfig] `embed:""`
	JSON bool                  `help:"Print one JSON object."`
}

func (c evalCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	bar := a.progress("episodes")
	ask.Progress = bar.Update
	out, err := lab.Eval(a.ctx, g, ask)
	bar.End()
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(out)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "member\tmean\t95 %%\tlifetime\t")
	for _, goal := range g.Spec().Goals {
		fmt.Fprintf(w, "%s\t", goal)
	}
	fmt.Fprintln(w)
	for _, s := range out.Seats {
		fmt.Fprintf(w, "%s\t%.3f\t± %s\t%.1f\t", s.Name, s.Mean, plot.Number((s.CI[1]-s.CI[0])/2), s.Life)
		for _, goal := range g.Spec().Goals {
			fmt.Fprintf(w, "%.0f %%\t", 100*s.Goals[goal])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "all\t%.3f\t± %s\t%.1f\t\n", out.Mean, plot.Number((out.CI[1]-out.CI[0])/2), out.Lifetime)
	if out.Lost != nil {
		fmt.Fprintf(w, "regret of %s\t%.3f\t± %s\t\n", out.Team[out.Focal], out.Regret, plot.Number(1.96*float64(out.RegretSE)))
		fmt.Fprintf(w, "without luck\t%.3f\t± %s\t\n", out.Loss, plot.Number(1.96*float64(out.LossSE)))
	}
	return w.Flush()
}
