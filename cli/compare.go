package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"hop/lab"
	"hop/report"
	"hop/stats"
)

type compareCmd struct {
	Variants  []string `arg:"" help:"Presets or spec files; the first is the one that others are held against." placeholder:"VARIANT"`
	Seeds     string   `help:"Seeds of every variant, such as 1-5 or 1,4,9." default:"1-5"`
	Set       []string `help:"Set a field of all variants, such as train.steps=200000; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Out       string   `help:"Folder of the comparison and of the runs it trains; the same folder goes on." default:"runs/compare" type:"path"`
	Reuse     []string `help:"Folders in which finished runs are looked for too." default:"runs" type:"path" sep:"none"`
	Threshold string   `help:"${compare_threshold}" default:"" placeholder:"X"`
	Workers   int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON      bool     `help:"Print one JSON object."`
}

type comparedJSON struct {
	Name    string         `json:"name"`
	Seeds   []comparedSeed `json:"seeds"`
	Mean    float64        `json:"mean"`
	CI      stats.Interval `json:"ci"`
	IQM     float64        `json:"iqm"`
	IQMCI   stats.Interval `json:"iqm_ci"`
	Diff    float64        `json:"diff"` // to the first variant
	DiffCI  stats.Interval `json:"diff_ci"`
	Reached int            `json:"reached"`  // seeds that came to the threshold
	StepsTo *float64       `json:"steps_to"` // median env steps to it; null: fewer than half got there
	CPUTo   *float64       `json:"cpu_s_to"`
}

type comparedSeed struct {
	Seed   uint64  `json:"seed"`
	Run    string  `json:"run"`
	Mean   float64 `json:"mean"`
	CPU    float64 `json:"cpu_s"`
	Reused bool    `json:"reused"`
}

type winJSON struct {
	Row string         `json:"row"`
	Col string         `json:"col"`
	P   float64        `json:"p"`
	CI  stats.Interval `json:"ci"`
}

type compareJSON struct {
	Game      string         `json:"game"`
	Threshold float64        `json:"threshold"`
	Variants  []comparedJSON `json:"variants"`
	Improve   []winJSON      `json:"improvement"`
	Page      string         `json:"page"`
}

func (c compareCmd) Run(a *app) error {
	threshold := math.NaN()
	if c.Threshold != "" {
		var err error
		if threshold, err = strconv.ParseFloat(c.Threshold, 64); err != nil {
			return usage("--threshold %s: want a number", c.Threshold)
		}
	}
	seeds, err := parseSeeds(c.Seeds)
	if err != nil {
		return err
	}
	res, reused, err := a.lab().Compare(a.ctx, lab.CompareConfig{
		Variants: c.Variants, Set: c.Set, Seeds: seeds, Out: c.Out, Reuse: c.Reuse, Threshold: threshold, Workers: c.Workers,
	})
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.err, "stopped; everything is saved. Give the same command again to go on.")
	}
	if err != nil {
		return err
	}
	res.Command = commandLine()
	if err := report.WriteCompare(c.Out, res); err != nil {
		return err
	}
	return c.show(a, res, reused)
}

func (c compareCmd) show(a *app, res *report.Comparison, reused map[string]bool) error {
	page := filepath.Join(c.Out, "compare.html")
	if c.JSON {
		return a.emit(compareResult(res, reused, page))
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
		fmt.Fprintf(w, "%d of %d\t%s\t%s\t\n", x.Reached, len(x.Seeds), dash(x.Short()), dash(x.Time()))
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

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func compareResult(res *report.Comparison, reused map[string]bool, page string) compareJSON {
	out := compareJSON{Game: res.Label, Threshold: res.Threshold, Page: page}
	number := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	for i, x := range res.Variants {
		j := comparedJSON{
			Name: x.Name, Mean: x.Mean, CI: x.CI, IQM: x.IQM, IQMCI: x.IQMCI, Diff: x.Diff, DiffCI: x.DiffCI,
			Reached: x.Reached, StepsTo: number(x.Steps), CPUTo: number(x.CPU),
		}
		for _, s := range x.Seeds {
			j.Seeds = append(j.Seeds, comparedSeed{s.Seed, s.Dir, s.Mean, s.CPU, reused[s.Dir]})
		}
		out.Variants = append(out.Variants, j)
		for k, w := range res.Improve[i] {
			if k != i {
				out.Improve = append(out.Improve, winJSON{x.Name, res.Variants[k].Name, w.P, w.CI})
			}
		}
	}
	return out
}
