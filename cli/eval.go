package cli

import (
	"fmt"
	"text/tabwriter"

	"hop/lab"
)

type evalCmd struct {
	gameFlags
	Team     []string `help:"${eval_team}" required:"" placeholder:"BOT,..."`
	Episodes int      `help:"How many episodes to play." default:"10000"`
	Seed     uint64   `help:"Names all random streams." default:"1"`
	Workers  int      `help:"How many cores to use; 0: all. The result is the same." default:"0"`
	FixSeat  bool     `help:"Do not deal the team to seats anew each episode."`
	Focal    int      `help:"${eval_focal}" default:"-1" placeholder:"N"`
	Planner  []string `help:"Set a field of planners, such as plan.sims=200; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	JSON     bool     `help:"Print one JSON object."`
}

func (c evalCmd) Run(a *app) error {
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	bar := a.progress("episodes")
	out, err := lab.Eval(a.ctx, g, lab.EvalConfig{
		Team: c.Team, Planner: c.Planner, Episodes: c.Episodes, Seed: c.Seed, Workers: c.Workers, FixSeat: c.FixSeat, Focal: c.Focal,
		Progress: bar.update,
	})
	bar.end()
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
		fmt.Fprintf(w, "%s\t%.3f\t± %.3f\t%.1f\t", s.Name, s.Mean, (s.CI[1]-s.CI[0])/2, s.Life)
		for _, goal := range g.Spec().Goals {
			fmt.Fprintf(w, "%.0f %%\t", 100*s.Goals[goal])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "all\t%.3f\t± %.3f\t%.1f\t\n", out.Mean, (out.CI[1]-out.CI[0])/2, out.Lifetime)
	if out.Lost != nil {
		fmt.Fprintf(w, "regret of %s\t%.3f\t± %.3f\t\n", out.Team[out.Focal], out.Regret, 1.96*out.RegretSE)
		fmt.Fprintf(w, "without luck\t%.3f\t± %.3f\t\n", out.Loss, 1.96*out.LossSE)
	}
	return w.Flush()
}
