package serve

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/serve/runs"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec"
)

// mostMetrics is how many bytes of metrics a comparison reads at most: all rows of all its
// runs are in memory for a moment.
const mostMetrics = 256 << 20

// compareView is what the page of comparisons is made from.
type compareView struct {
	Runs   []string
	Choice []runs.Row
	Notes  []string
	Why    string // there is no comparison
	*compared
	Query template.URL // of the same runs' curves
}

// compared is a comparison, ready to be shown.
type compared struct {
	C         *report.Comparison
	Threshold float64
	Final     template.HTML
	Curves    template.HTML
	Profile   template.HTML
	Wins      template.HTML
	IQM       template.HTML
	Pairs     template.HTML
	Titles    []string // of the figures curves and profile
	WinsSay   string
	Specs     specDiff
}

// specDiff is the fields in which specs differ, a column for each training.
type specDiff struct {
	Names []string
	Rows  []specRow
	Why   string // a spec cannot be read
}

type specRow struct {
	Path   string
	Values []string
	Same   []bool // as the first
}

func (s *Server) comparePage(r *http.Request, v *view) (any, error) {
	q := r.URL.Query()
	d := &compareView{Runs: q["run"]}
	look := s.shelf.Now()
	d.Choice = look.Rows[:min(len(look.Rows), 300)]
	if len(d.Runs) > maxRuns {
		return nil, refuse(http.StatusBadRequest, "at most %d runs are compared at once", maxRuns)
	}
	threshold := math.NaN()
	if text := q.Get("threshold"); text != "" {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, refuse(http.StatusBadRequest, "threshold=%.40q: want a return", text)
		}
		threshold = x
	}
	if len(d.Runs) == 0 {
		d.Why = v.T("compare.none")
		return d, nil
	}
	var links []string
	for _, name := range d.Runs {
		links = append(links, "run="+template.URLQueryEscaper(name))
	}
	d.Query = template.URL(strings.Join(links, "&"))
	list, key, err := s.scored(d, look, v)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		d.Why = v.T("compare.scored")
		return d, nil
	}
	d.compared, err = s.compare(r.Context(), key, list, threshold)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		d.Why = strings.TrimPrefix(s.shelf.Plain(err.Error()), "report: ")
	}
	return d, nil
}

// scored returns the variants of the chosen runs, of each the seeds that are scored, notes
// which ones are not, and a key by which the same comparison is known.
func (s *Server) scored(d *compareView, look *runs.Look, v *view) (list []report.Variant, key string, err error) {
	bytes := int64(0)
	for _, name := range d.Runs {
		seeds, dirs, err := s.shelf.Seeds(name)
		if err != nil {
			return nil, "", named(err)
		}
		_, title, _ := strings.Cut(name, ":")
		if slices.ContainsFunc(list, func(x report.Variant) bool { return x.Name == title }) {
			title = name
		}
		x := report.Variant{Name: title}
		moving := false
		for i, seed := range seeds {
			known, ok := look.Seed(seed)
			switch {
			case ok && known.State == runs.Damaged:
				d.Notes = append(d.Notes, title+": "+known.Why)
			case ok && known.Mean != nil:
				x.Dirs = append(x.Dirs, dirs[i])
				key += fmt.Sprintln(seed, known.Last.UnixNano(), known.Step, *known.Mean, known.State)
				if at, err := os.Stat(filepath.Join(dirs[i], "metrics.csv")); err == nil {
					bytes += at.Size()
				}
			case ok && known.State == runs.Running:
				moving = true
			}
		}
		if len(x.Dirs) < len(seeds) {
			why := v.T("compare.ended")
			if moving {
				why = v.T("compare.moving")
			}
			d.Notes = append(d.Notes, v.T("compare.left", title, len(x.Dirs), len(seeds), why))
		}
		if len(x.Dirs) > 0 {
			list = append(list, x)
		}
	}
	if bytes > mostMetrics {
		return nil, "", refuse(http.StatusRequestEntityTooLarge,
			"these runs have %s of metrics, more than a comparison in the browser reads (%s); "+
				"hop compare has no such limit", plot.Bytes(uint64(bytes)), plot.Bytes(mostMetrics))
	}
	return list, key, nil
}

// compare makes a comparison, or returns the one that was made of the same.
func (s *Server) compare(ctx context.Context, key string, list []report.Variant, threshold float64) (*compared, error) {
	select {
	case s.comparing <- struct{}{}:
		defer func() { <-s.comparing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	at := fmt.Sprintf("compare at %v %s", threshold, key)
	if known, ok := s.cache.Get(at); ok {
		return known.(*compared), nil
	}
	c, err := s.read(key, list)
	if err != nil {
		return nil, err
	}
	c = c.At(threshold)
	out := &compared{C: c, Threshold: c.Threshold, Specs: s.specDiff(list)}
	for i, note := range c.Notes {
		c.Notes[i] = s.shelf.Plain(note)
	}
	figures := c.Drawings()
	for i, dst := range []*template.HTML{&out.Final, &out.Curves, &out.Profile, nil, &out.IQM, &out.Pairs} {
		if dst == nil {
			continue
		}
		if *dst, err = figures[i].Strict(); err != nil {
			return nil, err
		}
	}
	if out.Wins, err = figures[3].Panels[0].Table.Strict(); err != nil {
		return nil, err
	}
	out.Titles, out.WinsSay = []string{figures[1].Title, figures[2].Title}, figures[3].Caption
	drawn := len(out.Final) + len(out.Curves) + len(out.Profile) + len(out.Wins) + len(out.IQM) + len(out.Pairs)
	s.cache.Put(at, out, c.Bytes()+drawn+64*len(out.Specs.Rows)*len(list))
	return out, nil
}

// read reads the runs of a comparison, once for all thresholds.
func (s *Server) read(key string, list []report.Variant) (*report.Comparison, error) {
	key = "compare " + key
	if known, ok := s.cache.Get(key); ok {
		return known.(*report.Comparison), nil
	}
	defer debug.FreeOSMemory() // a run's rows may have taken many times what is kept of them
	c, err := report.Compare(s.c.Lab.Reg, list, math.NaN())
	if err != nil {
		return nil, err
	}
	s.cache.Put(key, c, c.Bytes())
	return c, nil
}

// specDiff holds the specs of trainings against the first one's.
func (s *Server) specDiff(list []report.Variant) (d specDiff) {
	var specs []*spec.Spec
	for _, x := range list {
		d.Names = append(d.Names, x.Name)
		text, err := runlog.ReadSpec(x.Dirs[0])
		if err == nil {
			var sp spec.Spec
			if sp, err = s.c.Lab.Reg.Parse(text, "spec.yaml", x.Name, nil); err == nil {
				specs = append(specs, &sp)
			}
		}
		if err != nil {
			d.Why = s.shelf.Plain(err.Error())
			return d
		}
	}
	at := map[string]int{}
	for i, sp := range specs[1:] {
		for _, c := range specs[0].Diff(sp) {
			k, ok := at[c.Path]
			if !ok {
				k, at[c.Path] = len(d.Rows), len(d.Rows)
				row := specRow{Path: c.Path}
				for range specs {
					row.Values, row.Same = append(row.Values, c.A), append(row.Same, true)
				}
				d.Rows = append(d.Rows, row)
			}
			d.Rows[k].Values[i+1], d.Rows[k].Same[i+1] = c.B, false
		}
	}
	return d
}
