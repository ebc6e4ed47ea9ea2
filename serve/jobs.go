package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/serve/auth"
	"github.com/hop-marl/hop/serve/jobs"
	"github.com/hop-marl/hop/serve/runs"
	"github.com/hop-marl/hop/store/runlog"
)

// job is a job for a page: folders by their names, and no path of this machine but in the
// command, which one may want to type.
type job struct {
	jobs.Job
	Title string `json:"title"` // of the run
}

func (s *Server) job(j jobs.Job) job {
	out := job{Job: j}
	out.Run, _ = s.shelf.Name(j.Run)
	out.Page, _ = s.shelf.Name(j.Page)
	_, out.Title, _ = strings.Cut(out.Run, ":")
	out.Why, out.Says = s.asTyped(j.Why), s.asTyped(j.Says)
	return out
}

// asTyped writes the served folders in a program's words as one would type them.
func (s *Server) asTyped(text string) string {
	for _, root := range s.shelf.Roots() {
		text = strings.ReplaceAll(text, root, typed(root))
	}
	return text
}

// jobs returns the jobs of some kinds, of all if none is named.
func (s *Server) jobs(kinds ...string) []job {
	list := []job{}
	for _, j := range s.control.Jobs() {
		if len(kinds) == 0 || slices.Contains(kinds, j.Kind) {
			list = append(list, s.job(j))
		}
	}
	return list
}

// typed is a folder as one would type it: from where the server was started, if it lies
// below that. One that begins like a flag is not taken for one.
func typed(dir string) string {
	if here, err := os.Getwd(); err == nil {
		if rest, err := filepath.Rel(here, dir); err == nil && filepath.IsLocal(rest) {
			if strings.HasPrefix(rest, "-") {
				return "." + string(filepath.Separator) + rest
			}
			return rest
		}
	}
	return dir
}

// The words of the commands that are started on a run. A path is the value of a flag, with
// the flag in one word, or comes after "--": a folder may be called anything.
func resumeWords(run string) []string { return []string{"train", "--resume=" + typed(run), "--json"} }

func auditWords(run, out string) []string {
	return []string{"audit", "--out=" + typed(out), "--json", "--", typed(run)}
}

func ladderWords(run, ppo, out string) []string {
	words := []string{"ladder", "--out=" + typed(out), "--json"}
	if ppo != "" {
		words = append(words, "--ppo="+typed(ppo))
	}
	return append(words, "--", typed(run))
}

// folder is one of the served folders.
func (s *Server) folder(n int) (string, error) {
	if roots := s.shelf.Roots(); n >= 0 && n < len(roots) {
		return roots[n], nil
	}
	return "", refuse(http.StatusBadRequest, "there is no folder %d", n)
}

// note writes down who asks for something that changes, before it is done.
func (s *Server) note(r *http.Request, folder int, did, what string) error {
	err := s.control.Note(folder, jobs.Entry{Role: string(s.door.Role(r)), From: r.RemoteAddr, Did: did, What: what})
	if err != nil {
		return refusal{http.StatusConflict, errors.New(s.asTyped(err.Error()))}
	}
	return nil
}

// start begins a job.
func (s *Server) start(r *http.Request, folder int, kind, run string, words []string) (any, error) {
	if err := s.note(r, folder, "start", jobs.Line(words)); err != nil {
		return nil, err
	}
	j, err := s.control.Start(folder, kind, run, words)
	if err != nil {
		return nil, refusal{http.StatusConflict, err}
	}
	s.c.Log("serve: started process %d: %s", j.PID, j.Command)
	return s.job(j), nil
}

// startTraining starts what the form says.
func (s *Server) startTraining(r *http.Request, in jobs.Asked) (any, error) {
	dir, err := s.folder(in.Folder)
	if err != nil {
		return nil, err
	}
	f, err := jobs.NewForm(s.c.Lab.Reg, in, typed(dir))
	if err != nil {
		return nil, refusal{http.StatusBadRequest, err}
	}
	if !f.OK() {
		faults := f.Faults
		for _, x := range f.Fields {
			if x.Fault != "" {
				faults = append(faults, x.Fault)
			}
		}
		return nil, refuse(http.StatusBadRequest, "%s", strings.Join(faults, "; "))
	}
	return s.start(r, in.Folder, jobs.Train, "", append(f.Words, "--json"))
}

// runnable is ofRun, of what a process may be started on.
func (s *Server) runnable(name string) (dir string, folder int, err error) {
	if dir, folder, err = s.ofRun(name); err == nil {
		seeds, _ := runlog.Seeds(dir)
		for _, seed := range seeds {
			if err := s.allowed(seed); err != nil {
				return "", 0, err
			}
		}
	}
	return dir, folder, err
}

// ofRun reads the run that a request names, and the number of its folder.
func (s *Server) ofRun(name string) (dir string, folder int, err error) {
	if dir, err = s.shelf.Dir(name); err != nil {
		return "", 0, named(err)
	}
	number, _, _ := strings.Cut(name, ":")
	folder, err = strconv.Atoi(number)
	return dir, folder, err
}

func (s *Server) resumeRun(r *http.Request, in struct{ Run string }) (any, error) {
	dir, folder, err := s.runnable(in.Run)
	if err != nil {
		return nil, err
	}
	_, seeds, err := s.shelf.Seeds(in.Run)
	if err != nil {
		return nil, named(err)
	}
	for _, seed := range seeds { // the look at all runs may be a second old
		if h, err := disk.Held(seed); err == nil && h.Held {
			return nil, refuse(http.StatusConflict, "it is running: process %d holds it", h.PID)
		}
	}
	return s.start(r, folder, jobs.Resume, dir, resumeWords(dir))
}

// auditRun audits a run, or climbs its ladder.
func (s *Server) auditRun(r *http.Request, in struct{ Run string }) (any, error) {
	dir, folder, err := s.runnable(in.Run)
	if err != nil {
		return nil, err
	}
	return s.start(r, folder, jobs.Audit, dir, auditWords(dir, s.shelf.Roots()[folder]))
}

func (s *Server) ladderRun(r *http.Request, in struct{ Run, PPO string }) (any, error) {
	dir, folder, err := s.runnable(in.Run)
	if err != nil {
		return nil, err
	}
	ppo := ""
	if in.PPO != "" {
		if ppo, _, err = s.runnable(in.PPO); err != nil {
			return nil, err
		}
	}
	if err := s.c.Lab.Climbable(lab.LadderConfig{What: dir, PPO: cmp.Or(ppo, lab.DefaultLadder().PPO)}); err != nil {
		return nil, refusal{http.StatusBadRequest, errors.New(s.asTyped(err.Error()))}
	}
	out, err := lab.NewFolder(s.shelf.Roots()[folder], "ladder")
	if err != nil {
		return nil, err
	}
	j, err := s.start(r, folder, jobs.Ladder, dir, ladderWords(dir, ppo, out))
	if err != nil {
		return nil, errors.Join(err, os.Remove(out))
	}
	return j, nil
}

func (s *Server) stopJob(r *http.Request, in struct{ Job string }) (any, error) {
	j, err := s.control.Job(in.Job)
	if err == nil {
		number, _, _ := strings.Cut(in.Job, ":")
		folder, _ := strconv.Atoi(number) // Job has read it
		if err := s.note(r, folder, "stop", fmt.Sprintf("%s: %s", in.Job, j.Command)); err != nil {
			return nil, err
		}
		j, err = s.control.Stop(in.Job)
	}
	if errors.Is(err, jobs.ErrNone) {
		return nil, refusal{http.StatusNotFound, err}
	}
	if err != nil {
		return nil, refusal{http.StatusConflict, err}
	}
	s.c.Log("serve: asked process %d to stop: %s", j.PID, j.Command)
	return s.job(j), nil
}

func (s *Server) jobsAPI(r *http.Request) (any, error) { return s.jobs(r.URL.Query()["kind"]...), nil }

// jobsStream sends the jobs when they change, and what one of them says from a byte on.
func (s *Server) jobsStream(r *http.Request, st *stream) error {
	q := r.URL.Query()
	id := q.Get("job")
	at, err := strconv.ParseInt(cmp.Or(q.Get("at"), "0"), 10, 64)
	if err != nil || at < 0 {
		return refuse(http.StatusBadRequest, "at is %.40q, want how many bytes of output were seen", q.Get("at"))
	}
	var before []job
	for {
		list := s.jobs(q["kind"]...)
		same := func(a, b job) bool { return a.ID == b.ID && a.State == b.State && a.Run == b.Run && a.Asked == b.Asked }
		if before == nil || !slices.EqualFunc(list, before, same) {
			if err := st.send("jobs", list); err != nil {
				return err
			}
			before = list
		}
		for _, j := range list {
			if j.ID != id || j.Bytes <= at {
				continue
			}
			text, next, err := s.control.Output(id, at, j.State != jobs.Running)
			if err == nil && text != "" {
				err = st.send("output", map[string]any{"job": id, "text": s.asTyped(text), "next": next})
			}
			if err != nil {
				return err
			}
			at = next
		}
		if !st.wait(tick/2, nil) {
			return nil
		}
	}
}

// file answers with a page out of a served folder, as something to look at: nothing in it
// can run, send or load anything.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	dir, err := s.shelf.Dir(r.URL.Query().Get("file"))
	var b []byte
	if err == nil && path.Ext(dir) != ".html" {
		err = runs.ErrName
	}
	if err == nil {
		b, err = disk.Read(dir, 64<<20)
	}
	if err != nil {
		s.page(func(*http.Request, *view) (any, error) {
			return nil, refuse(http.StatusNotFound, "there is no such page: %w", err)
		})(w, r)
		return
	}
	auth.Sandbox(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(w, r, http.StatusOK, b)
}

// startView is what the page is made from.
type startView struct {
	*jobs.Form
	Groups  []jobs.Presets
	Blocks  []jobs.Block
	Seeds   string
	Sets    []string
	Folder  int
	Folders []string
	Allowed bool // trainings may be started
	Jobs    []job
	CanGoOn []runs.Row // trainings that were stopped, killed or failed
	Log     []jobs.Entry
}

func (s *Server) startPage(r *http.Request, v *view) (any, error) {
	q := r.URL.Query()
	d := startView{Seeds: q.Get("seeds"), Sets: q["set"], Folders: s.shelf.Folders(), Allowed: s.door.Allowed(r)}
	if d.Seeds == "" {
		d.Seeds = "1"
	}
	reg := s.c.Lab.Reg
	names := reg.PresetNames()
	preset := q.Get("preset")
	if preset == "" {
		preset = names[0]
		for _, n := range names {
			if n == "ppo-4x4" {
				preset = n
			}
		}
	}
	d.Folder, _ = strconv.Atoi(q.Get("folder"))
	dir, err := s.folder(d.Folder)
	if err != nil {
		return nil, err
	}
	if d.Form, err = jobs.NewForm(reg, jobs.Asked{Preset: preset, Sets: d.Sets, Seeds: d.Seeds}, typed(dir)); err != nil {
		return nil, refusal{http.StatusBadRequest, err}
	}
	d.Groups, d.Blocks = jobs.Groups(reg), d.Form.Blocks()
	if d.Allowed {
		d.Jobs = s.jobs(jobs.Train, jobs.Resume)
		d.Log = s.control.Log(50)
	}
	for _, row := range s.shelf.Now().Rows {
		if len(d.CanGoOn) < 50 && (row.State == runs.Stopped || row.State == runs.Killed || row.State == runs.Failed) {
			d.CanGoOn = append(d.CanGoOn, row)
		}
	}
	return d, nil
}
