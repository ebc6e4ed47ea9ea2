package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/plot"
)

type oracleCmd struct {
	gameFlags
	Ask  flags[lab.SolveConfig] `embed:""`
	JSON bool                   `help:"Print one JSON object."`
}

func (c oracleCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	bar := a.progress("starts")
	ask.Progress = bar.Update
	out, err := lab.Solve(a.ctx, g, ask)
	bar.End()
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(out)
	}
	fmt.Fprintf(a.out, "best response to %s: %.4f ± %s over %d starts, %.0f states and %.2f ms each\n", strings.Join(out.VS, ","),
		out.Value, plot.Number(1.96*float64(out.SE)), ask.Episodes, out.States, out.MS)
	if out.Played != nil {
		fmt.Fprintf(a.out, "played from the same starts: %.4f, differs by %.4f ± %s\n", *out.Played, *out.Played-out.Value,
			plot.Number(1.96*float64(*out.DiffSE)))
	}
	return nil
}
