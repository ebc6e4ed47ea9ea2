package report

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hop/stats"
)

func ends(ci stats.Interval) string { return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1]) }

// WriteAdapt writes the table and the curves: adapt.json, adapt.md, adapt.html.
func WriteAdapt(dir string, t *AdaptTable) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making %s: %w; choose another folder with --out", dir, err)
	}
	body, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"adapt.json": string(body) + "\n", "adapt.md": t.markdown(), "adapt.html": t.page()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the table: %w", err)
		}
	}
	return nil
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
	{"actions guessed, first to last fifth", func(r *Adapted) string { return ends5(r.Action) }},
	{"belief in the truth, first to last fifth", func(r *Adapted) string { return ends5(r.Belief) }},
	{"back at 90 % after", func(r *Adapted) string {
		switch {
		case r.Back == nil:
			return ""
		case *r.Back < 0:
			return "not seen"
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

func mean(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(len(x), 1))
}

// shown returns the columns that say something of this table.
func (t *AdaptTable) shown() (list []int) {
	for i, col := range adaptColumns {
		for _, r := range t.Table {
			if col.cell(r) != "" {
				list = append(list, i)
				break
			}
		}
	}
	return list
}

// words says what was done.
func (t *AdaptTable) words() string {
	r := t.Table[0]
	s := fmt.Sprintf("%s. Each life has %d env steps, of which the last %d are judged; %d lives for each of %d seeds; what goes on learning: %s.", t.Words, t.Steps, t.Last, r.Lives, len(r.Seeds), r.Learn)
	return s + " Normalised is 1 - regret / (best response - random). An exact best response is the value of the very starts that were judged; otherwise it is the best of the candidates, living the same lives. Intervals are over seeds, or over lives where there is one seed. \"Met\" says whether all co-players were met in training, or stand in the agent's own scripts."
}

func (t *AdaptTable) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Few-shot adaptation\n\n%s\n\n|", t.words())
	cols := t.shown()
	for _, i := range cols {
		fmt.Fprintf(&b, " %s |", adaptColumns[i].head)
	}
	b.WriteString("\n|" + strings.Repeat("---|", len(cols)) + "\n")
	for _, r := range t.Table {
		b.WriteString("|")
		for _, i := range cols {
			fmt.Fprintf(&b, " %s |", adaptColumns[i].cell(r))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nEvery seed's score and normalised score:\n\n")
	for _, r := range t.Table {
		fmt.Fprintf(&b, "- %s, %s:", r.Against(), r.Run)
		for _, s := range r.Seeds {
			fmt.Fprintf(&b, " %.3f (%.3f)", s.Score, s.Normalised)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// adaptColors tell curves apart, also for the colour-blind (Okabe and Ito).
var adaptColors = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}

func (t *AdaptTable) page() string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Few-shot adaptation</title><style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1180px;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;font-size:13px}th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}th{border-bottom:2px solid #999}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(360px,1fr));gap:1.2rem}figure{margin:0}figcaption{font-size:13px}svg{width:100%;height:auto}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}th,td{border-color:#444}svg text{fill:#ddd}}
</style><h1>Few-shot adaptation</h1>`)
	fmt.Fprintf(&b, "<p>%s</p>\n<table><tr>", html.EscapeString(t.words()))
	cols := t.shown()
	for _, i := range cols {
		fmt.Fprintf(&b, "<th>%s</th>", html.EscapeString(adaptColumns[i].head))
	}
	b.WriteString("</tr>\n")
	for _, r := range t.Table {
		b.WriteString("<tr>")
		for _, i := range cols {
			fmt.Fprintf(&b, "<td>%s</td>", html.EscapeString(adaptColumns[i].cell(r)))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
	b.WriteString("<h2>Return by episode</h2><p>Means over lives, smoothed over five episodes. Dashed: the best response; dotted: random.</p>")
	t.figures(&b, func(r *Adapted) []float64 { return r.Episodes }, true)
	for _, part := range []struct {
		head string
		of   func(*Adapted) []float64
	}{
		{"Actions guessed by episode", func(r *Adapted) []float64 { return r.Action }},
		{"Belief in the truth by episode", func(r *Adapted) []float64 { return r.Belief }},
	} {
		if slices.ContainsFunc(t.Table, func(r *Adapted) bool { return len(part.of(r)) > 1 }) {
			fmt.Fprintf(&b, "<h2>%s</h2>", part.head)
			t.figures(&b, part.of, false)
		}
	}
	b.WriteString("</html>\n")
	return b.String()
}

// figures draws one panel a trio, one line for each who adapts.
func (t *AdaptTable) figures(b *strings.Builder, of func(*Adapted) []float64, refs bool) {
	b.WriteString(`<div class="figures">`)
	for i := 0; i < len(t.Table); {
		j := i
		for j < len(t.Table) && t.Table[j].Against() == t.Table[i].Against() {
			j++
		}
		drawPanel(b, t.Table[i:j], of, refs)
		i = j
	}
	b.WriteString("</div>\n")
}

// drawPanel draws one figure; nothing if there are no curves.
func drawPanel(b *strings.Builder, rows []*Adapted, of func(*Adapted) []float64, refs bool) {
	const w, h, left, top, right, bottom = 360., 210., 34., 8., 8., 26.
	most, high := 0, 1.
	for _, r := range rows {
		most = max(most, len(of(r)))
		for _, v := range smooth(of(r)) {
			high = max(high, v)
		}
		if refs {
			high = max(high, r.BestResponse)
		}
	}
	if most < 2 {
		return
	}
	high *= 1.05
	x := func(i int) float64 { return left + (w-left-right)*float64(i)/float64(most-1) }
	y := func(v float64) float64 { return top + (h-top-bottom)*(1-v/high) }
	fmt.Fprintf(b, `<figure><svg viewBox="0 0 %g %g" font-size="11">`, w, h)
	for _, v := range []float64{0, high / 2.1, high / 1.05} {
		fmt.Fprintf(b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#bbb" stroke-width=".5"/><text x="%g" y="%.1f" text-anchor="end">%.1f</text>`, left, w-right, y(v), y(v), left-4, y(v)+4, v)
	}
	for _, i := range []int{0, (most - 1) / 2, most - 1} {
		anchor := "middle"
		if i == most-1 {
			anchor = "end"
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="%s">%d</text>`, x(i), h-10, anchor, i+1)
	}
	if refs {
		for _, ref := range []struct {
			v    float64
			dash string
		}{{rows[0].BestResponse, "6 4"}, {rows[0].Random, "2 3"}} {
			fmt.Fprintf(b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#888" stroke-dasharray="%s"/>`, left, w-right, y(ref.v), y(ref.v), ref.dash)
		}
	}
	var legend []string
	for k, r := range rows {
		color := adaptColors[k%len(adaptColors)]
		var points []string
		for i, v := range smooth(of(r)) {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(i), y(v)))
		}
		if len(points) == 0 {
			continue
		}
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.6" points="%s"/>`, color, strings.Join(points, " "))
		legend = append(legend, fmt.Sprintf(`<span style="color:%s">%s</span>`, color, html.EscapeString(r.Run)))
	}
	fmt.Fprintf(b, `</svg><figcaption>%s: %s</figcaption></figure>`, html.EscapeString(rows[0].Against()), strings.Join(legend, ", "))
}

// smooth averages over five neighbours.
func smooth(x []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = mean(x[max(0, i-2):min(len(x), i+3)])
	}
	return out
}
