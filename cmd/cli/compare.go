package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"text/tabwriter"

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
	fmt.Fprintf(a.out, "%s\n\n", res.Headline())
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "variant\tmean\t95 %\tIQM\tdifference\t95 %\twins\treached\tsteps to\tprocessor\t\n")
	for i, x := range res.Variants {
		fmt.Fprintf(w, "%s\t%.3f\t%s\t%.3f\t", x.Name, x.Mean, between(x.CI), x.IQM)
		if i == 0 {
			fmt.Fprint(w, "\t\t\t")
		} else {
			fmt.Fprintf(w, "%+.3f\t%s\t%.0f %%\t", x.Diff, between(x.DiffCI), 100*res.Improve[i][0].P)
		}
		fmt.Fprintf(w, "%d of %d\t%s\t%s\t\n", x.Reached, len(x.Seeds), x.Short(), x.Time())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, n := range res.Notes {
		fmt.Fprintf(a.out, "note: %s\n", n)
	}
	_, err := fmt.Fprintf(a.out,
		"\nDifferences and wins are to %s. Intervals: Student's and Welch's over seeds. "+
			"Steps and processor time are to a return of %.3f.\nOpen the page: %s\n", res.Variants[0].Name, res.Threshold, page)
	return err
}

func between(ci stats.Interval) string {
	if math.IsInf(ci[0], 0) || math.IsNaN(ci[0]) {
		return "–"
	}
	return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1])
}
