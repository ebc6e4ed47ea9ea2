package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/report/sweeps"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/runlog"
)

// Index is how a sweep stands: index.json in its folder.
type Index struct {
	Sweep string    `json:"sweep"`
	Base  string    `json:"base"`
	Build string    `json:"build"`
	At    time.Time `json:"at"` // when this was written
	Ended bool      `json:"ended"`
	Spent string    `json:"spent,omitempty"`
	// Halving: which jobs come next is decided by what others come to.
	Halving bool `json:"halving,omitempty"`
	// Score: its jobs are meetings of an evaluation, and Found is what that came to.
	Score  bool           `json:"score,omitempty"`
	Found  []string       `json:"found,omitempty"`
	CPU    float64        `json:"cpu_s"`
	Wall   float64        `json:"wall_s"` // that its coordinators took
	Counts map[string]int `json:"counts"` // of jobs, by phase
	// Refused are workers that cannot take its jobs, and why, and Turned how many connections were
	// turned away, by why.
	Refused map[string]string `json:"refused,omitempty"`
	Turned  map[string]int    `json:"turned_away,omitempty"`
	Jobs    []Entry           `json:"jobs"`
	Check   string            `json:"check"` // its seal; empty: of a program that sealed none, and nothing vouches for it
}

// Entry is one job.
type Entry struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Kind    Kind     `json:"kind"`
	Variant string   `json:"variant,omitempty"`
	Seed    uint64   `json:"seed,omitempty"`
	Rung    int      `json:"rung,omitempty"`
	Place   string   `json:"place"`
	Score   *float64 `json:"score,omitempty"`
	Line    string   `json:"line,omitempty"`
	Share   float64  `json:"progress,omitempty"`
	Again   string   `json:"again,omitempty"` // why it was done again although it was done
	queue.State
}

// Waiting is the phase of a job whose inputs are not there yet.
const Waiting = "waiting"

func (c *Coordinator) index() *Index {
	x := &Index{
		Sweep: c.sweep.ID, Base: c.sweep.Base, Build: c.sweep.Build, At: time.Now().UTC().Truncate(time.Second), Ended: c.open == 0,
		Spent: c.spent, Halving: c.sweep.Halving != nil, CPU: c.cpu, Counts: map[string]int{}, Refused: c.refused,
		Score: c.sweep.Score != nil, Found: c.found,
	}
	if !c.began.IsZero() {
		x.Wall = c.wall()
	}
	if c.Refused != nil {
		x.Turned = c.Refused()
	}
	for _, n := range c.g.nodes {
		e := Entry{ID: n.ID, Name: n.Name, Kind: n.Kind, Seed: n.seed, Rung: n.rung, Place: n.place, Again: n.again, State: n.state}
		e.By, e.Reply = "", "" // of the engine
		if n.variant >= 0 {
			e.Variant = c.sweep.Variants[n.variant].Name
		}
		if e.Phase == "" {
			e.Phase = Waiting
		}
		if e.Phase == queue.Running && n.news.Attempt == n.state.Attempt {
			e.Line, e.Share = n.news.Line, n.news.Progress
		}
		if c.ladder != nil && n.Kind == Training && n.state.Kept && n.score == n.score {
			e.Score = &n.score
		}
		x.Counts[string(e.Phase)]++
		x.Jobs = append(x.Jobs, e)
	}
	return x
}

func (x *Index) write(dir string) error { return disk.WriteSealed(filepath.Join(dir, IndexFile), x) }

// Cancel asks the sweep of a folder to end, if it is running.
func Cancel(dir string) error { return ask(dir, cancelFile, "") }

// Retry asks for jobs that failed to be tried again, and returns how many those are; no names: all of them.
func Retry(dir string, names ...string) (int, error) {
	if err := begun(dir); err != nil {
		return 0, err
	}
	x, err := ReadIndex(dir)
	if err != nil {
		return 0, err
	}
	n, text := 0, ""
	for _, e := range x.Jobs {
		if e.Phase == queue.Failed || e.Phase == queue.Cancelled {
			if len(names) == 0 || e.called(names...) {
				n++
			}
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(x.Jobs, func(e Entry) bool { return e.called(name) }) {
			return 0, fmt.Errorf("no job of %s is called %q; hop sweep status %[1]s lists them", dir, name)
		}
		text += name + "\n"
	}
	if n == 0 {
		return 0, nil
	}
	return n, ask(dir, retryFile, text)
}

// called says whether one of these is the job's name, its place or its number.
func (e Entry) called(names ...string) bool {
	return slices.Contains(names, e.Name) || slices.Contains(names, e.Place) || slices.Contains(names, e.ID)
}

// Resume takes a wish to cancel back.
func Resume(dir string) error {
	if err := disk.Remove(filepath.Join(dir, cancelFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// AtWork says whether a coordinator is at work in a folder.
func AtWork(dir string) bool {
	h, err := disk.Held(dir)
	return err == nil && h.Held
}

func ask(dir, file, text string) error {
	if err := begun(dir); err != nil {
		return err
	}
	return disk.Write(filepath.Join(dir, file), []byte(text))
}

// begun says what is wrong with a folder that is no sweep's.
func begun(dir string) error {
	_, err := Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no sweep's folder: it has no sweep.json", dir)
	}
	return err
}

// Line says how it stands.
func (x *Index) Line() string {
	var parts []string
	for _, phase := range []queue.Phase{queue.Done, queue.Running, queue.Queued, Waiting, queue.Failed, queue.Cancelled} {
		if n := x.Counts[string(phase)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, phase))
		}
	}
	line := fmt.Sprintf("%d jobs: %s; %.1f s of processor time", len(x.Jobs), strings.Join(parts, ", "), x.CPU)
	if x.Spent != "" {
		line += "; " + x.Spent
	}
	return line
}

// Jobs returns what would run, as far as it is known before anything has.
func (s *Sweep) Jobs(l *lab.Lab) (*Index, error) {
	g, err := newGraph(l, s)
	if err != nil {
		return nil, err
	}
	return (&Coordinator{sweep: s, g: g, open: len(g.nodes)}).index(), nil
}

// Text is the sweep's jobs for a terminal.
func (x *Index) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", strings.Join(append([]string{x.Line()}, x.Found...), "\n"))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "phase\tjob\ttries\tworker\tprocessor s\t")
	for _, e := range x.Jobs {
		why := e.Why
		if why == "" {
			why = e.Line
		}
		if e.Again != "" {
			why = strings.TrimSpace(why + " (done again: " + e.Again + ")")
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%.1f\t%s\n", e.Phase, e.Name, e.Attempt, e.Worker, e.Cost.CPU, why)
	}
	w.Flush()
	return b.String()
}

// Plan says what a sweep with these jobs would run.
func (s *Sweep) Plan(jobs *Index) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s would run", plot.Count(len(jobs.Jobs), "job"))
	if h := s.Halving; h != nil {
		fmt.Fprintf(&b, "; then the best one of %d variants to each of the env steps %v", h.Keep, h.Rungs[1:])
	}
	b.WriteString(":\n")
	for _, e := range jobs.Jobs {
		fmt.Fprintf(&b, "  %s\n", e.Name)
	}
	return b.String()
}

// Report writes the page of a sweep as it stands: report.html, report.md and report.json in its folder.
func Report(dir string) error {
	s, err := Read(dir)
	if err != nil {
		return err
	}
	x, err := ReadIndex(dir)
	if err != nil {
		return err
	}
	if s.Score != nil {
		return fmt.Errorf("sweep: %s is an evaluation, whose page is %s.html", dir, scoredPage)
	}
	return sweeps.Write(dir, s.table(dir, x))
}

// table is what a sweep has found so far. Variants are compared by what their final agents get; where some
// were stopped early, by the metric of the halving on the first rung, which all of them have.
func (s *Sweep) table(dir string, x *Index) *sweeps.Table {
	t := &sweeps.Table{
		Base: s.Base, Build: s.Build, Seeds: len(s.Seeds), Spent: x.Spent, Jobs: len(x.Jobs), CPU: x.CPU, Wall: x.Wall,
		Score: "mean return of the final agents", Drawn: s.Drawn, Loose: s.Loose() || x.Loose(),
	}
	if h := s.Halving; h != nil {
		t.Score, t.Least, t.Rungs = fmt.Sprintf("%s at env step %d", h.Metric, h.Rungs[0]), h.Least, h.Rungs
	}
	vary := s.vary()
	for _, path := range vary {
		t.Fields = append(t.Fields, sweeps.Field{Path: path})
	}
	at := map[string]int{}
	for i, v := range s.Variants {
		row := sweeps.Variant{Name: v.Name}
		for _, path := range vary {
			for _, set := range v.Settings {
				if set.Path == path {
					row.Values = append(row.Values, set.Value)
				}
			}
		}
		t.Variants, at[v.Name] = append(t.Variants, row), i
	}
	runs := make([]float64, len(s.Variants)) // by which the cost is divided
	rungs := make([]map[int][]float64, len(s.Variants))
	for _, e := range x.Jobs {
		if e.Phase == queue.Failed {
			t.Failed = append(t.Failed, sweeps.Failure{Job: e.Name, Why: e.Why, Tries: e.Attempt})
		}
		if e.Again != "" {
			t.Again = append(t.Again, sweeps.Failure{Job: e.Name, Why: e.Again, Tries: e.Attempt})
		}
		if e.Kind != Training || e.Phase != queue.Done {
			continue
		}
		i, known := at[e.Variant]
		if !known {
			continue
		}
		v := &t.Variants[i]
		v.CPU += e.Cost.CPU
		if e.Rung == 0 {
			runs[i]++
		}
		switch {
		case s.Halving == nil:
			if mean, ok := final(filepath.Join(dir, filepath.FromSlash(e.Place))); ok {
				v.Scores = append(v.Scores, mean)
			}
		case e.Score != nil:
			if rungs[i] == nil {
				rungs[i] = map[int][]float64{}
			}
			rungs[i][e.Rung] = append(rungs[i][e.Rung], *e.Score)
		}
	}
	for i := range t.Variants {
		v := &t.Variants[i]
		v.CPU /= max(runs[i], 1)
		if s.Halving == nil {
			continue
		}
		v.Scores = rungs[i][0]
		for r, step := range s.Halving.Rungs {
			if list := rungs[i][r]; len(list) > 0 {
				sum := 0.
				for _, x := range list {
					sum += x
				}
				v.At, v.Stopped = append(v.At, sum/float64(len(list))), step
			}
		}
		if v.Stopped == s.Halving.Rungs[len(s.Halving.Rungs)-1] {
			v.Stopped = 0 // it was trained to the end
		}
	}
	return t
}

// vary are the fields of which variants have different values, in order.
func (s *Sweep) vary() (list []string) {
	for _, set := range s.Variants[0].Settings {
		for _, v := range s.Variants {
			differs := false
			for _, other := range v.Settings {
				differs = differs || other.Path == set.Path && other.Value != set.Value
			}
			if differs {
				list = append(list, set.Path)
				break
			}
		}
	}
	return list
}

// final is what a run's final agents get; false if it is not scored.
func final(dir string) (float64, bool) {
	rec, err := runlog.Read(dir)
	if err != nil {
		return 0, false
	}
	b, err := rec.Result()
	var r lab.SeedResult
	if err != nil || b == nil || json.Unmarshal(b, &r) != nil {
		return 0, false
	}
	return r.Mean, true
}
