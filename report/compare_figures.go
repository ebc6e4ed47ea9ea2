package report

import (
	_ "embed"
	"fmt"
	"math"

	"gonum.org/v1/plot"

	"hop/page"
	"hop/stats"
)

//go:embed compare.html
var comparePage string

//go:embed compare.md
var compareText string

// Columns returns all seeds that some variant ran, in order.
func (c *Comparison) Columns() []uint64 {
	var out []uint64
	seen := map[uint64]bool{}
	for _, x := range c.Variants {
		for _, s := range x.Seeds {
			if !seen[s.Seed] {
				seen[s.Seed] = true
				out = append(out, s.Seed)
			}
		}
	}
	return out
}

// Of returns the mean of a seed, or NaN.
func (x *Compared) Of(seed uint64) float64 {
	for _, s := range x.Seeds {
		if s.Seed == seed {
			return s.Mean
		}
	}
	return math.NaN()
}

// Headline says in one sentence what came out.
func (c *Comparison) Headline() string {
	best := c.Variants[0]
	for _, x := range c.Variants {
		if x.Mean > best.Mean {
			best = x
		}
	}
	text := fmt.Sprintf("%s has the highest mean return of %d on %s: %s", best.Name, len(c.Variants), c.Label, page.Number(best.Mean))
	if len(best.Seeds) > 1 {
		text += fmt.Sprintf(" (95 %% interval %s over %s)", page.Range(best.CI), page.Count(len(best.Seeds), "seed"))
	}
	return text + "."
}

// Verdict says whether a variant differs from the first.
func (c *Comparison) Verdict(x *Compared) string {
	switch {
	case x.Number == 0:
		return "the reference"
	case math.IsInf(x.DiffCI[0], 0):
		return "too few seeds to tell"
	case x.DiffCI[0] > 0:
		return "better"
	case x.DiffCI[1] < 0:
		return "worse"
	}
	return "no difference shown"
}

func (c *Comparison) legend() []page.Key {
	var out []page.Key
	for _, x := range c.Variants {
		out = append(out, page.Key{Name: x.Name, Color: page.Agent(x.Number)})
	}
	return out
}

func (c *Comparison) finalsFigure() *page.Figure {
	var all []float64
	var rows []page.Spread
	for _, x := range c.Variants {
		all = append(all, x.Values()...)
		rows = append(rows, page.Spread{Name: x.Name, Color: page.Agent(x.Number), Values: x.Values(), Mean: x.Mean, CI: x.CI})
	}
	lo, hi := page.Span(all)
	for _, x := range c.Variants { // an interval as wide as the data is cut, not the scale
		if len(x.Seeds) > 1 {
			lo, hi = min(lo, max(x.CI[0], lo-(hi-lo))), max(hi, min(x.CI[1], hi+(hi-lo)))
		}
	}
	var refs []page.Ref
	for _, r := range c.refs {
		if r.Value >= lo && r.Value <= hi+0.5*(hi-lo) {
			refs = append(refs, r)
			lo, hi = min(lo, r.Value), max(hi, r.Value)
		}
	}
	more := max(0.04*(hi-lo), 1e-6)
	return &page.Figure{
		Name: "final", Title: "Mean return of the final agents",
		Caption: "Each dot is a seed; the line is their mean, the bar its 95 % interval (Student's, over seeds). Dashed: references near by.",
		Panels:  []page.Panel{page.Spreads("Mean return of the final agents, by variant", lo-more, hi+more, refs, rows...)},
	}
}

// curvesFigure draws learning curves. Where some variants are given many times
// more steps than others the axis is logarithmic.
func (c *Comparison) curvesFigure() *page.Figure {
	var heights [][]float64
	var marks []plot.Plotter
	first, least, last := math.Inf(1), math.Inf(1), 0.
	for _, x := range c.Variants {
		d := x.group.grid()
		b := x.group.bundle(d, key{"return/mean", -1})
		heights, marks = append(heights, b.lo, b.hi), append(marks, b.marks(d, x.Number)...)
		first, least, last = min(first, d.xs()[0]), min(least, d.last), max(last, d.last)
	}
	lo, hi := c.Variants[0].group.returnSpan(heights...)
	x, how := page.Steps(last), ""
	if last > 4*least {
		x, how = page.LogSteps(first, last), " Steps are on a logarithmic scale."
	}
	x.Name = "env steps"
	p := page.New(x, page.Round(lo, hi, 5)).Add(page.Levels{Refs: c.refs}).Add(marks...)
	caption := "Thick: mean over seeds; thin: each seed; band: lowest to highest seed." + how + fewNote
	return wide("curves", "Return during training, mean over agents", caption, p, page.WideH, c.legend()...)
}

func (c *Comparison) profileFigure() *page.Figure {
	x, y := page.Round(c.tau[0], c.tau[len(c.tau)-1], 6), page.Shares()
	x.Name, y.Min, y.Max = "mean return", -0.02, 1.02
	p := page.New(x, y)
	for _, x := range c.Variants {
		col := page.Agent(x.Number)
		p.Add(page.Band{X: c.tau, Low: x.pl, High: x.ph, Color: page.Fade(col, 0.1)}, page.Line{X: c.tau, Y: x.profile, Color: col, Width: 1.8})
	}
	caption := "For each return on the axis, the share of seeds whose final agents get more (Agarwal et al. 2021); " +
		"band: Wilson's 95 % interval. A curve that lies above another everywhere is better at every level."
	return wide("profile", "Performance profiles: share of seeds above a return", caption, p, page.HalfH, c.legend()...)
}

// winsFigure is the table of probabilities of improvement.
func (c *Comparison) winsFigure() *page.Figure {
	h := &page.Heat{Title: "Probability of improvement", Low: 0, High: 1}
	for i, x := range c.Variants {
		h.Rows, h.Cols = append(h.Rows, x.Name), append(h.Cols, x.Name)
		var row []page.Cell
		for k, w := range c.Improve[i] {
			cell := page.Cell{Value: w.P, Text: page.Percent(w.P), Sub: fmt.Sprintf("%.0f to %.0f", 100*w.CI[0], 100*w.CI[1])}
			if i == k {
				cell = page.Cell{Value: math.NaN(), Text: "–"}
			}
			row = append(row, cell)
		}
		h.Cells = append(h.Cells, row)
	}
	return &page.Figure{
		Name: "improve", Title: "Probability that a row's seed beats a column's",
		Caption: "How likely a run of the row gets more than a run of the column, ties counting half; " +
			"below, Newcombe's 95 % interval in percent.",
		Panels: []page.Panel{h.Panel()},
	}
}

// Short writes the steps to the threshold; a dash if too few seeds got there.
func (x *Compared) Short() string {
	if x.Steps == nil {
		return "–"
	}
	return page.Short(*x.Steps)
}

// Time writes the processor time to the threshold; a dash if too few seeds got
// there.
func (x *Compared) Time() string {
	if x.CPU == nil {
		return "–"
	}
	return page.Seconds(*x.CPU)
}

// Whole writes the median processor time of a run.
func (x *Compared) Whole() string {
	var all []float64
	for _, s := range x.Seeds {
		all = append(all, s.CPU)
	}
	return page.Seconds(stats.Quantile(all, 0.5))
}
