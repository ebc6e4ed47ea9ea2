package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/serve/runs"
	"github.com/hop-marl/hop/store/runlog"
)

// What may be changed of runs from a page, by who may act: what people write about them, and
// where they lie. What is in a run is never touched. It is written into the log before it is done.

// labelRun keeps the tags and the note of a training.
func (s *Server) labelRun(r *http.Request, in struct {
	Run  string
	Tags []string
	Note string
}) (any, error) {
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

// archiveRuns puts trainings out of the list, or back.
func (s *Server) archiveRuns(r *http.Request, in struct {
	Runs     []string
	Archived bool
}) (any, error) {
	if err := s.several(r, in.Runs, "archive"); err != nil {
		return nil, err
	}
	return struct{}{}, named(s.shelf.Archive(in.Runs, in.Archived))
}

// renameRun gives a training another name, in the folder that it lies in.
func (s *Server) renameRun(r *http.Request, in struct{ Run, To string }) (any, error) {
	dir, folder, err := s.movable(in.Run)
	if err != nil {
		return nil, err
	}
	to := strings.TrimSpace(in.To)
	_, seed := runlog.SeedOf(to)
	if to == "" || seed || strings.HasPrefix(to, ".") || strings.ContainsAny(to, `/\:`) || !filepath.IsLocal(to) ||
		!utf8.ValidString(to) || utf8.RuneCountInString(to) > 100 || strings.ContainsFunc(to, unicode.IsControl) {
		return nil, refuse(http.StatusBadRequest, "%.120q is no name for a run: want one without slashes and colons that begins with no dot", to)
	}
	if err := s.note(r, folder, "rename", fmt.Sprintf("%s: %s", in.Run, to)); err != nil {
		return nil, err
	}
	if err := lab.Move(dir, filepath.Join(filepath.Dir(dir), to)); err != nil {
		return nil, s.unmoved(err)
	}
	number, title, _ := strings.Cut(in.Run, ":")
	title = path.Join(path.Dir(title), to)
	if err := s.shelf.Moved(in.Run, title); err != nil {
		return nil, fmt.Errorf("it is called %s now, but what was written about it is kept under its old name: %w", to, named(err))
	}
	return map[string]string{"run": number + ":" + title}, nil
}

// deleteRuns moves trainings into the trash beside them, and says where each lies.
func (s *Server) deleteRuns(r *http.Request, in struct{ Runs []string }) (any, error) {
	if err := s.several(r, in.Runs, "delete"); err != nil {
		return nil, err
	}
	var dirs []string
	for _, name := range in.Runs {
		dir, _, err := s.movable(name)
		if err == nil {
			err = s.unmoved(lab.Movable(dir))
		}
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	var lie []string
	for i, dir := range dirs {
		to, err := lab.Discard(dir)
		if err == nil {
			lie = append(lie, typed(to))
			err = s.shelf.Moved(in.Runs[i], "")
		}
		if err != nil {
			return nil, s.unmoved(err)
		}
	}
	return map[string][]string{"trash": lie}, nil
}

// several writes down that several trainings are to be changed.
func (s *Server) several(r *http.Request, names []string, did string) error {
	if len(names) == 0 {
		return refuse(http.StatusBadRequest, "no run is named")
	}
	var folders []int
	for _, name := range names {
		_, folder, err := s.ofRun(name)
		if err != nil {
			return err
		}
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	what := strings.Join(names, ", ")
	for _, folder := range folders {
		if err := s.note(r, folder, did, fmt.Sprintf("%d runs: %.2000s", len(names), what)); err != nil {
			return err
		}
	}
	return nil
}

// movable finds a training that may be moved: one of the list, that no sweep counts on.
func (s *Server) movable(name string) (dir string, folder int, err error) {
	if dir, folder, err = s.ofRun(name); err != nil {
		return "", 0, err
	}
	look := s.shelf.Now()
	if _, ok := look.Row(name); !ok || dir == s.shelf.Roots()[folder] {
		return "", 0, refuse(http.StatusNotFound, "%.200q is no training of the list", name)
	}
	for _, sweep := range look.Sweeps {
		if strings.HasPrefix(dir, sweep.Dir+string(filepath.Separator)) {
			return "", 0, refuse(http.StatusConflict, "%s belongs to the sweep %s, which looks for it there", name, sweep.Title)
		}
	}
	return dir, folder, nil
}

// unmoved says why a run was not moved, without where it lies on this machine.
func (s *Server) unmoved(err error) error {
	if err == nil {
		return nil
	}
	code := http.StatusInternalServerError
	if errors.As(err, &lab.Misuse{}) {
		code = http.StatusConflict
	}
	return refusal{code, errors.New(s.asTyped(err.Error()))}
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
