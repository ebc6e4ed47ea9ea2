// Package sweeps is the page of a sweep: what every field does to the score and how much of it that
// explains, which variants are worth their cost, and what was stopped early or given up.
package sweeps

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// Table is what a sweep has found.
type Table struct {
	Base     string    `json:"base"`
	Build    string    `json:"build"`
	Score    string    `json:"score"` // what is compared, in words
	Least    bool      `json:"least,omitempty"`
	Fields   []Field   `json:"fields"`
	Variants []Variant `json:"variants"`
	Seeds    int       `json:"seeds"`
	Drawn    bool      `json:"drawn,omitempty"` // variants are draws, not every combination
	Rungs    []int     `json:"rungs,omitempty"` // where variants were stopped, in env steps
	Failed   []Failure `json:"failed,omitempty"`
	Again    []Failure `json:"again,omitempty"`    // done, lost or changed, and done again
	Loose    bool      `json:"unsealed,omitempty"` // nothing vouches for the sweep's own files
	Spent    string    `json:"spent,omitempty"`    // the part of the budget that was
	Jobs     int       `json:"jobs"`
	CPU      float64   `json:"cpu_s"`
	Wall     float64   `json:"wall_s"`
}

// Field is a field of the spec that varies.
type Field struct {
	Path   string   `json:"path"`
	Levels []string `json:"levels"` // its values, or ranges of them where they were drawn
	Number bool     `json:"number"` // the levels have an order
	// Share is how much of the variance of scores it explains by itself, and CI the interval of that.
	Share stats.Number   `json:"share"`
	CI    stats.Interval `json:"ci"`
	level []int          // of the variants
}

// Variant is one setting and what came of it.
type Variant struct {
	Name    string         `json:"name"`
	Values  []string       `json:"values"` // of the fields
	Scores  []float64      `json:"scores"` // of the seeds, where variants can be compared
	Mean    stats.Number   `json:"mean"`
	CI      stats.Interval `json:"ci"`
	CPU     float64        `json:"cpu_s"`             // of a seed
	Stopped int            `json:"stopped,omitempty"` // the env step at which it was; 0: it was not
	At      []float64      `json:"rung_scores,omitempty"`
	Front   bool           `json:"front,omitempty"` // no other has a better score for less
}

// Part is its share as a number.
func (f Field) Part() float64 { return float64(f.Share) }

// Value is its mean as a number.
func (v Variant) Value() float64 { return float64(v.Mean) }

// Failure is a job that was given up, or had to be done again.
type Failure struct {
	Job   string `json:"job"`
	Why   string `json:"why"`
	Tries int    `json:"tries"`
}

// mostLevels is how many levels a field has at most, and fewest how many variants a level of drawn values
// has at least.
const (
	mostLevels = 5
	fewest     = 4
)

// reps is how often scores are drawn anew for an interval.
const reps = 1000

// Complete works everything out that follows from the variants' values and scores.
func (t *Table) Complete() {
	for i := range t.Variants {
		v := &t.Variants[i]
		mean, ci := stats.MeanCI(v.Scores, 0.95)
		v.Mean, v.CI = stats.Number(mean), ci
		if len(v.Scores) == 0 {
			v.Mean, v.CI = stats.Number(math.NaN()), stats.Interval{math.NaN(), math.NaN()}
		}
	}
	for k := range t.Fields {
		t.levels(k)
		t.importance(&t.Fields[k], uint64(k))
	}
	t.front()
}

// better says whether a score is better than another.
func (t *Table) better(a, b float64) bool {
	if t.Least {
		return a < b
	}
	return a > b
}

// scored are the variants that have scores.
func (t *Table) scored() (list []*Variant) {
	for i := range t.Variants {
		if len(t.Variants[i].Scores) > 0 {
			list = append(list, &t.Variants[i])
		}
	}
	return list
}

// levels puts the values of a field into levels: each value one, or as many values in each where there
// are many.
func (t *Table) levels(k int) {
	f := &t.Fields[k]
	values := make([]float64, len(t.Variants))
	f.Number = true
	for i, v := range t.Variants {
		x, err := strconv.ParseFloat(v.Values[k], 64)
		f.Number = f.Number && err == nil
		values[i] = x
	}
	var texts []string
	for _, v := range t.Variants {
		if !slices.Contains(texts, v.Values[k]) {
			texts = append(texts, v.Values[k])
		}
	}
	f.level, f.Levels = make([]int, len(t.Variants)), texts
	if f.Number {
		slices.SortFunc(texts, func(a, b string) int {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return cmp.Compare(x, y)
		})
	}
	most := min(mostLevels, max(2, len(t.Variants)/fewest))
	if !f.Number || len(texts) <= most || !t.Drawn {
		for i, v := range t.Variants {
			f.level[i] = slices.Index(texts, v.Values[k])
		}
		return
	}
	f.Levels = nil
	for n := range most {
		lo, hi := texts[n*len(texts)/most], texts[(n+1)*len(texts)/most-1]
		f.Levels = append(f.Levels, brief(lo)+" to "+brief(hi))
		for i := range t.Variants {
			if values[i] >= number(lo) && values[i] <= number(hi) {
				f.level[i] = n
			}
		}
	}
}

// brief is a number with three digits.
func brief(text string) string { return strconv.FormatFloat(number(text), 'g', 3, 64) }

func number(text string) float64 {
	x, _ := strconv.ParseFloat(text, 64)
	return x
}

// importance is the share of the variance of all scores that lies between the levels of a field, which
// is its main effect in a functional analysis of variance, less what that would be by chance: by the noise of
// seeds where every combination is there, and by the other fields too where variants are draws. The interval is
// a bootstrap over the seeds of every variant; with one seed each, over the variants.
func (t *Table) importance(f *Field, stream uint64) {
	var level []int
	var scores stats.Scores
	seeded := true
	for i, v := range t.Variants {
		if len(v.Scores) > 0 {
			level, scores = append(level, f.level[i]), append(scores, v.Scores)
			seeded = seeded && len(v.Scores) > 1
		}
	}
	f.Share, f.CI = stats.Number(math.NaN()), stats.Interval{math.NaN(), math.NaN()}
	if len(scores) < 2 {
		return
	}
	f.Share = stats.Number(share(level, scores, len(f.Levels), t.Drawn))
	if math.IsNaN(float64(f.Share)) {
		return
	}
	r := rng.New(1).Child("importance", int(stream)).Rand()
	if seeded {
		f.CI = stats.Bootstrap(scores, func(s stats.Scores) float64 { return share(level, s, len(f.Levels), t.Drawn) }, reps, 0.95, &r)
		return
	}
	var draws []float64
	drawn, of := make(stats.Scores, len(scores)), make([]int, len(scores))
	for range reps {
		for i := range drawn {
			j := r.IntN(len(scores))
			drawn[i], of[i] = scores[j], level[j]
		}
		if x := share(of, drawn, len(f.Levels), t.Drawn); !math.IsNaN(x) {
			draws = append(draws, x)
		}
	}
	if len(draws) > 0 {
		f.CI = stats.Interval{stats.Quantile(draws, 0.025), stats.Quantile(draws, 0.975)}
	}
}

// share is how much of the variance of scores lies between levels, from 0 to 1.
func share(level []int, scores stats.Scores, levels int, drawn bool) float64 {
	var all stats.Acc
	by := make([]stats.Acc, levels)
	within, free := 0., 0 // the noise of seeds
	for i, list := range scores {
		var own stats.Acc
		for _, x := range list {
			all.Add(x)
			by[level[i]].Add(x)
			own.Add(x)
		}
		if own.N() > 1 {
			within, free = within+own.Var()*float64(own.N()-1), free+own.N()-1
		}
	}
	total := all.Var() * float64(all.N()-1)
	if !(total > 0) {
		return math.NaN()
	}
	between, used := 0., 0
	for i := range by {
		if by[i].N() > 0 {
			d := by[i].Mean() - all.Mean()
			between, used = between+float64(by[i].N())*d*d, used+1
		}
	}
	switch {
	case drawn && len(scores) > used: // total less within lies between variants
		between -= float64(used-1) * (total - within - between) / float64(len(scores)-used)
	case !drawn && free > 0:
		between -= float64(used-1) * within / float64(free)
	}
	return min(1, max(0, between/total))
}

// front marks the variants that no other beats for less: the Pareto front of score and cost.
func (t *Table) front() {
	list := t.scored()
	for _, v := range list {
		v.Front = !slices.ContainsFunc(list, func(o *Variant) bool {
			a, b := float64(o.Mean), float64(v.Mean)
			return o != v && !t.better(b, a) && o.CPU <= v.CPU && (t.better(a, b) || o.CPU < v.CPU)
		})
	}
}

// Ranked are the variants that can be compared, the best first.
func (t *Table) Ranked() []*Variant {
	list := t.scored()
	slices.SortStableFunc(list, func(a, b *Variant) int {
		switch {
		case t.better(float64(a.Mean), float64(b.Mean)):
			return -1
		case t.better(float64(b.Mean), float64(a.Mean)):
			return 1
		}
		return 0
	})
	return list
}

// Important are the fields, the one that explains most first.
func (t *Table) Important() []Field {
	list := slices.Clone(t.Fields)
	slices.SortStableFunc(list, func(a, b Field) int {
		x, y := float64(a.Share), float64(b.Share)
		if math.IsNaN(x) || math.IsNaN(y) {
			return 0
		}
		return cmp.Compare(y, x)
	})
	return list
}

// Early are the variants that were stopped.
func (t *Table) Early() (list []Variant) {
	for _, v := range t.Variants {
		if v.Stopped > 0 {
			list = append(list, v)
		}
	}
	slices.SortStableFunc(list, func(a, b Variant) int { return cmp.Compare(b.Stopped, a.Stopped) })
	return list
}

// Seeded says that intervals are over seeds.
func (t *Table) Seeded() bool { return t.Seeds > 1 }

// Headline says which variant is the best, as far as that can be told, and what matters.
func (t *Table) Headline() string {
	list := t.Ranked()
	if len(list) == 0 {
		return "No variant has come to a score."
	}
	best := list[0]
	text := fmt.Sprintf("%s has the best score, %s", strings.ReplaceAll(best.Name, ",", ", "), plot.Number(float64(best.Mean)))
	if len(best.Scores) > 1 {
		text += fmt.Sprintf(" (95 %%: %s)", plot.Range(best.CI))
	}
	if len(list) > 1 {
		same := 0
		level := 1 - 0.05/float64(len(list)-1)
		for _, v := range list[1:] {
			if len(best.Scores) < 2 || len(v.Scores) < 2 {
				same = -1
				break
			}
			if _, ci := stats.DiffCI(best.Scores, v.Scores, level); ci[0] <= 0 && ci[1] >= 0 {
				same++
			}
		}
		switch {
		case same < 0:
			text += "; with one seed each, variants cannot be told apart"
		case same > 0:
			text += fmt.Sprintf("; it cannot be told apart from %d of the other %d", same, len(list)-1)
		default:
			text += "; it can be told apart from every other"
		}
	}
	if f := t.Important(); len(f) > 0 && float64(f[0].Share) > 0 {
		text += fmt.Sprintf(". %s explains most: %s of the variance of scores", f[0].Path, plot.Percent(float64(f[0].Share)))
	}
	return text + "."
}

// response is what a field does, all else averaged over.
func (t *Table) response(k int) *plot.Figure {
	f := &t.Fields[k]
	groups := make([][]float64, len(f.Levels))
	for i, v := range t.Variants {
		groups[f.level[i]] = append(groups[f.level[i]], v.Scores...)
	}
	caption := fmt.Sprintf("%s by %s, over all other fields and seeds, with 95 %% intervals of the mean.", t.Score, f.Path)
	if f.Number && len(f.Levels) > 2 {
		var mean, low, high plot.Line
		band := plot.Band{Color: plot.Fade(plot.Agent(0), 0.2)}
		for i, g := range groups {
			m, ci := stats.MeanCI(g, 0.95)
			if len(g) == 0 {
				m, ci = math.NaN(), stats.Interval{math.NaN(), math.NaN()}
			}
			if len(g) == 1 {
				ci = stats.Interval{m, m}
			}
			mean.X, mean.Y = append(mean.X, float64(i)), append(mean.Y, m)
			low.Y, high.Y = append(low.Y, ci[0]), append(high.Y, ci[1])
		}
		mean.Color, mean.Width = plot.Agent(0), 1.8
		band.X, band.Low, band.High = mean.X, low.Y, high.Y
		lo, hi := plot.Span(mean.Y, low.Y, high.Y)
		y := plot.Round(lo-0.05*(hi-lo), hi+0.05*(hi-lo), 5)
		y.Name = t.Score
		p := plot.New(plot.Names(f.Levels), y).Add(band, mean)
		return &plot.Figure{Name: fmt.Sprintf("field-%d", k+1), Title: f.Path, Caption: caption,
			Panels: []plot.Panel{p.Panel(f.Path, plot.WideW, plot.HalfH+40)}}
	}
	var rows []plot.Spread
	var all []float64
	for i, g := range groups {
		m, ci := stats.MeanCI(g, 0.95)
		if len(g) == 0 {
			m = math.NaN()
		}
		all = append(all, g...)
		rows = append(rows, plot.Spread{Name: f.Levels[i], Color: plot.Agent(i), Values: g, Mean: m, CI: ci})
	}
	lo, hi := plot.Span(all)
	pad := max(0.05*(hi-lo), 1e-9)
	return &plot.Figure{Name: fmt.Sprintf("field-%d", k+1), Title: f.Path, Caption: caption,
		Panels: []plot.Panel{plot.Spreads(f.Path, t.Score, lo-pad, hi+pad, nil, rows...)}}
}

// two is what two fields do together, nil unless there are two.
func (t *Table) two() *plot.Figure {
	list := t.Important()
	if len(list) < 2 {
		return nil
	}
	a, b := list[0], list[1]
	h := &plot.Heat{Title: a.Path + " and " + b.Path, Corner: a.Path + " \\ " + b.Path, Rows: a.Levels, Cols: b.Levels}
	for i := range a.Levels {
		var row []plot.Cell
		for j := range b.Levels {
			var acc stats.Acc
			for v := range t.Variants {
				if a.level[v] == i && b.level[v] == j {
					for _, x := range t.Variants[v].Scores {
						acc.Add(x)
					}
				}
			}
			c := plot.Cell{Value: math.NaN(), Text: "–", Hint: "no variant"}
			if acc.N() > 0 {
				c = plot.Cell{Value: acc.Mean(), Text: plot.Number(acc.Mean()), Hint: plot.Count(acc.N(), "run")}
				if acc.N() > 1 {
					ci := acc.CI(0.95)
					c.Sub = "± " + plot.Number((ci[1]-ci[0])/2)
				}
			}
			row = append(row, c)
		}
		h.Cells = append(h.Cells, row)
	}
	plot.Scale(h)
	return &plot.Figure{Name: "two-fields", Title: h.Title, Panels: []plot.Panel{h.Panel()},
		Caption: fmt.Sprintf("%s by the two fields that explain most, over all others; ± is half the 95 %% interval.", t.Score)}
}

// pareto is score against cost.
func (t *Table) pareto() *plot.Figure {
	var front, rest plot.Cloud
	front.Name, rest.Name = "none is better for less", "others"
	for _, v := range t.scored() {
		c := &rest
		if v.Front {
			c = &front
		}
		c.X, c.Y = append(c.X, v.CPU), append(c.Y, float64(v.Mean))
	}
	f := plot.Scatter("pareto", "Score and cost",
		"Every variant: its mean score and the processor time of one of its runs, training and scoring.",
		plot.Axes{X: "seconds of processor time a run", Y: t.Score}, front, rest)
	return f
}

//go:embed sweep.html
var pageText string

//go:embed sweep.md
var markdownText string

// Write writes report.html, one file that opens offline, report.md, report.json and the figures into a folder.
func Write(dir string, t *Table) error {
	t.Complete()
	data := struct {
		*Table
		Responses []*plot.Figure
		Two       *plot.Figure
		Pareto    *plot.Figure
	}{Table: t}
	var figures []*plot.Figure
	if len(t.scored()) > 0 {
		for k := range t.Fields {
			data.Responses = append(data.Responses, t.response(k))
		}
		data.Two, data.Pareto = t.two(), t.pareto()
		figures = append(figures, data.Responses...)
		if data.Two != nil {
			figures = append(figures, data.Two)
		}
		figures = append(figures, data.Pareto)
	}
	doc := plot.Document{Name: "report", HTML: pageText, Text: markdownText, Data: data, Figures: figures, Folder: "figures", JSON: t}
	return doc.Write(dir)
}
