package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"hop/page"
	"hop/stats"
)

//go:embed page.html
var pageText string

//go:embed page.md
var markdownText string

// view is what both forms of the report are made from.
type view struct {
	*group
	figures
	Episodes  []Episode
	Sample    int
	Final     Interval
	Scored    []*run
	Refs      []page.Ref
	Order     order
	Learners  []class
	Who       []learner // of the first run, for the table's head
	Warnings  []string
	Phases    []phase
	Shares    []share
	Others    *othersView // nil without models of others
	SpecLines string
	Commands  []string
	Next      []next
	Machines  []string
}

// share is what an agent reached in the last fifth of training.
type share struct {
	Agent int
	Of    []float64 // [goal]
}

// next is a command to go on with.
type next struct{ Why, Command string }

func (g *group) view(figs []*page.Figure, o Options) *view {
	v := &view{
		group: g, figures: figs, Episodes: o.Episodes, Sample: o.Sample, Final: g.final(), Scored: g.scored(), Order: g.order(),
		Phases: g.phases(), Shares: g.shares(), Others: g.others(), SpecLines: strings.TrimSpace(g.SpecText),
	}
	v.Refs = slices.SortedFunc(slices.Values(g.refs), func(a, b page.Ref) int { return cmp.Compare(b.Value, a.Value) })
	v.Learners, v.Warnings = g.counts()
	if len(v.Learners) > 0 {
		v.Who = v.Learners[0].Of
	}
	for _, r := range g.Runs {
		if c := command(r.Env.Command); c != "" && !slices.Contains(v.Commands, c) {
			v.Commands = append(v.Commands, c)
		}
		if m := r.machine(); !slices.Contains(v.Machines, m) {
			v.Machines = append(v.Machines, m)
		}
	}
	v.Next = g.next()
	return v
}

// figures are those of a page.
type figures []*page.Figure

// Figure returns a figure by name, or nil.
func (list figures) Figure(name string) *page.Figure {
	for _, f := range list {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Figures returns all of them.
func (list figures) Figures() []*page.Figure { return list }

// Metrics returns the figures of losses and other numbers.
func (list figures) Metrics() []*page.Figure {
	return slices.DeleteFunc(slices.Clone(list), func(f *page.Figure) bool { return f.Cols != 3 })
}

func (r *run) machine() string {
	e := r.Env
	cpu := e.CPU
	if cpu == "" {
		cpu = e.Arch
	}
	s := fmt.Sprintf("hop %s, %s, %s/%s, %s with %s, %s kernels", e.Version, e.Go, e.OS, e.Arch, cpu, page.Count(e.Cores, "core"), e.Kernels)
	if e.Commit != "" {
		s += ", commit " + e.Commit[:min(12, len(e.Commit))]
	}
	return s
}

// shares returns what each agent reached in the last fifth, mean over seeds.
func (g *group) shares() []share {
	var out []share
	for a := range g.Agents {
		s := share{a, make([]float64, len(g.Goals))}
		for i, goal := range g.Goals {
			var acc stats.Acc
			for _, r := range g.Runs {
				if x := r.lastFifth(key{"goal/" + goal, a}); x == x {
					acc.Add(x)
				}
			}
			s.Of[i] = acc.Mean()
		}
		out = append(out, s)
	}
	if len(g.Goals) == 0 {
		return nil
	}
	return out
}

// next says how to go on.
func (g *group) next() []next {
	var out []next
	dir := quote(g.Dir)
	if len(g.scored()) < len(g.Runs) {
		out = append(out, next{"Go on where the runs stopped", "hop train --resume " + dir})
	}
	one := dir
	if !g.Single {
		one = quote(g.Dir + "/" + g.Runs[0].Dir)
	}
	if last := g.Runs[len(g.Runs)-1].Seed; g.Spec != nil {
		out = append(out, next{"More seeds, for a narrower interval", fmt.Sprintf("hop train %s/spec.yaml --seeds %d-%d", one, last+1, last+5)})
	}
	out = append(out,
		next{"Write this report anew", "hop report " + dir},
		next{"Look at every curve in TensorBoard", "tensorboard --logdir " + dir},
	)
	if g.Spec != nil && g.Agents > 1 && g.Game != nil {
		team := []string{"learn"}
		for a := 1; a < g.Agents; a++ {
			team = append(team, fmt.Sprintf("%s#%d", strings.Trim(one, "'"), a))
		}
		out = append(out, next{"Train a newcomer against these agents, frozen", fmt.Sprintf("hop train %s/spec.yaml --set %s", one, quote("train.team=["+strings.Join(team, ", ")+"]"))})
	}
	return out
}

// document is the report as a page and as text; figures are files in report/.
func (g *group) document(o Options) *page.Document {
	g.Notes = append(g.Notes, o.Notes...)
	figs := g.figures()
	d := &page.Document{Name: "report", HTML: pageText, Text: markdownText, Data: g.view(figs, o), Figures: figs, Folder: "report"}
	d.Files = map[string][]byte{}
	for _, e := range o.Episodes {
		d.Files["report/"+e.Name+".gif"] = e.GIF
	}
	return d
}
