package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/serve/runs"
)

// mostJobs is how many jobs the page of a sweep holds.
const mostJobs = 200

// phases are those of jobs, in the order in which they are shown.
var phases = []queue.Phase{queue.Failed, queue.Running, queue.Queued, sweep.Waiting, queue.Cancelled, queue.Done}

// standing is how a sweep stands.
type standing struct {
	runs.Sweep
	Base   string
	State  string // running, done, failed: done, with jobs that were given up, stopped, cancelled, damaged, waiting
	Why    string
	Counts []count
	Jobs   int
	Ended  int
	Share  float64 // of its work that is done
	Left   float64 // seconds; 0: not known
	More   bool    // jobs come of which nothing is known yet
	CPU    float64
	Wall   float64
	At     time.Time
	Report string // the page that it ended in, in its folder; empty: there is none yet
	Score  bool   // its jobs are meetings, and no runs come of it
}

// count is how many jobs are in a phase.
type count struct {
	Phase queue.Phase
	N     int
}

// sweepRead is what was read of a sweep while its index is the same file.
type sweepRead struct {
	size  int64
	at    time.Time
	stand standing
	index *sweep.Index
}

// readSweep returns how a sweep stands, with its jobs if they are wanted. One that cannot be read says why.
func (s *Server) readSweep(at runs.Sweep, jobs bool) (standing, *sweep.Index) {
	s.sweeping.Lock() // two visitors need not read it twice
	defer s.sweeping.Unlock()
	key := "sweep " + at.Dir
	known, _ := s.cache.Get(key)
	k, _ := known.(*sweepRead)
	if info, err := os.Stat(filepath.Join(at.Dir, sweep.IndexFile)); err != nil {
		k = &sweepRead{stand: standing{Sweep: at, State: "waiting"}}
	} else if k == nil || k.size != info.Size() || !k.at.Equal(info.ModTime()) || jobs && k.index == nil {
		k = &sweepRead{size: info.Size(), at: info.ModTime()}
		bytes := 1024
		if k.stand, k.index = s.stand(at); jobs {
			bytes += 2 * int(info.Size())
		} else {
			k.index = nil // most only want to know how it stands
		}
		s.cache.Put(key, k, bytes)
	}
	index, st := k.index, k.stand
	held, err := disk.Held(at.Dir)
	switch {
	case st.State == "damaged":
	case err == nil && held.Held:
		st.State = "running"
	case st.State == "running":
		st.State = "stopped"
	}
	if st.State != "running" {
		st.Left = 0
	}
	page := "report.html"
	if st.Score {
		page = "adapt.html"
	}
	if info, err := os.Lstat(filepath.Join(at.Dir, page)); err == nil && info.Mode().IsRegular() {
		st.Report = page
	}
	return st, index
}

// stand reads a sweep's index.
func (s *Server) stand(at runs.Sweep) (standing, *sweep.Index) {
	st := standing{Sweep: at, State: "running"}
	x, err := sweep.ReadIndex(at.Dir)
	if err != nil {
		st.State, st.Why = "damaged", s.shelf.Plain(err.Error())
		return st, nil
	}
	st.Score = x.Score
	st.Base, st.Jobs, st.CPU, st.Wall, st.At, st.Why = x.Base, len(x.Jobs), x.CPU, x.Wall, x.At, x.Spent
	if x.Loose() {
		st.Why = strings.TrimPrefix(st.Why+"; its files have no seals: nothing vouches for them", "; ")
	}
	n := map[queue.Phase]int{}
	took := sums{}
	for i := range x.Jobs {
		e := &x.Jobs[i]
		n[e.Phase]++
		switch {
		case e.Phase == queue.Done && e.Cost.Wall > 0:
			took.add(e.Kind, e.Cost.Wall)
			st.Share++
		case e.Phase.Ended():
			st.Share++
		case e.Phase == queue.Running:
			e.Share = min(max(e.Share, 0), 1)
			st.Share += e.Share
		}
	}
	for _, p := range phases {
		if n[p] > 0 {
			st.Counts = append(st.Counts, count{p, n[p]})
		}
	}
	st.Ended = n[queue.Done] + n[queue.Failed] + n[queue.Cancelled]
	st.Share /= float64(max(1, st.Jobs))
	st.Left, st.More = took.left(x.Jobs, n[queue.Running])
	st.More = st.More || x.Halving
	switch {
	case !x.Ended:
	case n[queue.Cancelled] > 0:
		st.State = "cancelled"
	case n[queue.Failed] > 0:
		st.State = "failed"
	default:
		st.State = "done"
	}
	return st, x
}

// sums are what jobs that are done took, by kind.
type sums map[sweep.Kind]struct{ n, s float64 }

func (t sums) add(k sweep.Kind, s float64) {
	x := t[k]
	x.n, x.s = x.n+1, x.s+s
	t[k] = x
}

// left is how many seconds the jobs that have not ended take, as many at once as there are now, if each takes as long as
// those of its kind did; more: of some kinds nothing is known yet.
func (t sums) left(jobs []sweep.Entry, now int) (left float64, more bool) {
	longest := 0.0
	for _, e := range jobs {
		if e.Phase.Ended() {
			continue
		}
		of := t[e.Kind]
		if of.n == 0 {
			more = true
			continue
		}
		one := of.s / of.n * (1 - e.Share)
		left, longest = left+one, max(longest, one)
	}
	if now == 0 {
		return 0, more
	}
	return max(left/float64(now), longest), more
}

// sweepsView is what the page of sweeps is made from: of all, or of one.
type sweepsView struct {
	Sweeps  []standing
	Folders []string
	One     *standing
	Q       string
	Phase   queue.Phase
	Jobs    []sweepJob
	All     int // jobs that match
	Given   []sweepJob
	Workers []sweepWorker
	Turned  string
}

// sweepJob is a job in the page.
type sweepJob struct {
	sweep.Entry
	Run string // the run that it made
}

// sweepWorker is a worker, by the jobs that it has or had last.
type sweepWorker struct {
	Name string
	Now  []sweepJob
	Done int
	CPU  float64
	Why  string // it takes no jobs
}

// With returns the address of the page with another phase.
func (v sweepsView) With(phase queue.Phase) string {
	q := url.Values{"sweep": {v.One.Name}}
	if phase != "" {
		q.Set("phase", string(phase))
	}
	if v.Q != "" {
		q.Set("q", v.Q)
	}
	return "/sweeps?" + q.Encode()
}

func (s *Server) sweepsPage(r *http.Request, _ *view) (any, error) { return s.gatherSweeps(r) }

func (s *Server) gatherSweeps(r *http.Request) (*sweepsView, error) {
	q := r.URL.Query()
	list := s.shelf.Now().Sweeps
	name := q.Get("sweep")
	v := &sweepsView{Folders: s.shelf.Folders(), Q: strings.TrimSpace(q.Get("q")), Phase: queue.Phase(q.Get("phase"))}
	if name == "" {
		for _, at := range list {
			st, _ := s.readSweep(at, false)
			v.Sweeps = append(v.Sweeps, st)
		}
		slices.SortStableFunc(v.Sweeps, func(a, b standing) int {
			return cmp.Or(cmp.Compare(b.At.Unix(), a.At.Unix()), cmp.Compare(a.Title, b.Title))
		})
		return v, nil
	}
	i := slices.IndexFunc(list, func(at runs.Sweep) bool { return at.Name == name })
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "there is no sweep %.200q", name)
	}
	st, x := s.readSweep(list[i], true)
	v.One = &st
	if x != nil {
		s.fill(v, x)
	}
	return v, nil
}

// fill puts a sweep's jobs and workers into the view.
func (s *Server) fill(v *sweepsView, x *sweep.Index) {
	folder, below, _ := strings.Cut(v.One.Name, ":")
	workers := map[string]*sweepWorker{}
	worker := func(name string) *sweepWorker {
		if workers[name] == nil {
			workers[name] = &sweepWorker{Name: name}
		}
		return workers[name]
	}
	words := strings.Fields(strings.ToLower(v.Q))
	for _, p := range phases {
		for _, e := range x.Jobs {
			if e.Phase != p {
				continue
			}
			j := sweepJob{Entry: e}
			if e.Phase == queue.Done && e.Kind == sweep.Training {
				j.Run = folder + ":" + path.Join(below, e.Place)
			}
			j.Why, j.Log, j.Line = s.shelf.Plain(j.Why), s.shelf.Plain(j.Log), s.shelf.Plain(j.Line)
			if e.Phase == queue.Failed && len(v.Given) < mostJobs {
				v.Given = append(v.Given, j)
			}
			if e.Worker != "" && (e.Phase == queue.Running || e.Phase == queue.Done) {
				w := worker(e.Worker)
				if e.Phase == queue.Running {
					w.Now = append(w.Now, j)
				} else {
					w.Done++
					w.CPU += e.Cost.CPU
				}
			}
			text := strings.ToLower(e.Name + " " + e.Worker + " " + string(e.Kind))
			if v.Phase != "" && v.Phase != p || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
				continue
			}
			if v.All++; len(v.Jobs) < mostJobs {
				v.Jobs = append(v.Jobs, j)
			}
		}
	}
	for name, why := range x.Refused {
		worker(name).Why = why
	}
	for _, w := range workers {
		v.Workers = append(v.Workers, *w)
	}
	slices.SortFunc(v.Workers, func(a, b sweepWorker) int {
		return cmp.Or(cmp.Compare(min(len(b.Now), 1), min(len(a.Now), 1)), cmp.Compare(a.Name, b.Name))
	})
	var turned []string
	for why, n := range x.Turned {
		turned = append(turned, fmt.Sprintf("%d (%s)", n, why))
	}
	slices.Sort(turned)
	v.Turned = strings.Join(turned, ", ")
}

// sweepParts are the parts of the page that change, by the name of their template: the script puts those in place that have.
var sweepParts = []string{"list", "head", "given", "workers", "jobs"}

// sweepsStream sends the parts of the page that have changed, as they are in the page itself.
func (s *Server) sweepsStream(r *http.Request, st *stream) error {
	was := map[string]string{}
	for {
		d, err := s.gatherSweeps(r)
		if err != nil {
			return err
		}
		v := view{Name: "sweeps", Lang: language(nil, r), here: r.URL, Data: d}
		changed := map[string]string{}
		for _, name := range sweepParts {
			var b bytes.Buffer
			if err := s.pages["sweeps"].ExecuteTemplate(&b, "sweep-"+name, v); err != nil {
				return err
			}
			if text := b.String(); text != was[name] {
				was[name], changed[name] = text, text
			}
		}
		if len(changed) > 0 {
			if err := st.send("sweeps", changed); err != nil {
				return err
			}
		}
		if !st.wait(tick, nil) {
			return nil
		}
	}
}
