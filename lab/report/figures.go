package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	gonumplot "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train"
)

// figures draws everything that the numbers allow.
func (g *group) figures() []*plot.Figure {
	d := g.grid()
	all := []*plot.Figure{g.finalFigure(), g.returnFigure(d), g.agentsFigure(d), g.orderFigure(), g.goalsFigure(d), g.othersFigure(d),
		g.strangersFigure(d), g.buffersFigure(d)}
	return slices.DeleteFunc(append(all, g.metricFigures(d)...), func(f *plot.Figure) bool { return f == nil || len(f.Panels) == 0 })
}

// fewNote goes with curves that pass over windows with few episodes.
const fewNote = " Windows in which far fewer episodes ended than usual are left out: at the start only the shortest have ended."

// timePlot is a plot over env steps between two heights, with about four ticks.
func timePlot(d grid, lo, hi float64) *plot.Plot {
	return plot.New(plot.Steps(d.last), plot.Round(lo, hi, 4))
}

// wide is a figure of one panel that takes a row of its own.
func wide(name, title, caption string, p *plot.Plot, h vg.Length, legend ...plot.Key) *plot.Figure {
	return &plot.Figure{Name: name, Title: title, Caption: caption, Legend: legend, Panels: []plot.Panel{p.Panel(title, plot.WideW, h)}}
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
	lo, hi = plot.Span(values...)
	more := 0.06 * (hi - lo)
	if lo >= 0 && lo < share*hi {
		return 0, hi + more
	}
	return lo - more, hi + more
}

func (g *group) finalFigure() *plot.Figure {
	f := g.Final()
	if f.N == 0 {
		return nil
	}
	row := plot.Spread{Color: plot.Agent(0), Mean: f.Mean, CI: f.CI}
	caption := fmt.Sprintf("Each dot is one of %s; the line is their mean, the bar its 95 %% interval (Student's, over seeds).",
		plot.Count(f.N, "seed"))
	switch {
	case f.N == 1 && f.Known():
		caption = fmt.Sprintf("The dot is the one seed, the bar its 95 %% interval over %s (Student's), which says nothing about other seeds.",
			plot.Count(g.Spec.Eval.Episodes, "episode"))
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
	return &plot.Figure{
		Name: "final", Title: "Mean return of the final agents",
		Caption: caption,
		Panels: []plot.Panel{
			plot.Spreads("Mean return of the final agents, by seed", "mean return of an episode", lo, hi, g.refs, row),
		},
	}
}

func (g *group) returnFigure(d grid) *plot.Figure {
	b := g.bundle(d, meanReturn)
	if len(b.seeds) == 0 {
		return nil
	}
	lo, hi := g.returnSpan(b.lo, b.hi)
	y := plot.Round(lo, hi, 5)
	y.Name = "mean return of an episode"
	p := plot.New(plot.Steps(d.last), y).Add(g.shade(true)...).Add(plot.Levels{Refs: g.refs}).Add(b.marks(d, -1)...)
	what := "Undiscounted return of whole episodes of the true game, as they were played for learning." + fewNote + g.Watched()
	return wide("return", g.over("Return during training, "), g.seedsCaption(what), p, plot.WideH, g.shadeKey()...)
}

// marks are a bundle's band, seeds and mean.
func (b bundle) marks(d grid, agent int) []gonumplot.Plotter {
	col := plot.Agent(agent)
	var out []gonumplot.Plotter
	if len(b.seeds) > 1 {
		out = append(out, plot.Band{X: d.xs(), Low: b.lo, High: b.hi, Color: plot.Fade(col, 0.14)})
		for _, s := range b.seeds {
			out = append(out, plot.Line{X: d.xs(), Y: s, Color: plot.Fade(col, 0.45), Width: 0.7})
		}
	}
	return append(out, b.line(d, agent, 1.8))
}

// line is a bundle's mean in an agent's colour.
func (b bundle) line(d grid, agent int, width vg.Length) plot.Line {
	return plot.Line{X: d.xs(), Y: b.mean, Color: plot.Agent(agent), Width: width}
}

func (g *group) seedsCaption(what string) string {
	if len(g.Runs) == 1 {
		return what + " One seed."
	}
	return what + fmt.Sprintf(" Thick: mean of %s; thin: each seed; band: lowest to highest seed.", plot.Count(len(g.Runs), "seed"))
}

func (g *group) agentsFigure(d grid) *plot.Figure {
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
	f := &plot.Figure{
		Name: "agents", Title: "Return of each agent", Cols: 2,
		Caption: g.seedsCaption("Mean return of an episode. One panel an agent, all on one scale; dashed and grey, " +
			g.over("the ") + "."), Legend: g.shadeKey(),
	}
	all := g.bundle(d, meanReturn).line(d, 0, 1)
	all.Color, all.Dash = plot.Faint, true
	for a, b := range bundles {
		if len(b.seeds) > 0 {
			p := timePlot(d, lo, hi).Add(g.shade(true)...).Add(plot.Levels{Refs: g.refs, Silent: true}).Add(b.marks(d, a)...).Add(all)
			f.Panels = append(f.Panels, p.Panel(g.Member(a), plot.HalfW, plot.HalfH+10))
		}
	}
	return f
}

func (g *group) orderFigure() *plot.Figure {
	o := g.order()
	if len(o.Means) == 0 {
		return nil
	}
	return &plot.Figure{
		Name: "order", Title: "Do agents differ? Mean return over the last 20 % of training",
		Caption: "Each dot is a seed, from left to right in the order of the table; " +
			"from three seeds on boxes hold the middle half of them, whiskers reach to the lowest and highest.",
		Panels: []plot.Panel{plot.Boxes("Mean return over the last 20 % of training, by agent", "mean return of an episode",
			o.Means, plot.WideW, plot.WideH)},
	}
}

func (g *group) goalsFigure(d grid) *plot.Figure {
	if len(g.Goals) == 0 {
		return nil
	}
	f := &plot.Figure{
		Name: "goals", Title: "Who reached what", Cols: 2,
		Caption: "Share of episodes by the goal that an agent reached last." + fewNote + overSeeds(len(g.Runs)),
	}
	for i, goal := range g.Goals {
		f.Legend = append(f.Legend, plot.Goal(i, goal))
	}
	for a := range g.Agents {
		p := plot.New(plot.Steps(d.last), plot.Shares()).Add(g.shade(true)...)
		base := make([]float64, d.n)
		for i, goal := range g.Goals {
			b := g.bundle(d, key{"goal/" + goal, a})
			top := make([]float64, d.n)
			for j := range top {
				top[j] = base[j] + b.mean[j]
			}
			p.Add(plot.Band{X: d.xs(), Low: base, High: top, Color: plot.Goal(i, goal).Color})
			base = top
		}
		f.Panels = append(f.Panels, p.Panel(g.Member(a), plot.HalfW, plot.HalfH-10))
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
	return fmt.Sprintf(" Mean over %s.", plot.Count(n, "seed"))
}

// metricFigures plots every other number by its own name: losses, then the rest
// of each module.
func (g *group) metricFigures(d grid) []*plot.Figure {
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
	var out []*plot.Figure
	for _, m := range order {
		f := &plot.Figure{Name: m, Title: cmp.Or(moduleTitles[m], "Module "+m), Cols: 3}
		f.Caption = "Lines: coloured by agent. Below each name: how much is behind it." + overSeeds(len(g.Runs))
		for a := range g.Agents {
			if g.Agents > 1 {
				f.Legend = append(f.Legend, plot.Key{Name: fmt.Sprintf("agent %d", a), Color: plot.Agent(a)})
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

func (g *group) metricPanel(d grid, name string) plot.Panel {
	rows, updates := 0, 0
	var all [][]float64
	var lines []gonumplot.Plotter
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
	p := timePlot(d, lo, hi).Add(g.shade(g.played(name))...).Add(lines...).Panel(name, plot.ThirdW, plot.ThirdH+10)
	p.Note = fmt.Sprintf("%s %s in %s points", plot.Short(float64(rows)), unit, plot.Thousands(updates))
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
	lo, hi = plot.Span(all)
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

// strangers returns the kinds that models of others were scored on while they learnt.
func (g *group) strangers() (kinds []string) {
	for _, r := range g.Runs {
		for _, n := range r.names {
			kind, ok := strings.CutPrefix(strings.TrimSuffix(n, "/top1"), train.StrangerMetric)
			if ok && strings.HasSuffix(n, "/top1") && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// strangersFigure draws how well models of others know fixed strangers, one panel a kind,
// coloured by the agent whose model it is.
func (g *group) strangersFigure(d grid) *plot.Figure {
	f := &plot.Figure{
		Name: "strangers", Title: "Does the model of others forget?", Cols: 2,
		Caption: "Share of what strangers do, in fixed episodes that nobody learns from, that an agent would foresee in their midst: by its " +
			"beliefs, which begin anew, and its model of others. Start: the best before the agents played themselves, mean over agents; below " +
			"three quarters of it a model is said to forget. Limit: the Bayes observer, who knows the scripts; of one kind alone it can be " +
			"passed by taking everybody for that kind." + overSeeds(len(g.Runs)),
	}
	for a := range g.Agents {
		f.Legend = append(f.Legend, plot.Key{Name: fmt.Sprintf("agent %d", a), Color: plot.Agent(a)})
	}
	f.Legend = append(f.Legend, g.shadeKey()...)
	for _, kind := range g.strangers() {
		at := train.StrangerMetric + kind + "/"
		var lines []gonumplot.Plotter
		sum := map[string]*[2]float64{"start": {}, "limit": {}} // of the last values, and how many
		for a := range g.Agents {
			if b := g.bundle(d, key{at + "top1", a}); len(b.seeds) > 0 {
				lines = append(lines, b.line(d, a, 1.5))
			}
			for _, r := range g.Runs {
				for name, x := range sum {
					if rows := r.series[key{at + name, a}]; len(rows) > 0 {
						x[0], x[1] = x[0]+rows[len(rows)-1].Value, x[1]+1
					}
				}
			}
		}
		var refs []plot.Ref
		for _, name := range []string{"start", "limit"} {
			if x := sum[name]; x[1] > 0 {
				refs = append(refs, plot.Ref{Name: name, Value: x[0] / x[1]})
			}
		}
		p := timePlot(d, 0, 1).Add(g.shade(false)...).Add(plot.Levels{Refs: refs}).Add(lines...)
		title := kind + ": top-1"
		if kind == "all" {
			title = "all kinds together: top-1"
		}
		f.Panels = append(f.Panels, p.Panel(title, plot.HalfW, plot.HalfH))
	}
	return f
}
