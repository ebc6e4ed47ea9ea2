package cli

import (
	"fmt"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab/compare"
	"github.com/hop-marl/hop/lab/report"
)

type compareCmd struct {
	Variants []string              `arg:"" help:"Presets or spec files; the first is the one that others are held against." placeholder:"PRESET|SPEC"`
	Ask      flags[compare.Config] `embed:""`
	JSON     bool                  `help:"Print one JSON object."`
}

type compareJSON struct {
	*report.Comparison
	Improve []report.WinOver `json:"improvement"`
	Page    string           `json:"page"`
}

func (c compareCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	ask.Variants, ask.Out = c.Variants, kong.ExpandPath(ask.Out)
	for i, dir := range ask.Reuse {
		ask.Reuse[i] = kong.ExpandPath(dir)
	}
	res, err := compare.Run(a.ctx, a.lab(), ask)
	if err != nil {
		return err
	}
	res.Command = commandLine()
	if err := report.WriteCompare(ask.Out, res); err != nil {
		return err
	}
	return c.show(a, res, filepath.Join(ask.Out, "compare.html"))
}

func (c compareCmd) show(a *app, res *report.Comparison, page string) error {
	if c.JSON {
		return a.emit(compareJSON{res, res.Wins(), page})
	}
	_, err := fmt.Fprintf(a.out, "%s\nOpen the page: %s\n", res.Text(), page)
	return err
}
