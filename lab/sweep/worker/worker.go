// Package worker takes the jobs of sweeps and does them, each in a process of its own.
//
// A job's process may panic, hang or take all memory: that ends the attempt and nothing else.
// When the worker is asked to leave (its context ends), jobs are stopped as Ctrl-C stops
// them, what they have saved goes to the store, and they move on to another worker from there.
package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/disk"
)

// Outcome is how a process ended.
type Outcome struct {
	Cost    queue.Cost
	Stopped bool   // it was asked to stop and has saved what it had
	Useless bool   // it would fail the same way again
	Full    bool   // this machine's disk was full, which is not the job's fault
	Err     error  // nil: the result is there
	Log     string // the end of what it said
}

// Run does a job's work in a folder, until the context ends, and says how far it is.
type Run func(ctx context.Context, j queue.Job, dir string, say func(line string, progress float64)) Outcome

// Worker is a machine, or a part of one, that takes jobs.
type Worker struct {
	Name   string
	Build  string // runlog.Build.ID
	Cores  int
	Memory int64 // 0: not counted
	Labels []string
	Slots  int    // jobs at once at most; 0: as many as the cores allow
	Dir    string // where jobs work; a folder for each, removed after it
	Run    Run
	Log    func(format string, args ...any)

	once sync.Once
	mu   sync.Mutex
	free struct {
		slots, cores int
		memory       int64
	}
	wake    chan struct{}
	full    time.Time       // when a job last found the disk full
	leaving context.Context // ends when the worker is asked to leave
}

// Fits says why a job that asks for this is not for the worker; nil: it is.
func (w *Worker) Fits(a queue.Ask) error {
	switch {
	case a.Build != w.Build:
		return fmt.Errorf("it is for another build of hop, %s; this is %s; install the same one here", a.Build, w.Build)
	case a.Cores > w.Cores:
		return fmt.Errorf("it needs %d cores, and there are %d", a.Cores, w.Cores)
	case w.Memory > 0 && a.Memory > w.Memory:
		return fmt.Errorf("it needs %d MB of memory, and there are %d", a.Memory>>20, w.Memory>>20)
	}
	for _, l := range a.Labels {
		if !slices.Contains(w.Labels, l) {
			return fmt.Errorf("it asks for the label %q", l)
		}
	}
	return nil
}

// reserve takes room for a job; false: there is none now.
func (w *Worker) reserve(a queue.Ask) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &w.free
	if f.slots < 1 || f.cores < a.Cores || w.Memory > 0 && f.memory < a.Memory {
		return false
	}
	f.slots, f.cores, f.memory = f.slots-1, f.cores-a.Cores, f.memory-a.Memory
	return true
}

// release gives the room back.
func (w *Worker) release(a queue.Ask) {
	w.mu.Lock()
	f := &w.free
	f.slots, f.cores, f.memory = f.slots+1, f.cores+a.Cores, f.memory+a.Memory
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// patience is how long a worker waits at one kind of jobs before it looks at the next.
const patience = 2 * time.Second

// Serve takes the sweep's jobs until the context ends, and returns when all of them
// have ended or moved on. A worker may serve several sweeps at once.
func (w *Worker) Serve(ctx context.Context, q *queue.Remote) error {
	w.once.Do(func() {
		if w.Slots == 0 {
			w.Slots = w.Cores
		}
		w.free.slots, w.free.cores, w.free.memory, w.wake, w.leaving = w.Slots, w.Cores, w.Memory, make(chan struct{}, 1), ctx
	})
	if err := os.MkdirAll(w.Dir, 0o755); err != nil {
		return err
	}
	var jobs sync.WaitGroup
	defer jobs.Wait()
	refused := map[string]bool{}
	for ctx.Err() == nil {
		if w.room(ctx); ctx.Err() != nil {
			break
		}
		asks, err := q.Asks(ctx)
		if errors.Is(err, queue.ErrGone) { // the sweep has ended
			return nil
		}
		if err != nil || len(asks) == 0 {
			w.pause(ctx, time.Second)
			continue
		}
		busy := true
		for _, a := range asks {
			if why := w.Fits(a); why != nil {
				if name := fmt.Sprint(a); !refused[name] {
					refused[name] = true
					w.Log("jobs of sweep %s are left to other workers: %v", q.Sweep, why)
					_ = q.Refuse(queue.Refusal{Worker: w.Name, Why: why.Error()})
				}
				continue
			}
			if !w.reserve(a) {
				continue
			}
			busy = false
			at, err := q.Take(ctx, a, w.Name, patience)
			if err != nil {
				w.release(a)
				if errors.Is(err, queue.ErrGone) {
					return nil
				}
				if !errors.Is(err, queue.ErrNone) && ctx.Err() == nil {
					w.Log("taking a job: %v; trying again", err)
					w.pause(ctx, time.Second)
				}
				continue
			}
			jobs.Go(func() {
				defer w.release(a)
				w.work(ctx, q, at)
			})
		}
		if busy {
			w.pause(ctx, time.Second)
		}
	}
	return nil
}

// pause waits for room, or for a while.
func (w *Worker) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-t.C:
	}
}

// work does one attempt.
func (w *Worker) work(ctx context.Context, q *queue.Remote, at *queue.Taken) {
	dir := filepath.Join(w.Dir, at.File())
	defer os.RemoveAll(dir)
	live, lost := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lost(nil)
	var beats sync.WaitGroup
	defer beats.Wait()
	stop := make(chan struct{})
	defer close(stop)
	beats.Go(func() { w.beat(live, q, at, stop, lost) })

	say := func(line string, progress float64) {
		_ = q.Say(queue.News{ID: at.ID, Worker: w.Name, Attempt: at.Number, Line: line, Progress: progress})
	}
	err := w.bring(live, q, at, dir, say)
	if err == nil {
		job, end := context.WithCancelCause(live) // ends when the worker leaves or the job is lost
		release := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
		said := time.Time{}
		out := w.Run(job, at.Job, dir, func(line string, progress float64) {
			if time.Since(said) > time.Second {
				said = time.Now()
				say(line, progress)
			}
		})
		release()
		end(nil)
		if live.Err() != nil {
			w.Log("%s, attempt %d: another has it by now; what this one did is thrown away", at.Name, at.Number)
			return
		}
		err = w.finish(live, at, dir, out, say)
	} else if live.Err() == nil {
		why := err
		err = w.persist(live, "giving it back", say, func() error { return at.Fail(live, why.Error(), "", false) })
	}
	switch {
	case errors.Is(err, queue.ErrLost), live.Err() != nil:
		w.Log("%s, attempt %d: another has it by now; what this one did is thrown away", at.Name, at.Number)
		_ = at.Discard(context.WithoutCancel(ctx))
	case err != nil:
		w.Log("%s, attempt %d: %v", at.Name, at.Number, err)
	}
}

// beat says that the attempt is alive, three times within the wait.
func (w *Worker) beat(ctx context.Context, q *queue.Remote, at *queue.Taken, stop <-chan struct{}, lost context.CancelCauseFunc) {
	t := time.NewTicker(q.Wait / 3)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		short, cancel := context.WithTimeout(ctx, q.Wait/3)
		err := at.Beat(short)
		cancel()
		if errors.Is(err, queue.ErrLost) {
			lost(err)
			return
		} // any other error: cut off, which may pass; the server decides whose the job is
	}
}

// bring puts into the folder what the job reads.
func (w *Worker) bring(ctx context.Context, q *queue.Remote, at *queue.Taken, dir string, say say) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	from := at.From
	if from.File == "" && at.Begin != "" {
		s, err := q.State(ctx, at.Begin)
		if err != nil {
			return err
		}
		if s.Phase != queue.Done {
			return fmt.Errorf("it goes on from job %s, which is %s", at.Begin, s.Phase)
		}
		from = queue.Folder{File: s.File, Sum: s.Sum}
	}
	if from.File != "" {
		if err := w.persist(ctx, "fetching what it reads", say, func() error { return q.Fetch(ctx, from, dir) }); err != nil {
			return err
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, n := range at.Needs {
		s, err := q.State(ctx, n.ID)
		if err != nil {
			return err
		}
		if s.Phase != queue.Done {
			return fmt.Errorf("it reads what job %s makes, which is %s", n.ID, s.Phase)
		}
		to, raw := filepath.Join(dir, filepath.FromSlash(n.At)), filepath.Join(dir, ".need")
		of := queue.Folder{File: s.File, Sum: s.Sum}
		if err := w.persist(ctx, "fetching what it reads", say, func() error { return q.Fetch(ctx, of, raw) }); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(raw, filepath.FromSlash(n.Sub)), to); err != nil {
			return err
		}
		if err := os.RemoveAll(raw); err != nil {
			return err
		}
	}
	return nil
}

// finish hands in what came of an attempt.
func (w *Worker) finish(ctx context.Context, at *queue.Taken, dir string, out Outcome, say say) error {
	for _, n := range at.Needs {
		if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(n.At))); err != nil {
			return err
		}
	}
	switch {
	case out.Err == nil:
		err := w.persist(ctx, "handing the result in", say, func() error { return at.Send(ctx, dir) })
		if err != nil {
			return err
		}
		return w.persist(ctx, "handing the result in", say, func() error { return at.Finish(ctx, out.Cost) })
	case out.Full:
		w.Log("%s: this machine's disk is full: %v; the job goes to another worker, and no other is taken here until there is room",
			at.Name, out.Err)
		say("the disk of worker "+w.Name+" is full", 0)
		w.mu.Lock()
		w.full = time.Now()
		w.mu.Unlock()
		return w.persist(ctx, "giving it back", say, func() error { return at.Move(ctx, false) })
	case out.Stopped:
		w.Log("%s moves on to another worker", at.Name)
		stored := at.Send(ctx, dir) == nil
		return w.persist(ctx, "giving it back", say, func() error { return at.Move(ctx, stored) })
	default:
		w.Log("%s, attempt %d failed: %v", at.Name, at.Number, out.Err)
		return w.persist(ctx, "giving it back", say, func() error { return at.Fail(ctx, out.Err.Error(), out.Log, out.Useless) })
	}
}

// say says by the way how an attempt goes.
type say func(line string, progress float64)

// grace is how long a worker that leaves tries to hand in what it has.
const grace = 30 * time.Second

// persist tries until it works: a server that is away comes back, a full disk is cleared. It ends
// when the job is another's, or what it wants is gone for good, or the worker leaves.
func (w *Worker) persist(ctx context.Context, what string, say say, f func() error) error {
	var leave time.Time
	for n := 0; ; n++ {
		err := f()
		if err == nil || errors.Is(err, queue.ErrLost) || errors.Is(err, queue.ErrGone) || ctx.Err() != nil {
			return err
		}
		if w.leaving.Err() != nil {
			if leave.IsZero() {
				leave = time.Now().Add(grace)
			} else if time.Now().After(leave) {
				return fmt.Errorf("%s: %w; the worker leaves, and the job is tried again elsewhere", what, err)
			}
		}
		if n == 2 {
			w.Log("%s: %v; trying until it works", what, err)
		}
		say(fmt.Sprintf("%s: %v; trying until it works", what, err), 0)
		Sleep(ctx, min(time.Second<<min(n, 4)/4, 5*time.Second))
	}
}

// Sleep waits for so long, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// enough is how many bytes a worker's disk must have free for it to take a job, and rest is how long
// it takes none after a job has found the disk full.
const (
	enough = 32 << 20
	rest   = 3 * time.Second
)

// room waits until the worker's disk has room for a job.
func (w *Worker) room(ctx context.Context) {
	w.mu.Lock()
	left := rest - time.Since(w.full)
	w.mu.Unlock()
	if left > 0 {
		Sleep(ctx, left)
	}
	for n := 0; ctx.Err() == nil; n++ {
		free, known := disk.Free(w.Dir)
		if !known || free >= enough {
			return
		}
		if n%60 == 0 {
			w.Log("no job is taken: the disk of %s has %d MB left, and a job needs %d; waiting for room", w.Dir, free>>20, enough>>20)
		}
		Sleep(ctx, time.Second)
	}
}
