package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/adapt"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/plot"
)

type adaptCmd struct {
	adapt.Config
	VS    []string `name:"vs" help:"The co-players, one for each other seat: bots, members or kinds of the zoo, or RUN#AGENT." placeholder:"WHO"`
	Trios string   `help:"Several trios: six for the six of bots; or trios separated by spaces." placeholder:"six"`
	Lived seeds    `name:"seeds" help:"Seeds of the lives, such as 1-5; none: as many as a run has seeds." placeholder:"1-5"`
	Out   string   `help:"Folder for the table and the curves: adapt.md, adapt.html, adapt.json." placeholder:"DIR"`
	JSON  bool     `help:"Print one JSON object."`
}

// six are the trios of bots that docs/adaptation.md shows.
const six = "ns,ns,ns nh,nh,nh random,random,random ns,nh,nh ns,ns,random nh,ns,random"

// work lets them meet, and writes the page.
func (c adaptCmd) work(ctx context.Context, l *lab.Lab) (any, error) { return c.meet(ctx, l) }

func (c adaptCmd) meet(ctx context.Context, l *lab.Lab) (*adapted.Table, error) {
	var err error
	if c.Teams, err = c.trios(); err != nil {
		return nil, err
	}
	c.Seeds = c.Lived.list
	table, err := adapt.Run(ctx, l, c.Config)
	if err == nil && c.Out != "" {
		err = adapted.Write(c.Out, table)
	}
	return table, err
}

func (c adaptCmd) Run(a *app) error {
	table, err := c.meet(a.ctx, a.lab())
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

// trios returns the co-players of each meeting.
func (c adaptCmd) trios() ([][]string, error) {
	switch {
	case c.Strangers != "" && len(c.VS) == 0 && c.Trios == "":
		return nil, nil
	case len(c.VS) > 0 && c.Trios != "", len(c.VS) == 0 && c.Trios == "":
		return nil, usage("name the co-players with --vs, or several trios with --trios")
	case len(c.VS) > 0:
		return [][]string{c.VS}, nil
	}
	text := c.Trios
	if text == "six" {
		text = six
	}
	var list [][]string
	for _, t := range strings.Fields(text) {
		list = append(list, strings.Split(t, ","))
	}
	return list, nil
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
