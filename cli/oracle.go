package cli

import (
	"fmt"
	"strings"

	"hop/lab"
)

type oracleCmd struct {
	gameFlags
	Vs       []string `help:"The co-players, one bot for each other seat." required:"" placeholder:"BOT,..."`
	Episodes int      `help:"Starts to average over." default:"100"`
	Seed     uint64   `help:"Names all random streams; the starts are those of a focal hop eval with this seed." default:"1"`
	Discount float64  `help:"Of rewards, per step." default:"1"`
	Check    bool     `help:"Also play the best response from the same starts: it must get its value."`
	JSON     bool     `help:"Print one JSON object."`
}

func (c oracleCmd) Run(a *app) error {
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	bar := a.progress("starts")
	out, err := lab.Solve(a.ctx, g, lab.SolveConfig{
		VS: c.Vs, Episodes: c.Episodes, Seed: c.Seed, Discount: c.Discount, Check: c.Check, Progress: bar.update,
	})
	bar.end()
	if err != nil {
		return err
	}
	if c.JSON {
		return a.emit(out)
	}
	fmt.Fprintf(a.out, "best response to %s: %.4f ± %.4f over %d starts, %.0f states and %.2f ms each\n", strings.Join(out.VS, ","),
		out.Value, 1.96*out.SE, c.Episodes, out.States, out.MS)
	if out.Played != nil {
		fmt.Fprintf(a.out, "played from the same starts: %.4f, differs by %.4f ± %.4f\n", *out.Played, *out.Played-out.Value, 1.96**out.DiffSE)
	}
	return nil
}
