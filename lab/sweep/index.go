package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/plot"
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
	Halving bool           `json:"halving,omitempty"`
	CPU     float64        `json:"cpu_s"`
	Wall    float64        `json:"wall_s"` // that its coordinators took
	Counts  map[string]int `json:"counts"` // of jobs, by phase
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
	fmt.Fprintf(&b, "%s\n\n", x.Line())
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
