package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/serve/jobs"
	"github.com/hop-marl/hop/serve/runs"
)

// firstRows is how many runs the page holds before its script fetches the others.
const firstRows = 30

// runsView is what the page of runs is made from.
type runsView struct {
	Rows    []runs.Row
	All     int
	Rev     int64
	Folders []string
	Notes   []string
}

func (s *Server) runsPage(r *http.Request, v *view) (any, error) {
	l := s.shelf.Now()
	list := l.Choose(runs.ChoiceOf(r.URL.Query()))
	d := runsView{Rows: list, All: len(list), Rev: l.Rev, Folders: s.shelf.Folders(), Notes: l.Notes}
	if r.URL.Query().Get("rows") != "all" && len(d.Rows) > firstRows {
		d.Rows = d.Rows[:firstRows]
	}
	return d, nil
}

// rowsSince is what the script gets: all rows, or those that have changed since it looked.
// The rows are JSON already, which of a thousand runs need not be read again.
func rowsSince(l *runs.Look, rev int64) (written, error) {
	rows, gone, all := l.Since(rev)
	head, err := json.Marshal(struct {
		Rev   int64    `json:"rev"`
		All   bool     `json:"all"` // these are all there are
		Gone  []string `json:"gone"`
		Notes []string `json:"notes"`
		Now   int64    `json:"now"` // milliseconds
	}{l.Rev, all, append([]string{}, gone...), append([]string{}, l.Notes...), l.At.UnixMilli()})
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(rows))
	for i, r := range rows {
		list[i] = r.JSON
	}
	return slices.Concat([]byte(`{"rows":[`), bytes.Join(list, []byte{','}), []byte("],"), head[1:]), nil
}

func (s *Server) runsAPI(r *http.Request) (any, error) { return rowsSince(s.shelf.Now(), 0) }

// runsStream sends what changes after the look that the client has seen.
func (s *Server) runsStream(r *http.Request, st *stream) error {
	rev, err := strconv.ParseInt(r.URL.Query().Get("rev"), 10, 64)
	if err != nil {
		rev = 0
	}
	first := true
	for {
		l, changed := s.shelf.Changed()
		if first || l.Rev != rev {
			rows, err := rowsSince(l, rev)
			if err == nil {
				err = st.send("runs", rows)
			}
			if err != nil {
				return err
			}
			first, rev = false, l.Rev
		}
		if !st.wait(tick, changed) {
			return nil
		}
	}
}

// mostFindings is how many findings the page holds; the script is told of all runs'.
const mostFindings = 300

// diagnoseView is what the page is made from.
type diagnoseView struct {
	Run       string // that is looked at; "": all
	Runs      []runs.Row
	Found     []found
	Rev       int64
	Allowed   bool // jobs may be started
	Pages     []runs.Written
	Page      string   // that is shown in place
	Report    string   // the run's own, if it has one
	Folder    string   // as one would type it
	Untrusted string   // the run would run a program, which is not allowed
	Lines     []string // that one would type to ask about the run
	Jobs      []job
	Watching  string // the job whose output is shown
}

// Bare is a name without the number of its folder.
func (d diagnoseView) Bare(name string) string {
	_, rest, _ := strings.Cut(name, ":")
	return rest
}

// found is a finding of a training.
type found struct {
	runs.Finding
	Run, Title string
}

func (s *Server) diagnosePage(r *http.Request, v *view) (any, error) {
	q := r.URL.Query()
	l := s.shelf.Now()
	d := diagnoseView{Run: q.Get("run"), Runs: l.Rows, Rev: l.Rev, Allowed: s.door.Allowed(r), Pages: s.shelf.Written(), Page: q.Get("page"),
		Folder: typed(s.shelf.Roots()[0]), Watching: q.Get("job")}
	if d.Allowed {
		d.Jobs = s.jobs(jobs.Audit, jobs.Ladder)
	}
	if d.Run != "" {
		row, ok := l.Row(d.Run)
		if !ok {
			return nil, refuse(http.StatusNotFound, "there is no training %.200q", d.Run)
		}
		dir, folder, err := s.ofRun(d.Run)
		if err != nil {
			return nil, err
		}
		out := s.shelf.Roots()[folder]
		if _, _, err := s.runnable(d.Run); err != nil {
			d.Untrusted = err.Error()
		}
		d.Lines = []string{jobs.Line(auditWords(dir, out)), jobs.Line([]string{"ladder", "--", typed(dir)})}
		if row.Page {
			d.Report = d.Run + "/report.html"
		}
		if d.Page == "" {
			d.Page = d.Report
		}
	}
	if d.Page != "" {
		if dir, err := s.shelf.Dir(d.Page); err != nil || filepath.Ext(dir) != ".html" {
			return nil, refuse(http.StatusNotFound, "there is no page %.200q", d.Page)
		} else if info, err := os.Stat(dir); err != nil || !info.Mode().IsRegular() {
			return nil, refuse(http.StatusNotFound, "there is no page %.200q", d.Page)
		}
	}
	for _, row := range l.Rows {
		if d.Run != "" && row.Name != d.Run {
			continue
		}
		for _, f := range row.Findings {
			if len(d.Found) < mostFindings {
				d.Found = append(d.Found, found{f, row.Name, row.Title})
			}
		}
	}
	return d, nil
}

// pagesAPI lists what audits and ladders wrote.
func (s *Server) pagesAPI(*http.Request) (any, error) { return s.shelf.Written(), nil }
