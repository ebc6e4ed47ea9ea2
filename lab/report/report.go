// Package report turns run folders into a page that a stranger understands.
//
// Write reads what the runs of one experiment left behind (spec.yaml,
// metrics.csv, env.json, result.json) and writes three things into the folder
// that holds them: report.html, one file that opens offline and can be mailed;
// report.md, the same numbers as text; and report/, the figures as PNG and the
// episodes as GIF, for talks.
//
// A run that is still running or was killed is shown as far as it got, and said to be
// so; it never spoils the others. One whose files are not as they were written is
// refused. The same files give the same bytes: no clock, no fonts or scripts from
// elsewhere.
package report

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec"
)

// Episode is an episode to show. Package play makes its GIF.
type Episode struct {
	Name   string    // which of a sample it is, such as "median"
	Seed   uint64    // of the run whose agents play
	Return float64   // mean over agents
	Agents []float64 // [A] returns
	Steps  int
	GIF    []byte
}

// Options says what a report shows beyond what the folders hold. Its zero value
// is useful.
type Options struct {
	Episodes []Episode
	Sample   int           // how many episodes those were chosen from
	Used     []runlog.Used // the checkpoints whose agents play in them
	Notes    []string      // more to say at the top
	Final    bool          // the runs are trained and scored by this program, and end with this report
}

// outcome is the mean of the final agents with its 95 % interval: over seeds, or
// over the episodes of a single seed, which says nothing about other seeds. It is
// infinite where neither can be told.
type outcome struct {
	Mean   float64
	CI     stats.Interval
	IQM    float64
	Greedy float64
	N      int // seeds
}

// Known says whether there is an interval.
func (o outcome) Known() bool { return o.N > 0 && !math.IsInf(o.CI[0], 0) && !math.IsNaN(o.CI[0]) }

// Write reads the runs in a folder, which holds seed-1, seed-2, ... or is a run
// itself, and writes report.html, report.md and report/ into it, unless ctx ends before.
func Write(ctx context.Context, reg *spec.Registry, group string, o Options) error {
	drawn, err := cores.Await(ctx, func() (*plot.Document, error) {
		g, err := read(reg, group)
		if err != nil {
			return nil, err
		}
		for _, r := range g.Runs {
			if o.Final && r.Env.Status == "running" {
				r.Unsealed = ""
			}
		}
		return g.document(o), nil
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"median", "best", "worst"} { // of an earlier report
		if !slices.ContainsFunc(o.Episodes, func(e Episode) bool { return e.Name == name }) {
			os.Remove(filepath.Join(group, "report", name+".gif"))
		}
	}
	drawn.Context = ctx
	return drawn.Write(group)
}

// References returns what is known about the mean return of a spec's game: optimum,
// equilibrium, random play. Nothing where bots or frozen agents play too, since they hold
// for a team that learns.
func References(s *spec.Spec) []plot.Ref {
	others := func(who string) bool { return who != "learn" }
	if slices.ContainsFunc(s.Train.Team, others) {
		return nil
	}
	for _, sw := range s.Train.Switch {
		if others(sw.To) {
			return nil
		}
	}
	return references(s.Game)
}

// references returns what the game's registry entry knows of mean returns.
func references(g spec.Game) (list []plot.Ref) {
	for _, r := range g.Returns() {
		list = append(list, plot.Ref{Name: r.Name, Value: r.Value})
	}
	return list
}

//go:embed page.html
var pageText string

//go:embed page.md
var markdownText string

// view is what both forms of the report are made from.
type view struct {
	*group
	figures
	Episodes []Episode
	Sample   int
	Used     []runlog.Used // whose agents play in the episodes
	Order    order
	Learners []class
	Warnings []string
	Others   *othersView // nil without models of others
}

// Picked says which episodes are shown, out of how many.
func (v *view) Picked() string {
	has := func(name string) bool {
		return slices.ContainsFunc(v.Episodes, func(e Episode) bool { return e.Name == name })
	}
	text := fmt.Sprintf("Out of %s, actions sampled: the one with the median return", plot.Count(v.Sample, "fresh episode"))
	switch best, worst := has("best"), has("worst"); {
	case best && worst:
		return text + ", the best and the worst."
	case best:
		return text + " and the best; none got less than the median."
	case worst:
		return text + " and the worst; none got more than the median."
	}
	return text + "; all others got as much."
}

// share is what an agent reached in the last fifth of training.
type share struct {
	Agent int
	Of    []float64 // [goal]
}

// next is a command to go on with.
type next struct{ Why, Command string }

// Refs returns the references, the highest first.
func (g *group) Refs() []plot.Ref {
	return slices.SortedFunc(slices.Values(g.refs), func(a, b plot.Ref) int { return cmp.Compare(b.Value, a.Value) })
}

// Commands returns what the runs were started with, each command once.
func (g *group) Commands() []string {
	return g.once(func(r *run) string { return command(r.Env.Command) })
}

// Sealed says whether the files that all this was read from are as they were written.
func (g *group) Sealed() string {
	text := "The files of the runs were held against their seals and are as they were written."
	for _, why := range g.once(func(r *run) string { return r.Unsealed }) {
		text += " But for"
		for _, r := range g.Runs {
			if r.Unsealed == why {
				text += fmt.Sprintf(" seed %d,", r.Seed)
			}
		}
		text = strings.TrimSuffix(text, ",") + ": " + why + "."
	}
	return text
}

// Machines returns what the runs ran on, and how much memory that took.
func (g *group) Machines() []string {
	list, peak := g.once((*run).machine), uint64(0)
	for _, r := range g.Runs {
		peak = max(peak, r.Env.Peak)
	}
	if peak > 0 {
		list = append(list, "it took "+plot.Bytes(peak)+" of memory at most")
	}
	return list
}

func (g *group) once(of func(*run) string) (list []string) {
	for _, r := range g.Runs {
		if s := of(r); s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// figures are those of a page.
type figures []*plot.Figure

// Figure returns a figure by name, or nil.
func (list figures) Figure(name string) *plot.Figure {
	for _, f := range list {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Figures returns all of them.
func (list figures) Figures() []*plot.Figure { return list }

// Metrics returns the figures of losses and other numbers.
func (list figures) Metrics() []*plot.Figure {
	return slices.DeleteFunc(slices.Clone(list), func(f *plot.Figure) bool { return f.Cols != 3 })
}

func (r *run) machine() string {
	e := r.Env
	s := fmt.Sprintf("hop %s, %s, %s/%s, %s with %s, %s kernels",
		e.Version, e.Go, e.OS, e.Arch, cmp.Or(e.CPU, e.Arch), plot.Count(e.Cores, "core"), e.Kernels)
	if e.Commit != "" {
		s += ", commit " + e.Commit[:min(12, len(e.Commit))]
	}
	return s
}

// Shares returns what each agent reached in the last fifth, mean over seeds.
func (g *group) Shares() (list []share) {
	for a := range g.Agents {
		s := share{Agent: a}
		for _, goal := range g.Goals {
			s.Of = append(s.Of, g.lastFifth(key{"goal/" + goal, a}))
		}
		list = append(list, s)
	}
	return list
}

// Next says how to go on.
func (g *group) Next() []next {
	var out []next
	dir := quote(plot.Folder(g.Dir))
	if len(g.Scored()) < len(g.Runs) {
		out = append(out, next{"Go on where the runs stopped", "hop train --resume " + dir})
	}
	one := quote(plot.Folder(g.Runs[0].path))
	if last := g.Runs[len(g.Runs)-1].Seed; g.Spec != nil {
		out = append(out, next{"More seeds, for a narrower interval", fmt.Sprintf("hop train %s/spec.yaml --seeds %d-%d", one, last+1, last+5)})
	}
	out = append(out,
		next{"Write this report anew", "hop report " + dir},
		next{"Look at every curve in TensorBoard", "tensorboard --logdir " + dir},
	)
	if g.Spec != nil && g.Agents > 1 {
		team := []string{"learn"}
		for a := 1; a < g.Agents; a++ {
			team = append(team, fmt.Sprintf("%s#%d", strings.Trim(one, "'"), a))
		}
		set := quote("train.team=[" + strings.Join(team, ", ") + "]")
		out = append(out, next{"Train a newcomer against these agents, frozen", fmt.Sprintf("hop train %s/spec.yaml --set %s", one, set)})
	}
	return out
}

// document is the report as a page and as text; figures are files in report/.
func (g *group) document(o Options) *plot.Document {
	g.Notes = append(g.Notes, o.Notes...)
	figs := g.figures()
	v := &view{group: g, figures: figs, Episodes: o.Episodes, Sample: o.Sample, Used: o.Used, Order: g.order(), Others: g.others()}
	v.Learners, v.Warnings = g.counts()
	d := &plot.Document{Name: "report", HTML: pageText, Text: markdownText, Data: v, Figures: figs, Folder: "report"}
	d.Files = map[string][]byte{}
	for _, e := range o.Episodes {
		d.Files["report/"+e.Name+".gif"] = e.GIF
	}
	return d
}
