package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train/prepare"
)

type adaptCmd struct {
	Runs []string             `arg:"" name:"run" help:"Runs' folders, or folders of seeds; also br, plan, plan-infer, plan-paper, or a bot." placeholder:"RUN|WHO"`
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
	var ofGame []string
	for _, s := range c.Set {
		if strings.HasPrefix(s, "game.") {
			ofGame = append(ofGame, s)
		}
	}
	g, err := a.lab().GameWith(c.Game, ofGame)
	if err != nil {
		return err
	}
	table, err := a.lab().Adapt(a.ctx, ask, lab.Site{Game: g, Set: c.Set, Runs: c.Runs, Dir: c.Out})
	if err != nil {
		return err
	}
	switch {
	case c.JSON && len(table.Table) == 1:
		return a.emit(table.Table[0])
	case c.JSON:
		return a.emit(table)
	}
	return adaptText(a, table)
}

func adaptText(a *app, t *adapted.Table) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(a.out, "%s\n\n", strings.Join(t.Headlines(), "\n"))
	fmt.Fprintf(a.out, "%s; last %d of %d steps; intervals (95 %%) %s\n\n", t.Words, t.Last, t.Steps, t.Over())
	fmt.Fprintln(w, "against\twho\tscore\t95 %\tbest response\trandom\tnormalised\t95 %\tregret\tfirst episode\tco-players")
	for _, r := range t.Table {
		for i, l := range r.Lines() {
			first, note := "", r.Acquainted(l.VS)
			if i == 0 {
				first = fmt.Sprintf("%.3f", r.First)
			}
			if i > 0 && r.Back != nil {
				note += "; " + r.Recovery()
			}
			fmt.Fprintf(w, "%s\t%s\t%.3f\t%s\t%.3f %s\t%.3f\t%s\t%s\t%.3f\t%s\t%s\n", r.Part(i), r.Run, l.Score, between(l.CI),
				l.BestResponse, l.BestName, l.Random, plot.Number(l.Share()), between(l.NormalisedCI), l.Regret, first, note)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	heads, rows := t.Readings()
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\n"+strings.Join(heads, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	fmt.Fprintf(w, "\n%s\n", adapted.ReadingLegend)
	return w.Flush()
}
