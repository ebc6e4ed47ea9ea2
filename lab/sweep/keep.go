package sweep

import (
	"context"
	"errors"
	"fmt"
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

// failedFile is where it says why a job was given up.
func failedFile(dir, job string) string {
	return filepath.Join(dir, "failed", strings.NewReplacer("/", "_", " ", "_").Replace(job)+".txt")
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
		if err == nil || ctx.Err() != nil || errors.Is(err, queue.ErrGone) && tries >= 3 {
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
