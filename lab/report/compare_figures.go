package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	gonumplot "gonum.org/v1/plot"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train"
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

// pair is two variants whose means differ by so much.
type pair struct {
	more, less *Compared
	diff       float64
	ci         stats.Interval
}

// shown says that the interval carries the order.
func (p pair) shown() bool { return p.ci[0] > 0 }

func (p pair) String() string {
	return fmt.Sprintf("%s (%s)", plot.Number(p.diff), plot.Range(p.ci))
}

// pairs returns all pairs, with Welch's intervals of their differences. There are m
// of them, and the best is chosen after looking; so each interval is of 1 - 0.05/m,
// and all of them hold together in 95 of 100 comparisons (Bonferroni).
func (c *Comparison) pairs() []pair {
	n := len(c.Variants)
	level := 1 - 0.05/float64(max(1, n*(n-1)/2))
	order := slices.SortedStableFunc(slices.Values(c.Variants), func(a, b *Compared) int { return cmp.Compare(b.Mean, a.Mean) })
	var out []pair
	for i, x := range order {
		for _, y := range order[i+1:] {
			d, ci := stats.DiffCI(x.Values(), y.Values(), level)
			out = append(out, pair{x, y, d, ci})
		}
	}
	return out
}

// Headline says in one sentence what came out, and no order that the seeds do not
// carry.
func (c *Comparison) Headline() string {
	all := c.pairs()
	if len(all) == 0 {
		x := c.Variants[0]
		return fmt.Sprintf("%s gets %s on %s.", x.Name, x.about(), c.Label)
	}
	best, rest := all[0].more, all[:len(c.Variants)-1] // the first ones are the best's
	var beaten, equal []pair
	for _, p := range rest {
		if p.shown() {
			beaten = append(beaten, p)
		} else {
			equal = append(equal, p)
		}
	}
	seeds := c.seeds()
	few := slices.ContainsFunc(c.Variants, func(x *Compared) bool { return len(x.Seeds) < 2 })
	switch {
	case few:
		return fmt.Sprintf("One seed cannot tell variants apart on %s: the highest mean return is %s of %s, the lowest %s of %s.",
			c.Label, plot.Number(best.Mean), best.Name, plot.Number(rest[len(rest)-1].less.Mean), rest[len(rest)-1].less.Name)
	case len(equal) == 0 && len(rest) == 1:
		return fmt.Sprintf("%s gets more than %s on %s with %s: %s against %s, difference %s.", best.Name, rest[0].less.Name, c.Label, seeds,
			plot.Number(best.Mean), plot.Number(rest[0].less.Mean), rest[0])
	case len(equal) == 0:
		return fmt.Sprintf("%s gets more than the %d others on %s with %s: %s; the next is %s, difference %s.", best.Name, len(rest), c.Label,
			seeds, best.about(), rest[0].less.Name, rest[0])
	case len(rest) == 1:
		return fmt.Sprintf("%s and %s cannot be told apart on %s with %s: difference %s.", best.Name, rest[0].less.Name, c.Label, seeds, rest[0])
	case len(beaten) > 0:
		return fmt.Sprintf("%s has the highest mean return on %s with %s, %s; it gets more than %s, but cannot be told apart from %s.", best.Name,
			c.Label, seeds, best.about(), names(beaten), names(equal))
	}
	widest := rest[len(rest)-1]
	text := fmt.Sprintf("The highest mean return of %d on %s, that of %s, cannot be told from any other with %s: "+
		"it is %s above the lowest, that of %s.", len(c.Variants), c.Label, best.Name, seeds, widest, widest.less.Name)
	for _, p := range all[len(rest):] {
		if p.shown() {
			text += fmt.Sprintf(" %s gets more than %s: %s.", p.more.Name, p.less.Name, p)
		}
	}
	return text
}

// seeds says how many there are of each variant.
func (c *Comparison) seeds() string {
	least, most := math.MaxInt, 0
	for _, x := range c.Variants {
		least, most = min(least, len(x.Seeds)), max(most, len(x.Seeds))
	}
	if least == most {
		return plot.Count(least, "seed") + " each"
	}
	return fmt.Sprintf("%d to %d seeds each", least, most)
}

// about writes a mean with its interval.
func (x *Compared) about() string {
	if len(x.Seeds) < 2 {
		return plot.Number(x.Mean)
	}
	return fmt.Sprintf("%s (95 %% %s)", plot.Number(x.Mean), plot.Range(x.CI))
}

// names lists who gets less, and by how much.
func names(list []pair) string {
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprintf("%s by %s", p.less.Name, p))
	}
	return strings.Join(out, " and ")
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

func (c *Comparison) legend() []plot.Key {
	var out []plot.Key
	for _, x := range c.Variants {
		out = append(out, plot.Key{Name: x.Name, Color: plot.Agent(x.Number)})
	}
	return out
}

func (c *Comparison) finalsFigure() *plot.Figure {
	var all []float64
	var rows []plot.Spread
	for _, x := range c.Variants {
		all = append(all, x.Values()...)
		rows = append(rows, plot.Spread{Name: x.Name, Color: plot.Agent(x.Number), Values: x.Values(), Mean: x.Mean, CI: x.CI})
	}
	lo, hi := plot.Span(all)
	for _, x := range c.Variants { // an interval as wide as the data is cut, not the scale
		if len(x.Seeds) > 1 {
			lo, hi = min(lo, max(x.CI[0], lo-(hi-lo))), max(hi, min(x.CI[1], hi+(hi-lo)))
		}
	}
	var refs []plot.Ref
	for _, r := range c.refs {
		if r.Value >= lo && r.Value <= hi+0.5*(hi-lo) {
			refs = append(refs, r)
			lo, hi = min(lo, r.Value), max(hi, r.Value)
		}
	}
	more := max(0.04*(hi-lo), 1e-6)
	caption := "Each dot is a seed; the line is their mean, the bar its 95 % interval (Student's, over seeds)."
	if len(refs) > 0 {
		caption += " Dashed: references near by."
	}
	return &plot.Figure{
		Name: "final", Title: "Mean return of the final agents",
		Caption: caption,
		Panels: []plot.Panel{
			plot.Spreads("Mean return of the final agents, by variant", "mean return of an episode", lo-more, hi+more, refs, rows...),
		},
	}
}

// curvesFigure draws learning curves. Where some variants are given many times
// more steps than others the axis is logarithmic.
func (c *Comparison) curvesFigure() *plot.Figure {
	var heights [][]float64
	var marks []gonumplot.Plotter
	first, least, last := math.Inf(1), math.Inf(1), 0.
	for _, x := range c.Variants {
		d := x.group.grid()
		b := x.group.bundle(d, meanReturn)
		heights, marks = append(heights, b.lo, b.hi), append(marks, b.marks(d, x.Number)...)
		first, least, last = min(first, d.xs()[0]), min(least, d.last), max(last, d.last)
	}
	lo, hi := c.Variants[0].group.returnSpan(heights...)
	x, how := plot.Steps(last), ""
	if last > 4*least {
		x, how = plot.LogSteps(first, last), " Steps are on a logarithmic scale."
	}
	y := plot.Round(lo, hi, 5)
	y.Name = "mean return of an episode"
	p := plot.New(x, y).Add(plot.Levels{Refs: c.refs}).Add(marks...)
	caption := "Thick: mean over seeds; thin: each seed; band: lowest to highest seed." + how + fewNote
	for _, x := range c.Variants {
		if step, _ := x.group.warm(); step > 0 {
			caption += fmt.Sprintf(" The curve of %s begins after its %s, %s env steps.", x.Name, train.WarmUp, plot.Short(float64(step)))
		}
	}
	return wide("curves", c.Variants[0].group.over("Return during training, "), caption, p, plot.WideH, c.legend()...)
}

func (c *Comparison) profileFigure() *plot.Figure {
	x, y := plot.Round(c.tau[0], c.tau[len(c.tau)-1], 6), plot.Shares()
	x.Name, y.Min, y.Max = "mean return", -0.02, 1.02
	p := plot.New(x, y)
	for _, x := range c.Variants {
		col := plot.Agent(x.Number)
		p.Add(plot.Band{X: c.tau, Low: x.pl, High: x.ph, Color: plot.Fade(col, 0.1)}, plot.Line{X: c.tau, Y: x.profile, Color: col, Width: 1.8})
	}
	caption := "For each return on the axis, the share of seeds whose final agents get more (Agarwal et al. 2021); " +
		"band: Wilson's 95 % interval at each return. Where bands overlap, so few seeds do not tell the curves apart."
	return wide("profile", "Performance profiles: share of seeds above a return", caption, p, plot.HalfH, c.legend()...)
}

// winsFigure is the table of probabilities of improvement.
func (c *Comparison) winsFigure() *plot.Figure {
	h := &plot.Heat{Title: "Probability of improvement", Low: 0, High: 1}
	for i, x := range c.Variants {
		h.Rows, h.Cols = append(h.Rows, x.Name), append(h.Cols, x.Name)
		var row []plot.Cell
		for k, w := range c.Improve[i] {
			cell := plot.Cell{Value: w.P, Text: plot.Percent(w.P), Sub: fmt.Sprintf("%.0f to %.0f", 100*w.CI[0], 100*w.CI[1])}
			if i == k {
				cell = plot.Cell{Value: math.NaN(), Text: "–"}
			}
			row = append(row, cell)
		}
		h.Cells = append(h.Cells, row)
	}
	return &plot.Figure{
		Name: "improve", Title: "Probability that a row's seed beats a column's",
		Caption: "How likely a run of the row gets more than a run of the column, ties counting half; " +
			"below, Newcombe's 95 % interval in percent.",
		Panels: []plot.Panel{h.Panel()},
	}
}

// iqmFigure draws IQMs with their intervals, as rliable does.
func (c *Comparison) iqmFigure() *plot.Figure {
	var rows []plot.Spread
	var ends []float64
	for _, x := range c.Variants {
		rows = append(rows, plot.Spread{Name: x.Name, Color: plot.Agent(x.Number), Mean: x.IQM, CI: x.IQMCI})
		ends = append(ends, x.IQM, x.IQMCI[0], x.IQMCI[1])
	}
	lo, hi := plot.Span(ends)
	pad := max(0.04*(hi-lo), 1e-6)
	title := "IQM of the final agents' returns"
	return &plot.Figure{
		Name: "iqm", Title: title,
		Caption: "The line is the mean of the middle half of the seeds, the bar its 95 % interval by stratified bootstrap (Agarwal et al. 2021).",
		Panels:  []plot.Panel{plot.Spreads(title, "IQM of the mean return of an episode", lo-pad, hi+pad, nil, rows...)},
	}
}

// mostPairs is up to how many variants every pair is drawn; of more, each against the first.
const mostPairs = 4

// pairsFigure draws probabilities of improvement with their intervals, a row for each pair, as
// rliable does.
func (c *Comparison) pairsFigure() *plot.Figure {
	var rows []plot.Spread
	for i, x := range c.Variants {
		for k, y := range c.Variants[:i] {
			if w := c.Improve[i][k]; k == 0 || len(c.Variants) <= mostPairs {
				rows = append(rows, plot.Spread{Name: x.Name + " > " + y.Name, Color: plot.Agent(x.Number), Mean: w.P, CI: w.CI})
			}
		}
	}
	return &plot.Figure{
		Name: "pairs", Title: "Probability of improvement",
		Caption: "How likely a run of the first gets more than a run of the second, ties counting half; the bar is Newcombe's 95 % interval. " +
			"Where it holds one half, neither is shown to be better.",
		Panels: []plot.Panel{plot.Spreads("Probability of improvement, by pair", "P(first > second)", 0, 1,
			[]plot.Ref{{Name: "neither", Value: 0.5}}, rows...)},
	}
}

// Short writes the steps to the threshold; a dash if too few seeds got there.
func (x *Compared) Short() string {
	if x.Steps == nil {
		return "–"
	}
	return plot.Short(*x.Steps)
}

// Time writes the processor time to the threshold; a dash if too few seeds got
// there.
func (x *Compared) Time() string {
	if x.CPU == nil {
		return "–"
	}
	return plot.Seconds(*x.CPU)
}

// Whole writes the median processor time of a run.
func (x *Compared) Whole() string {
	var all []float64
	for _, s := range x.Seeds {
		all = append(all, s.CPU)
	}
	return plot.Seconds(stats.Quantile(all, 0.5))
}
