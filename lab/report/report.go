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
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"

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
