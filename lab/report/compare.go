package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/spec"
)

// Variant is one column of a comparison: a spec and its runs.
type Variant struct {
	Name   string
	Dirs   []string        // of its runs, one a seed
	Reused map[string]bool // those that were there before
}

// Comparison is variants of one experiment side by side.
type Comparison struct {
	Label     string      `json:"game"` // and its setting
	Threshold float64     `json:"threshold"`
	Variants  []*Compared `json:"variants"`
	Improve   [][]Win     `json:"-"` // [x][y] does x do better than y?
	Notes     []string    `json:"-"` // what is missing or odd
	noted     []string    // of them, those that no threshold is in
	Command   string      `json:"-"`
	refs      []plot.Ref
	tau       []float64 // thresholds of the profiles
}

// Compared is a variant's numbers.
type Compared struct {
	Name    string         `json:"name"`
	Number  int            `json:"-"` // in the order in which they were named
	Seeds   []SeedResult   `json:"seeds"`
	Mean    float64        `json:"mean"`
	CI      stats.Interval `json:"ci"` // Student's, over seeds
	IQM     float64        `json:"iqm"`
	IQMCI   stats.Interval `json:"iqm_ci"`   // bootstrap
	Diff    float64        `json:"diff"`     // mean less the first variant's
	DiffCI  stats.Interval `json:"diff_ci"`  // Welch's
	Reached int            `json:"reached"`  // seeds that rose to the threshold
	Above   int            `json:"above"`    // seeds that were above it from their first point on
	Steps   *float64       `json:"steps_to"` // env steps to it, median over seeds; nil: fewer than half got there
	CPU     *float64       `json:"cpu_s_to"` // processor seconds to it

	group           *group
	profile, pl, ph []float64 // [tau] and its interval
}

// SeedResult is one run of a variant.
type SeedResult struct {
	Seed     uint64  `json:"seed"`
	Dir      string  `json:"run"`
	Mean     float64 `json:"mean"` // of the final agents
	EnvSteps int64   `json:"-"`
	CPU      float64 `json:"cpu_s"`
	Reused   bool    `json:"reused"`
}

// Win is the probability that a run of one variant does better than one of
// another, with Newcombe's interval.
type Win struct {
	P  float64
	CI stats.Interval
}

// Values returns the seeds' means.
func (c *Compared) Values() []float64 {
	var out []float64
	for _, s := range c.Seeds {
		out = append(out, s.Mean)
	}
	return out
}

// draws is how often a bootstrap draws.
const draws = 5000

// Compare reads the runs. Without a threshold (NaN) it is 95 % of the way from
// the lowest point of all curves to the best variant's mean.
func Compare(reg *spec.Registry, list []Variant, threshold float64) (*Comparison, error) {
	c := &Comparison{Threshold: threshold}
	for i, v := range list {
		g, err := gather(reg, v)
		if err != nil {
			return nil, err
		}
		c.noted = append(c.noted, g.Notes...)
		x := &Compared{Name: v.Name, Number: i, group: g}
		for k, r := range g.Runs {
			if r.Result == nil {
				return nil, fmt.Errorf("report: seed %d of %s has no result.json: its agents were not scored", r.Seed, v.Name)
			}
			x.Seeds = append(x.Seeds, SeedResult{r.Seed, v.Dirs[k], g.Mean(r), r.Step, r.Result.CPU, v.Reused[v.Dirs[k]]})
		}
		c.Variants = append(c.Variants, x)
		if i == 0 {
			c.Label, c.refs = g.Label, g.refs
		}
		if err := c.Variants[0].sameGame(x); err != nil {
			return nil, err
		}
	}
	if len(c.Variants) == 0 {
		return nil, fmt.Errorf("report: nothing to compare")
	}
	c.noteSeeds()
	c.score()
	c.pace()
	return c, nil
}

// sameGame refuses variants whose returns mean different things: no order of them would be true.
func (x *Compared) sameGame(y *Compared) error {
	differ := ""
	if x.group.Label != y.group.Label {
		differ = x.group.Label + " and " + y.group.Label
	}
	if v, w := x.group.Spec, y.group.Spec; v != nil && w != nil {
		fields, err := v.GameDiffers(w)
		if err != nil {
			return err
		}
		differ = cmp.Or(fields, differ)
	}
	if differ == "" {
		return nil
	}
	return fmt.Errorf("report: %s and %s play different games: %s; their returns cannot be compared", x.Name, y.Name, differ)
}

// noteSeeds names the seeds where variants do not have the same.
func (c *Comparison) noteSeeds() {
	var lists []string
	for _, x := range c.Variants {
		var seeds config.Seeds
		for _, s := range x.Seeds {
			seeds = append(seeds, s.Seed)
		}
		lists = append(lists, seeds.String())
	}
	if len(slices.Compact(slices.Clone(lists))) == 1 {
		return
	}
	for i, x := range c.Variants {
		lists[i] = x.Name + " has " + lists[i]
	}
	c.noted = append(c.noted, "Variants have different seeds: "+strings.Join(lists, "; ")+".")
}

// At returns the comparison with another threshold, of the same runs; NaN is as in Compare.
// Nothing is read again.
func (c *Comparison) At(threshold float64) *Comparison {
	out := *c
	out.Threshold, out.Variants = threshold, nil
	for _, x := range c.Variants {
		y := *x
		y.Reached, y.Above = 0, 0
		out.Variants = append(out.Variants, &y)
	}
	out.pace()
	return &out
}

// gather reads a variant's runs, which may lie anywhere, in order of seeds.
func gather(reg *spec.Registry, v Variant) (*group, error) {
	g := &group{reg: reg, Dir: v.Name}
	for _, dir := range v.Dirs {
		r, err := g.readRun(dir)
		if err != nil {
			return nil, fmt.Errorf("report: reading %s: %w", dir, err)
		}
		r.keepOnly(meanReturn)
		g.Runs = append(g.Runs, r)
	}
	if len(g.Runs) == 0 {
		return nil, fmt.Errorf("report: %s has no runs", v.Name)
	}
	g.measure()
	return g, nil
}

// keepOnly forgets the rows of all series but one, and which series there are not: a
// comparison needs no more, and a run may have millions of others.
func (r *run) keepOnly(k key) {
	for other, rows := range r.series {
		if r.points = max(r.points, len(rows)); other != k {
			r.series[other] = nil
		}
	}
	r.series[k] = slices.Clone(r.series[k]) // of its own, without room to grow
	for i := range r.series[k] {
		r.series[k][i].Name = k.name // not a part of the file's text
	}
}

// Bytes is about how much memory the comparison holds.
func (c *Comparison) Bytes() int {
	n := 0
	for _, x := range c.Variants {
		n += 4096 + 8*4*len(c.tau)
		for _, r := range x.group.Runs {
			n += 4096 + 64*len(r.names) + 96*len(r.series) + 64*len(r.series[meanReturn])
		}
	}
	return n
}

// score fills in what is known about the final agents.
func (c *Comparison) score() {
	first := c.Variants[0].Values()
	var all []float64
	for _, x := range c.Variants {
		xs := x.Values()
		all = append(all, xs...)
		x.Mean, x.CI = stats.MeanCI(xs, 0.95)
		x.CI = x.group.possible(x.CI)
		x.IQM = stats.IQM(xs)
		r := rng.New(0).Child("compare").Child("iqm").Rand()
		x.IQMCI = stats.Bootstrap(stats.Scores{xs}, stats.Scores.IQM, draws, 0.95, &r)
		x.Diff, x.DiffCI = stats.DiffCI(xs, first, 0.95)
		var row []Win
		for _, y := range c.Variants {
			p, ci := stats.WinCI(xs, y.Values(), 0.95)
			row = append(row, Win{p, ci})
		}
		c.Improve = append(c.Improve, row)
	}
	lo, hi := plot.Span(all)
	pad := max(0.05*(hi-lo), 1e-6)
	const points = 120
	for i := range points {
		c.tau = append(c.tau, lo-pad+(hi-lo+2*pad)*float64(i)/(points-1))
	}
	for _, x := range c.Variants {
		x.profiles(c.tau)
	}
}

// profiles computes the share of runs above each threshold (a performance
// profile), with Wilson's interval at each.
func (c *Compared) profiles(tau []float64) {
	s := stats.Scores{c.Values()}
	c.profile, c.pl, c.ph = make([]float64, len(tau)), make([]float64, len(tau)), make([]float64, len(tau))
	s.Profile(c.profile, tau)
	for i, share := range c.profile {
		n := len(s[0])
		ci := stats.Wilson(int(math.Round(share*float64(n))), n, 0.95)
		c.pl[i], c.ph[i] = ci[0], ci[1]
	}
}

// pace finds when each seed came to the threshold.
func (c *Comparison) pace() {
	if math.IsNaN(c.Threshold) {
		low, best := math.Inf(1), math.Inf(-1)
		for _, x := range c.Variants {
			b := x.group.bundle(x.group.grid(), meanReturn)
			lo, _ := plot.Span(b.mean)
			low, best = min(low, lo), max(best, x.Mean)
		}
		c.Threshold = low + 0.95*(best-low)
	}
	c.Notes = slices.Clone(c.noted)
	for _, x := range c.Variants {
		d := x.group.grid()
		k := meanReturn
		var steps, cpu []float64
		for _, r := range x.group.Runs {
			rows := r.series[k]
			at := rise(d.xs(), d.curve(rows, few(true, rows)), c.Threshold)
			steps = append(steps, at)
			cpu = append(cpu, r.trainCPU()*at/float64(max(r.Step, 1)))
			switch {
			case math.IsNaN(at):
				x.Above++
			case !math.IsInf(at, 1):
				x.Reached++
			}
		}
		if x.Above > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("%s begins above a return of %.3f in %d of its %s: how fast that was learnt is not said.",
				x.Name, c.Threshold, x.Above, plot.Count(len(x.Seeds), "seed")))
		}
		x.Steps, x.CPU = median(steps), median(cpu)
	}
}

// rise returns where a curve first comes to a level from below; infinity if it does not, and NaN
// if it begins above it: then nothing is known of how it came there.
func rise(xs, curve []float64, level float64) float64 {
	began := false
	for j, v := range curve {
		switch {
		case math.IsNaN(v):
		case v >= level && !began:
			return math.NaN()
		case v >= level:
			return xs[j]
		default:
			began = true
		}
	}
	return math.Inf(1)
}

// median returns nil if it is not finite, as it is not where one of the list is not known.
func median(list []float64) *float64 {
	if slices.ContainsFunc(list, math.IsNaN) {
		return nil
	}
	x := stats.Quantile(list, 0.5)
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// trainCPU estimates the processor seconds of the training alone: those of the
// whole run, in proportion to the time that its phases took.
func (r *run) trainCPU() float64 {
	sum := 0.
	for name, s := range r.Env.Phases {
		if !strings.Contains(name, "/") {
			sum += s
		}
	}
	if sum == 0 || r.Env.Wall <= 0 {
		return r.Result.CPU
	}
	return r.Result.CPU * min(1, sum/r.Env.Wall)
}

// Drawings returns the figures of the comparison's page: final, curves, profile, improve, whose
// only panel is a table of colours, iqm and pairs.
func (c *Comparison) Drawings() []*plot.Figure {
	return []*plot.Figure{c.finalsFigure(), c.curvesFigure(), c.profileFigure(), c.winsFigure(), c.iqmFigure(), c.pairsFigure()}
}

// WriteCompare writes compare.html, one file that opens offline, compare.md and
// the figures in compare/ into a folder.
func WriteCompare(dir string, c *Comparison) error {
	figs := figures(c.Drawings())
	data := struct {
		*Comparison
		figures
		Wins *plot.Heat
	}{c, figs, figs[3].Panels[0].Table}
	doc := plot.Document{Name: "compare", HTML: comparePage, Text: compareText, Data: data, Figures: figs, Folder: "compare"}
	return doc.Write(dir)
}

// Text is the comparison for a terminal.
func (c *Comparison) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", c.Headline())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "variant\tmean\t95 %\tIQM\tdifference\t95 %\twins\treached\tsteps to\tprocessor\t\n")
	for i, x := range c.Variants {
		fmt.Fprintf(w, "%s\t%.3f\t%s\t%.3f\t", x.Name, x.Mean, x.CI.Text(), x.IQM)
		if i == 0 {
			fmt.Fprint(w, "\t\t\t")
		} else {
			fmt.Fprintf(w, "%+.3f\t%s\t%.0f %%\t", x.Diff, x.DiffCI.Text(), 100*c.Improve[i][0].P)
		}
		fmt.Fprintf(w, "%d of %d\t%s\t%s\t\n", x.Reached, len(x.Seeds), x.Short(), x.Time())
	}
	w.Flush()
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "\nDifferences and wins are to %s. Intervals: Student's and Welch's over seeds. "+
		"Steps and processor time are to a return of %.3f.", c.Variants[0].Name, c.Threshold)
	return b.String()
}

// WinOver says how likely a run of one variant does better than one of another.
type WinOver struct {
	Row string         `json:"row"`
	Col string         `json:"col"`
	P   float64        `json:"p"`
	CI  stats.Interval `json:"ci"`
}

// Wins returns how likely each variant does better than each other.
func (c *Comparison) Wins() (list []WinOver) {
	for i, row := range c.Improve {
		for k, w := range row {
			if k != i {
				list = append(list, WinOver{c.Variants[i].Name, c.Variants[k].Name, w.P, w.CI})
			}
		}
	}
	return list
}
