package cli

import (
	"fmt"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab/compare"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/num/stats"
)

type compareCmd struct {
	Variants []string              `arg:"" help:"Presets or spec files; the first is the one that others are held against." placeholder:"PRESET|SPEC"`
	Ask      flags[compare.Config] `embed:""`
	JSON     bool                  `help:"Print one JSON object."`
}

// winJSON says how likely a run of one variant does better than one of another.
type winJSON struct {
	Row string         `json:"row"`
	Col string         `json:"col"`
	P   float64        `json:"p"`
	CI  stats.Interval `json:"ci"`
}

type compareJSON struct {
	*report.Comparison
	Improve []winJSON `json:"improvement"`
	Page    string    `json:"page"`
}

func (c compareCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	ask.Variants = c.Variants
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
		out := compareJSON{Comparison: res, Page: page}
		for i, row := range res.Improve {
			for k, w := range row {
				if k != i {
					out.Improve = append(out.Improve, winJSON{res.Variants[i].Name, res.Variants[k].Name, w.P, w.CI})
				}
			}
		}
		return a.emit(out)
	}
	_, err := fmt.Fprintf(a.out, "%s\nOpen the page: %s\n", res.Text(), page)
	return err
}
