package audit

import (
	_ "embed"
	"fmt"
	"math"
	"strings"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/plot"
)

//go:embed page.html
var pageText string

// Steps names the steps of the procedure.
var Steps = []string{
	"Step 0: is it real?", "Step 1: the game, without learning", "Step 2: the pipeline", "Step 3: the data", "Step 4: the learners",
	"Step 5: shared or separate brains",
}

// view is what the page is made from.
type view struct {
	*Result
	Command string
	Figures []*plot.Figure
}

// Page returns the report as one HTML page that needs nothing else. command says
// how it was made.
func (r *Result) Page(command string) ([]byte, error) {
	return (&plot.Document{Name: "audit", HTML: pageText, Data: view{r, command, r.figures()}}).Page()
}

// Steps returns the names of the steps.
func (v view) Steps() []string { return Steps }

// Of returns the findings of a step.
func (v view) Of(step int) []check.Finding {
	var out []check.Finding
	for _, f := range v.Findings {
		if f.Step == step {
			out = append(out, f)
		}
	}
	return out
}

// Share is how wide the bar of an agent's rows is, of the most.
func (v view) Share(rows int) float64 {
	most := 1
	for _, n := range v.Rows {
		most = max(most, n)
	}
	return float64(rows) / float64(most)
}

// Wrong returns the findings that object, the one that speaks for the
// verdict first.
func (r *Result) Wrong() []check.Finding {
	var out, rest []check.Finding
	for _, f := range r.Findings {
		switch {
		case f.Status < check.Suspect:
		case f.Module == r.Module && f.Says == r.Says && len(out) == 0:
			out = append(out, f)
		default:
			rest = append(rest, f)
		}
	}
	return append(out, rest...)
}

// Plain writes a number for people.
func (v view) Plain(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case x == math.Trunc(x) && math.Abs(x) < 1e7:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// Effect writes a finding's effect with its interval, if it was estimated.
func (v view) Effect(f check.Finding) string {
	if f.Unit == "" || f.Status == check.Pass && f.Effect == 0 {
		return ""
	}
	if of, share := strings.CutPrefix(f.Unit, "share of "); share {
		return fmt.Sprintf("%s %% of %s", v.Plain(100*f.Effect), of)
	}
	s := v.Plain(f.Effect)
	if f.Lo != f.Hi {
		s += fmt.Sprintf(" (%s to %s)", v.Plain(f.Lo), v.Plain(f.Hi))
	}
	return s + " " + f.Unit
}

// figures draws what the numbers show.
func (r *Result) figures() []*plot.Figure {
	var out []*plot.Figure
	if len(r.Learns) > 0 {
		out = append(out, r.matrix())
	}
	if len(check.Measured(r.Returns)) > 0 {
		out = append(out, r.boxes())
	}
	if lines := r.lines(); lines != nil {
		out = append(out, lines)
	}
	return out
}

// Unmeasured says in how many seeds no episode ended, "" if in none.
func (r *Result) Unmeasured() string {
	n := len(r.Returns) - len(check.Measured(r.Returns))
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Returns by agent: –. In %s of %d no episode ended.", plot.Count(n, "seed"), len(r.Returns))
}

// matrix shows who learns from whom.
func (r *Result) matrix() *plot.Figure {
	h := &plot.Heat{Title: "Who learns from whose rows", Corner: "rows of agent", Rows: r.Agents, High: 1}
	for a, row := range r.Learns {
		h.Cols, h.Cells = append(h.Cols, fmt.Sprint(a)), append(h.Cells, nil)
		for b, share := range row {
			c := plot.Cell{Value: share, Text: plot.Percent(share)}
			c.Short = a == b && share >= 0 && share < 0.75
			c.Bad = a != b && share > 0 && !r.sharing(a, b)
			if share < 0 {
				c.Value, c.Text = math.NaN(), "?"
			}
			h.Cells[a] = append(h.Cells[a], c)
		}
	}
	return &plot.Figure{
		Title: h.Title, Panels: []plot.Panel{h.Panel()},
		Caption: "Share of the column agent's probed rows that change the row agent's weights. " +
			"In a correct run with separate brains the diagonal is 100 % and the rest 0 %; red cells are rows that do not belong there, " +
			"a red edge marks own rows that are missing. A question mark: nothing to probe.",
	}
}

// sharing reports whether two agents learn from all of each other's rows and
// their own: one brain.
func (r *Result) sharing(a, b int) bool {
	return r.Learns[a][a] == 1 && r.Learns[b][b] == 1 && r.Learns[a][b] == 1 && r.Learns[b][a] == 1
}

// boxes shows each agent's returns over seeds.
func (r *Result) boxes() *plot.Figure {
	title, list := "Returns by agent", check.Measured(r.Returns)
	return &plot.Figure{
		Title: title, Panels: []plot.Panel{plot.Boxes(title, "mean return of an episode", list, plot.HalfW, plot.HalfH+20)},
		Caption: fmt.Sprintf("Mean return over the last fifth of the windows, a point a seed (%s); from three seeds on box: quartiles, "+
			"line: median. If agents are alike, no order by number should hold in seed after seed.", plot.Count(len(list), "seed")),
	}
}

// lines shows each agent's returns over the windows, the mean over seeds; nil: there
// are not two windows to show.
func (r *Result) lines() *plot.Figure {
	var curves [][][]float64
	windows := math.MaxInt
	for _, seed := range r.Curves {
		if len(seed) > 0 && len(seed[0]) > 0 {
			curves, windows = append(curves, seed), min(windows, len(seed[0]))
		}
	}
	if len(curves) == 0 || windows < 2 {
		return nil
	}
	var lines []plot.Line
	for a := range curves[0] {
		l := plot.Line{Name: fmt.Sprintf("agent %d", a), Y: make([]float64, windows)}
		for w := range l.Y {
			for _, seed := range curves {
				l.Y[w] += seed[a][w] / float64(len(curves))
			}
		}
		lines = append(lines, l)
	}
	title, caption := "Returns over the audit's windows", "The audit trains for seconds: these curves show the start of learning, not its "+
		"end. The first window holds only the shortest episodes."
	if r.recorded {
		title, caption = "Returns over the run's windows", "As the run recorded them."
	}
	caption += fmt.Sprintf(" Mean over %s. Windows of a warm-up, in which bots play and agents watch, are left out.",
		plot.Count(len(curves), "seed"))
	return plot.Lines("returns", title, caption, plot.Axes{X: "windows", Y: "mean return of an episode"}, lines...)
}
