package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/lab/sweep/worker"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// putReady lets jobs wait for workers whose inputs are there.
func (c *Coordinator) putReady(ctx context.Context) error {
	for range turn {
		if len(c.look) == 0 {
			return nil
		}
		n := c.look[0]
		if n.put || n.state.Phase.Ended() || n.state.Phase == queue.Running {
			c.looked()
			continue
		}
		if n.state.Phase == "" && !n.sought {
			there, err := c.adopt(ctx, n)
			if err != nil {
				return err
			}
			if n.sought = true; there {
				c.looked()
				continue
			}
		}
		if c.spent != "" && n.state.Phase == "" {
			c.set(n, queue.State{Phase: queue.Cancelled, Why: c.spent})
			c.scored(n, nan)
			c.looked()
			continue
		}
		ok, err := c.g.ready(n)
		if err == nil && !ok && c.lend(ctx, n) {
			ok, err = c.g.ready(n)
		}
		switch {
		case err != nil:
			c.set(n, queue.State{Phase: queue.Cancelled, Why: err.Error()})
			c.scored(n, nan)
		case ok:
			if err := c.Queue.Put(ctx, n.Job); err != nil {
				return err
			}
			n.put = true
		}
		c.looked()
	}
	return nil
}

// looked is done with the first job that was to be looked at.
func (c *Coordinator) looked() {
	c.look[0].looked = false
	c.look = c.look[1:]
}

// lend puts results back into the store that a job reads and that are in the folder only, and says whether
// there were any.
func (c *Coordinator) lend(ctx context.Context, n *node) (lent bool) {
	for _, id := range n.reads() {
		of := c.g.byID[id]
		if of == nil || of.state.Phase != queue.Done || of.state.File != "" || !of.state.Kept {
			continue
		}
		file := id + ".kept"
		if err := c.send(ctx, of, file); err != nil {
			c.Log("%s: %v", of.Name, err)
			continue
		}
		of.state.File, lent = file, true
	}
	return lent
}

// send puts a kept result into the store as its worker would have.
func (c *Coordinator) send(ctx context.Context, n *node, file string) error {
	raw := filepath.Join(c.Dir, incoming, file)
	defer os.RemoveAll(raw)
	to := filepath.Join(raw, filepath.FromSlash(n.sub))
	if err := os.CopyFS(to, os.DirFS(filepath.Join(c.Dir, filepath.FromSlash(n.place)))); err != nil {
		return err
	}
	sum, err := c.Queue.Send(ctx, file, raw)
	if err != nil {
		return err
	}
	n.state.Sum = sum
	return c.Queue.Lend(ctx, n.ID, file, sum)
}

// adopt looks whether a job's result is there already, and says whether nothing is left to do for it: runs
// of the same spec, seed and program that have come far enough, stages, what the index of an
// earlier coordinator knows to be done, and what it knows to be given up.
func (c *Coordinator) adopt(ctx context.Context, n *node) (bool, error) {
	was := c.earlier[n.ID]
	if was.Phase == queue.Failed { // until somebody wants it tried again
		c.set(n, was.State)
		c.scored(n, nan)
		return true, nil
	}
	cost, there, why := c.there(n, was)
	if n.again == "" {
		n.again = was.Again
	}
	if !there {
		if why != "" {
			c.doneAgain(n, why)
		}
		return false, nil
	}
	n.put = true
	return true, c.Queue.Adopt(ctx, n.ID, cost) // its state comes back as every job's
}

// there says whether a job's result is in the folder, and what it took; if it was there once and does not count any
// more, why.
func (c *Coordinator) there(n *node, was Entry) (cost queue.Cost, ok bool, why string) {
	dir := filepath.Join(c.Dir, filepath.FromSlash(n.place))
	gone := ""
	if was.Phase == queue.Done && was.Kept {
		gone = "it was done, and its folder is gone"
	}
	_, err := os.Stat(dir)
	switch {
	case err != nil:
		return cost, false, gone
	case n.Kind == Training:
		return c.trained(n, was, dir)
	case n.Kind == Scoring:
		if _, err := n.met(dir); err != nil {
			return cost, false, err.Error()
		}
		return was.Cost, true, ""
	case n.Kind == Stage:
		if _, err := os.Stat(filepath.Join(dir, "done.json")); err != nil {
			return cost, false, gone
		}
		return was.Cost, true, ""
	}
	return was.Cost, was.Phase == queue.Done && was.Kept, ""
}

// trained is there for a training: its run must be of the same spec, seed and program, whole, and far enough.
func (c *Coordinator) trained(n *node, was Entry, dir string) (cost queue.Cost, ok bool, why string) {
	rec, err := runlog.Read(dir)
	if err != nil {
		return cost, false, err.Error()
	}
	if why := c.unlike(n, rec); why != "" {
		return cost, false, why
	}
	if rec.Env.Status != "done" && !(c.ladder != nil && rec.Env.Status == "stopped" && c.reached(n)) {
		return cost, false, ""
	}
	if _, _, err := runlog.Last(dir); err != nil { // its numbers may be whole while what it learnt is gone
		return cost, false, err.Error()
	}
	cost = queue.Cost{Wall: rec.Env.Spent.Wall, CPU: rec.Env.Spent.CPU, Memory: int64(rec.Env.Peak)}
	if was.Phase == queue.Done {
		cost = was.Cost
	}
	return cost, true, ""
}

// unlike says why a run is not the one that a training makes.
func (c *Coordinator) unlike(n *node, rec *runlog.Record) string {
	spec := c.sweep.Variants[n.variant].Spec
	switch {
	case string(rec.Spec) != spec:
		return "the run that is there has another spec: " + runlog.Differences(rec.Spec, []byte(spec))
	case rec.Env.Seed != n.seed:
		return fmt.Sprintf("the run that is there has seed %d", rec.Env.Seed)
	case rec.Env.Build.ID() != c.sweep.Build:
		return "the run that is there is of another build of hop, " + rec.Env.Build.ID()
	}
	if rec.Loose() {
		return "the run that is there has no seals, and nothing vouches for it"
	}
	if err := rec.Faults(); err != nil {
		return err.Error()
	}
	return ""
}

var nan = math.NaN()

// score is what a training came to by the metric of the halving: its mean over the last fifth
// of the env steps up to its rung; NaN without one. A run that has gone on since has the same score.
func (c *Coordinator) score(n *node) float64 {
	if c.ladder == nil || n.Kind != Training {
		return nan
	}
	rows, last := c.rows(n)
	sum, count := 0., 0
	for _, r := range rows {
		if r.Name == c.sweep.Halving.Metric && r.Step > last*4/5 && r.Step <= last {
			sum, count = sum+r.Value, count+1
		}
	}
	if count == 0 {
		c.Log("%s has no %s near env step %d: it counts as failed (halving.metric names a column of metrics.csv)", n.Name,
			c.sweep.Halving.Metric, last)
	}
	return sum / float64(count) // NaN if there is none
}

// rows returns a training's metrics and the env step at which it reached its rung; 0 if it has not.
func (c *Coordinator) rows(n *node) (rows []runlog.Row, last int64) {
	rows, err := runlog.ReadMetrics(filepath.Join(c.Dir, filepath.FromSlash(n.place)))
	if err != nil {
		c.Log("%s: %v", n.Name, err)
		return nil, 0
	}
	for _, r := range rows {
		if r.Step >= int64(c.sweep.Halving.Rungs[n.rung]) && (last == 0 || r.Step < last) {
			last = r.Step
		}
	}
	return rows, last
}

// reached says whether a run in the folder has come to a training's rung.
func (c *Coordinator) reached(n *node) bool {
	_, last := c.rows(n)
	return last > 0
}

// scored notes a training's score. When all seeds of a variant have one, the variant has, and those
// that are good enough go on.
func (c *Coordinator) scored(n *node, score float64) {
	if c.ladder == nil || n.Kind != Training {
		return
	}
	n.score = score
	sum := 0.
	for i := range c.sweep.Seeds {
		of := c.g.rungs[rungKey{n.variant, i, n.rung}]
		if of == nil || !of.rests() {
			return
		}
		sum += of.score
	}
	for _, v := range c.ladder.Score(n.rung, n.variant, sum/float64(len(c.sweep.Seeds))) {
		for i := range c.sweep.Seeds {
			c.g.train(v, i, n.rung+1)
		}
		if n.rung+1 == len(c.sweep.Halving.Rungs)-1 {
			c.g.follow(v)
			c.g.then(v)
		}
	}
	c.laid()
}

// failedFile is where it says why a job was given up.
func failedFile(dir, job string) string {
	return filepath.Join(dir, "failed", strings.NewReplacer("/", "_", " ", "_", "<", "_", ">", "_", "*", "_").Replace(job)+".txt")
}

// keep brings a result into the folder, until it works: a server that is away comes back.
func (c *Coordinator) keep(ctx context.Context, n node, s queue.State, read bool) {
	select {
	case c.hands <- struct{}{}:
		defer func() { <-c.hands }()
	case <-ctx.Done():
		return
	}
	for tries := 0; ; tries++ {
		err := c.bring(ctx, n, s)
		if err == nil {
			err = c.Queue.Keep(ctx, n.ID, read)
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, queue.ErrGone) && tries >= 3 || errors.As(err, new(refusal)) {
			select {
			case c.kept <- keeping{id: n.ID, err: err}:
			case <-ctx.Done():
			}
			return
		}
		if tries%10 == 3 {
			c.Log("the result of %s cannot be kept: %v; trying until it works", n.Name, err)
		}
		worker.Sleep(ctx, min(time.Second<<min(tries, 5)/4, 5*time.Second))
	}
}

// bring fetches a result and puts it in its place.
func (c *Coordinator) bring(ctx context.Context, n node, s queue.State) error {
	raw := filepath.Join(c.Dir, incoming, s.File)
	if err := os.RemoveAll(raw); err != nil {
		return err
	}
	if err := c.Queue.Fetch(ctx, s.File, s.Sum, raw); err != nil {
		return err
	}
	from, to := filepath.Join(raw, filepath.FromSlash(n.sub)), filepath.Join(c.Dir, filepath.FromSlash(n.place))
	if n.Kind == Scoring {
		if _, err := n.met(from); err != nil {
			said := strings.ReplaceAll(err.Error(), filepath.ToSlash(raw)+"/", "")
			return refusal{fmt.Errorf("what worker %s handed in is refused: %s", s.Worker, said)}
		}
	}
	if !n.beside {
		if err := put(from, to); err != nil {
			return err
		}
		return os.RemoveAll(raw)
	}
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := put(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(raw)
}

// put moves a file or folder to its place, instead of what was there: of an earlier rung, or half of this.
func put(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(to))
}

// settle goes on after a result was kept.
func (c *Coordinator) settle(ctx context.Context, k keeping) {
	n := c.g.byID[k.id]
	if errors.As(k.err, new(refusal)) {
		c.refuse(ctx, n, k.err)
		return
	}
	if errors.Is(k.err, queue.ErrGone) {
		c.doneAgain(n, k.err.Error())
		delete(c.keeps, n.ID)
		if err := c.retry(ctx, n); err != nil {
			c.Log("%s cannot be done again: %v", n.Name, err)
		}
		return
	}
	if k.err != nil {
		return // the sweep is being stopped
	}
	s := n.state
	s.Kept = true
	c.set(n, s)
	c.cpu += s.Cost.CPU
	c.group(n)
	_ = os.Remove(failedFile(c.Dir, n.Name)) // of a job that was tried again
	c.scored(n, c.score(n))
}

// doneAgain names a job that was done and is done again: in the log, in the index and in the report.
func (c *Coordinator) doneAgain(n *node, why string) {
	n.again, c.stale = why, true
	c.Log("%s is done again: %s", n.Name, why)
}

// group makes a variant's folder one that other commands know as a training's.
func (c *Coordinator) group(n *node) {
	if n.Kind != Training || c.grouped[n.variant] {
		return
	}
	v := c.sweep.Variants[n.variant]
	g := runlog.Group{Preset: v.name, Seeds: slices.Sorted(slices.Values(c.sweep.Seeds)), Spec: v.Spec}
	if err := g.Write(filepath.Join(c.Dir, v.Name)); err != nil {
		c.Log("%v", err)
		return
	}
	c.grouped[n.variant] = true
}

// groups writes down how the stages of variants went whose seeds are all there.
func (c *Coordinator) groups(ctx context.Context) error {
	for v, variant := range c.sweep.Variants {
		spec := &c.g.specs[v]
		if len(spec.Prepare) == 0 || len(spec.Follow) > 0 || slices.ContainsFunc(c.g.last[v], func(n *node) bool {
			return n.state.Phase != queue.Done || c.sweep.Halving != nil && n.rung < len(c.sweep.Halving.Rungs)-1
		}) {
			continue
		}
		if err := c.Lab.Follow(ctx, filepath.Join(c.Dir, variant.Name), 1); err != nil {
			return fmt.Errorf("%s: %w", variant.Name, err)
		}
	}
	return nil
}

// turn is how many jobs are put before the coordinator looks at what else has happened.
const turn = 256
