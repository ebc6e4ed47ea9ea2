package audit

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"hop/diag"
)

//go:embed page.html
var pageText string

// Steps names the steps of the procedure.
var Steps = []string{
	"Step 0: is it real?", "Step 1: the game, without learning", "Step 2: the pipeline", "Step 3: the data", "Step 4: the learners", "Step 5: shared or separate brains",
}

// pageFigure is a plot of the page.
type pageFigure struct {
	Title, Caption string
	SVG            template.HTML
}

type pageStep struct {
	Name     string
	Findings []diag.Finding
}

// Page returns the report as one HTML page that needs nothing else. command says
// how it was made.
func (r *Result) Page(command string) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"number": number, "effect": effect}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("audit: the page's template: %w", err)
	}
	view := struct {
		*Result
		Wrong   []diag.Finding
		Figures []pageFigure
		Steps   []pageStep
		Command string
	}{Result: r, Command: command, Figures: r.figures()}
	for i, name := range Steps {
		s := pageStep{Name: name}
		for _, f := range r.Findings {
			if f.Step == i {
				s.Findings = append(s.Findings, f)
			}
		}
		if len(s.Findings) > 0 {
			view.Steps = append(view.Steps, s)
		}
	}
	view.Wrong = r.Wrong()
	var b bytes.Buffer
	if err := t.Execute(&b, view); err != nil {
		return nil, fmt.Errorf("audit: writing the page: %w", err)
	}
	return b.Bytes(), nil
}

// Wrong returns the findings that are no pass, the one that speaks for the
// verdict first.
func (r *Result) Wrong() []diag.Finding {
	var out, rest []diag.Finding
	for _, f := range r.Findings {
		switch {
		case f.Verdict == diag.Pass:
		case f.Module == r.Module && f.Says == r.Says && len(out) == 0:
			out = append(out, f)
		default:
			rest = append(rest, f)
		}
	}
	return append(out, rest...)
}

// number writes a number for people.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v == math.Trunc(v) && math.Abs(v) < 1e7:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// effect writes a finding's effect with its interval, if it was estimated.
func effect(f diag.Finding) string {
	if f.Unit == "" || f.Verdict == diag.Pass && f.Effect == 0 {
		return ""
	}
	if of, share := strings.CutPrefix(f.Unit, "share of "); share {
		return fmt.Sprintf("%s %% of %s", number(100*f.Effect), of)
	}
	s := number(f.Effect)
	if f.Lo != f.Hi {
		s += fmt.Sprintf(" (%s to %s)", number(f.Lo), number(f.Hi))
	}
	return s + " " + f.Unit
}

// svg is a picture whose colours are the style sheet's.
type svg struct{ strings.Builder }

func (s *svg) line(x1, y1, x2, y2 float64, colour string, width float64) {
	fmt.Fprintf(s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="var(--%s)" stroke-width="%g"/>`, x1, y1, x2, y2, colour, width)
}

func (s *svg) text(x, y float64, anchor, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, template.HTMLEscapeString(text))
}

func (s *svg) html(w, h float64, label string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s">%s</svg>`, w, h, template.HTMLEscapeString(label), s.String()))
}

const (
	figureWide = 480.
	figureHigh = 250.
	figureLeft = 46.
	figureLow  = 214.
	figureTop  = 14.
)

// scale maps values to the height of a figure and draws its ticks.
func (s *svg) scale(lo, hi float64) func(float64) float64 {
	if !(hi > lo) {
		lo, hi = lo-0.5, hi+0.5
	}
	pad := 0.06 * (hi - lo)
	lo, hi = lo-pad, hi+pad
	at := func(v float64) float64 { return figureLow - (v-lo)/(hi-lo)*(figureLow-figureTop) }
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/3)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 3 {
			step *= m
			break
		}
	}
	for v := math.Ceil(lo/step) * step; v <= hi; v += step {
		s.line(figureLeft, at(v), figureWide-8, at(v), "hair", 1)
		s.text(figureLeft-6, at(v)+4, "end", number(math.Round(v/step)*step))
	}
	return at
}

func colour(a int) string { return fmt.Sprintf("a%d", a%8) }

// figures draws what the numbers show.
func (r *Result) figures() []pageFigure {
	var out []pageFigure
	if len(r.Learns) > 0 {
		out = append(out, r.matrix())
	}
	if len(r.Returns) > 0 && len(r.Returns[0]) > 0 {
		out = append(out, r.boxes())
	}
	if len(r.Curves) > 0 && len(r.Curves[0]) > 0 && len(r.Curves[0][0]) > 1 {
		out = append(out, r.lines())
	}
	if len(r.Rows) > 0 {
		out = append(out, r.bars())
	}
	return out
}

// matrix shows who learns from whom.
func (r *Result) matrix() pageFigure {
	var s svg
	n := len(r.Learns)
	size := min(46, 180/float64(n))
	left := 120.
	for a, row := range r.Learns {
		s.text(left-8, figureTop+30+(float64(a)+0.6)*size, "end", r.Agents[a])
		s.text(left+(float64(a)+0.5)*size, figureTop+24, "middle", fmt.Sprint(a))
		for b, v := range row {
			x, y := left+float64(b)*size, figureTop+30+float64(a)*size
			fill, edge, op := "a0", "hair", v
			if a == b && v >= 0 && v < 0.75 {
				edge = "bad" // its own rows are missing
			}
			if a != b && v > 0 && !r.sharing(a, b) {
				fill = "bad"
			}
			if v < 0 {
				op = 0
			}
			fmt.Fprintf(&s, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="var(--%s)" fill-opacity="%.2f" stroke="var(--%s)"/>`, x, y, size-3, size-3, fill, 0.04+0.9*op, edge)
			label := "?"
			if v >= 0 {
				label = fmt.Sprintf("%.0f%%", 100*v)
			}
			if size > 24 {
				class := "ink"
				if v > 0.5 {
					class = "paper"
				}
				fmt.Fprintf(&s, `<text class="%s" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, class, x+(size-3)/2, y+size/2+3, label)
			}
		}
	}
	s.text(left+float64(n)*size/2, figureTop+6, "middle", "rows of agent")
	return pageFigure{
		Title: "Who learns from whose rows", SVG: s.html(figureWide, figureHigh, "who learns from whose rows"),
		Caption: "Share of the column agent's probed rows that change the row agent's weights. In a correct run with separate brains the diagonal is 100 % and the rest 0 %; red cells are rows that do not belong there, a red edge marks own rows that are missing. A question mark: nothing to probe.",
	}
}

// sharing reports whether two agents learn from all of each other's rows and
// their own: one brain.
func (r *Result) sharing(a, b int) bool {
	return r.Learns[a][a] == 1 && r.Learns[b][b] == 1 && r.Learns[a][b] == 1 && r.Learns[b][a] == 1
}

// boxes shows each agent's returns over seeds.
func (r *Result) boxes() pageFigure {
	var s svg
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range r.Returns {
		for _, v := range row {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	at := s.scale(lo, hi)
	n := len(r.Returns[0])
	for a := range n {
		x := figureLeft + (float64(a)+0.5)*(figureWide-8-figureLeft)/float64(n)
		var xs []float64
		for _, row := range r.Returns {
			xs = append(xs, row[a])
		}
		q := quartiles(xs)
		if len(xs) > 2 {
			fmt.Fprintf(&s, `<rect x="%.1f" y="%.1f" width="36" height="%.1f" fill="var(--%s)" fill-opacity="0.25" stroke="var(--%s)"/>`, x-18, at(q[3]), max(at(q[1])-at(q[3]), 1), colour(a), colour(a))
			s.line(x, at(q[0]), x, at(q[1]), colour(a), 1.2)
			s.line(x, at(q[3]), x, at(q[4]), colour(a), 1.2)
		}
		s.line(x-18, at(q[2]), x+18, at(q[2]), colour(a), 2.4)
		for i, v := range xs {
			fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="2.6" fill="var(--%s)"/>`, x-8+16*(float64(i)+0.5)/float64(len(xs)), at(v), colour(a))
		}
		s.text(x, figureLow+18, "middle", fmt.Sprintf("agent %d", a))
	}
	return pageFigure{
		Title: "Returns by agent", SVG: s.html(figureWide, figureHigh, "returns by agent"),
		Caption: fmt.Sprintf("Mean return over the last fifth, a point a seed (%d seeds); box: quartiles, line: median. If agents are alike, no order by number should hold in seed after seed.", len(r.Returns)),
	}
}

// lines shows each agent's returns over the windows, the mean over seeds.
func (r *Result) lines() pageFigure {
	var s svg
	agents, windows := len(r.Curves[0]), len(r.Curves[0][0])
	for _, seed := range r.Curves {
		windows = min(windows, len(seed[0]))
	}
	mean := make([][]float64, agents)
	lo, hi := math.Inf(1), math.Inf(-1)
	for a := range mean {
		for w := range windows {
			v := 0.
			for _, seed := range r.Curves {
				v += seed[a][w] / float64(len(r.Curves))
			}
			mean[a] = append(mean[a], v)
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	at := s.scale(lo, hi)
	for a := range mean {
		var points []string
		for w, v := range mean[a] {
			points = append(points, fmt.Sprintf("%.1f,%.1f", figureLeft+float64(w)/float64(max(windows-1, 1))*(figureWide-70-figureLeft), at(v)))
		}
		fmt.Fprintf(&s, `<polyline points="%s" fill="none" stroke="var(--%s)" stroke-width="1.5"/>`, strings.Join(points, " "), colour(a))
		y := figureTop + 10 + 16*float64(a)
		s.line(figureWide-62, y-4, figureWide-48, y-4, colour(a), 3)
		s.text(figureWide-44, y, "start", fmt.Sprintf("agent %d", a))
	}
	s.text((figureLeft+figureWide-70)/2, figureLow+20, "middle", "windows")
	return pageFigure{
		Title: "Returns over the audit's windows", SVG: s.html(figureWide, figureHigh, "returns over windows"),
		Caption: "The audit trains for seconds: these curves show the start of learning, not its end. Mean over seeds.",
	}
}

// bars shows each agent's rows and updates.
func (r *Result) bars() pageFigure {
	var s svg
	most := 1
	for _, n := range r.Rows {
		most = max(most, n)
	}
	step := min(34, 190/float64(len(r.Rows)))
	for a, n := range r.Rows {
		y := figureTop + step*float64(a)
		s.text(66, y+step*0.62, "end", fmt.Sprintf("agent %d", a))
		w := float64(n) / float64(most) * 250
		fmt.Fprintf(&s, `<rect x="74" y="%.1f" width="%.1f" height="%.1f" rx="3" fill="var(--%s)"/>`, y+step*0.18, max(w, 1), step*0.6, colour(a))
		text := fmt.Sprintf("%d rows", n)
		if len(r.Updates) == len(r.Rows) {
			text += fmt.Sprintf(", %d updates", r.Updates[a])
		}
		s.text(80+w, y+step*0.62, "start", text)
	}
	return pageFigure{
		Title: "Rows and updates by agent", SVG: s.html(figureWide, figureHigh, "rows by agent"),
		Caption: fmt.Sprintf("Rows at which the agent's own policy acted, and windows in which its weights changed, of %d.", r.Windows),
	}
}

// quartiles returns least, quarter, median, three quarters, most.
func quartiles(xs []float64) [5]float64 {
	s := slices.Sorted(slices.Values(xs))
	var q [5]float64
	for i := range q {
		at := float64(i) / 4 * float64(len(s)-1)
		k := int(at)
		q[i] = s[k]
		if k+1 < len(s) {
			q[i] += (at - float64(k)) * (s[k+1] - s[k])
		}
	}
	return q
}
