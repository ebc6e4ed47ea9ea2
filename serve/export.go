package serve

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	gonumplot "gonum.org/v1/plot"

	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/spec"
)

func references(s *spec.Spec) []plot.Ref { return report.References(s) }

// exportCurves writes a view of curves as a file: what is shown, as SVG, PNG or CSV.
func (s *Server) exportCurves(w http.ResponseWriter, r *http.Request) {
	b, kind, name, err := s.export(r)
	if err != nil {
		s.api(func(*http.Request) (any, error) { return nil, err })(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if strings.HasPrefix(kind, "image/svg") {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	}
	send(w, r, http.StatusOK, b)
}

func (s *Server) export(r *http.Request) (b []byte, kind, name string, err error) {
	q, err := parseCurves(r.URL.Query())
	if err != nil {
		return nil, "", "", err
	}
	c, err := s.lines(q, language(nil, r))
	if err != nil {
		return nil, "", "", err
	}
	if len(c.Panels) == 0 {
		return nil, "", "", refuse(http.StatusBadRequest, "nothing is shown: choose runs and metrics")
	}
	for _, p := range c.Panels {
		if len(p.Lines) == 0 {
			return nil, "", "", refuse(http.StatusNotFound,
				"the chosen runs have no metric %.100q; /api/curves/names lists those that they have", p.Metric)
		}
	}
	switch format := r.URL.Query().Get("format"); format {
	case "csv":
		b, err = c.csv()
		return b, "text/csv; charset=utf-8", "curves.csv", err
	case "svg":
		b, err = c.figure(q).SVG()
		return b, "image/svg+xml", "curves.svg", err
	case "png":
		b, err = c.figure(q).PNG()
		return b, "image/png", "curves.png", err
	default:
		return nil, "", "", refuse(http.StatusBadRequest, "format=%.40q: want svg, png or csv", format)
	}
}

// csv writes every point that is shown, with what is behind it. A text that a spreadsheet
// would take for a formula is quoted.
func (c *curves) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"metric", "line", "run", "seed", "agent", "points", "step", "value", "low", "high", "seeds", "n", "rows",
		"smoothed", "weight"})
	number := func(list []stats.Number, i int) string {
		if i >= len(list) || math.IsNaN(float64(list[i])) || math.IsInf(float64(list[i]), 0) {
			return ""
		}
		return strconv.FormatFloat(float64(list[i]), 'g', -1, 64)
	}
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			for i := range l.Step {
				seed, agent, runs, weight := "", "", "", ""
				if l.Seed != nil {
					seed = fmt.Sprint(*l.Seed)
				}
				if l.Agent >= 0 {
					agent = fmt.Sprint(l.Agent)
				}
				if i < len(l.Runs) {
					runs = fmt.Sprint(l.Runs[i])
				}
				if c.Weight > 0 {
					weight = fmt.Sprint(c.Weight)
				}
				_ = w.Write([]string{
					plainCell(p.Metric), plainCell(l.Label), plainCell(l.Run), seed, agent, l.Kind, fmt.Sprint(l.Step[i]), number(l.Value, i),
					number(l.Low, i), number(l.High, i), runs, fmt.Sprint(l.N[i]), fmt.Sprint(l.Rows[i]), number(l.Smooth, i), weight,
				})
			}
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func plainCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func floats(list []stats.Number) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}

// figure draws the view with the kit that reports are drawn with.
func (c *curves) figure(q curvesQuery) *plot.Figure {
	f := &plot.Figure{Name: "curves", Cols: min(2, len(c.Panels)), Title: strings.Join(q.metrics, ", ")}
	seen := map[string]bool{}
	for _, p := range c.Panels {
		var marks []gonumplot.Plotter
		var heights [][]float64
		lo, hi := math.Inf(1), 1.
		for _, l := range p.Lines {
			if n := len(l.Step); n > 0 {
				lo, hi = min(lo, float64(l.Step[0])), max(hi, float64(l.Step[n-1]))
			}
		}
		if c.Warm > 0 {
			marks = append(marks, plot.Stretch{To: float64(c.Warm)})
		}
		for _, l := range p.Lines {
			xs := make([]float64, len(l.Step))
			for i, v := range l.Step {
				xs[i] = float64(v)
			}
			ys, col := positive(floats(l.Value), q.logY), plot.Agent(l.Colour)
			heights = append(heights, ys)
			if len(l.Low) > 0 {
				low, high := positive(floats(l.Low), q.logY), positive(floats(l.High), q.logY)
				for i := range low { // one seed bounds nothing
					if math.IsInf(low[i], 0) || math.IsInf(high[i], 0) {
						low[i], high[i] = math.NaN(), math.NaN()
					}
				}
				heights = append(heights, low, high)
				marks = append(marks, plot.Band{X: xs, Low: low, High: high, Color: plot.Fade(col, 0.15)})
			}
			line := plot.Line{X: xs, Y: ys, Color: col, Width: 1.3, Dash: l.Dash%2 == 1}
			if c.Weight > 0 {
				line.Color, line.Width = plot.Fade(col, 0.3), 0.8
				marks = append(marks, line, smoothed(l, xs, q.logY))
			} else {
				marks = append(marks, line)
			}
			if !seen[l.Label] {
				seen[l.Label] = true
				f.Legend = append(f.Legend, plot.Key{Name: l.Label, Color: col, Dash: l.Dash%2 == 1})
			}
		}
		for _, r := range p.Refs {
			heights = append(heights, []float64{r.Value})
		}
		x := plot.Round(0, hi, 5)
		if q.span.To >= q.span.From {
			x = plot.Round(min(lo, hi), hi, 5)
		}
		if x.Name, x.Label = "env steps", plot.Short; q.logX && lo > 0 {
			x = plot.LogSteps(min(lo, hi), hi)
		}
		ylo, yhi := plot.Span(heights...)
		pad := 0.04 * (yhi - ylo)
		y := plot.Round(ylo-pad, yhi+pad, 5)
		if q.logY && ylo > 0 {
			y = plot.LogSteps(ylo, yhi)
			y.Label = nil
		}
		y.Name = p.Metric
		fig := plot.New(x, y).Add(plot.Levels{Refs: p.Refs}).Add(marks...)
		f.Panels = append(f.Panels, fig.Panel(p.Metric, plot.WideW, plot.WideH))
	}
	if c.Weight > 0 {
		f.Legend = append(f.Legend, plot.Key{Name: fmt.Sprintf("smoothed: exponential, weight %g; faint: not smoothed", c.Weight),
			Color: plot.Faint})
	}
	if c.Moving {
		f.Legend = append(f.Legend, plot.Key{Name: "still being written", Color: plot.Faint})
	}
	return f
}

// smoothed is the smoothed line, through the points that have a value.
func smoothed(l curveLine, xs []float64, log bool) plot.Line {
	out := plot.Line{Color: plot.Agent(l.Colour), Width: 1.6, Dash: l.Dash%2 == 1}
	for i, v := range positive(floats(l.Smooth), log) {
		if !math.IsNaN(v) {
			out.X, out.Y = append(out.X, xs[i]), append(out.Y, v)
		}
	}
	return out
}

// positive leaves out what has no place on a logarithmic axis.
func positive(list []float64, log bool) []float64 {
	if log {
		for i, v := range list {
			if v <= 0 {
				list[i] = math.NaN()
			}
		}
	}
	return list
}
