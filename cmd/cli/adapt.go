package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/prepare"
)

type adaptCmd struct {
	Runs []string             `arg:"" name:"run" help:"Runs' folders, or folders of seeds; also br, plan, plan-infer, plan-paper, bandit, a bot, py:MODULE:FUNCTION or FILE.onnx." placeholder:"RUN|WHO"`
	Ask  flags[prepare.Adapt] `embed:""`
	Game string               `help:"The game for those that are no runs." default:"staghunt"`
	Set  []string             `help:"@adapt_set" sep:"none" placeholder:"PATH=VALUE"`
	Out  string               `help:"Folder for the table and the curves: adapt.md, adapt.html, adapt.json." placeholder:"DIR"`
	JSON bool                 `help:"Print one JSON object."`
}

func (c adaptCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	ofGame, _ := splitSets(c.Set)
	g, err := a.lab().GameWith(c.Game, ofGame)
	if err != nil {
		return err
	}
	table, err := a.lab().Adapt(a.ctx, ask, lab.Site{Game: g, Set: c.Set, Runs: c.Runs, Dir: c.Out})
	if err != nil {
		return err
	}
	switch {
	case c.JSON && len(table.Table) == 1 && table.First == nil:
		return a.emit(table.Table[0])
	case c.JSON:
		return a.emit(table)
	}
	_, err = fmt.Fprint(a.out, table.Text())
	return err
}
