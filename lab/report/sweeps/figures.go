package sweeps

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
)

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
