package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

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
	d := runsView{Rows: l.Rows, All: len(l.Rows), Rev: l.Rev, Folders: s.shelf.Folders(), Notes: l.Notes}
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

// labelRun keeps the tags and the note of a training.
func (s *Server) labelRun(r *http.Request) (any, error) {
	var in struct {
		Run  string
		Tags []string
		Note string
	}
	if err := body(r, 1<<16, &in); err != nil {
		return nil, err
	}
	if _, folder, err := s.ofRun(in.Run); err != nil {
		return nil, err
	} else if err := s.note(r, folder, "label", fmt.Sprintf("%s: tags %q, note %q", in.Run, in.Tags, in.Note)); err != nil {
		return nil, err
	}
	if err := s.shelf.Label(in.Run, in.Tags, in.Note); err != nil {
		return nil, named(err)
	}
	row, _ := s.shelf.Now().Row(in.Run)
	return json.RawMessage(row.JSON), nil
}

// named makes an error about a name, or what people wrote, a refusal.
func named(err error) error {
	switch {
	case errors.Is(err, runs.ErrName):
		return refusal{http.StatusNotFound, err}
	case errors.Is(err, runs.ErrForeign):
		return refusal{http.StatusConflict, err}
	case errors.Is(err, runs.ErrLabel):
		return refusal{http.StatusBadRequest, err}
	}
	return err
}
