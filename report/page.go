package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	texttemplate "text/template"

	"gonum.org/v1/plot/vg"

	"hop/stats"
)

//go:embed page.html
var pageText string

//go:embed page.md
var markdownText string

// view is what both forms of the report are made from.
type view struct {
	*group
	Episodes  []Episode
	Sample    int
	Final     Interval
	Judged    []*run
	Refs      []reference
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
	figures   map[string]*figure
	rest      []*figure
}

// share is what an agent reached in the last fifth of training.
type share struct {
	Agent int
	Of    []float64 // [goal]
}

// next is a command to go on with.
type next struct{ Why, Command string }

func (g *group) view(figs []*figure, o Options) *view {
	v := &view{
		group: g, Episodes: o.Episodes, Sample: o.Sample, Final: g.final(), Judged: g.judged(), Refs: slices.Clone(g.refs), Order: g.order(),
		Phases: g.phases(), Shares: g.shares(), Others: g.others(), SpecLines: strings.TrimSpace(g.SpecText), figures: map[string]*figure{},
	}
	slices.SortFunc(v.Refs, func(a, b reference) int {
		if a.Value > b.Value {
			return -1
		}
		return 1
	})
	v.Learners, v.Warnings = g.counts()
	if len(v.Learners) > 0 {
		v.Who = v.Learners[0].Of
	}
	for _, f := range figs {
		v.figures[f.Name] = f
		if f.cols == 3 {
			v.rest = append(v.rest, f)
		}
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

// Figure returns a figure by name, or nil.
func (v *view) Figure(name string) *figure { return v.figures[name] }

// Metrics returns the figures of losses and other numbers.
func (v *view) Metrics() []*figure { return v.rest }

func (r *run) machine() string {
	e := r.Env
	cpu := e.CPU
	if cpu == "" {
		cpu = e.Arch
	}
	s := fmt.Sprintf("hop %s, %s, %s/%s, %s with %s, %s kernels", e.Version, e.Go, e.OS, e.Arch, cpu, count(e.Cores, "core"), e.Kernels)
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
	if len(g.judged()) < len(g.Runs) {
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

var words = map[string]any{
	"number": number, "percent": percent, "seconds": seconds, "thousands": thousands, "count": count,
	"short": func(x int64) string { return short(float64(x)) },
	"pct":   func(x float64) string { return fmt.Sprintf("%.1f", 100*x) },
	"trim":  trim,
	"tie":   func(s string) string { return strings.ReplaceAll(s, " %", "\u00a0%") },
	"pad":   func(n int) string { return strings.Repeat("  ", n) },
	"add":   func(a, b int) int { return a + b },
	"seq":   func(n int) []int { return slices.Collect(rangeTo(n)) },
}

func rangeTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// html returns the page: one file, figures and episodes inside.
func (g *group) html(figs []*figure, o Options) ([]byte, error) {
	var drawErr error
	svg := func(p panel, class string, w vg.Length) string {
		s, err := p.svg(class, w)
		drawErr = errors.Join(drawErr, err)
		return s
	}
	t, err := template.New("page").Funcs(words).Funcs(template.FuncMap{
		"svg": func(p panel) template.HTML {
			if p.w < wideW {
				return template.HTML(svg(p, "", p.w))
			}
			return template.HTML(svg(p, "big", p.w) + svg(p, "slim", slimW)) // the style sheet shows one
		},
		"gif": func(b []byte) template.URL {
			return template.URL("data:image/gif;base64," + base64.StdEncoding.EncodeToString(b))
		},
		"key": func(k legendKey) template.CSS { return template.CSS("background:" + cssColor(k.Color)) },
		"goal": func(i int, name string) template.CSS {
			return template.CSS("background:" + cssColor(goalColor(i, name).Color))
		},
		"who": func(a int) template.CSS { return template.CSS("background:" + cssColor(agentColor(a))) },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, g.view(figs, o)); err != nil {
		return nil, err
	}
	return b.Bytes(), drawErr
}

// markdown returns the same as text; figures are files in report/.
func (g *group) markdown(figs []*figure, o Options) ([]byte, error) {
	t, err := texttemplate.New("text").Funcs(words).Parse(markdownText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, g.view(figs, o)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
