package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"

	"hop/page"
	"hop/stats"
)

func ends(ci stats.Interval) string { return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1]) }

const adaptHTML = `{{template "top" "Few-shot adaptation"}}<header><h1>Few-shot adaptation</h1>
<p>{{.Words}}</p></header>
<div class="scroll card"><table><thead><tr>{{range .Heads}}<th class="left">{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Cells}}<tr>{{range .}}<td class="left">{{.}}</td>{{end}}</tr>
{{end}}</tbody></table></div>
{{range .Figures}}<section><h2>{{.Title}}</h2>{{template "figure" .}}</section>
{{end}}{{template "end"}}`

const adaptMarkdown = `# Few-shot adaptation

{{.Words}}

|{{range .Heads}} {{.}} |{{end}}
|{{range .Heads}}---|{{end}}
{{range .Cells}}|{{range .}} {{.}} |{{end}}
{{end}}
Every seed's score and normalised score:

{{range .Seeds}}- {{.}}
{{end}}`

// WriteAdapt writes the table and the curves: adapt.json, adapt.md, adapt.html.
func WriteAdapt(dir string, t *AdaptTable) error {
	data := struct {
		Words        string
		Heads, Seeds []string
		Cells        [][]string
		Figures      []*page.Figure
	}{Words: t.words(), Cells: make([][]string, len(t.Table)), Figures: t.figures()}
	for _, col := range adaptColumns {
		if !slices.ContainsFunc(t.Table, func(r *Adapted) bool { return col.cell(r) != "" }) {
			continue // it says nothing of this table
		}
		data.Heads = append(data.Heads, col.head)
		for i, r := range t.Table {
			data.Cells[i] = append(data.Cells[i], col.cell(r))
		}
	}
	for _, r := range t.Table {
		line := fmt.Sprintf("%s, %s:", r.Against(), r.Run)
		for _, s := range r.Seeds {
			line += fmt.Sprintf(" %.3f (%.3f)", s.Score, s.Normalised)
		}
		data.Seeds = append(data.Seeds, line)
	}
	doc := page.Document{Name: "adapt", HTML: adaptHTML, Text: adaptMarkdown, Data: data, JSON: t}
	return doc.Write(dir)
}

// columns are what the tables show of a cell, with the words above them.
var adaptColumns = []struct {
	head string
	cell func(r *Adapted) string
}{
	{"against", (*Adapted).Against},
	{"who", func(r *Adapted) string { return r.Run }},
	{"met", func(r *Adapted) string {
		if r.Known {
			return "yes"
		}
		return "no"
	}},
	{"normalised (95 %)", func(r *Adapted) string { return fmt.Sprintf("%.3f (%s)", r.Normalised, ends(r.NormalisedCI)) }},
	{"score (95 %)", func(r *Adapted) string { return fmt.Sprintf("%.3f (%s)", r.Score, ends(r.CI)) }},
	{"best response", func(r *Adapted) string { return fmt.Sprintf("%.3f, %s", r.BestResponse, r.BestName) }},
	{"random", func(r *Adapted) string { return fmt.Sprintf("%.3f", r.Random) }},
	{"regret", func(r *Adapted) string { return fmt.Sprintf("%.3f", r.Regret) }},
	{"first episode", func(r *Adapted) string { return fmt.Sprintf("%.3f", r.First) }},
	{"actions predicted, first to last fifth", func(r *Adapted) string { return ends5(r.Action) }},
	{"belief in the truth, first to last fifth", func(r *Adapted) string { return ends5(r.Belief) }},
	{"back at 90 % after", func(r *Adapted) string {
		switch {
		case r.Back == nil:
			return ""
		case *r.Back < 0:
			return "not reached"
		}
		return fmt.Sprintf("%d episodes", *r.Back)
	}},
}

// ends5 says how a curve begins and ends: means of its first and last fifth.
func ends5(x []float64) string {
	if len(x) == 0 {
		return ""
	}
	n := max(1, len(x)/5)
	return fmt.Sprintf("%.2f to %.2f", mean(x[:n]), mean(x[len(x)-n:]))
}

// words says what was done.
func (t *AdaptTable) words() string {
	r := t.Table[0]
	return fmt.Sprintf("%s. Each life has %d env steps, of which the last %d are scored; %d lives for each of %d seeds; "+
		"what goes on learning: %s. Normalised is 1 - regret / (best response - random). An exact best response is the value of the very "+
		"starts that were scored; otherwise it is the best of the candidates, living the same lives. Intervals are over seeds, or over "+
		"lives where there is one seed. \"Met\" says whether all co-players were met in training, or stand in the agent's own scripts.",
		t.Words, t.Steps, t.Last, r.Lives, len(r.Seeds), r.Learn)
}

const adaptCaption = "Means over lives, smoothed over five episodes. Dashed: the best response and random."

// figures draws one panel a trio, one line for each who adapts.
func (t *AdaptTable) figures() (list []*page.Figure) {
	for _, f := range []struct {
		title, caption string
		refs           bool
		of             func(*Adapted) []float64
	}{
		{"Return by episode", adaptCaption, true, func(r *Adapted) []float64 { return r.Episodes }},
		{"Actions predicted by episode", "", false, func(r *Adapted) []float64 { return r.Action }},
		{"Belief in the truth by episode", "", false, func(r *Adapted) []float64 { return r.Belief }},
	} {
		fig := &page.Figure{Title: f.title, Caption: f.caption, Cols: 2}
		for i, j := 0, 0; i < len(t.Table); i = j {
			for j < len(t.Table) && t.Table[j].Against() == t.Table[i].Against() {
				j++
			}
			fig.Panels = append(fig.Panels, adaptPanel(fig, t.Table[i:j], f.of, f.refs)...)
		}
		if len(fig.Panels) > 0 {
			list = append(list, fig)
		}
	}
	return list
}

// adaptPanel draws one panel and names its lines; none if there are no curves.
func adaptPanel(fig *page.Figure, rows []*Adapted, of func(*Adapted) []float64, refs bool) []page.Panel {
	most, high := 0, 1.
	var lines []plot.Plotter
	var keys []page.Key
	for k, r := range rows {
		l := page.Line{Y: smooth(of(r)), Color: page.Agent(k), Width: 1.6}
		for i := range l.Y {
			l.X = append(l.X, float64(i+1))
			high = max(high, l.Y[i])
		}
		most = max(most, len(l.Y))
		lines, keys = append(lines, l), append(keys, page.Key{Name: r.Run, Color: l.Color})
	}
	if most < 2 {
		return nil
	}
	var levels page.Levels
	if refs {
		levels.Refs = []page.Ref{{Name: "best response", Value: rows[0].BestResponse}, {Name: "random", Value: rows[0].Random}}
		high = max(high, rows[0].BestResponse)
	}
	fig.Legend = keys
	p := page.New(page.Round(1, float64(most), 5), page.Round(0, 1.12*high, 4)).Add(levels).Add(lines...)
	return []page.Panel{p.Panel(rows[0].Against(), page.HalfW, page.HalfH)}
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
