package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"hop/page"
	"hop/stats"
)

const adaptHTML = `{{template "top" (print "Adaptation: " .Game)}}<header><h1>Few-shot adaptation on {{.Game}}</h1>
<p class="headline">{{tie .Headline}}</p>
<p>{{tie .Words}}</p></header>
<div class="scroll card"><table><thead><tr>{{range .Heads}}<th class="left">{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Cells}}<tr>{{range .}}<td class="left{{if .Wrap}} wrap{{end}}">{{tie .Text}}</td>{{end}}</tr>
{{end}}</tbody></table></div>
<p class="faint">{{tie .Legend}}</p>
{{range .Figures}}<section><h2>{{.Title}}</h2>{{template "figure" .}}</section>
{{end}}<section><h2>Every seed</h2><ul>
{{range .Seeds}}<li>{{.}}</li>
{{end}}</ul></section>
{{template "end"}}`

const adaptMarkdown = `# Few-shot adaptation on {{.Game}}

{{.Headline}}

{{.Words}}

|{{range .Heads}} {{.}} |{{end}}
|{{range .Heads}}---|{{end}}
{{range .Cells}}|{{range .}} {{cell .Text}} |{{end}}
{{end}}
{{.Legend}}

Every seed's score and normalised score:

{{range .Seeds}}- {{.}}
{{end}}`

// adaptCell is a cell of the table.
type adaptCell struct {
	Text string
	Wrap bool // it may be long
}

// WriteAdapt writes the table and the curves: adapt.json, adapt.md, adapt.html.
func WriteAdapt(dir string, t *AdaptTable) error {
	data := struct {
		Game, Headline, Words, Legend string
		Heads, Seeds                  []string
		Cells                         [][]adaptCell
		Figures                       []*page.Figure
	}{Game: t.Words, Headline: t.Headline(), Words: t.words(), Legend: adaptLegend, Figures: t.figures()}
	for _, col := range adaptColumns {
		var cells []adaptCell
		said := false // it says something of this table
		for _, r := range t.Table {
			for i, l := range r.Lines() {
				text := col.cell(t, r, i, l)
				cells, said = append(cells, adaptCell{text, col.wrap}), said || text != ""
			}
		}
		if !said {
			continue
		}
		data.Heads = append(data.Heads, col.head)
		if data.Cells == nil {
			data.Cells = make([][]adaptCell, len(cells))
		}
		for i := range cells {
			data.Cells[i] = append(data.Cells[i], cells[i])
		}
	}
	for _, r := range t.Table {
		line := fmt.Sprintf("%s, %s:", r.Against(), t.who(r))
		for _, s := range r.Seeds {
			line += fmt.Sprintf(" %.3f (%s)", s.Score, page.Number(float64(s.Normalised)))
		}
		data.Seeds = append(data.Seeds, line)
	}
	doc := page.Document{Name: "adapt", HTML: adaptHTML, Text: adaptMarkdown, Data: data, JSON: t}
	return doc.Write(dir)
}

const adaptLegend = "Score, best response, random and regret are of the same starts: the best response less the score is the regret, and " +
	"normalised is 1 - regret / (best response - random). An exact best response is the oracle's expected return from each of these " +
	"starts; with co-players who draw, luck can carry a score above it, and the interval then reaches as far below 1. Otherwise it is " +
	"the best of the candidates, who lived the same episodes; one who beats them all by more than its interval is itself the best " +
	"response known. Stranger: it neither met them in training, nor did its models learn from their recorded play, nor are they " +
	"partners in its search."

// adaptColumns are what the table shows of line i of a row, with the words above.
var adaptColumns = []struct {
	head string
	wrap bool
	cell func(t *AdaptTable, r *Adapted, i int, l AdaptedPart) string
}{
	{"among", false, func(_ *AdaptTable, r *Adapted, i int, _ AdaptedPart) string { return r.Part(i) }},
	{"who", false, func(t *AdaptTable, r *Adapted, _ int, _ AdaptedPart) string { return t.who(r) }},
	{"normalised (95 %)", false, func(_ *AdaptTable, _ *Adapted, _ int, l AdaptedPart) string {
		return page.Number(l.Share()) + bounds(l.NormalisedCI, 3)
	}},
	{"score (95 %)", false, func(_ *AdaptTable, _ *Adapted, _ int, l AdaptedPart) string {
		return page.Number(l.Score) + bounds(l.CI, 3)
	}},
	{"best response", false, func(_ *AdaptTable, _ *Adapted, _ int, l AdaptedPart) string {
		return page.Number(l.BestResponse) + ", " + l.BestName
	}},
	{"random", false, func(_ *AdaptTable, _ *Adapted, _ int, l AdaptedPart) string { return page.Number(l.Random) }},
	{"regret (95 %)", false, func(_ *AdaptTable, _ *Adapted, _ int, l AdaptedPart) string {
		return page.Number(l.Regret) + bounds(l.RegretCI, 3)
	}},
	{"episodes scored", false, func(_ *AdaptTable, _ *Adapted, _ int, l AdaptedPart) string { return page.Thousands(l.Starts) }},
	{"first episode", false, func(_ *AdaptTable, r *Adapted, i int, _ AdaptedPart) string {
		if i > 0 {
			return ""
		}
		return page.Number(r.First)
	}},
	{"back at 90 % of the best response", true, func(_ *AdaptTable, r *Adapted, i int, _ AdaptedPart) string {
		if i == 0 {
			return ""
		}
		return r.Recovery()
	}},
	{"how it knows them", true, func(_ *AdaptTable, r *Adapted, _ int, l AdaptedPart) string { return r.Acquainted(l.VS) }},
	{"actions predicted, first to last fifth", false, func(_ *AdaptTable, r *Adapted, i int, _ AdaptedPart) string {
		return ends5(r.stretch(r.Action, i))
	}},
	{"belief in the truth, first to last fifth", false, func(_ *AdaptTable, r *Adapted, i int, _ AdaptedPart) string {
		return ends5(r.stretch(r.Belief, i))
	}},
}

// bounds writes an interval in brackets, or that there is none.
func bounds(ci stats.Interval, digits int) string {
	if math.IsInf(ci[0], 0) || math.IsInf(ci[1], 0) {
		return " (no interval)"
	}
	return fmt.Sprintf(" (%.*f to %.*f)", digits, ci[0], digits, ci[1])
}

// Part names line i of the row: its co-players and, if they change, the episodes.
func (r *Adapted) Part(i int) string {
	switch {
	case len(r.Parts) == 0:
		return r.Against()
	case i == 0:
		return fmt.Sprintf("%s, episodes 1 to %d", trio(r.VS), r.At)
	}
	return fmt.Sprintf("then %s, from episode %d", trio(r.Then), r.At+1)
}

// stretch cuts a curve by episode to those of line i.
func (r *Adapted) stretch(x []float64, i int) []float64 {
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
func (r *Adapted) Recovery() string {
	if r.Back == nil {
		return ""
	}
	rests := "mean of three episodes in a row over " + lives(r.Lives*len(r.Seeds))
	if *r.Back < 0 {
		return fmt.Sprintf("not within %d episodes (%s)", BackWithin, rests)
	}
	text := "after " + page.Count(*r.Back, "episode")
	if ci := r.BackCI; ci != nil && !math.IsInf(ci[0], -1) {
		high := fmt.Sprintf("%.0f", ci[1])
		if math.IsInf(ci[1], 1) {
			high = fmt.Sprintf("more than %d", BackWithin)
		}
		rests = fmt.Sprintf("95 %%: %.0f to %s; %s", ci[0], high, rests)
	}
	return text + " (" + rests + ")"
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
func (t *AdaptTable) who(r *Adapted) string {
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

// Headline says what was found, with its uncertainty: how much of the best response
// each agent gets, those that it knows and strangers apart.
func (t *AdaptTable) Headline() string {
	var says, runs []string
	for _, r := range t.Table {
		if slices.Contains(runs, r.Run) {
			continue
		}
		runs = append(runs, r.Run)
		for _, how := range acquaintances {
			var rows []*Adapted
			for _, o := range t.Table {
				if o.Run == r.Run && o.Knows(append(slices.Clone(o.VS), o.Then...)) == how {
					rows = append(rows, o)
				}
			}
			if len(rows) > 0 {
				says = append(says, t.who(r)+" "+found(rows, how))
			}
		}
	}
	return strings.Join(says, " ")
}

// found says what came of meetings with co-players that the agent knows alike.
func found(rows []*Adapted, how Acquaintance) string {
	whom := map[Acquaintance]string{
		InTraining: "whom it met in training", InData: "whom it knows from recorded data", InSearch: "who are partners in its search",
		Stranger: "who are strangers to it",
	}[how]
	if r := rows[0]; len(rows) == 1 && len(r.Parts) == 0 {
		return fmt.Sprintf("gets %s%s of %s among %s, %s.", ofBest(r.Share()), bounds(r.NormalisedCI, 2), r.best(), trio(r.VS), whom)
	}
	if r := rows[0]; len(rows) == 1 {
		a, b := &r.Parts[0], &r.Parts[1]
		return fmt.Sprintf("gets %s%s of %s among %s, and %s%s of it among %s who take their places, %s; after the change it is back at "+
			"90 %% %s.", ofBest(a.Share()), bounds(a.NormalisedCI, 2), a.best(), trio(r.VS), ofBest(b.Share()), bounds(b.NormalisedCI, 2),
			trio(r.Then), whom, r.Recovery())
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
	text := func(r *Adapted) string {
		ci := bounds(r.NormalisedCI, 2)
		return ofBest(r.Share()) + strings.TrimSuffix(ci, ")") + "; " + r.Against() + ")"
	}
	return fmt.Sprintf("gets from %s to %s of the best response, in %d meetings with co-players %s.", text(low), text(high), len(rows), whom)
}

// ofBest writes a normalised score for a headline.
func ofBest(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "an unknown share"
	}
	return fmt.Sprintf("%.2f", x)
}

// best names what the score is compared with.
func (s *AdaptScore) best() string {
	if s.BestName == "exact" {
		return "the best response"
	}
	return "the best response found"
}

// Over says what intervals are over.
func (t *AdaptTable) Over() string {
	r := t.Table[0]
	switch {
	case len(r.Seeds) > 1:
		return fmt.Sprintf("over %d seeds of %s each", len(r.Seeds), lives(r.Lives))
	case r.Lives > 1:
		return fmt.Sprintf("over %s of one seed, so of these very agents only", lives(r.Lives))
	}
	return "unknown: one life of one seed"
}

func lives(n int) string { return strings.Replace(page.Count(n, "life"), "lifes", "lives", 1) }

// words says what was done.
func (t *AdaptTable) words() string {
	r := t.Table[0]
	text := fmt.Sprintf("A life has %s env steps; scored are the episodes that end in the last %s", page.Thousands(t.Steps), page.Thousands(t.Last))
	if slices.ContainsFunc(t.Table, func(r *Adapted) bool { return len(r.Parts) > 0 }) {
		text += ", before a change of co-players those that end in the last " + page.Thousands(t.Last) + " steps before it"
	}
	return text + fmt.Sprintf(". What goes on learning: %s. 1 is the best response to these co-players, 0 is playing at random. Intervals "+
		"(95 %%): %s.", r.Learn, t.Over())
}

// after is how many episodes after a change are drawn.
const after = 40

// figures draws one panel a trio, one line for each who adapts.
func (t *AdaptTable) figures() (list []*page.Figure) {
	changed := slices.ContainsFunc(t.Table, func(r *Adapted) bool { return len(r.Parts) > 0 })
	for _, f := range []struct {
		title, caption, y string
		refs              bool
		of                func(*Adapted) []float64
	}{
		{"Return by episode", "Means over lives, smoothed over five episodes. Dashed: the best response and random, means of the starts " +
			"that were scored.", "return of an episode", true, func(r *Adapted) []float64 { return r.Episodes }},
		{"Actions predicted by episode", "Share of the co-players' steps at which they played what the agent took for likeliest.",
			"share of steps", false, func(r *Adapted) []float64 { return r.Action }},
		{"Belief in the truth by episode", "Probability that the agent gives to the hypothesis that is true of a co-player.",
			"probability", false, func(r *Adapted) []float64 { return r.Belief }},
	} {
		fig := &page.Figure{Title: f.title, Caption: f.caption, Cols: 2}
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
		if len(fig.Panels) > 0 {
			list = append(list, fig)
		}
	}
	return list
}

// panel draws one panel and names its lines; none if there are no curves.
func (t *AdaptTable) panel(fig *page.Figure, rows []*Adapted, y string, of func(*Adapted) []float64, refs bool) []page.Panel {
	most, high := 0, 1.
	var marks []plot.Plotter
	var keys []page.Key
	for k, r := range rows {
		l := page.Line{Color: page.Agent(k), Width: 1.6}
		for i := range r.Lines() {
			l.Y = append(l.Y, smooth(r.stretch(of(r), i))...)
		}
		if len(r.Parts) > 0 {
			l.Y = l.Y[:min(len(l.Y), r.At+after)]
		}
		for i, v := range l.Y {
			l.X = append(l.X, float64(i+1))
			high = max(high, v)
		}
		most = max(most, len(l.Y))
		marks, keys = append(marks, l), append(keys, page.Key{Name: t.who(r), Color: l.Color})
	}
	if most < 2 {
		return nil
	}
	r := rows[0]
	if refs {
		for _, ref := range []struct {
			name string
			key  page.Key
			of   func(AdaptScore) float64
		}{
			{"best response", page.Key{Color: page.Ink, Dash: true}, func(s AdaptScore) float64 { return s.BestResponse }},
			{"random", page.Key{Color: page.Faint, Dash: true}, func(s AdaptScore) float64 { return s.Random }},
		} {
			ref.key.Name = ref.name
			keys = append(keys, ref.key)
			l := page.Line{Color: ref.key.Color, Width: 1, Dash: true}
			lines := r.Lines()
			for i, p := range lines {
				from, to := float64(p.From)+1, float64(most)
				if i+1 < len(lines) {
					to = float64(lines[i+1].From) + 0.5
				}
				if i > 0 {
					from -= 0.5
				}
				l.X, l.Y = append(l.X, from, to, to), append(l.Y, ref.of(p.AdaptScore), ref.of(p.AdaptScore), math.NaN())
				high = max(high, ref.of(p.AdaptScore))
			}
			marks = append(marks, l)
		}
	}
	if len(r.Parts) > 0 && r.At < most {
		marks = append(marks, page.Levels{Flags: true, Refs: []page.Ref{{Name: trio(r.Then) + " from episode", Value: float64(r.At + 1)}}})
	}
	fig.Legend = keys
	xAxis, yAxis := page.Round(1, float64(most), 5), page.Round(0, 1.12*high, 4)
	xAxis.Name, yAxis.Name = "episode", y
	return []page.Panel{page.New(xAxis, yAxis).Add(marks...).Panel(r.Against(), page.HalfW, page.HalfH+20)}
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
