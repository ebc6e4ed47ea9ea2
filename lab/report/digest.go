package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	gonumplot "gonum.org/v1/plot"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
)

// Scored returns the runs whose final agents were scored.
func (g *group) Scored() []*run {
	var out []*run
	for _, r := range g.Runs {
		if r.Result != nil {
			out = append(out, r)
		}
	}
	return out
}

// Final is the mean of the final agents over seeds.
func (g *group) Final() outcome {
	var acc, greedy stats.Acc
	var means []float64
	for _, r := range g.Scored() {
		acc.Add(g.Mean(r))
		greedy.Add(r.Result.Greedy)
		means = append(means, g.Mean(r))
	}
	ci := acc.CI(0.95)
	if runs := g.Scored(); len(runs) == 1 && g.Spec != nil {
		ci = stats.StudentCI(acc.Mean(), g.SE(runs[0]), g.Spec.Eval.Episodes, 0.95)
	}
	return outcome{acc.Mean(), g.possible(ci), stats.IQM(means), greedy.Mean(), acc.N()}
}

// possible is the part of an interval of returns that the game's rules allow, as far as that is known.
func (g *group) possible(ci stats.Interval) stats.Interval {
	if g.Spec == nil || math.IsInf(ci[0], 0) {
		return ci
	}
	if b, ok := g.Spec.Game.Bounds(); ok {
		return ci.Within(b)
	}
	return ci
}

// Mean is what the learners among a run's final agents got.
func (g *group) Mean(r *run) float64 {
	if !g.mixed() || len(r.Result.Agents) != len(g.team) {
		return r.Result.Mean
	}
	var acc stats.Acc
	for a, x := range r.Result.Agents {
		if g.learns(a) {
			acc.Add(x)
		}
	}
	return acc.Mean()
}

// SE is the standard error of Mean over episodes; NaN where it is not known.
func (g *group) SE(r *run) float64 {
	if g.mixed() || r.Result.SE == nil {
		return math.NaN()
	}
	return *r.Result.SE
}

// order is whether agents differ, from the last fifth of training.
type order struct {
	Means  [][]float64 // [seed][agent]
	Page   float64     // two-sided p-value of Page's test for an order by number
	Any    float64     // p-value that agents differ in any way, the same way in every seed
	Down   bool        // if there is an order, it falls
	Spread float64     // largest difference between two agents of a seed
	Least  float64     // the smallest p-value that so many seeds could give
}

// reps is how many arrangements a test draws where it cannot list them all.
const reps = 20_000

// order compares agents. Its zero value says that there is nothing to compare.
func (g *group) order() order {
	var o order
	if g.Agents < 2 || g.mixed() { // learners and bots are meant to differ
		return o
	}
	for _, r := range g.Runs {
		row := make([]float64, g.Agents)
		for a := range row {
			row[a] = r.lastFifth(key{"return", a})
		}
		if slices.ContainsFunc(row, math.IsNaN) {
			continue
		}
		o.Means = append(o.Means, row)
		o.Spread = max(o.Spread, slices.Max(row)-slices.Min(row))
	}
	if len(o.Means) == 0 {
		return o
	}
	t := check.TrendOf(o.Means)
	o.Page, o.Down = t.P, t.Falls
	byAgent := make([][]float64, g.Agents)
	for a := range byAgent {
		for _, row := range o.Means {
			byAgent[a] = append(byAgent[a], row[a])
		}
	}
	r := rng.New(0).Child("report").Rand()
	o.Any = stats.PermTestMeans(byAgent, reps, &r).P
	orders := 1.
	for a := 2; a <= g.Agents; a++ {
		orders *= float64(a)
	}
	o.Least = min(1, 2*math.Pow(orders, -float64(len(o.Means))))
	return o
}

// Verdict says in a few words what the tests found.
func (o order) Verdict() string {
	switch {
	case len(o.Means) == 0:
		return "No run has played in the last fifth of its training yet."
	case o.Least > 0.05:
		return fmt.Sprintf("Too few seeds to tell: with %s no order could reach p < 0.05.", plot.Count(len(o.Means), "seed"))
	case o.Page < 0.05:
		sure, more, doubt := "Agents differ systematically", "more", ""
		if o.Down {
			more = "less"
		}
		if o.Page > 0.005 {
			sure, doubt = "Agents may differ systematically", " One report in twenty shows as much by chance: run more seeds."
		}
		return fmt.Sprintf("%s: the higher its number, the %s an agent gets.%s", sure, more, doubt)
	case o.Any < 0.05:
		return fmt.Sprintf("Agents may differ beyond chance (p = %s), though not in the order of their numbers. "+
			"One report in twenty shows as much by chance: run more seeds.", pText(o.Any))
	}
	return fmt.Sprintf("No order of the agents is shown: which one gets more changes from seed to seed, over %s.",
		plot.Count(len(o.Means), "seed"))
}

// Class is the look of the verdict: a warning, good, or open where so few seeds
// could not have shown anything.
func (o order) Class() string {
	switch {
	case len(o.Means) == 0 || o.Least > 0.05:
		return "open"
	case o.Page < 0.05 || o.Any < 0.05:
		return "warn"
	}
	return "good"
}

// Detail gives the numbers behind the verdict.
func (o order) Detail() string {
	if len(o.Means) == 0 {
		return ""
	}
	return fmt.Sprintf("Page's test for an order by agent number, two-sided: p = %s over %s (the least possible is %s). "+
		"Permutation test for any difference that seeds share: p = %s. Within a seed, two agents are up to %.2f apart.",
		pText(o.Page), plot.Count(len(o.Means), "seed"), pText(o.Least), pText(o.Any), o.Spread)
}

// learner is one brain's counts in one run.
type learner struct {
	Who     string
	Agent   int // -1: shared
	Updates int
	Rows    int
	Odd     bool // updated less often than another
}

// class is the learners of one run.
type class struct {
	Seed uint64
	Of   []learner
}

// learners returns what each brain of a run was given so far: the shared ones, which
// have a name of their own where there are several, and then agents' own.
func (r *run) learners(agents int) []learner {
	var of []learner
	for a := -1; a < agents; a++ {
		for _, name := range r.names {
			part, ok := strings.CutPrefix(name, "count/updates")
			updates, rows := r.series[key{name, a}], r.series[key{"count/rows" + part, a}]
			if !ok || len(updates) == 0 || len(rows) == 0 {
				continue
			}
			l := learner{Who: fmt.Sprintf("agent %d", a), Agent: a}
			if a < 0 {
				l.Who = strings.TrimSpace("shared brain " + strings.TrimPrefix(part, "/mind"))
			}
			l.Updates, l.Rows = int(updates[len(updates)-1].Value), int(rows[len(rows)-1].Value)
			of = append(of, l)
		}
	}
	for i := range of {
		for _, l := range of {
			of[i].Odd = of[i].Odd || of[i].Updates < l.Updates
		}
	}
	return of
}

// counts returns what each learner of each run was given, and warnings.
func (g *group) counts() (list []class, warnings []string) {
	var all [][]float64
	for _, r := range g.Runs {
		of := r.learners(g.Agents)
		if len(of) == 0 {
			continue
		}
		list = append(list, class{r.Seed, of})
		warnings = append(warnings, unequal(r.Seed, of)...)
		var row []float64
		for _, l := range of {
			row = append(row, float64(l.Rows))
		}
		if len(row) == g.Agents && g.Agents > 1 {
			all = append(all, row)
		}
	}
	if len(all) > 1 {
		if t := check.TrendOf(all); t.P < 0.05 {
			more := "more"
			if t.Falls {
				more = "fewer"
			}
			warnings = append(warnings, fmt.Sprintf("Over %s, the higher its number the %s rows an agent learns from (Page's test, p = %s).",
				plot.Count(len(all), "seed"), more, pText(t.P)))
		}
	}
	return list, warnings
}

// unequal warns about learners of one run that were not treated alike. Agents
// that leave early act less, so rows may differ somewhat; updates may not.
func unequal(seed uint64, of []learner) []string {
	var out []string
	updates, rows := func(a, b learner) int { return a.Updates - b.Updates }, func(a, b learner) int { return a.Rows - b.Rows }
	if less, more := slices.MinFunc(of, updates), slices.MaxFunc(of, updates); less.Updates != more.Updates {
		out = append(out, fmt.Sprintf("Seed %d: %s was updated %s times, %s only %s times.",
			seed, more.Who, plot.Thousands(more.Updates), less.Who, plot.Thousands(less.Updates)))
	}
	if less, more := slices.MinFunc(of, rows), slices.MaxFunc(of, rows); more.Rows > 2*less.Rows {
		out = append(out, fmt.Sprintf("Seed %d: %s learnt from %s rows, %s from only %s.",
			seed, more.Who, plot.Thousands(more.Rows), less.Who, plot.Thousands(less.Rows)))
	}
	return out
}

// phase is a node of the tree of where the time went.
type phase struct {
	Name    string
	Depth   int
	Seconds float64 // all runs together
	Share   float64 // of the time of all runs
	Idle    string  // which share of the cores had nothing to do, "" if that is not known
}

// Phases returns the tree, in order, with what is not accounted for at the end.
func (g *group) Phases() []phase {
	sum, waited := map[string]float64{}, map[string]runlog.Waited{}
	total := 0.
	for _, r := range g.Runs {
		total += r.Env.Wall
		for name, w := range r.Env.Waits {
			x := waited[name]
			waited[name] = runlog.Waited{Core: x.Core + w.Core, Idle: x.Idle + w.Idle}
		}
		for name, s := range r.Env.Phases {
			sum[name] += s
		}
	}
	names := make([]string, 0, len(sum))
	top := 0.
	for name, s := range sum {
		names = append(names, name)
		if !strings.Contains(name, "/") {
			top += s
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int { return byPath(sum, a, b) })
	total = max(total, top)
	var out []phase
	for _, name := range names {
		parts := strings.Split(name, "/")
		p := phase{Name: parts[len(parts)-1], Depth: len(parts) - 1, Seconds: sum[name], Share: sum[name] / total}
		if w := waited[name]; w.Core > sum[name] { // more than one worker
			p.Idle = fmt.Sprintf("%.0f %% of the cores idle", 100*w.Idle/w.Core)
		}
		out = append(out, p)
	}
	if rest := total - top; rest > 0.005*total {
		out = append(out, phase{"the rest (scoring the final agents, starting, waiting)", 0, rest, rest / total, ""})
	}
	return out
}

// byPath orders phases: a node before what is below it, the longest first.
func byPath(sum map[string]float64, a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		up := func(path []string) float64 { return sum[strings.Join(path[:i+1], "/")] }
		return cmp.Or(cmp.Compare(up(y), up(x)), strings.Compare(x[i], y[i]))
	}
	return len(x) - len(y)
}

// noticed is what a run's guards found.
type noticed struct {
	Seed uint64
	check.Finding
}

// Findings returns what the guards of all runs noticed, by seed and step.
func (g *group) Findings() []noticed {
	var list []noticed
	for _, r := range g.Runs {
		found, err := runlog.ReadFindings(r.path)
		if err != nil {
			found = []check.Finding{{Check: "unreadable findings", Status: check.Suspect, Module: "logging", Says: err.Error(),
				Next: "copy the folder anew"}}
		}
		for _, f := range found {
			list = append(list, noticed{r.Seed, f})
		}
	}
	return list
}

// Where says of whom and when.
func (n noticed) Where() string {
	who := ""
	if a := n.Agent(); a >= 0 {
		who = fmt.Sprintf("agent %d, ", a)
	}
	return fmt.Sprintf("seed %d, %senv step %s", n.Seed, who, plot.Thousands(n.Step))
}

// buffersFigure draws how many rows each agent has to learn from, one panel a buffer:
// where agents that are built alike earn unlike, this is where to look first.
func (g *group) buffersFigure(d grid) *plot.Figure {
	f := &plot.Figure{
		Name: "buffers", Title: "How many rows each agent learns from", Cols: 2,
		Caption: "Sizes of the buffers after each window, coloured by agent. Agents that are built alike ought to have as many: those " +
			"who leave sooner have fewer played and imagined rows, and no other reason is a good one. A world model that all share has " +
			"one buffer; its rows are those through an agent's eyes where that is remembered." + overSeeds(len(g.Runs)),
	}
	for a := range g.Agents {
		f.Legend = append(f.Legend, plot.Key{Name: fmt.Sprintf("agent %d", a), Color: plot.Agent(a)})
	}
	f.Legend = append(f.Legend, g.shadeKey()...)
	for _, b := range []struct{ name, title string }{
		{"real", "played rows of a window"}, {"imagined", "imagined rows of a window"},
		{"world", "real steps that the world model learns from"}, {"others", "co-players' steps that the model of others learns from"},
	} {
		var all [][]float64
		var lines []gonumplot.Plotter
		for a := -1; a < g.Agents; a++ {
			if x := g.bundle(d, key{train.BufferMetric + b.name, a}); len(x.seeds) > 0 {
				all, lines = append(all, x.mean), append(lines, x.line(d, a, 1.3))
			}
		}
		if len(lines) > 0 {
			_, hi := pad(1, append(all, []float64{0, 1})...)
			p := timePlot(d, 0, hi).Add(g.shade(false)...).Add(lines...).Panel(b.title, plot.HalfW, plot.HalfH)
			if b.name == "imagined" {
				p.Note = "0: the world model was not trusted, or was made anew"
			}
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}
