package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"hop/page"
	"hop/train"
)

// figures draws everything that the numbers allow.
func (g *group) figures() []*page.Figure {
	d := g.grid()
	all := []*page.Figure{g.finalFigure(), g.returnFigure(d), g.agentsFigure(d), g.orderFigure(), g.goalsFigure(d), g.othersFigure(d),
		g.strangersFigure(d), g.buffersFigure(d)}
	return slices.DeleteFunc(append(all, g.metricFigures(d)...), func(f *page.Figure) bool { return f == nil || len(f.Panels) == 0 })
}

// fewNote goes with curves that pass over windows with few episodes.
const fewNote = " Windows in which far fewer episodes ended than usual are left out: at the start only the shortest have ended."

// timePlot is a plot over env steps between two heights, with about n ticks.
func timePlot(d grid, lo, hi float64, n int) *page.Plot {
	return page.New(page.Steps(d.last), page.Round(lo, hi, n))
}

// wide is a figure of one panel that takes a row of its own.
func wide(name, title, caption string, p *page.Plot, h vg.Length, legend ...page.Key) *page.Figure {
	return &page.Figure{Name: name, Title: title, Caption: caption, Legend: legend, Panels: []page.Panel{p.Panel(title, page.WideW, h)}}
}

// returnSpan is the height of all plots of returns.
func (g *group) returnSpan(curves ...[]float64) (lo, hi float64) {
	for _, r := range g.refs {
		curves = append(curves, []float64{r.Value})
	}
	return pad(0.5, curves...)
}

// pad returns what the values span and a little more. It starts at 0 where the
// lowest value is less than a share of the highest.
func pad(share float64, values ...[]float64) (lo, hi float64) {
	lo, hi = page.Span(values...)
	more := 0.06 * (hi - lo)
	if lo >= 0 && lo < share*hi {
		return 0, hi + more
	}
	return lo - more, hi + more
}

func (g *group) finalFigure() *page.Figure {
	f := g.Final()
	if f.N == 0 {
		return nil
	}
	row := page.Spread{Color: page.Agent(0), Mean: f.Mean, CI: f.CI}
	caption := fmt.Sprintf("Each dot is one of %s; the line is their mean, the bar its 95 %% interval (Student's, over seeds).",
		page.Count(f.N, "seed"))
	switch {
	case f.N == 1 && f.Known():
		caption = fmt.Sprintf("The dot is the one seed, the bar its 95 %% interval over %s (Student's), which says nothing about other seeds.",
			page.Count(g.Spec.Eval.Episodes, "episode"))
	case f.N == 1:
		caption = "The dot is the one seed."
	}
	if len(g.refs) > 0 {
		caption += " Dashed: references."
	}
	for _, r := range g.Scored() {
		row.Values = append(row.Values, g.Mean(r))
	}
	lo, hi := g.returnSpan(row.Values)
	return &page.Figure{
		Name: "final", Title: "Mean return of the final agents",
		Caption: caption,
		Panels: []page.Panel{
			page.Spreads("Mean return of the final agents, by seed", "mean return of an episode", lo, hi, g.refs, row),
		},
	}
}

func (g *group) returnFigure(d grid) *page.Figure {
	b := g.bundle(d, meanReturn)
	if len(b.seeds) == 0 {
		return nil
	}
	lo, hi := g.returnSpan(b.lo, b.hi)
	y := page.Round(lo, hi, 5)
	y.Name = "mean return of an episode"
	p := page.New(page.Steps(d.last), y).Add(g.shade(true)...).Add(page.Levels{Refs: g.refs}).Add(b.marks(d, -1)...)
	what := "Undiscounted return of whole episodes of the true game, as they were played for learning." + fewNote + g.Watched()
	return wide("return", g.over("Return during training, "), g.seedsCaption(what), p, page.WideH, g.shadeKey()...)
}

// marks are a bundle's band, seeds and mean.
func (b bundle) marks(d grid, agent int) []plot.Plotter {
	col := page.Agent(agent)
	var out []plot.Plotter
	if len(b.seeds) > 1 {
		out = append(out, page.Band{X: d.xs(), Low: b.lo, High: b.hi, Color: page.Fade(col, 0.14)})
		for _, s := range b.seeds {
			out = append(out, page.Line{X: d.xs(), Y: s, Color: page.Fade(col, 0.45), Width: 0.7})
		}
	}
	return append(out, b.line(d, agent, 1.8))
}

// line is a bundle's mean in an agent's colour.
func (b bundle) line(d grid, agent int, width vg.Length) page.Line {
	return page.Line{X: d.xs(), Y: b.mean, Color: page.Agent(agent), Width: width}
}

func (g *group) seedsCaption(what string) string {
	if len(g.Runs) == 1 {
		return what + " One seed."
	}
	return what + fmt.Sprintf(" Thick: mean of %s; thin: each seed; band: lowest to highest seed.", page.Count(len(g.Runs), "seed"))
}

func (g *group) agentsFigure(d grid) *page.Figure {
	if g.Agents < 2 {
		return nil
	}
	bundles := make([]bundle, g.Agents)
	var heights [][]float64
	for a := range bundles {
		bundles[a] = g.bundle(d, key{"return", a})
		heights = append(heights, bundles[a].lo, bundles[a].hi)
	}
	lo, hi := g.returnSpan(heights...)
	f := &page.Figure{
		Name: "agents", Title: "Return of each agent", Cols: 2,
		Caption: g.seedsCaption("Mean return of an episode. One panel an agent, all on one scale; dashed and grey, " +
			g.over("the ") + "."), Legend: g.shadeKey(),
	}
	all := g.bundle(d, meanReturn).line(d, 0, 1)
	all.Color, all.Dash = page.Faint, true
	for a, b := range bundles {
		if len(b.seeds) > 0 {
			p := timePlot(d, lo, hi, 4).Add(g.shade(true)...).Add(page.Levels{Refs: g.refs, Silent: true}).Add(b.marks(d, a)...).Add(all)
			f.Panels = append(f.Panels, p.Panel(g.Member(a), page.HalfW, page.HalfH+10))
		}
	}
	return f
}

func (g *group) orderFigure() *page.Figure {
	o := g.order()
	if len(o.Means) == 0 {
		return nil
	}
	return &page.Figure{
		Name: "order", Title: "Do agents differ? Mean return over the last 20 % of training",
		Caption: "Each dot is a seed, from left to right in the order of the table; " +
			"from three seeds on boxes hold the middle half of them, whiskers reach to the lowest and highest.",
		Panels: []page.Panel{page.Boxes("Mean return over the last 20 % of training, by agent", "mean return of an episode",
			o.Means, page.WideW, page.WideH)},
	}
}

func (g *group) goalsFigure(d grid) *page.Figure {
	if len(g.Goals) == 0 {
		return nil
	}
	f := &page.Figure{
		Name: "goals", Title: "Who reached what", Cols: 2,
		Caption: "Share of episodes by the goal that an agent reached last." + fewNote + overSeeds(len(g.Runs)),
	}
	for i, goal := range g.Goals {
		f.Legend = append(f.Legend, page.Goal(i, goal))
	}
	for a := range g.Agents {
		p := page.New(page.Steps(d.last), page.Shares()).Add(g.shade(true)...)
		base := make([]float64, d.n)
		for i, goal := range g.Goals {
			b := g.bundle(d, key{"goal/" + goal, a})
			top := make([]float64, d.n)
			for j := range top {
				top[j] = base[j] + b.mean[j]
			}
			p.Add(page.Band{X: d.xs(), Low: base, High: top, Color: page.Goal(i, goal).Color})
			base = top
		}
		f.Panels = append(f.Panels, p.Panel(g.Member(a), page.HalfW, page.HalfH-10))
	}
	f.Legend = append(f.Legend, g.shadeKey()...)
	return f
}

// over says over whom a mean is.
func (g *group) over(what string) string {
	if g.mixed() {
		return what + "mean over the agents that learn"
	}
	return what + "mean over agents"
}

// overSeeds ends a caption.
func overSeeds(n int) string {
	if n == 1 {
		return " One seed."
	}
	return fmt.Sprintf(" Mean over %s.", page.Count(n, "seed"))
}

// metricFigures plots every other number by its own name: losses, then the rest
// of each module.
func (g *group) metricFigures(d grid) []*page.Figure {
	groups := map[string][]string{}
	var order []string
	for _, r := range g.Runs {
		for _, n := range r.names {
			module := g.module(n)
			if module == "" || slices.Contains(groups[module], n) {
				continue
			}
			if groups[module] == nil {
				order = append(order, module)
			}
			groups[module] = append(groups[module], n)
		}
	}
	rank := map[string]int{"losses": -1, "lengths": 1, "other": 2}
	slices.SortStableFunc(order, func(a, b string) int { return rank[a] - rank[b] })
	var out []*page.Figure
	for _, m := range order {
		f := &page.Figure{Name: m, Title: cmp.Or(moduleTitles[m], "Module "+m), Cols: 3}
		f.Caption = "Lines: coloured by agent. Below each name: how much is behind it." + overSeeds(len(g.Runs))
		for a := range g.Agents {
			if g.Agents > 1 {
				f.Legend = append(f.Legend, page.Key{Name: fmt.Sprintf("agent %d", a), Color: page.Agent(a)})
			}
		}
		f.Legend = append(f.Legend, g.shadeKey()...)
		for _, n := range groups[m] {
			f.Panels = append(f.Panels, g.metricPanel(d, n))
		}
		out = append(out, f)
	}
	return out
}

// module says which figure a number belongs to; "" if another shows it.
func (g *group) module(name string) string {
	head, _, ok := strings.Cut(name, "/")
	switch {
	case name == "return" || name == "return/mean" || g.isGoal(name) || head == "count" || head == "others",
		strings.HasPrefix(name, train.StrangerMetric), strings.HasPrefix(name, train.BufferMetric):
		return ""
	case strings.Contains(name, "loss"):
		return "losses"
	case name == "life" || head == "episode":
		return "lengths"
	case !ok:
		return "other"
	}
	return head
}

var moduleTitles = map[string]string{
	"losses": "Losses, each by its own name", "lengths": "How long episodes last", "ppo": "How learning went",
	"goal": "How well goals are inferred", "other": "Other numbers",
}

// meaning says what a number is, where its name does not.
var meaning = map[string]string{
	"ppo/policy_loss": "clipped objective, negated",
	"ppo/value_loss":  "squared error of the value",
	"ppo/entropy":     "of the policy, in nats",
	"ppo/kl":          "old to new policy, in nats",
	"ppo/clipped":     "share of rows beyond the clip",
	"ppo/explained":   "share of the returns' variance that the value explains",
	"ppo/grad_norm":   "before clipping",
	"ppo/lr":          "learning rate",
	"moa/top1":        "share of co-players' actions named, before learning from them",
	"moa/ce":          "of the models of others, in nats, before learning",
	"moa/sure":        "mean probability of the likeliest action",
	"moa/uniform":     "what guessing among the legal actions gets",
	"moa/floor":       "below which a softmax of a softmax cannot fall",
	"moa/dead":        "rows of agents that had left; want 0",
	"moa/wrong":       "rows whose last joint action is not ego-first; want 0",
	"moa/still":       "parts of the network that have not moved; want 0",
	"goal/explained":  "share of the variance of the goals' codes that inference explains",
	"life":            "steps until an agent leaves",
	"episode/steps":   "length of an episode",
}

func (g *group) metricPanel(d grid, name string) page.Panel {
	rows, updates := 0, 0
	var all [][]float64
	var lines []plot.Plotter
	for a := -1; a < g.Agents; a++ {
		if b := g.bundle(d, key{name, a}); len(b.seeds) > 0 {
			rows, updates = rows+b.rows, updates+b.updates
			all, lines = append(all, b.mean), append(lines, b.line(d, a, 1.3))
		}
	}
	lo, hi, cut := robust(all)
	unit := "rows"
	switch {
	case name == "life" || strings.HasPrefix(name, "episode/"):
		unit = "episodes"
	case strings.HasSuffix(name, "grad_norm"):
		unit = "gradient steps"
	}
	p := timePlot(d, lo, hi, 4).Add(g.shade(g.played(name))...).Add(lines...).Panel(name, page.ThirdW, page.ThirdH+10)
	p.Note = fmt.Sprintf("%s %s in %s points", page.Short(float64(rows)), unit, page.Thousands(updates))
	if m := meaning[name]; m != "" {
		p.Note = m + "; " + p.Note
	}
	if cut {
		p.Note += "; the axis leaves out the wildest 2 %"
	}
	return p
}

// robust returns heights for curves; a few values far out do not set the scale.
func robust(curves [][]float64) (lo, hi float64, cut bool) {
	all := slices.DeleteFunc(slices.Concat(curves...), math.IsNaN)
	lo, hi = page.Span(all)
	if n := len(all); n >= 50 {
		slices.Sort(all)
		low, high := all[n/50], all[n-1-n/50]
		if cut = hi-lo > 2*(high-low) && high > low; cut {
			lo, hi = low, high
		}
	}
	lo, hi = pad(0.6, []float64{lo, hi})
	return lo, hi, cut
}
