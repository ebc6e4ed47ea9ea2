// Package report turns run folders into a page that a stranger understands.
//
// Write reads what the runs of one experiment left behind (spec.yaml,
// metrics.csv, env.json, result.json) and writes three things into the folder
// that holds them: report.html, one file that opens offline and can be mailed;
// report.md, the same numbers as text; and report/, the figures as PNG and the
// episodes as GIF, for talks.
//
// A run that is still running, was killed, or lost a file is shown as far as it
// got, and said to be so; it never spoils the others. The same files give the
// same bytes: no clock, no fonts or scripts from elsewhere.
package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hop/exp"
	"hop/stats"
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
	Sample   int      // how many episodes those were chosen from
	Notes    []string // more to say at the top
}

// Interval is a mean with its 95 % interval.
type Interval struct {
	Mean   float64
	CI     stats.Interval
	IQM    float64
	Greedy float64
	N      int // seeds
}

// Write reads the runs in a folder, which holds seed-1, seed-2, ... or is a run
// itself, and writes report.html, report.md and report/ into it.
func Write(reg *exp.Registry, group string, o Options) error {
	g, err := read(reg, group)
	if err != nil {
		return err
	}
	return g.write(group, o)
}

func (g *group) write(dir string, o Options) error {
	figs, page, text, err := g.render(o)
	if err != nil {
		return err
	}
	media := filepath.Join(dir, "report")
	if err := os.MkdirAll(media, 0o755); err != nil {
		return fmt.Errorf("report: making %s: %w", media, err)
	}
	for _, f := range figs {
		png, err := f.png()
		if err != nil {
			return fmt.Errorf("report: drawing %s: %w", f.Name, err)
		}
		if err := put(filepath.Join(media, f.Name+".png"), png); err != nil {
			return err
		}
	}
	for _, e := range o.Episodes {
		if err := put(filepath.Join(media, e.Name+".gif"), e.GIF); err != nil {
			return err
		}
	}
	return errors.Join(put(filepath.Join(dir, "report.html"), page), put(filepath.Join(dir, "report.md"), text))
}

// render makes everything but the pictures beside the page.
func (g *group) render(o Options) (figs []*figure, page, text []byte, err error) {
	g.Notes = append(g.Notes, o.Notes...)
	figs = g.figures()
	if page, err = g.html(figs, o); err != nil {
		return nil, nil, nil, fmt.Errorf("report: writing the page: %w", err)
	}
	if text, err = g.markdown(figs, o); err != nil {
		return nil, nil, nil, fmt.Errorf("report: writing the text: %w", err)
	}
	return figs, page, text, nil
}

// put replaces a file whole, since someone may be looking at it.
func put(path string, b []byte) error {
	tmp := path + ".tmp"
	err := os.WriteFile(tmp, b, 0o644)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("report: writing %s: %w; make room there, or copy the folder elsewhere and run hop report on it", path, err)
	}
	return nil
}
