package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/lab/films"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec"
)

// Report writes a folder's report and returns where it is. Without agents
// to play, as in a run that has no checkpoint yet, it says why there are no
// episodes.
func (l *Lab) Report(ctx context.Context, dir string, gifs bool) (string, error) {
	return l.report(ctx, l.Reg, dir, gifs, false)
}

// finalReport writes the report of a training whose seeds are all scored. It shows the
// final agents, so nobody needs to be told which: the runs are done but for this report.
func (l *Lab) finalReport(ctx context.Context, dir string) error {
	own := *l.Reg
	own.Runs = nil
	_, err := l.report(ctx, &own, dir, true, true)
	return err
}

func (l *Lab) report(ctx context.Context, reg *spec.Registry, dir string, gifs, final bool) (string, error) {
	var o report.Options
	if gifs {
		count, end := l.Counting("parts of the report")
		defer end()
		var err error
		o, err = films.Play(ctx, reg, dir, count)
		if errors.Is(err, context.Canceled) || errors.Is(err, runlog.ErrDamaged) {
			return "", err
		}
		if err != nil {
			l.Note("no episodes are shown: %v", err)
			o.Notes = append(o.Notes, fmt.Sprintf("No episodes are shown: %v", err))
		}
	}
	o.Final = final
	if err := cmp.Or(report.Write(ctx, reg, dir, o), writeFilms(dir, o.Episodes)); err != nil {
		return "", err
	}
	return filepath.Join(dir, "report.html"), nil
}

// writeFilms puts a report's episodes beside its figures, where TensorBoard finds them.
func writeFilms(dir string, list []report.Episode) error {
	if len(list) == 0 {
		return nil
	}
	at := filepath.Join("report", "films", filepath.Base(runlog.SeedDir(dir, list[0].Seed)))
	root, err := os.OpenRoot(dir) // a link would lead to somebody else's files
	if err == nil {
		err = cmp.Or(root.MkdirAll(at, 0o755), root.Close())
	}
	if err != nil {
		return fmt.Errorf("report: making %s: %w", filepath.Join(dir, at), err)
	}
	var films []runlog.Film
	for _, e := range list {
		films = append(films, runlog.Film{Name: e.Name, GIF: e.GIF})
	}
	return runlog.WriteFilms(filepath.Join(dir, at), films)
}

// ZooText is a table of co-players for a terminal.
func (l *Lab) ZooText(list []ZooEntry) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tkind\tage\theld out\tsplit\tmean\tagents\tenv steps\tgame\tfolder")
	for _, e := range list {
		var agents []string
		for _, x := range e.Agents {
			agents = append(agents, fmt.Sprintf("%.2f", x))
		}
		mean := e.Status
		if e.Status == "done" {
			mean = fmt.Sprintf("%.3f", e.Mean)
		}
		held := ""
		if e.HeldOut {
			held = "held out"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Name, e.Kind, e.Age, held, l.SplitOf(&e), mean, strings.Join(agents, " "),
			plot.Short(float64(e.EnvSteps)), l.GameWords(e.Game), e.Run)
	}
	w.Flush()
	return b.String()
}

// Text is a table for a terminal, with the game's goals.
func (out *Evaluation) Text(goals []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "member\tmean\t95 %%\tlifetime\t")
	for _, goal := range goals {
		fmt.Fprintf(w, "%s\t", goal)
	}
	fmt.Fprintln(w)
	for _, s := range out.Seats {
		fmt.Fprintf(w, "%s\t%.3f\t± %s\t%.1f\t", s.Name, s.Mean, plot.Number((s.CI[1]-s.CI[0])/2), s.Life)
		for _, goal := range goals {
			fmt.Fprintf(w, "%.0f %%\t", 100*s.Goals[goal])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "all\t%.3f\t± %s\t%.1f\t\n", out.Mean, plot.Number((out.CI[1]-out.CI[0])/2), out.Lifetime)
	if out.Lost != nil {
		fmt.Fprintf(w, "regret of %s\t%.3f\t± %s\t\n", out.Team[out.Focal], out.Regret, plot.Number(1.96*float64(out.RegretSE)))
		fmt.Fprintf(w, "without luck\t%.3f\t± %s\t\n", out.Loss, plot.Number(1.96*float64(out.LossSE)))
	}
	w.Flush()
	return b.String()
}

// Sentence is what final agents got, in a sentence.
func (out *Trained) Sentence() string {
	return fmt.Sprintf("%s has a mean return of %.3f over %s, in %s", out.Preset, out.Mean, plot.Count(len(out.Seeds), "seed"), out.Run)
}

// Text is what final agents got, for a terminal; episodes are those that each seed was scored on.
func (out *Trained) Text(episodes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %d fresh episodes of the true game for each seed, actions sampled\n\n", out.Preset, episodes)
	for _, s := range out.Seeds {
		fmt.Fprintf(&b, "  seed %-4d mean %.3f  agents", s.Seed, s.Mean)
		for _, x := range s.Agents {
			fmt.Fprintf(&b, " %.2f", x)
		}
		fmt.Fprintf(&b, "  greedy %.3f  %s env steps  %.1f s\n", s.GreedyMean, plot.Short(float64(s.EnvSteps)), s.Wall)
	}
	fmt.Fprintf(&b, "\n  all seeds  mean %.3f", out.Mean)
	if len(out.Seeds) > 1 {
		fmt.Fprintf(&b, " (95 %% %.3f to %.3f), IQM %.3f", out.CI[0], out.CI[1], out.IQM)
	}
	fmt.Fprintf(&b, "\n\nThe runs are in %s.\n", out.Run)
	if out.Report != "" {
		fmt.Fprintf(&b, "Open the report: %s\n", out.Report)
	}
	return b.String()
}

// Text says what the best response gets.
func (out *Solved) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "best response to %s: %.4f ± %s over %d starts, %.0f states and %.2f ms each\n", strings.Join(out.VS, ","),
		out.Value, plot.Number(1.96*float64(out.SE)), out.Episodes, out.States, out.MS)
	if out.Played != nil {
		fmt.Fprintf(&b, "played from the same starts: %.4f, differs by %.4f ± %s\n", *out.Played, *out.Played-out.Value,
			plot.Number(1.96*float64(*out.DiffSE)))
	}
	return b.String()
}
