package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The sizes of panels.
const (
	wideW, wideH   = vg.Length(760), vg.Length(260)
	slimW          = vg.Length(430) // of a wide panel on a phone
	halfW, halfH   = vg.Length(370), vg.Length(190)
	thirdW, thirdH = vg.Length(250), vg.Length(150)
	margin         = vg.Length(132) // at the right, for the names of references
)

// figures draws everything that the numbers allow.
func (g *group) figures() []*figure {
	d := g.grid()
	var out []*figure
	for _, f := range []*figure{g.finalFigure(), g.returnFigure(d), g.agentsFigure(d), g.orderFigure(), g.goalsFigure(d), g.othersFigure(d)} {
		if f != nil {
			out = append(out, f)
		}
	}
	return append(out, g.metricFigures(d)...)
}

func timeAxis(d grid) marks {
	return marks{ticks(0, d.last, 5), func(v float64) string {
		if v == 0 {
			return "0"
		}
		return short(v)
	}}
}

// fewNote goes with curves that pass over windows with few episodes.
const fewNote = " Windows in which far fewer episodes ended than usual are left out: at the start only the shortest have ended."

// timeFrame is a plot over env steps whose heights hold the values given.
func timeFrame(d grid, lo, hi float64, n int) *plot.Plot {
	if hi-lo <= 1e-9*max(math.Abs(lo), math.Abs(hi)) { // constant, but for rounding
		pad := 0.1 * math.Abs(hi)
		lo, hi = lo-pad, hi+pad
	}
	return frame(0, d.last, lo, hi, timeAxis(d), marks{ticks(lo, hi, n), axisNumber})
}

// paintPlot draws a plot with room at the right for names.
func paintPlot(p *plot.Plot, right vg.Length) func(draw.Canvas) {
	return func(c draw.Canvas) { p.Draw(draw.Crop(c, 4, -right-4, 0, -4)) }
}

// span returns the smallest and largest finite values.
func span(lists ...[]float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range lists {
		for _, v := range l {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if lo > hi {
		return 0, 1
	}
	return lo, hi
}

func (g *group) refValues() []float64 {
	var out []float64
	for _, r := range g.refs {
		out = append(out, r.Value)
	}
	return out
}

// returnSpan is the height of all plots of returns.
func (g *group) returnSpan(curves ...[]float64) (lo, hi float64) {
	lo, hi = span(append(curves, g.refValues())...)
	pad := 0.06 * (hi - lo)
	if lo >= 0 && lo < 0.5*hi {
		return 0, hi + pad
	}
	return lo - pad, hi + pad
}

func (g *group) finalFigure() *figure {
	var seeds []float64
	for _, r := range g.judged() {
		seeds = append(seeds, g.Mean(r))
	}
	if len(seeds) == 0 {
		return nil
	}
	lo, hi := g.returnSpan(seeds)
	p := frame(lo, hi, 0, 1, marks{ticks(lo, hi, 6), axisNumber}, marks{})
	p.Add(levels{refs: g.refs, stand: true}, strip{seeds, g.final()})
	return &figure{
		Name: "final", Title: "Mean return of the final agents",
		Caption: "Each dot is a seed; the line is their mean, the bar its 95 % interval (Student's, over seeds). Dashed: references.",
		Panels:  []panel{{Title: "Mean return of the final agents, by seed", w: wideW, h: 116, paint: paintPlot(p, 8)}},
	}
}

func (g *group) returnFigure(d grid) *figure {
	b := g.bundle(d, key{"return/mean", -1})
	if len(b.seeds) == 0 {
		return nil
	}
	lo, hi := g.returnSpan(b.lo, b.hi)
	p := timeFrame(d, lo, hi, 5)
	right := vg.Length(8)
	if len(g.refs) > 0 {
		right = margin
	}
	p.X.Label.Text = "env steps"
	p.Add(levels{refs: g.refs})
	p.Add(b.plotters(d, -1, true)...)
	return &figure{
		Name: "return", Title: "Return during training, mean over agents",
		Caption: g.seedsCaption("Undiscounted return of whole episodes of the true game, as they were played for learning." + fewNote),
		Panels:  []panel{{Title: "Return during training, mean over agents", w: wideW, h: wideH, paint: paintPlot(p, right)}},
	}
}

// plotters are a bundle's band, seeds and mean.
func (b bundle) plotters(d grid, agent int, seeds bool) []plot.Plotter {
	col := agentColor(agent)
	var out []plot.Plotter
	if len(b.seeds) > 1 {
		out = append(out, area{d, b.lo, b.hi, fade(col, 0.14)})
		for _, s := range b.seeds {
			if seeds {
				out = append(out, line{d: d, y: s, color: fade(col, 0.45), width: 0.7})
			}
		}
	}
	return append(out, line{d: d, y: b.mean, color: col, width: 1.8})
}

func (g *group) seedsCaption(what string) string {
	if len(g.Runs) == 1 {
		return what + " One seed."
	}
	return what + fmt.Sprintf(" Thick: mean of %s; thin: each seed; band: lowest to highest seed.", count(len(g.Runs), "seed"))
}

func (g *group) agentsFigure(d grid) *figure {
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
	f := &figure{
		Name: "agents", Title: "Return of each agent", cols: 2,
		Caption: g.seedsCaption("One panel an agent, all on one scale; dotted, the mean of all agents."),
	}
	all := g.bundle(d, key{"return/mean", -1})
	for a, b := range bundles {
		if len(b.seeds) == 0 {
			continue
		}
		p := timeFrame(d, lo, hi, 4)
		p.Add(levels{refs: g.refs, silent: true})
		p.Add(b.plotters(d, a, true)...)
		p.Add(line{d: d, y: all.mean, color: faintColor, width: 1, dashes: []vg.Length{1.5, 2}})
		f.Panels = append(f.Panels, panel{Title: g.Member(a), w: halfW, h: halfH, paint: paintPlot(p, 8)})
	}
	if len(f.Panels) == 0 {
		return nil
	}
	return f
}

func (g *group) orderFigure() *figure {
	o := g.order()
	if len(o.Means) == 0 {
		return nil
	}
	b := boxes{make([][]float64, g.Agents)}
	names := make([]float64, g.Agents)
	for a := range b.values {
		names[a] = float64(a)
		for _, row := range o.Means {
			b.values[a] = append(b.values[a], row[a])
		}
	}
	lo, hi := span(b.values...)
	pad := max(0.12*(hi-lo), 0.01)
	p := frame(-0.6, float64(g.Agents)-0.4, lo-pad, hi+pad,
		marks{names, func(v float64) string { return fmt.Sprintf("agent %.0f", v) }}, marks{ticks(lo-pad, hi+pad, 5), axisNumber})
	p.Add(b)
	return &figure{
		Name: "order", Title: "Do agents differ? Mean return over the last 20 % of training",
		Caption: "Each dot is a seed, from left to right in the order of the table; boxes hold the middle half of the seeds, whiskers reach to the lowest and highest.",
		Panels:  []panel{{Title: "Mean return over the last 20 % of training, by agent", w: wideW, h: wideH, paint: paintPlot(p, 8)}},
	}
}

func goalColor(i int, name string) (c legendKey) {
	if name == "none" {
		return legendKey{"nothing", noneColor, true}
	}
	return legendKey{name, goalColors[i%len(goalColors)], true}
}

func (g *group) goalsFigure(d grid) *figure {
	if len(g.Goals) == 0 {
		return nil
	}
	f := &figure{
		Name: "goals", Title: "Who reached what", cols: 2,
		Caption: "Share of episodes by the goal that an agent reached last, mean over seeds.",
	}
	for i, goal := range g.Goals {
		f.Legend = append(f.Legend, goalColor(i, goal))
	}
	for a := range g.Agents {
		p := frame(0, d.last, 0, 1, timeAxis(d), marks{[]float64{0, 0.25, 0.5, 0.75, 1}, percent})
		base := make([]float64, d.n)
		for i, goal := range g.Goals {
			b := g.bundle(d, key{"goal/" + goal, a})
			top := make([]float64, d.n)
			for j := range top {
				top[j] = base[j] + b.mean[j]
			}
			p.Add(area{d, base, top, goalColor(i, goal).Color})
			base = top
		}
		f.Panels = append(f.Panels, panel{Title: g.Member(a), w: halfW, h: halfH - 20, paint: paintPlot(p, 8)})
	}
	return f
}

// metricFigures plots every other number by its own name: losses, then the rest
// of each module.
func (g *group) metricFigures(d grid) []*figure {
	groups := map[string][]string{}
	var order []string
	seen := map[string]bool{}
	for _, r := range g.Runs {
		for _, n := range r.names {
			module := g.module(n)
			if seen[n] || module == "" {
				continue
			}
			seen[n] = true
			if groups[module] == nil {
				order = append(order, module)
			}
			groups[module] = append(groups[module], n)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	var out []*figure
	for _, m := range order {
		f := &figure{Name: m, Title: moduleTitle(m), cols: 3}
		f.Caption = "Lines: mean over seeds, coloured by agent. Below each name: how much is behind it."
		for a := range g.Agents {
			if g.Agents > 1 {
				f.Legend = append(f.Legend, legendKey{fmt.Sprintf("agent %d", a), agentColor(a), false})
			}
		}
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
	case name == "return" || name == "return/mean" || head == "goal" || head == "count" || head == "others":
		return ""
	case strings.Contains(name, "loss"):
		return "losses"
	case name == "life" || head == "episode" || !ok:
		return "lengths"
	}
	return head
}

func rank(module string) int {
	switch module {
	case "losses":
		return 0
	case "lengths":
		return 2
	}
	return 1
}

func moduleTitle(m string) string {
	switch m {
	case "losses":
		return "Losses, each by its own name"
	case "lengths":
		return "How long episodes last"
	case "ppo":
		return "How learning went"
	}
	return "Module " + m
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
	"life":            "steps until an agent leaves",
	"episode/steps":   "length of an episode",
}

func (g *group) metricPanel(d grid, name string) panel {
	rows, updates := 0, 0
	var all [][]float64
	var bundles []bundle
	var agents []int
	for a := -1; a < g.Agents; a++ {
		b := g.bundle(d, key{name, a})
		if len(b.seeds) == 0 {
			continue
		}
		rows, updates = rows+b.rows, updates+b.updates
		bundles, agents, all = append(bundles, b), append(agents, a), append(all, b.mean)
	}
	lo, hi, cut := robust(all)
	p := timeFrame(d, lo, hi, 4)
	for i, b := range bundles {
		p.Add(line{d: d, y: b.mean, color: agentColor(agents[i]), width: 1.3})
	}
	unit := "rows"
	switch {
	case name == "life" || strings.HasPrefix(name, "episode/"):
		unit = "episodes"
	case strings.HasSuffix(name, "grad_norm"):
		unit = "gradient steps"
	}
	note := fmt.Sprintf("%s %s in %s points", short(float64(rows)), unit, thousands(updates))
	if m := meaning[name]; m != "" {
		note = m + "; " + note
	}
	if cut {
		note += "; the axis leaves out the wildest 2 %"
	}
	return panel{Title: name, Note: note, w: thirdW, h: thirdH, paint: paintPlot(p, 8)}
}

// robust returns heights for curves; a few values far out do not set the scale.
func robust(curves [][]float64) (lo, hi float64, cut bool) {
	var all []float64
	for _, c := range curves {
		for _, v := range c {
			if !math.IsNaN(v) {
				all = append(all, v)
			}
		}
	}
	min, max := span(all)
	if len(all) < 50 {
		return pad(min, max, false)
	}
	slices.Sort(all)
	low, high := all[len(all)/50], all[len(all)-1-len(all)/50]
	cut = max-min > 2*(high-low) && high > low
	if cut {
		min, max = low, high
	}
	return pad(min, max, cut)
}

func pad(lo, hi float64, cut bool) (float64, float64, bool) {
	p := 0.06 * (hi - lo)
	if lo >= 0 && lo < 0.6*hi {
		return 0, hi + p, cut
	}
	return lo - p, hi + p, cut
}
