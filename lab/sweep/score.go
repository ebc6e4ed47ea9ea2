package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec/names"
)

// Score is an evaluation among strangers of which every meeting is a job.
type Score struct {
	lab.Encounters
	Game  json.RawMessage `json:"game"`
	Set   []string        `json:"set,omitempty"`
	Sums  []string        `json:"sums"` // of the agents' folders; empty: of one without
	Terms queue.Terms     `json:"terms"`
}

// Where an evaluation's folder has copies of its agents, and what came of its meetings.
const (
	agentsDir   = ".agents"
	meetingsDir = "meetings"
	meetingFile = "meeting.json"
	scoredPage  = "adapt" // .html, .md and .json, as hop strangers score names them
)

// NewScore cuts an evaluation among strangers into jobs.
func NewScore(ctx context.Context, l *lab.Lab, ask prepare.Adapt, at lab.Site) (*Sweep, error) {
	e, game, err := l.Cut(ctx, ask, at)
	if err != nil {
		return nil, err
	}
	if what := game.Executes(); len(what) > 0 {
		return nil, lab.Misused("its game runs %s, which no job may: use hop strangers score", strings.Join(what, "; "))
	}
	about, err := game.Map()
	if err != nil {
		return nil, err
	}
	sc := &Score{Encounters: *e, Game: mustJSON(about), Set: at.Set, Terms: queue.Terms{
		Split: ask.Strangers, LeaveOut: ask.LeaveOut, Learn: ask.Learn, Every: ask.Every, Steps: ask.Steps, Last: ask.Last, Lives: ask.Lives,
		Agent: ask.Agent, Starts: ask.Starts,
	}}
	var who []string
	for _, a := range e.Agents {
		sum := ""
		if len(a.Dirs) > 0 {
			if sum, err = sumOf(a.Dirs); err != nil {
				return nil, err
			}
		}
		sc.Sums, who = append(sc.Sums, sum), append(who, filepath.Base(a.Name))
	}
	s := &Sweep{
		Base: fmt.Sprintf("%s among %s", strings.Join(who, ", "), e.Split.Split), Build: l.Build().ID(), Score: sc,
		Each: Each{Cores: max(ask.Workers, 1)},
	}
	if err := sc.validate(); err != nil {
		return nil, lab.Misused("%w", err)
	}
	s.ID = name("score", s.Build, string(mustJSON(sc)))[:16]
	return s, nil
}

// asked are the settings of the evaluation, on so many cores.
func asked(t queue.Terms, seeds []uint64, workers int) prepare.Adapt {
	c := prepare.DefaultAdapt()
	c.Strangers, c.LeaveOut, c.Learn, c.Every, c.Steps, c.Last = t.Split, t.LeaveOut, t.Learn, t.Every, t.Steps, t.Last
	c.Lives, c.Agent, c.Starts, c.Seeds, c.Workers = t.Lives, t.Agent, t.Starts, seeds, workers
	return c
}

// scoring is what the job of a meeting says.
func (s *Score) scoring(m lab.Meeting) *queue.Scoring {
	a := s.Agents[m.Agent]
	job := &queue.Scoring{Stranger: m.Stranger, Game: s.Game, Set: s.Set, Seeds: a.Seeds, Known: a.Known, Terms: s.Terms}
	if job.Sum = s.Sums[m.Agent]; job.Sum == "" {
		job.Who = a.Name
	}
	return job
}

// validate refuses what no evaluation is.
func (s *Score) validate() error {
	if len(s.Agents) == 0 || len(s.Meetings) == 0 || len(s.Sums) != len(s.Agents) {
		return fmt.Errorf("sweep: %s has nobody to be scored, or no meetings", sweepFile)
	}
	for _, m := range s.Meetings {
		if m.Agent < 0 || m.Agent >= len(s.Agents) {
			return fmt.Errorf("sweep: %s has a meeting of agent %d, and there are %d", sweepFile, m.Agent, len(s.Agents))
		}
		if err := s.scoring(m).Validate(); err != nil {
			return fmt.Errorf("sweep: the meeting of %.100q with %.100q: %w", s.Agents[m.Agent].Name, m.Stranger, err)
		}
	}
	return nil
}

// holds says whether all that was asked for before is a part of this.
func (s *Score) holds(old *Score) bool {
	if old == nil {
		return false
	}
	known := map[string]bool{}
	for _, m := range s.Meetings {
		known[s.scoring(m).ID()] = true
	}
	return !slices.ContainsFunc(old.Meetings, func(m lab.Meeting) bool { return !known[old.scoring(m).ID()] })
}

// sumOf returns the sum of the folders of an agent's seeds: of the names below them and what is in each file.
func sumOf(dirs []string) (string, error) {
	h := sha256.New()
	for i, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || d.Name() == disk.LockFile {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			f, err := disk.Open(path)
			if err != nil {
				return err
			}
			own := sha256.New()
			n, err := io.Copy(own, f)
			fmt.Fprintf(h, "%d %q %d %x\n", i, filepath.ToSlash(rel), n, own.Sum(nil))
			return errors.Join(err, f.Close())
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyOf is where a copy of agents is that have this sum.
func copyOf(dir, sum string) string { return filepath.Join(dir, agentsDir, sum[:24]) }

// keep copies the agents into the folder, as they are now: the runs may go on.
func (s *Score) keep(dir string) error {
	for i, a := range s.Agents {
		if s.Sums[i] == "" {
			continue
		}
		to := copyOf(dir, s.Sums[i])
		if s.whole(dir, i) == nil {
			continue
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		for k, from := range a.Dirs {
			if err := os.CopyFS(filepath.Join(to, fmt.Sprintf("seed-%d", k+1)), os.DirFS(from)); err != nil {
				return err
			}
		}
		if err := s.whole(dir, i); err != nil {
			return err
		}
	}
	return nil
}

// whole says what is wrong with the copy of an agent.
func (s *Score) whole(dir string, agent int) error {
	to := copyOf(dir, s.Sums[agent])
	seeds, err := lab.Folders(to)
	if err != nil {
		return err
	}
	if sum, err := sumOf(seeds); err != nil || sum != s.Sums[agent] {
		return errors.Join(err, fmt.Errorf("sweep: %s is not %s as it was when it was copied: put it back from a copy, or begin anew with "+
			"another --out", to, s.Agents[agent].Name))
	}
	return nil
}

// agentJob is what the folder of agents is called to the jobs that read it.
func (g *graph) agentJob(sum string) string { return name(g.sweep.Build, "agents", sum) }

// meet lays the meetings out.
func (g *graph) meet() {
	s := g.sweep.Score
	for _, m := range s.Meetings {
		job := s.scoring(m)
		n := &node{variant: -1, sub: "out/" + meetingFile}
		n.Job = queue.Job{Name: clip(filepath.Base(s.Agents[m.Agent].Name)+" among "+m.Stranger, 150), Kind: queue.Score, Score: job}
		if job.Sum != "" {
			n.Needs = []queue.Need{{ID: g.agentJob(job.Sum), At: queue.AgentAt}}
		}
		n.ID = g.id(n.Job)
		n.place = meetingsDir + "/" + job.ID()[:24] + ".json"
		g.met = append(g.met, g.add(n))
	}
}

// clip returns the beginning of a text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// handOut puts the agents into the store, for jobs to read.
func (c *Coordinator) handOut(ctx context.Context) error {
	s := c.sweep.Score
	for i, sum := range s.Sums {
		if sum == "" {
			continue
		}
		if err := s.whole(c.Dir, i); err != nil {
			return err
		}
		id := c.g.agentJob(sum)
		if err := c.Queue.Adopt(ctx, id, queue.Cost{}); err != nil {
			return err
		}
		file := id + ".kept"
		stored, err := c.Queue.Send(ctx, file, copyOf(c.Dir, sum))
		if err == nil {
			err = c.Queue.Lend(ctx, id, file, stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// met reads what came of a meeting, if it can be that.
func (n *node) met(name string) (*adapted.Row, error) {
	row, err := adapted.ReadMeeting(name, n.Score.ID())
	if err == nil {
		err = row.Fits(n.Score.Stranger, n.Score.Lives, n.Score.Steps, n.Score.Seeds)
	}
	return row, err
}

// refusal is a result that was handed in and is not what was asked for.
type refusal struct{ error }

// refuse has a job done again whose result was refused, until there are no tries left.
func (c *Coordinator) refuse(ctx context.Context, n *node, why error) {
	delete(c.keeps, n.ID)
	if n.refused++; n.refused < queue.Tries {
		c.doneAgain(n, why.Error())
		if err := c.retry(ctx, n); err != nil {
			c.Log("%s cannot be done again: %v", n.Name, err)
		}
		return
	}
	s := n.state
	s.Phase, s.Why, s.File, s.Kept = queue.Failed, why.Error(), "", false
	if err := c.Queue.Restore(ctx, n.ID, s); err != nil { // comes back as every job's state
		c.Log("%s: %v", n.Name, err)
	}
}

// together writes the page of an evaluation whose jobs are all done: the files that hop strangers score writes.
func (c *Coordinator) together(ctx context.Context) ([]string, error) {
	s := c.sweep.Score
	var rows []*adapted.Row
	for _, n := range c.g.met {
		if n.state.Phase != queue.Done {
			return nil, nil
		}
		row, err := n.met(filepath.Join(c.Dir, filepath.FromSlash(n.place)))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	game, err := names.Game(c.Lab.Reg, s.Game)
	if err != nil {
		return nil, err
	}
	table, err := c.Lab.Together(ctx, &s.Encounters, asked(s.Terms, nil, 0), game, rows)
	if err == nil {
		err = adapted.Write(c.Dir, table)
	}
	if err != nil {
		return nil, err
	}
	return table.Headlines(), nil
}

// Page returns what hop strangers score would have written of a sweep: its page, and what it prints with --json.
func Page(dir string) (page string, asJSON []byte, err error) {
	asJSON, err = disk.Read(filepath.Join(dir, scoredPage+".json"), largest)
	return filepath.Join(dir, scoredPage+".html"), asJSON, err
}

// unsaid takes away what an evaluation was found to be before it grew.
func unsaid(dir string) error {
	var errs []error
	for _, ext := range []string{".html", ".md", ".json"} {
		if err := os.Remove(filepath.Join(dir, scoredPage+ext)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Meet does a job of kind Score: file says what, and what came of it is written into the folder out. Nothing outside of
// the job's folder is read.
func Meet(ctx context.Context, l *lab.Lab, file, out string, workers int) error {
	s, err := queue.ReadScoring(file)
	if err != nil {
		return lab.Misused("%s is refused: %w", file, err)
	}
	game, err := names.Game(l.Reg, s.Game)
	if err != nil {
		return lab.Misused("%w", err)
	}
	if what := game.Executes(); len(what) > 0 {
		return lab.Misused("its game runs %s, which no job may", strings.Join(what, "; "))
	}
	at := lab.Site{Game: game, Set: s.Set, Runs: []string{s.Who}}
	if runs := l.Reg.Runs; runs != nil { // whoever handed the agents out has looked at them
		runs.AcceptOlder, runs.AcceptUnsealed = true, true
	}
	if s.Who == "" {
		at.Runs[0] = queue.AgentAt
		if err := holds(l, queue.AgentAt, s.Sum); err != nil {
			return err
		}
	}
	row, err := l.Meet(ctx, asked(s.Terms, s.Seeds, workers), at, s.Stranger, s.Known)
	if err != nil {
		return err
	}
	if err := disk.Make(out); err != nil {
		return err
	}
	return adapted.NewMeeting(s.ID(), row).Write(filepath.Join(out, meetingFile))
}

// holds refuses a folder of agents that is not the one that a job names, or whose game runs something.
func holds(l *lab.Lab, dir, sum string) error {
	seeds, err := lab.Folders(dir)
	if err != nil {
		return err
	}
	if is, err := sumOf(seeds); err != nil || is != sum {
		return errors.Join(err, lab.Misused("the agents at %s are not those of the job: their sum is %s, want %s", dir, is, sum))
	}
	for _, seed := range seeds {
		s, err := l.RunSpec(seed)
		if err != nil {
			return err
		}
		if what := s.Game.Executes(); len(what) > 0 {
			return lab.Misused("the game of %s runs %s, which no job may", seed, strings.Join(what, "; "))
		}
	}
	return nil
}
