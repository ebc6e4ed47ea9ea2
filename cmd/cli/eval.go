package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
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
	_, err = fmt.Fprint(a.out, out.Text(g.Spec().Goals))
	return err
}
