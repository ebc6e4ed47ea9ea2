package report

import (
	"fmt"
	"slices"
	"strings"

	gonumplot "gonum.org/v1/plot"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train"
)

// strangers returns the kinds that models of others were scored on while they learnt.
func (g *group) strangers() (kinds []string) {
	for _, r := range g.Runs {
		for _, n := range r.names {
			kind, ok := strings.CutPrefix(strings.TrimSuffix(n, "/top1"), train.StrangerMetric)
			if ok && strings.HasSuffix(n, "/top1") && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// strangersFigure draws how well models of others know fixed strangers, one panel a kind,
// coloured by the agent whose model it is.
func (g *group) strangersFigure(d grid) *plot.Figure {
	f := &plot.Figure{
		Name: "strangers", Title: "Does the model of others forget?", Cols: 2,
		Caption: "Share of what strangers do, in fixed episodes that nobody learns from, that an agent would foresee in their midst: by its " +
			"beliefs, which begin anew, and its model of others. Start: the best before the agents played themselves, mean over agents; below " +
			"three quarters of it a model is said to forget. Limit: the Bayes observer, who knows the scripts; of one kind alone it can be " +
			"passed by taking everybody for that kind." + overSeeds(len(g.Runs)),
	}
	for a := range g.Agents {
		f.Legend = append(f.Legend, plot.Key{Name: fmt.Sprintf("agent %d", a), Color: plot.Agent(a)})
	}
	f.Legend = append(f.Legend, g.shadeKey()...)
	for _, kind := range g.strangers() {
		at := train.StrangerMetric + kind + "/"
		var lines []gonumplot.Plotter
		sum := map[string]*[2]float64{"start": {}, "limit": {}} // of the last values, and how many
		for a := range g.Agents {
			if b := g.bundle(d, key{at + "top1", a}); len(b.seeds) > 0 {
				lines = append(lines, b.line(d, a, 1.5))
			}
			for _, r := range g.Runs {
				for name, x := range sum {
					if rows := r.series[key{at + name, a}]; len(rows) > 0 {
						x[0], x[1] = x[0]+rows[len(rows)-1].Value, x[1]+1
					}
				}
			}
		}
		var refs []plot.Ref
		for _, name := range []string{"start", "limit"} {
			if x := sum[name]; x[1] > 0 {
				refs = append(refs, plot.Ref{Name: name, Value: x[0] / x[1]})
			}
		}
		p := timePlot(d, 0, 1).Add(g.shade(false)...).Add(plot.Levels{Refs: refs}).Add(lines...)
		title := kind + ": top-1"
		if kind == "all" {
			title = "all kinds together: top-1"
		}
		f.Panels = append(f.Panels, p.Panel(title, plot.HalfW, plot.HalfH))
	}
	return f
}
