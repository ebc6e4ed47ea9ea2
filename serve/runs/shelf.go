// Package runs finds every run below some folders and says how each one stands: state,
// progress, time left, result, findings, and the tags and notes that people gave it.
//
// It only reads. Other processes may write, stop, resume, damage or delete a run at any
// moment; each is read by itself, and one that cannot be read says why and takes nothing
// else down. A look at a thousand known runs is a few calls of stat for each: a run is
// read again when its files have changed, and of metrics.csv only the end.
//
// A run is called by the number of its folder and its path below it, with slashes:
// 0:ppo-4x4-001/seed-1. Dir is the one place that turns such a name into a folder.
package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/stats"
)

// The states of a run.
const (
	Running = "running" // a process holds it
	Done    = "done"
	Stopped = "stopped" // by Ctrl-C; it can go on
	Failed  = "failed"
	Killed  = "killed"  // it says that it is running, and nobody holds it
	Damaged = "damaged" // a file is not as it was written
	Waiting = "waiting" // a seed that is to be trained and has not begun
)

// Silence is how long a run that is held may give no sign of life before that is said.
const Silence = 30 * time.Second

// Finding is what a guard noticed, in short.
type Finding struct {
	Seed   uint64 `json:"seed"`
	Step   int    `json:"step"`
	Check  string `json:"check"`
	Status string `json:"status"`
	Says   string `json:"says"`
	Next   string `json:"next"`
}

// Seed is one run.
type Seed struct {
	Name     string       `json:"run"`
	Seed     uint64       `json:"seed"`
	State    string       `json:"state"`
	Why      string       `json:"why,omitempty"` // of a damaged one: what is wrong
	Step     int64        `json:"step"`          // env steps that its numbers reach
	Steps    int64        `json:"steps"`         // that it is to make; 0: not known
	Left     *float64     `json:"left"`          // seconds; nil: not known
	Rate     *float64     `json:"rate"`          // env steps a second
	Mean     *float64     `json:"mean"`          // of its final agents; nil: not scored
	SE       stats.Number `json:"se"`
	Started  string       `json:"started"`
	Wall     float64      `json:"wall"`             // seconds of the clock that it has cost
	Last     time.Time    `json:"last"`             // its files grew, or its writer gave a sign of life
	Silent   bool         `json:"silent"`           // it is held, and Last is long ago
	Sealed   bool         `json:"sealed"`           // all its files were held against their sums, and are as they were written
	Loose    string       `json:"loose,omitempty"`  // why nothing vouches for it: it has no seals
	PID      int          `json:"pid,omitempty"`    // of who holds it
	Build    string       `json:"build,omitempty"`  // of the program that wrote it last
	Damage   string       `json:"damage,omitempty"` // what is wrong with a file of a run that can still be read
	Findings []Finding    `json:"-"`
}

// Training is a row of the list: a folder of seeds, or a run by itself.
type Training struct {
	Name     string            `json:"run"`
	Title    string            `json:"title"` // its path below the served folder
	Preset   string            `json:"preset"`
	Game     string            `json:"game"`
	State    string            `json:"state"`
	Why      string            `json:"why,omitempty"`
	Seeds    []*Seed           `json:"seeds"`
	Step     int64             `json:"step"` // over all seeds
	Steps    int64             `json:"steps"`
	Left     *float64          `json:"left"`
	Mean     *float64          `json:"mean"` // over the seeds that were scored
	CI       *stats.Interval   `json:"ci"`   // Student's, over those seeds; nil: fewer than two
	Scored   int               `json:"scored"`
	Findings []Finding         `json:"findings"`
	Worst    string            `json:"worst,omitempty"` // status of the worst finding
	Started  string            `json:"started"`
	Last     time.Time         `json:"last"`
	Tags     []string          `json:"tags"`
	Note     string            `json:"note"`
	Settings map[string]string `json:"settings"` // those in which runs differ
	Wall     float64           `json:"wall"`     // seconds of the clock, of its longest seed
	Build    string            `json:"build,omitempty"`
	Host     string            `json:"host,omitempty"`
	Commit   string            `json:"commit,omitempty"` // of the program, short
	Stage    bool              `json:"stage,omitempty"`  // a model that learns before a training
	Unit     string            `json:"unit,omitempty"`   // of its steps; "": env steps
	Rules    string            `json:"rules,omitempty"`  // returns of runs with other ones are not of the same game
	Archived bool              `json:"archived,omitempty"`
	Page     bool              `json:"page"` // it has a report.html
	Sealed   bool              `json:"sealed"`
	Loose    string            `json:"loose,omitempty"`
}

// Row is a training with when it last changed.
type Row struct {
	*Training
	JSON []byte
	Rev  int64 // the look at which it became so
}

// Look is how all runs stood at a moment. It is never changed.
type Look struct {
	Rev   int64
	At    time.Time
	Took  time.Duration
	Rows  []Row // newest first
	Notes []string
	// Sweeps are the folders of sweeps, by name.
	Sweeps []Sweep
	gone   []parted
	named  map[string]int
	seeds  map[string]*Seed
}

// parted is a training that is not there any more.
type parted struct {
	name string
	rev  int64
}

// Row returns the row of a training's name.
func (l *Look) Row(name string) (Row, bool) {
	i, ok := l.named[name]
	if !ok {
		return Row{}, false
	}
	return l.Rows[i], true
}

// Seed returns the run of a name.
func (l *Look) Seed(name string) (*Seed, bool) {
	r, ok := l.seeds[name]
	return r, ok
}

// Since returns what has changed after a look: rows, and the names of those that are gone.
// If that is too long ago to know, all is true, and rows are all.
func (l *Look) Since(rev int64) (rows []Row, gone []string, all bool) {
	if rev <= 0 || rev > l.Rev || len(l.gone) > 0 && rev < l.gone[0].rev && len(l.gone) >= keepGone {
		return l.Rows, nil, true
	}
	for _, r := range l.Rows {
		if r.Rev > rev {
			rows = append(rows, r)
		}
	}
	for _, p := range l.gone {
		if _, back := l.named[p.name]; p.rev > rev && !back {
			gone = append(gone, p.name)
		}
	}
	return rows, gone, false
}

// keepGone is how many deleted trainings are remembered.
const keepGone = 4096

// Shelf is the folders and what is known of the runs in them.
type Shelf struct {
	folders []string
	held    func(dir string) (disk.Holder, error)
	now     func() time.Time

	mu      sync.Mutex // over a look
	known   map[string]*known
	specs   map[[32]byte]about
	labels  []labels
	last    *Look
	next    time.Time     // the last look is good until then
	changed chan struct{} // closed when there is another look
}

// New returns a shelf of some folders, which must be there.
func New(folders []string) (*Shelf, error) {
	s := &Shelf{
		held: disk.Held, now: time.Now, known: map[string]*known{}, specs: map[[32]byte]about{}, changed: make(chan struct{}),
		labels: make([]labels, len(folders)),
	}
	for _, f := range folders {
		dir, err := filepath.Abs(f)
		if err == nil {
			var at os.FileInfo
			if at, err = os.Stat(dir); err == nil && !at.IsDir() {
				err = fmt.Errorf("%s is a file", f)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("shelf: a folder of runs: %w; name one that is there, or train something first", err)
		}
		s.folders = append(s.folders, dir)
	}
	return s, nil
}

// Folders are the names of the folders, without where they lie.
func (s *Shelf) Folders() []string {
	var out []string
	for _, f := range s.folders {
		out = append(out, filepath.Base(f))
	}
	return out
}

// Now returns how all runs stand, not much more than a second ago.
func (s *Shelf) Now() *Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || !s.now().Before(s.next) {
		s.look()
	}
	return s.last
}

// Changed returns the latest look and what is closed when there is another.
func (s *Shelf) Changed() (*Look, <-chan struct{}) {
	l := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != l {
		l = s.last
	}
	return l, s.changed
}

// Watch keeps looking until ctx ends, and between looks holds the files of runs that have
// ended against their sums, a few at a time.
func (s *Shelf) Watch(ctx context.Context) {
	for ctx.Err() == nil {
		s.Now()
		s.verify(ctx, 300*time.Millisecond)
		s.mu.Lock()
		wait := max(50*time.Millisecond, s.next.Sub(s.now()))
		s.mu.Unlock()
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

// look looks at everything. The lock is held.
func (s *Shelf) look() {
	began := s.now()
	l := &Look{Rev: 1, At: began, named: map[string]int{}, seeds: map[string]*Seed{}}
	if s.last != nil {
		l.Rev = s.last.Rev + 1
		l.gone = s.last.gone
	}
	var found []*place
	for i, dir := range s.folders {
		list, sweeps, notes := find(i, dir)
		l.Sweeps = append(l.Sweeps, sweeps...)
		found = append(found, list...)
		l.Notes = append(l.Notes, notes...)
		if s.labels[i].read(dir); s.labels[i].note != "" {
			l.Notes = append(l.Notes, s.Plain(s.labels[i].note))
		}
	}
	s.readAll(found)
	rows := make([]Row, 0, len(found))
	var specs []about
	for _, p := range found {
		if t := s.training(p); t != nil {
			rows = append(rows, Row{Training: t})
			specs = append(specs, s.spec(p))
		}
	}
	tellApart(rows, specs)
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(a.Name, b.Name))
	})
	differs := s.last == nil
	for i := range rows {
		r := &rows[i]
		if b, err := json.Marshal(r.Training); err == nil {
			r.JSON = b
		}
		r.Rev = l.Rev
		if s.last != nil {
			if was, ok := s.last.Row(r.Name); ok && string(was.JSON) == string(r.JSON) {
				*r = was
			} else {
				differs = true
			}
		}
		l.named[r.Name] = i
		for _, seed := range r.Seeds {
			l.seeds[seed.Name] = seed
		}
	}
	l.Rows = rows
	if s.last != nil {
		for _, r := range s.last.Rows {
			if _, ok := l.named[r.Name]; !ok {
				l.gone = append(slices.Clip(l.gone), parted{r.Name, l.Rev})
				differs = true
			}
		}
		if n := len(l.gone); n > keepGone {
			l.gone = l.gone[n-keepGone:]
		}
	}
	s.forget(found)
	l.Took = s.now().Sub(began)
	s.next = s.now().Add(max(time.Second, 10*l.Took)) // at most a tenth of a core
	if !differs {
		l.Rev, l.Rows, l.named, l.seeds = s.last.Rev, s.last.Rows, s.last.named, s.last.seeds
	}
	s.last = l
	if differs {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// readAll reads what has changed, side by side.
func (s *Shelf) readAll(found []*place) {
	var all []*known
	for _, p := range found {
		for i, dir := range p.seeds {
			k := s.known[dir]
			if k == nil {
				k = &known{dir: dir, name: p.names[i], root: s.folders[p.folder]}
				s.known[dir] = k
			}
			all = append(all, k)
		}
	}
	var mu sync.Mutex                    // over specs
	workers := 2 * runtime.GOMAXPROCS(0) // they wait for the disk
	_ = cores.Each(context.Background(), workers, len(all), func(_ context.Context, i int) error { all[i].refresh(s, &mu); return nil })
}

// forget drops what is not there any more.
func (s *Shelf) forget(found []*place) {
	have := map[string]bool{}
	for _, p := range found {
		for _, dir := range p.seeds {
			have[dir] = true
		}
	}
	for dir := range s.known {
		if !have[dir] {
			delete(s.known, dir)
		}
	}
	if len(s.specs) > 4*len(have)+64 {
		s.specs = map[[32]byte]about{}
	}
}

// spec is what is known of the spec of a training's seeds, which is one.
func (s *Shelf) spec(p *place) about {
	for _, dir := range p.seeds {
		if k := s.known[dir]; k.is && len(k.about.all) > 0 {
			return k.about
		}
	}
	return about{}
}

// training puts a row together from its seeds; nil if there is no run yet.
func (s *Shelf) training(p *place) *Training {
	t := &Training{Name: p.name, Title: p.title, Why: p.why, Page: p.page, Findings: []Finding{}, Tags: []string{},
		Settings: map[string]string{}}
	var means []float64
	states := map[string]int{}
	left, known := 0., true
	t.Sealed = true
	have := map[uint64]bool{}
	for _, dir := range p.seeds {
		k := s.known[dir]
		if !k.is {
			continue
		}
		r := k.seed
		t.Seeds = append(t.Seeds, &r)
		have[r.Seed] = true
		states[r.State]++
		t.Preset, t.Game, t.Rules = cmp.Or(t.Preset, k.preset), cmp.Or(t.Game, k.about.game), cmp.Or(t.Rules, k.about.rules)
		t.Host, t.Commit = cmp.Or(t.Host, k.host), cmp.Or(t.Commit, k.commit)
		t.Stage, t.Unit = t.Stage || k.about.stage, cmp.Or(t.Unit, k.about.unit)
		if t.Started == "" || r.Started != "" && r.Started < t.Started {
			t.Started = r.Started
		}
		t.Step, t.Steps = t.Step+r.Step, t.Steps+r.Steps
		known = known && r.Steps > 0
		if r.State == Running {
			if r.Left == nil {
				known = false
			} else {
				left = max(left, *r.Left)
			}
		}
		if r.Mean != nil {
			means = append(means, *r.Mean)
		}
		t.Wall, t.Build = max(t.Wall, r.Wall), cmp.Or(t.Build, r.Build)
		if r.Last.After(t.Last) {
			t.Last = r.Last
		}
		t.Findings = append(t.Findings, r.Findings...)
		t.Why, t.Loose = cmp.Or(t.Why, r.Why, r.Damage), cmp.Or(t.Loose, r.Loose)
		t.Sealed = t.Sealed && r.Sealed
	}
	for _, seed := range p.planned {
		if !have[seed] {
			t.Seeds = append(t.Seeds, &Seed{Name: p.name + "/seed-" + fmt.Sprint(seed), Seed: seed, State: Waiting})
			states[Waiting]++
			known, t.Sealed = false, false
		}
	}
	if len(t.Seeds) == 0 {
		return nil
	}
	slices.SortStableFunc(t.Seeds, func(a, b *Seed) int { return cmp.Compare(a.Seed, b.Seed) })
	for _, state := range []string{Damaged, Running, Failed, Killed, Stopped, Waiting, Done} {
		if states[state] > 0 {
			t.State = state
			break
		}
	}
	if p.why != "" {
		t.State = Damaged
	}
	if t.Preset == "" {
		t.Preset = p.preset
	}
	if !slices.ContainsFunc(t.Seeds, func(r *Seed) bool { return r.State == Running }) || !known {
		left = 0
	}
	if left > 0 {
		t.Left = &left
	}
	if !known && t.Steps > 0 && slices.ContainsFunc(t.Seeds, func(r *Seed) bool { return r.Steps == 0 && r.State != Waiting }) {
		t.Steps = 0
	}
	if n := len(p.planned); t.Steps > 0 && n > len(have) && len(have) > 0 { // seeds that have not begun count too
		t.Steps += t.Steps / int64(len(have)) * int64(n-len(have))
	}
	if t.Scored = len(means); t.Scored > 0 {
		mean, ci := stats.MeanCI(means, 0.95)
		t.Mean = &mean
		if t.Scored > 1 {
			t.CI = &ci
		}
	}
	worst := check.Pass
	for _, f := range t.Findings {
		var st check.Status
		if st.UnmarshalText([]byte(f.Status)) == nil && st > worst {
			worst, t.Worst = st, f.Status
		}
	}
	if e, ok := s.labels[p.folder].Runs[p.title]; ok {
		t.Tags, t.Note, t.Archived = append(t.Tags, e.Tags...), e.Note, e.Archived
	}
	return t
}

// Plain takes out of a text where the folders lie on this machine.
func (s *Shelf) Plain(text string) string {
	for _, f := range s.folders {
		text = strings.ReplaceAll(text, f+string(filepath.Separator), "")
		text = strings.ReplaceAll(text, f, filepath.Base(f))
	}
	return text
}

// Roots are the folders themselves, for programs that are started on them.
func (s *Shelf) Roots() []string { return s.folders }

// Name returns what a folder or file below the served ones is called, and false if it is
// not below them.
func (s *Shelf) Name(path string) (string, bool) {
	for n, f := range s.folders {
		rest, err := filepath.Rel(f, path)
		if err == nil && rest != "." && filepath.IsLocal(rest) {
			return strconv.Itoa(n) + ":" + filepath.ToSlash(rest), true
		}
	}
	return "", false
}
