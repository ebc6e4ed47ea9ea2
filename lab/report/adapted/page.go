package adapted

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	gonumplot "gonum.org/v1/plot"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
)

const pageHTML = `{{template "top" (print "Among others: " .Game)}}<header><h1>Among others on {{.Game}}</h1>
{{range $i, $h := .Headlines}}<p{{if not $i}} class="headline"{{end}}>{{tie $h}}</p>
{{end}}<p>{{tie .Words}}</p>
{{template "older" .Used}}</header>
<div class="scroll card"><table><thead><tr>{{range .Heads}}<th class="left">{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Cells}}<tr>{{range .}}<td class="left{{if .Wrap}} wrap{{end}}">{{tie .Text}}</td>{{end}}</tr>
{{end}}</tbody></table></div>
<p class="faint">{{tie .Legend}}</p>
{{if .Reading}}<section><h2>How well it reads them</h2>
<div class="scroll card"><table><thead><tr>{{range .ReadingHeads}}<th class="left">{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Reading}}<tr>{{range .}}<td class="left">{{.}}</td>{{end}}</tr>
{{end}}</tbody></table></div>
<p class="faint">{{tie .ReadingLegend}}</p></section>
{{end}}{{range .Figures}}<section><h2>{{.Title}}</h2>{{template "figure" .}}</section>
{{end}}{{if .Met}}<section><h2>Every stranger, the hardest first</h2>
<div class="scroll card"><table><thead><tr>{{range .MetHeads}}<th class="left">{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Met}}<tr>{{range .}}<td class="left">{{.}}</td>{{end}}</tr>
{{end}}</tbody></table></div></section>
{{end}}<section>{{if .Seeds}}<h2>Every seed</h2><ul>
{{range .Seeds}}<li>{{.}}</li>
{{end}}</ul>
{{end}}{{template "checkpoints" .Used}}</section>
{{template "end"}}`

const pageText = `# Among others on {{.Game}}

{{range .Headlines}}{{.}}

{{end}}{{.Words}}

|{{range .Heads}} {{.}} |{{end}}
|{{range .Heads}}---|{{end}}
{{range .Cells}}|{{range .}} {{cell .Text}} |{{end}}
{{end}}
{{.Legend}}
{{if .Reading}}
|{{range .ReadingHeads}} {{.}} |{{end}}
|{{range .ReadingHeads}}---|{{end}}
{{range .Reading}}|{{range .}} {{cell .}} |{{end}}
{{end}}
{{.ReadingLegend}}
{{end}}
{{if .Met}}
|{{range .MetHeads}} {{.}} |{{end}}
|{{range .MetHeads}}---|{{end}}
{{range .Met}}|{{range .}} {{cell .}} |{{end}}
{{end}}{{end}}{{if .Seeds}}
Every seed's score and normalised score:

{{range .Seeds}}- {{.}}
{{end}}{{end}}{{range .Used}}
Read at {{paths .Short}}.
{{end}}`

// cell is a cell of the table.
type cell struct {
	Text string
	Wrap bool // it may be long
}

// Write writes the table and the curves: adapt.json, adapt.md, adapt.html.
func Write(dir string, t *Table) error {
	data := struct {
		Game, Words, Legend     string
		Headlines, Heads, Seeds []string
		Cells                   [][]cell
		Reading                 [][]string
		ReadingHeads            []string
		ReadingLegend           string
		Met                     [][]string
		MetHeads                []string
		Figures                 []*plot.Figure
		Used                    []runlog.Used
	}{Used: t.Used, Game: t.Words, Headlines: t.Headlines(), Words: t.words(), Legend: legend, ReadingLegend: ReadingLegend}
	if len(t.Strangers) > 0 {
		data.Words, data.Legend = t.strangerWords(), strangerLegend
		data.Figures, data.Heads = []*plot.Figure{t.dots(), t.lost()}, strangerHeads
		for _, s := range t.Strangers {
			data.Cells = append(data.Cells, plain(s.line()))
		}
		heads, rows := t.met()
		data.Met, data.MetHeads = rows, heads
		doc := plot.Document{Name: "adapt", HTML: pageHTML, Text: pageText, Data: data, JSON: t}
		return doc.Write(dir)
	}
	data.Figures = append(t.figures(), t.readingFigures()...)
	data.ReadingHeads, data.Reading = t.Readings()
	for _, col := range columns {
		var cells []cell
		said := false // it says something of this table
		for _, r := range t.Table {
			for i, l := range r.Lines() {
				text := col.cell(t, r, i, l)
				cells, said = append(cells, cell{text, col.wrap}), said || text != ""
			}
		}
		if !said {
			continue
		}
		data.Heads = append(data.Heads, col.head)
		if data.Cells == nil {
			data.Cells = make([][]cell, len(cells))
		}
		for i := range cells {
			data.Cells[i] = append(data.Cells[i], cells[i])
		}
	}
	for _, r := range t.Table {
		line := fmt.Sprintf("%s, %s:", r.Against(), t.who(r))
		for _, s := range r.Seeds {
			line += fmt.Sprintf(" %.3f (%s)", s.Score, plot.Number(float64(s.Normalised)))
		}
		data.Seeds = append(data.Seeds, line)
	}
	doc := plot.Document{Name: "adapt", HTML: pageHTML, Text: pageText, Data: data, JSON: t}
	return doc.Write(dir)
}

const legend = "Score, best response, random and regret are of the same starts: the best response less the score is the regret, and " +
	"normalised is 1 - regret / (best response - random). An exact best response is the oracle's expected return from each of these " +
	"starts; with co-players who draw, luck can carry a score above it, and the interval then reaches as far below 1. Otherwise it is " +
	"the best of the candidates, who lived the same episodes; one who beats them all by more than its interval is itself the best " +
	"response known. Stranger: it neither met them in training, nor did its models learn from their recorded play, nor are they " +
	"partners in its search."

// columns are what the table shows of line i of a row, with the words above.
var columns = []struct {
	head string
	wrap bool
	cell func(t *Table, r *Row, i int, l Part) string
}{
	{"among", false, func(_ *Table, r *Row, i int, _ Part) string { return r.Part(i) }},
	{"who", false, func(t *Table, r *Row, _ int, _ Part) string {
		if !slices.ContainsFunc(t.Table, func(o *Row) bool { return o.Run != r.Run }) {
			return "" // the headline says it
		}
		return t.who(r)
	}},
	{"how it knows them", true, func(_ *Table, r *Row, _ int, l Part) string { return r.Acquainted(l.VS) }},
	{"normalised (95 %)", false, func(_ *Table, _ *Row, _ int, l Part) string {
		return plot.Number(l.Share()) + bounds(l.NormalisedCI, 3)
	}},
	{"score (95 %)", false, func(_ *Table, _ *Row, _ int, l Part) string {
		return fixed(l.Score, 3) + bounds(l.CI, 3)
	}},
	{"best response", false, func(_ *Table, _ *Row, _ int, l Part) string {
		return l.bestBy(", ")
	}},
	{"random", false, func(_ *Table, _ *Row, _ int, l Part) string { return fixed(l.Random, 3) }},
	{"regret (95 %)", false, func(_ *Table, _ *Row, _ int, l Part) string {
		return fixed(l.Regret, 3) + bounds(l.RegretCI, 3)
	}},
	{"episodes scored", false, func(_ *Table, _ *Row, _ int, l Part) string { return plot.Thousands(l.Starts) }},
	{"first episode", false, func(_ *Table, r *Row, i int, _ Part) string {
		if i > 0 {
			return ""
		}
		return plot.Number(r.First)
	}},
	{"after the change", true, func(_ *Table, r *Row, i int, _ Part) string {
		if i == 0 {
			return ""
		}
		return r.Recovery()
	}},
	{"actions predicted, first to last fifth", false, func(_ *Table, r *Row, i int, _ Part) string {
		return ends5(r.stretch(r.Action, i))
	}},
	{"belief in the truth, first to last fifth", false, func(_ *Table, r *Row, i int, _ Part) string {
		return ends5(r.stretch(r.Belief, i))
	}},
}

// bounds writes an interval in brackets, or that there is none.
func bounds(ci stats.Interval, digits int) string {
	if math.IsInf(ci[0], 0) || math.IsInf(ci[1], 0) {
		return " (no interval)"
	}
	return " (" + fixed(ci[0], digits) + " to " + fixed(ci[1], digits) + ")"
}

// fixed writes so many digits, and no minus before a zero.
func fixed(x float64, digits int) string {
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// Part names line i of the row: its co-players and, if they change, the episodes.
func (r *Row) Part(i int) string {
	switch {
	case len(r.Parts) == 0:
		return r.Against()
	case i == 0:
		return fmt.Sprintf("%s, episodes 1 to %d", trio(r.VS), r.At)
	}
	return fmt.Sprintf("then %s, from episode %d", trio(r.Then), r.At+1)
}

// stretch cuts a curve by episode to those of line i.
func (r *Row) stretch(x []float64, i int) []float64 {
	at := min(r.At, len(x))
	switch {
	case len(r.Parts) == 0:
		return x
	case i == 0:
		return x[:at]
	}
	return x[at:]
}

// Recovery says how soon after the change the agent was back, and what that rests on.
func (r *Row) Recovery() string {
	if r.Back == nil {
		return ""
	}
	return r.soon() + ", by the mean of three episodes in a row over " + lives(r.Lives*len(r.Seeds))
}

// soon says how soon that was, with its interval.
func (r *Row) soon() string {
	text := fmt.Sprintf("not back at 90 %% of that within %d episodes", BackWithin)
	switch {
	case *r.Back == 0:
		text = "back at 90 % of that at once"
	case *r.Back > 0:
		text = "back at 90 % of that after " + plot.Count(*r.Back, "episode")
	}
	ci := r.BackCI
	if ci == nil || math.IsInf(ci[0], 0) {
		return text
	}
	if math.IsInf(ci[1], 1) {
		return text + fmt.Sprintf(" (95 %%: %s or more)", fixed(ci[0], 0))
	}
	return text + fmt.Sprintf(" (95 %%: %s to %s)", fixed(ci[0], 0), fixed(ci[1], 0))
}

// ends5 says how a curve begins and ends: means of its first and last fifth.
func ends5(x []float64) string {
	if len(x) == 0 {
		return ""
	}
	n := max(1, len(x)/5)
	return fmt.Sprintf("%.2f to %.2f", mean(x[:n]), mean(x[len(x)-n:]))
}

// who names a row's agent; runs of one name in different folders get numbers.
func (t *Table) who(r *Row) string {
	var same []string
	for _, o := range t.Table {
		if runName(o.Run) == runName(r.Run) && !slices.Contains(same, o.Run) {
			same = append(same, o.Run)
		}
	}
	if len(same) > 1 {
		return fmt.Sprintf("%s (%d)", runName(r.Run), slices.Index(same, r.Run)+1)
	}
	return runName(r.Run)
}

// Headlines say what was found, with its uncertainty: how much of the best response
// each agent gets, a sentence or two for each, those that it knows and strangers apart.
func (t *Table) Headlines() []string {
	if len(t.Strangers) > 0 {
		var says []string
		for _, s := range t.Strangers {
			says = append(says, s.Headline())
		}
		for _, u := range t.Strangers[0].Unsolved {
			says = append(says, fmt.Sprintf("Nobody meets %s, since br has no best response to it: %s.", u.Name, u.Why))
		}
		return says
	}
	var says, runs []string
	for _, r := range t.Table {
		if slices.Contains(runs, r.Run) {
			continue
		}
		runs = append(runs, r.Run)
		var parts []string
		strangers := false
		for _, how := range acquaintances {
			var rows []*Row
			for _, o := range t.Table {
				if o.Run == r.Run && o.Knows(append(slices.Clone(o.VS), o.Then...)) == how {
					rows = append(rows, o)
				}
			}
			if len(rows) > 0 {
				parts, strangers = append(parts, found(rows, how)), how == Stranger
			}
		}
		text := t.who(r) + " gets " + strings.Join(parts, "; ") + "."
		if !strangers {
			text += " It met no strangers."
		}
		says = append(says, text)
	}
	return says
}

// found says what came of meetings with co-players that the agent knows alike.
func found(rows []*Row, how Acquaintance) string {
	whom := map[Acquaintance]string{
		InTraining: "whom it met in training", InData: "whom it knows from recorded data", InSearch: "who are partners in its search",
		Stranger: "who are strangers to it",
	}[how]
	if r := rows[0]; len(rows) == 1 {
		if len(r.Parts) == 0 {
			return fmt.Sprintf("%s of %s among %s, %s", r.gets(), r.best(), trio(r.VS), whom)
		}
		a, b := &r.Parts[0], &r.Parts[1]
		return fmt.Sprintf("%s of %s among %s and then %s of %s among %s, %s; after the change it is %s",
			a.gets(), a.best(), trio(r.VS), b.gets(), b.best(), trio(r.Then), whom, r.soon())
	}
	low, high := rows[0], rows[0]
	for _, r := range rows {
		if r.Normalised < low.Normalised {
			low = r
		}
		if r.Normalised > high.Normalised {
			high = r
		}
	}
	in := fmt.Sprintf("of the best response in %d meetings with co-players %s", len(rows), whom)
	if low.gets() == high.gets() {
		return low.gets() + " " + strings.Replace(in, " in ", " in each of ", 1)
	}
	return fmt.Sprintf("from %s among %s to %s among %s %s", low.gets(), low.Against(), high.gets(), high.Against(), in)
}

// gets is the normalised score with its interval, for a headline.
// Where the reference is not exact but what somebody earned, nobody gets more than all of it.
func (s *Measured) gets() string {
	if text := ofBest(s.Share()) + bounds(s.NormalisedCI, 2); s.BestName == "exact" || s.Share() <= 1 {
		return text
	} else {
		return "all (" + text + ")"
	}
}

// ofBest writes a normalised score for a headline.
func ofBest(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "an unknown share"
	}
	return fmt.Sprintf("%.2f", x)
}

// best names what the score is compared with.
func (s *Measured) best() string {
	if s.BestName == "exact" {
		return "the best response"
	}
	if s.BestName == byRandom {
		return "a best response that is not known (nobody but random play was tried)"
	}
	return "the best response found, that of " + s.BestName
}

// byRandom is the name of a best response that is none: nobody was tried who could be better.
const byRandom = "by random"

// bestBy is the best response and whose it is, for a table.
func (s *Measured) bestBy(between string) string {
	if s.BestName == byRandom {
		return "not known"
	}
	return fixed(s.BestResponse, 3) + between + s.BestName
}

// Over says what intervals are over.
func (t *Table) Over() string {
	var trained []string // seeds of the first agent's training
	r := t.Table[0]
	for _, s := range r.Seeds {
		if !slices.Contains(trained, s.Run) {
			trained = append(trained, s.Run)
		}
	}
	switch {
	case len(r.Seeds) > 1 && len(trained) == len(r.Seeds):
		return fmt.Sprintf("over %d seeds, each with %s", len(r.Seeds), lives(r.Lives))
	case len(r.Seeds) > 1:
		return fmt.Sprintf("over %d seeds of the lives, each with %s; they are about these very agents", len(r.Seeds), lives(r.Lives))
	case r.Lives > 1:
		return fmt.Sprintf("over %s of one seed; they are about these very agents", lives(r.Lives))
	}
	return "unknown of one life of one seed"
}

func lives(n int) string { return strings.Replace(plot.Count(n, "life"), "lifes", "lives", 1) }

// words says what was done.
func (t *Table) words() string {
	r := t.Table[0]
	text := fmt.Sprintf("A life has %s env steps; scored are the episodes that end in the last %s",
		plot.Thousands(t.Steps), plot.Thousands(t.Last))
	if slices.ContainsFunc(t.Table, func(r *Row) bool { return len(r.Parts) > 0 }) {
		text += ", before a change of co-players those that end in the last " + plot.Thousands(t.Last) + " steps before it"
	}
	return text + fmt.Sprintf(". What goes on learning: %s. 1 is the best response to these co-players, 0 is playing at random. Intervals "+
		"(95 %%): %s.", r.Learn, t.Over())
}

// after is how many episodes after a change are drawn.
const after = 40

// figures draws one panel a trio, one line for each who adapts.
func (t *Table) figures() (list []*plot.Figure) {
	changed := slices.ContainsFunc(t.Table, func(r *Row) bool { return len(r.Parts) > 0 })
	for _, f := range []struct {
		title, caption, y string
		refs              bool
		of                func(*Row) []float64
	}{
		{"Return by episode", "Means over lives, smoothed over five episodes. Dashed: the best response and random, means of the starts " +
			"that were scored.", "return of an episode", true, func(r *Row) []float64 { return r.Episodes }},
		{"Actions predicted by episode", "Share of the co-players' steps at which they played what the agent took for likeliest.",
			"share of steps", false, func(r *Row) []float64 { return r.Action }},
		{"Belief in the truth by episode", "Probability that the agent gives to the hypothesis that is true of a co-player.",
			"probability", false, func(r *Row) []float64 { return r.Belief }},
	} {
		fig := &plot.Figure{Title: f.title, Caption: f.caption, Cols: 2}
		if changed {
			fig.Caption += fmt.Sprintf(" Upright: others take the co-players' places; drawn are %d episodes from there on, and each part is "+
				"smoothed by itself.", after)
		}
		for i, j := 0, 0; i < len(t.Table); i = j {
			for j < len(t.Table) && t.Table[j].Against() == t.Table[i].Against() {
				j++
			}
			fig.Panels = append(fig.Panels, t.panel(fig, t.Table[i:j], f.y, f.of, f.refs)...)
		}
		if len(fig.Panels) == 1 {
			fig.Title += ", " + fig.Panels[0].Title
			fig.Cols, fig.Panels[0].W, fig.Panels[0].H = 1, plot.WideW, plot.WideH
		}
		if len(fig.Panels) > 0 {
			list = append(list, fig)
		}
	}
	return list
}

// panel draws one panel and names its lines; none if there are no curves.
func (t *Table) panel(fig *plot.Figure, rows []*Row, y string, of func(*Row) []float64, refs bool) []plot.Panel {
	most, high := 0, 1.
	var marks []gonumplot.Plotter
	var keys []plot.Key
	for k, r := range rows {
		l := plot.Line{Color: plot.Agent(k), Width: 1.6}
		for i, p := range r.Lines() {
			y := smooth(r.stretch(of(r), i))
			if i > 0 { // the line breaks at the change
				l.X, l.Y = append(l.X, float64(p.From)+0.5), append(l.Y, math.NaN())
				y = y[:min(len(y), after)]
			}
			for k, v := range y {
				l.X, l.Y = append(l.X, float64(p.From+k+1)), append(l.Y, v)
				high, most = max(high, v), max(most, p.From+k+1)
			}
		}
		if len(of(r)) > 0 {
			marks, keys = append(marks, l), append(keys, plot.Key{Name: t.who(r), Color: l.Color})
		}
	}
	if most < 2 {
		return nil
	}
	r := rows[0]
	if refs {
		for _, ref := range []struct {
			name string
			key  plot.Key
			of   func(Measured) float64
		}{
			{"best response", plot.Key{Color: plot.Ink, Dash: true}, func(s Measured) float64 { return s.BestResponse }},
			{"random", plot.Key{Color: plot.Faint, Dash: true}, func(s Measured) float64 { return s.Random }},
		} {
			ref.key.Name = ref.name
			keys = append(keys, ref.key)
			l := plot.Line{Color: ref.key.Color, Width: 1, Dash: true}
			lines := r.Lines()
			for i, p := range lines {
				from, to := float64(p.From)+1, float64(most)
				if i+1 < len(lines) {
					to = float64(lines[i+1].From) + 0.5
				}
				if i > 0 {
					from -= 0.5
				}
				l.X, l.Y = append(l.X, from, to, to), append(l.Y, ref.of(p.Measured), ref.of(p.Measured), math.NaN())
				high = max(high, ref.of(p.Measured))
			}
			marks = append(marks, l)
		}
	}
	if len(r.Parts) > 0 && r.At < most {
		marks = append(marks, plot.Levels{Flags: true, Refs: []plot.Ref{{Name: trio(r.Then) + " from episode", Value: float64(r.At + 1)}}})
	}
	fig.Legend = keys
	xAxis, yAxis := plot.Round(1, float64(most), 5), plot.Round(0, 1.12*high, 4)
	xAxis.Name, yAxis.Name = "episode", y
	return []plot.Panel{plot.New(xAxis, yAxis).Add(marks...).Panel(r.Against(), plot.HalfW, plot.HalfH+20)}
}

func mean(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(len(x), 1))
}

// smooth averages over five neighbours.
func smooth(x []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = mean(x[max(0, i-2):min(len(x), i+3)])
	}
	return out
}
