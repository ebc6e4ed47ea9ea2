package report

import (
	"fmt"

	gonumplot "gonum.org/v1/plot"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train"
)

// buffersFigure draws how many rows each agent has to learn from, one panel a buffer:
// where agents that are built alike earn unlike, this is where to look first.
func (g *group) buffersFigure(d grid) *plot.Figure {
	f := &plot.Figure{
		Name: "buffers", Title: "How many rows each agent learns from", Cols: 2,
		Caption: "Sizes of the buffers after each window, coloured by agent. Agents that are built alike ought to have as many: those " +
			"who leave sooner have fewer played and imagined rows, and no other reason is a good one. A world model that all share has " +
			"one buffer; its rows are those through an agent's eyes where that is remembered." + overSeeds(len(g.Runs)),
	}
	for a := range g.Agents {
		f.Legend = append(f.Legend, plot.Key{Name: fmt.Sprintf("agent %d", a), Color: plot.Agent(a)})
	}
	f.Legend = append(f.Legend, g.shadeKey()...)
	for _, b := range []struct{ name, title string }{
		{"real", "played rows of a window"}, {"imagined", "imagined rows of a window"},
		{"world", "real steps that the world model learns from"}, {"others", "co-players' steps that the model of others learns from"},
	} {
		var all [][]float64
		var lines []gonumplot.Plotter
		for a := -1; a < g.Agents; a++ {
			if x := g.bundle(d, key{train.BufferMetric + b.name, a}); len(x.seeds) > 0 {
				all, lines = append(all, x.mean), append(lines, x.line(d, a, 1.3))
			}
		}
		if len(lines) > 0 {
			_, hi := pad(1, append(all, []float64{0, 1})...)
			p := timePlot(d, 0, hi, 4).Add(g.shade(false)...).Add(lines...).Panel(b.title, plot.HalfW, plot.HalfH)
			if b.name == "imagined" {
				p.Note = "0: the world model was not trusted, or was made anew"
			}
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}
