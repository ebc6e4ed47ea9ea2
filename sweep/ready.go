package sweep

import (
	"context"
	"os"
	"path/filepath"

	"hop/runlog"
	"hop/sweep/queue"
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
	if err := c.Queue.Send(ctx, file, raw); err != nil {
		return err
	}
	return c.Queue.Lend(ctx, n.ID, file)
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
	cost, there := c.there(n, was)
	if !there {
		return false, nil
	}
	n.put = true
	return true, c.Queue.Adopt(ctx, n.ID, cost) // its state comes back as every job's
}

// there says whether a job's result is in the folder, and what it took.
func (c *Coordinator) there(n *node, was Entry) (cost queue.Cost, ok bool) {
	dir := filepath.Join(c.Dir, filepath.FromSlash(n.place))
	switch n.kind {
	case Training:
		rec, err := runlog.Read(dir)
		if err != nil || string(rec.Spec) != c.sweep.Variants[n.variant].Spec || rec.Env.Seed != n.seed || rec.Env.Build.ID() != c.sweep.Build ||
			rec.Faults() != nil {
			return cost, false
		}
		if rec.Env.Status != "done" && !(c.ladder != nil && rec.Env.Status == "stopped" && c.reached(n)) {
			return cost, false
		}
		cost = queue.Cost{Wall: rec.Env.Spent.Wall, CPU: rec.Env.Spent.CPU, Memory: int64(rec.Env.Peak)}
		if was.Phase == queue.Done {
			cost = was.Cost
		}
		return cost, true
	case Stage:
		_, err := os.Stat(filepath.Join(dir, "done.json"))
		return was.Cost, err == nil
	}
	_, err := os.Stat(dir)
	return was.Cost, err == nil && was.Phase == queue.Done && was.Kept
}
