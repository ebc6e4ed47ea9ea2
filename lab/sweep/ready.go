package sweep

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/hop-marl/hop/lab/sweep/queue"
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
		if of.state.Phase != queue.Done || of.state.File != "" || !of.state.Kept {
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
