package report

import (
	_ "embed"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"hop/stats"
)

//go:embed compare.html
var comparePage string

//go:embed compare.md
var compareText string

// compareView is what both forms of a comparison are made from.
type compareView struct {
	*Comparison
	Wins    *heat
	Figures []*figure
}

// Figure returns a figure by name, or nil.
func (v *compareView) Figure(name string) *figure {
	for _, f := range v.Figures {
		if f.Name == name {
			return f
		}
	}
	return nil
}

func (c *Comparison) view(figs []*figure) *compareView {
	return &compareView{Comparison: c, Wins: c.wins(), Figures: figs}
}

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
	text := fmt.Sprintf("%s has the highest mean return of %d on %s: %s", best.Name, len(c.Variants), c.Label, number(best.Mean))
	if len(best.Seeds) > 1 {
		text += fmt.Sprintf(" (95 %% interval %s to %s over %s)", number(best.CI[0]), number(best.CI[1]), count(len(best.Seeds), "seed"))
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

func (c *Comparison) figures() []*figure {
	return []*figure{c.finalsFigure(), c.curvesFigure(), c.profileFigure(), c.winsFigure()}
}

func (c *Comparison) legend() []legendKey {
	var out []legendKey
	for _, x := range c.Variants {
		out = append(out, legendKey{x.Name, agentColor(x.Number), false})
	}
	return out
}

// finals draws a row a variant: every seed, the mean and its interval.
type finals struct{ list []*Compared }

func (f finals) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, v := range f.list {
		col, mid := agentColor(v.Number), y(float64(len(f.list)-1-i))
		if len(v.Seeds) > 1 {
			c.FillPolygon(fade(col, 0.22), box(x(max(v.CI[0], p.X.Min)), mid-7, x(min(v.CI[1], p.X.Max)), mid+7))
			c.StrokeLine2(draw.LineStyle{Color: col, Width: 2}, x(v.Mean), mid-9, x(v.Mean), mid+9)
		}
		for _, s := range v.Seeds {
			c.DrawGlyphNoClip(draw.GlyphStyle{Color: fade(col, 0.75), Radius: 3.2, Shape: draw.CircleGlyph{}}, vg.Point{X: x(s.Mean), Y: mid})
		}
	}
}

func (c *Comparison) finalsFigure() *figure {
	var all []float64
	rows := marks{label: func(v float64) string { return c.Variants[len(c.Variants)-1-int(v)].Name }}
	for i, x := range c.Variants {
		all = append(all, x.Values()...)
		rows.at = append(rows.at, float64(i))
	}
	lo, hi := span(all)
	for _, x := range c.Variants { // an interval as wide as the data is cut, not the scale
		if len(x.Seeds) > 1 {
			lo, hi = min(lo, max(x.CI[0], lo-(hi-lo))), max(hi, min(x.CI[1], hi+(hi-lo)))
		}
	}
	var refs []reference
	for _, r := range c.refs {
		if r.Value >= lo && r.Value <= hi+0.5*(hi-lo) {
			refs = append(refs, r)
			lo, hi = min(lo, r.Value), max(hi, r.Value)
		}
	}
	pad := max(0.04*(hi-lo), 1e-6)
	p := frame(lo-pad, hi+pad, -0.7, float64(len(c.Variants))+0.4, marks{ticks(lo-pad, hi+pad, 6), axisNumber}, rows)
	p.Add(levels{refs: refs, stand: true}, finals{c.Variants})
	return &figure{
		Name: "final", Title: "Mean return of the final agents",
		Caption: "Each dot is a seed; the line is their mean, the bar its 95 % interval (Student's, over seeds). Dashed: references near by.",
		Panels:  []panel{{Title: "Mean return of the final agents, by variant", w: wideW, h: vg.Length(84 + 32*len(c.Variants)), paint: paintPlot(p, 8)}},
	}
}

// curvesFigure draws learning curves. Where some variants are given many times
// more steps than others the axis is logarithmic.
func (c *Comparison) curvesFigure() *figure {
	var heights [][]float64
	var grids []grid
	var bundles []bundle
	first, least, last := math.Inf(1), math.Inf(1), 0.
	for _, x := range c.Variants {
		d := x.group.grid()
		b := x.group.bundle(d, key{"return/mean", -1})
		grids, bundles = append(grids, d), append(bundles, b)
		heights = append(heights, b.lo, b.hi)
		first, least, last = min(first, d.x(0)), min(least, d.last), max(last, d.last)
	}
	lo, hi := c.Variants[0].group.returnSpan(heights...)
	p := timeFrame(grid{bins, last}, lo, hi, 5)
	how := ""
	if last > 4*least {
		p.X.Min, p.X.Scale, p.X.Tick.Marker = first, plot.LogScale{}, logAxis(first, last)
		how = " Steps are on a logarithmic scale."
	}
	p.X.Label.Text = "env steps"
	right := vg.Length(8)
	if len(c.refs) > 0 {
		right = margin
	}
	p.Add(levels{refs: c.refs})
	for i, x := range c.Variants {
		p.Add(bundles[i].plotters(grids[i], x.Number, true)...)
	}
	return &figure{
		Name: "curves", Title: "Return during training, mean over agents", Legend: c.legend(),
		Caption: "Thick: mean over seeds; thin: each seed; band: lowest to highest seed." + how + fewNote,
		Panels:  []panel{{Title: "Return during training, mean over agents", w: wideW, h: wideH, paint: paintPlot(p, right)}},
	}
}

// logAxis marks 1, 2 and 5 times powers of ten.
func logAxis(lo, hi float64) marks {
	m := marks{label: short}
	for e := math.Pow(10, math.Floor(math.Log10(lo))); e <= hi; e *= 10 {
		for _, k := range []float64{1, 2, 5} {
			if v := k * e; v >= lo && v <= hi {
				m.at = append(m.at, v)
			}
		}
	}
	return m
}

// curveOver is a line and its band over returns.
type curveOver struct {
	x, y, lo, hi []float64
	number       int
}

func (l curveOver) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	col := agentColor(l.number)
	var pts, up, down []vg.Point
	for i := range l.x {
		pts = append(pts, vg.Point{X: x(l.x[i]), Y: y(l.y[i])})
		up = append(up, vg.Point{X: x(l.x[i]), Y: y(l.hi[i])})
		down = append(down, vg.Point{X: x(l.x[len(l.x)-1-i]), Y: y(l.lo[len(l.x)-1-i])})
	}
	c.FillPolygon(fade(col, 0.10), c.ClipPolygonXY(append(up, down...)))
	c.StrokeLines(draw.LineStyle{Color: col, Width: 1.8}, c.ClipLinesXY(pts)...)
}

func (c *Comparison) profileFigure() *figure {
	lo, hi := c.tau[0], c.tau[len(c.tau)-1]
	p := frame(lo, hi, -0.02, 1.02, marks{ticks(lo, hi, 6), axisNumber}, marks{[]float64{0, 0.25, 0.5, 0.75, 1}, percent})
	p.X.Label.Text = "mean return"
	for _, x := range c.Variants {
		p.Add(curveOver{c.tau, x.profile, x.pl, x.ph, x.Number})
	}
	return &figure{
		Name: "profile", Title: "Performance profiles: share of seeds above a return", Legend: c.legend(),
		Caption: "For each return on the axis, the share of seeds whose final agents get more (Agarwal et al. 2021); band: Wilson's 95 % interval. A curve that lies above another everywhere is better at every level.",
		Panels:  []panel{{Title: "Share of seeds above a return", w: wideW, h: halfH, paint: paintPlot(p, 8)}},
	}
}

// wins is the table of probabilities of improvement.
func (c *Comparison) wins() *heat {
	h := &heat{Title: "Probability of improvement", Low: 0, High: 1}
	for i, x := range c.Variants {
		h.Rows, h.Cols = append(h.Rows, x.Name), append(h.Cols, x.Name)
		var row []warm
		for k, w := range c.Improve[i] {
			cell := warm{Value: w.P, Text: percent(w.P), Sub: between(w.CI)}
			if i == k {
				cell = warm{Value: math.NaN(), Text: "–"}
			}
			row = append(row, cell)
		}
		h.Cells = append(h.Cells, row)
	}
	return h
}

func between(ci stats.Interval) string {
	return fmt.Sprintf("%.0f to %.0f", 100*ci[0], 100*ci[1])
}

func (c *Comparison) winsFigure() *figure {
	return &figure{
		Name: "improve", Title: "Probability that a row's seed beats a column's",
		Caption: "How likely a run of the row gets more than a run of the column, ties counting half; below, Newcombe's 95 % interval in percent.",
		Panels:  []panel{c.wins().panel()},
	}
}

// Short writes the steps to the threshold; "" if too few seeds got there.
func (x *Compared) Short() string {
	if math.IsNaN(x.Steps) {
		return ""
	}
	return short(x.Steps)
}

// Time writes the processor time to the threshold; "" if too few seeds got there.
func (x *Compared) Time() string {
	if math.IsNaN(x.CPU) {
		return ""
	}
	return seconds(x.CPU)
}

// Whole writes the median processor time of a run.
func (x *Compared) Whole() string {
	var all []float64
	for _, s := range x.Seeds {
		all = append(all, s.CPU)
	}
	return seconds(stats.Quantile(all, 0.5))
}
