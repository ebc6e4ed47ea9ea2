package bench

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/plot"
)

//go:embed growth.html
var growthPage string

//go:embed growth.md
var growthText string

// Steepest says which slope is the farthest beyond what it is to be at most, in a sentence.
func Steepest(lines []*GrowthLine) string {
	says, worst := "There is no slope of fewer than two points.", math.Inf(-1)
	for _, l := range lines {
		for i, s := range l.slopes() {
			if over := s.Over(); over > worst {
				worst = over
				how := fmt.Sprintf("as it is to be at most %.1f", s.Most)
				if over > 0 {
					how = fmt.Sprintf("and is to be at most %.1f", s.Most)
				}
				says = fmt.Sprintf("The worst slope: %s of %s grows as the %s to the power %.2f, %s.",
					quantities[i], l.Name, l.X, float64(s.Slope), how)
			}
		}
	}
	return says
}

// quantities are what is measured at every point.
var quantities = [3]string{"the time of a step", "the memory", "the start"}

func (l *GrowthLine) slopes() [3]Slope { return [3]Slope{l.Time, l.Memory, l.Start} }

// values returns one of the quantities of a point: microseconds, megabytes, seconds.
func (p *GrowthPoint) values() [3]float64 { return [3]float64{1e6 * p.Time, p.Bytes / 1e6, p.Start} }

// Text says a slope beside what it is to be at most.
func (s Slope) Text() string {
	if math.IsNaN(float64(s.Slope)) {
		return "–"
	}
	return fmt.Sprintf("%.2f (%.3g)", float64(s.Slope), s.Most)
}

// Cells are a point as words: its size, time, spread, memory, hop's own estimate, start.
func (p *GrowthPoint) Cells() []string {
	at := plot.Trim(p.At)
	if p.Refused != "" {
		return []string{at, "refused", "", "", "", ""}
	}
	return []string{at, fmt.Sprintf("%.4g", 1e6*p.Time), fmt.Sprintf("%.4g to %.4g", 1e6*p.Low, 1e6*p.High),
		plot.Bytes(uint64(max(0, p.Bytes))), plot.Bytes(uint64(p.Estimate)), fmt.Sprintf("%.3g", p.Start)}
}

// Heads are what the cells of points are called.
func (l *GrowthLine) Heads() []string {
	return []string{l.X, "µs a step", "of turns", "memory", "hop's estimate", "s to start"}
}

// GrowthText is tables for a terminal.
func GrowthText(lines []*GrowthLine) string {
	var b strings.Builder
	table := func(heads []string, rows func(row func(cells ...string))) {
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		row := func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") }
		row(heads...)
		rows(row)
		w.Flush()
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "%s, %s\n", l.Axis, l.Name)
		table(l.Heads(), func(row func(cells ...string)) {
			for i := range l.Points {
				row(l.Points[i].Cells()...)
			}
		})
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, "Slopes: least squares over logarithms of the upper half of each line's points; in brackets what they are to be at most.")
	table([]string{"axis", "of", "time", "memory", "start"}, func(row func(cells ...string)) {
		for _, l := range lines {
			row(l.Axis, l.Name, l.Time.Text(), l.Memory.Text(), l.Start.Text())
		}
	})
	fmt.Fprintf(&b, "\n%s\n", Steepest(lines))
	return b.String()
}

// growthFigure draws an axis a row: time, memory and start, with logarithms on both sides.
func growthFigure(lines []*GrowthLine) *plot.Figure {
	f := &plot.Figure{Name: "growth", Title: "How time, memory and start grow", Cols: 3,
		Caption: "Logarithms on both sides. Dashed: the least-squares line over the upper half of the points, whose slope is in the tables."}
	var names []string
	for _, l := range lines {
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
			f.Legend = append(f.Legend, plot.Key{Name: l.Name, Color: plot.Agent(len(names) - 1)})
		}
	}
	for _, a := range GrowthAxes() {
		of := slices.DeleteFunc(slices.Clone(lines), func(l *GrowthLine) bool { return l.Axis != a.Name })
		for q, unit := range []string{"µs a step", "MB", "s to start"} {
			if len(of) > 0 {
				f.Panels = append(f.Panels, growthPanel(of, q, unit, names))
			}
		}
	}
	return f
}

// growthPanel draws one quantity of one axis.
func growthPanel(lines []*GrowthLine, q int, unit string, names []string) plot.Panel {
	var marks []plot.Line
	var xs, ys []float64
	for _, l := range lines {
		m := plot.Line{Color: plot.Agent(slices.Index(names, l.Name)), Width: 1.6}
		for i := range l.Points {
			if v := l.Points[i].values()[q]; v > 0 {
				m.X, m.Y = append(m.X, l.Points[i].At), append(m.Y, v)
			}
		}
		marks = append(marks, m)
		if power := float64(l.slopes()[q].Slope); len(m.X) > 1 && !math.IsNaN(power) {
			from, mean := upper(len(m.X)), 0.
			fit := plot.Line{X: m.X[from:], Color: plot.Ink, Width: 0.8, Dash: true}
			for i := from; i < len(m.X); i++ {
				mean += (math.Log(m.Y[i]) - power*math.Log(m.X[i])) / float64(len(m.X)-from)
			}
			for _, x := range fit.X {
				fit.Y = append(fit.Y, math.Exp(mean+power*math.Log(x)))
			}
			marks = append(marks, fit)
		}
		xs, ys = append(xs, m.X...), append(ys, m.Y...)
	}
	slices.Sort(xs)
	lo, hi := plot.Span(ys)
	y := plot.LogSteps(lo/1.2, hi*1.2)
	y.Name, y.Label = unit, nil
	if len(y.At) > 8 {
		y.At = slices.DeleteFunc(y.At, func(v float64) bool { e := math.Log10(v); return math.Abs(e-math.Round(e)) > 1e-9 })
	}
	x := plot.LogSteps(xs[0]/1.1, xs[len(xs)-1]*1.1)
	x.Name, x.At = lines[0].X, slices.Compact(slices.Clone(xs))
	p := plot.New(x, y)
	for _, m := range marks {
		p.Add(m)
	}
	return p.Panel(lines[0].Axis+": "+unit, plot.ThirdW, plot.ThirdH+30)
}

// WriteGrowth writes growth.html, one file that opens offline, growth.md, growth.json and growth.png into a folder.
func WriteGrowth(dir, command string, turns int, lines []*GrowthLine) error {
	f := growthFigure(lines)
	doc := plot.Document{Name: "growth", HTML: growthPage, Text: growthText, Figures: []*plot.Figure{f}, JSON: map[string]any{"rows": lines}}
	doc.Data = struct {
		Worst, Command string
		Turns          int
		Axes           []GrowthAxis
		Lines          []*GrowthLine
		Figure         *plot.Figure
	}{Steepest(lines), command, turns, GrowthAxes(), lines, f}
	return doc.Write(dir)
}
