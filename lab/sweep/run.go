package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/sweep/design"
	"github.com/hop-marl/hop/lab/sweep/hub"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/lab/sweep/worker"
	"github.com/hop-marl/hop/num/disk"
)

// IndexFile is where a sweep's folder says how it stands.
const IndexFile = "index.json"

// Other files of a sweep's folder.
const (
	sweepFile  = "sweep.json"
	secretFile = "coordinator.secret"
	cancelFile = "cancel" // somebody wants it to end
	retryFile  = "retry"  // somebody wants jobs that failed to be tried again
	engineDir  = "engine"
	incoming   = ".incoming"
)

// EngineDir is where a sweep's own server keeps its data.
func EngineDir(dir string) string { return filepath.Join(dir, engineDir) }

// Write puts the sweep into its folder, which may hold the same one already, or a part of it: then it
// grows, and what was done stays.
func (s *Sweep) Write(dir string) error {
	old, err := Read(dir)
	if err == nil && old.Build != s.Build {
		return fmt.Errorf("sweep: %s was begun by another build of hop, %s; this is %s, which may compute other bytes; choose another "+
			"folder, or go on with that build", dir, old.Build, s.Build)
	}
	if err == nil && !s.holds(old) && old.Score != nil {
		return fmt.Errorf("sweep: %s holds another sweep (%s), of %s, whose meetings are not all part of this one; choose another folder, or "+
			"go on with that one: hop sweep resume %[1]s", dir, sweepFile, old.Base)
	}
	if err == nil && !s.holds(old) {
		return fmt.Errorf("sweep: %s holds another sweep (%s), of %s with %d variants and %d seeds, which is no part of this one; choose "+
			"another folder, or go on with that one: hop sweep resume %[1]s", dir, sweepFile, old.Base, len(old.Variants), len(old.Seeds))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && (old.ID == s.ID || old.Loose()) {
		return loose(dir, old)
	}
	if err := disk.Make(dir); err != nil {
		return err
	}
	if s.Score != nil {
		if err := errors.Join(s.Score.keep(dir), unsaid(dir)); err != nil {
			return err
		}
	}
	s.At = time.Now().UTC().Truncate(time.Second)
	return disk.WriteSealed(filepath.Join(dir, sweepFile), s)
}

// holds says whether another sweep is a part of this one.
func (s *Sweep) holds(old *Sweep) bool {
	if s.Score != nil {
		return s.Score.holds(old.Score)
	}
	if old.Score != nil {
		return false
	}
	specs := map[string]string{}
	for _, v := range s.Variants {
		specs[v.Name] = v.Spec
	}
	for _, v := range old.Variants {
		if specs[v.Name] != v.Spec {
			return false
		}
	}
	return !slices.ContainsFunc(old.Seeds, func(seed uint64) bool { return !slices.Contains(s.Seeds, seed) })
}

// Coordinator brings a sweep to its end. Only one may be at work in a folder (Options.Run locks it).
type Coordinator struct {
	Lab     *lab.Lab
	Dir     string
	Queue   *queue.Queue
	Watch   func(Index) // sees how it goes, about once a second; may be nil
	Refused func() map[string]int
	Keys    *hub.Keys
	Log     func(format string, args ...any)
	Leave   func() // ends this machine's workers, and returns when their jobs have ended or moved on

	sweep   *Sweep
	g       *graph
	ladder  *design.Ladder
	began   time.Time
	before  float64          // seconds that earlier coordinators took
	earlier map[string]Entry // how jobs stood when the last of them ended
	cpu     float64          // seconds that jobs took
	spent   string           // which part of the budget is spent; then nothing new is begun
	look    []*node          // jobs that may be ready now
	open    int              // jobs that have not come to rest
	hands   chan struct{}    // results brought into the folder at once
	kept    chan keeping     // results that were
	keeps   map[string]bool  // being kept, or kept
	refused map[string]string
	grouped map[int]bool // variants whose folder is a training's
	busy    sync.WaitGroup
	stale   bool     // the index has changed
	after   bool     // what comes last is laid out
	found   []string // what an evaluation came to
}

// keeping is a result that was brought into the folder, or could not be.
type keeping struct {
	id  string
	err error
}

// Run goes on until every job has ended, or the context does.
func (c *Coordinator) Run(ctx context.Context) (*Index, error) {
	var err error
	if c.sweep, err = Read(c.Dir); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(c.Dir, incoming)); err != nil { // of a coordinator that died
		return nil, err
	}
	if c.g, err = newGraph(c.Lab, c.sweep); err != nil {
		return nil, err
	}
	if h := c.sweep.Halving; h != nil {
		c.ladder = design.NewLadder(h, len(c.sweep.Variants))
	}
	c.began, c.kept, c.keeps, c.hands = time.Now(), make(chan keeping), map[string]bool{}, make(chan struct{}, 16)
	c.refused, c.grouped = map[string]string{}, map[int]bool{}
	c.after = c.sweep.Halving == nil
	c.lookAt(c.g.nodes...)
	c.open = len(c.g.nodes)
	inner, cancel := context.WithCancel(ctx)
	defer c.busy.Wait()
	defer cancel()
	c.earlier = map[string]Entry{}
	if x, err := ReadIndex(c.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	} else if err == nil {
		c.before = x.Wall
		for _, e := range x.Jobs {
			c.earlier[e.ID] = e
		}
	}
	if c.sweep.Score != nil {
		if err := c.handOut(ctx); err != nil {
			return nil, err
		}
	}
	changes := make(chan queue.Change, 1024)
	c.busy.Go(func() { c.follow(inner, changes) })
	news := make(chan queue.News, 1024)
	refusals := make(chan queue.Refusal, 64)
	desk := &queue.Desk{Queue: c.Queue, Keys: c.Keys, News: offer(news), Refuse: offer(refusals)}
	shut, err := desk.Answer(inner)
	if err == nil {
		err = c.loop(inner, changes, news, refusals)
		c.Leave() // while the desk takes back what they have
	}
	shut()
	if err == nil {
		err = c.groups(ctx)
	}
	if err == nil && c.sweep.Score != nil {
		if c.found, err = c.together(ctx); err != nil {
			err = fmt.Errorf("the meetings are saved, but the page could not be written: %w; try again with: hop sweep resume %s", err, c.Dir)
		}
	}
	index := c.index()
	if werr := index.write(c.Dir); err == nil {
		err = werr
	}
	if err == nil && c.sweep.Score == nil {
		if err = Report(c.Dir); err != nil {
			err = fmt.Errorf("the runs are saved, but the report could not be written: %w; try again with: hop sweep resume %s", err, c.Dir)
		}
	}
	return index, err
}

// offer hands something over if there is room; it may be lost.
func offer[T any](to chan<- T) func(T) {
	return func(x T) {
		select {
		case to <- x:
		default:
		}
	}
}

// follow hands over the states of all jobs as they change, from a server that may be away for a while.
func (c *Coordinator) follow(ctx context.Context, changes chan<- queue.Change) {
	for ctx.Err() == nil {
		err := c.Queue.Watch(ctx, func(ch queue.Change) error {
			select {
			case changes <- ch:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if ctx.Err() == nil {
			c.Log("the server does not say how jobs stand: %v; asking again", err)
			worker.Sleep(ctx, time.Second)
		}
	}
}

// loop is where everything is decided, one thing after the other.
func (c *Coordinator) loop(ctx context.Context, changes <-chan queue.Change, news <-chan queue.News, refusals <-chan queue.Refusal) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	known := false // how all jobs stand is known
	take := func(ch queue.Change) {
		if ch.ID == "" {
			known = true
		} else if n := c.g.byID[ch.ID]; n != nil && ch.Forged != nil {
			c.forged(ctx, n, ch.Forged)
		} else if n != nil {
			c.changed(ctx, n, ch.State)
		}
	}
	again := make(chan struct{}, 1) // more jobs can be put at once
	next := time.Now()              // when the index is written
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case ch := <-changes:
			take(ch)
			for len(changes) > 0 { // all that is there, then what follows from it
				take(<-changes)
			}
		case k := <-c.kept:
			c.settle(ctx, k)
		case n := <-news:
			if of := c.g.byID[n.ID]; of != nil && n.Of(of.state) {
				of.news = n
				c.stale = true
			}
			continue
		case r := <-refusals:
			if c.refused[r.Worker] == "" {
				c.Log("worker %s takes no jobs: %s", r.Worker, r.Why)
			}
			c.refused[r.Worker], c.stale = r.Why, true
			continue
		case <-again:
		case now := <-tick.C:
			if err := c.roomy(); err != nil {
				return err
			}
			c.asked(ctx)
			c.afford(ctx)
			if c.stale && now.After(next) {
				c.stale = false
				index := c.index()
				if err := index.write(c.Dir); err != nil {
					c.Log("%v", err)
				}
				if c.Watch != nil {
					c.Watch(*index)
				}
				next = time.Now().Add(20 * time.Since(now)) // that of a large sweep takes a while
			}
		}
		if !known {
			continue
		}
		if err := c.putReady(ctx); err != nil && ctx.Err() == nil {
			c.Log("putting jobs into the queue: %v; trying again", err)
		} else if len(c.look) > 0 {
			select {
			case again <- struct{}{}:
			default:
			}
		}
		if c.open == 0 && !c.after {
			c.after = true
			c.g.after()
			c.laid()
		}
		if c.open == 0 {
			c.asked(ctx) // the last thing that somebody may have wanted
		}
		if c.open == 0 {
			return nil
		}
	}
}

// least is how many bytes the disk of a sweep's folder must have left.
const least = 64 << 20

// roomy stops a sweep before its disk is full.
func (c *Coordinator) roomy() error {
	if free, known := disk.Free(c.Dir); known && free < least {
		return noRoom(c.Dir)
	}
	return nil
}

// noSpace says what to do about a full disk.
type noSpace struct{ error }

func noRoom(dir string) error {
	return noSpace{fmt.Errorf("sweep: the disk of %s is full, or nearly; what is done is saved. Make room for at least %d MB, then go on "+
		"with: hop sweep resume %[1]s", dir, least>>20)}
}

// rests says whether nothing more happens to a job by itself.
func (n *node) rests() bool {
	return n.state.Phase.Ended() && (n.state.Phase != queue.Done || n.state.Kept)
}

// set is how a job's state becomes another; those that read what it makes are looked at then.
func (c *Coordinator) set(n *node, s queue.State) {
	before := n.rests()
	n.state, c.stale = s, true
	if after := n.rests(); after != before {
		c.open++
		if after {
			c.open -= 2
		}
	}
	if s.Phase.Ended() {
		c.lookAt(c.g.readers[n.ID]...)
	}
}

// lookAt notes jobs that may be ready.
func (c *Coordinator) lookAt(list ...*node) {
	for _, n := range list {
		if !n.put && !n.looked {
			n.looked = true
			c.look = append(c.look, n)
		}
	}
}

// laid counts the jobs that were laid out since the sweep began.
func (c *Coordinator) laid() {
	list := c.g.fresh
	c.g.fresh = nil
	c.open += len(list)
	c.lookAt(list...)
}

// forged puts the state of a job back over which somebody else wrote: on a server of others, whoever can connect can.
func (c *Coordinator) forged(ctx context.Context, n *node, why error) {
	c.Log("%v; what is known here is put back", why)
	s := n.state
	if s.Phase == "" { // how it stood is not known: it is done again
		s = queue.State{Phase: queue.Queued, Attempt: c.earlier[n.ID].Attempt}
	}
	if err := c.Queue.Restore(ctx, n.ID, s); err != nil {
		c.Log("%s: %v", n.Name, err)
	}
}

// changed takes a job's new state in.
func (c *Coordinator) changed(ctx context.Context, n *node, s queue.State) {
	before := n.state.Phase
	if s.Phase == queue.Done && c.keeps[n.ID] {
		s.Kept = n.state.Kept // settle says so
	}
	c.set(n, s)
	switch {
	case s.Phase == queue.Failed && before != queue.Failed:
		c.failed(n)
	case s.Phase == queue.Cancelled && before != queue.Cancelled:
		c.scored(n, nan)
	case s.Phase != queue.Done || c.keeps[n.ID]:
	case s.Kept:
		c.keeps[n.ID] = true
		c.cpu += s.Cost.CPU
		c.group(n)
		c.scored(n, c.score(n))
	default:
		c.keeps[n.ID] = true
		read := len(c.g.readers[n.ID]) > 0 || c.sweep.Halving != nil && n.Kind == Training
		c.busy.Go(func() { c.keep(ctx, *n, s, read) })
	}
}

// failed notes that a job was given up.
func (c *Coordinator) failed(n *node) {
	c.Log("%s is given up after %d tries: %s", n.Name, n.state.Attempt, n.state.Why)
	if err := disk.Make(filepath.Join(c.Dir, "failed")); err == nil {
		err = disk.Write(failedFile(c.Dir, n.Name), []byte(n.state.Why+"\n\n"+n.state.Log))
		if err != nil {
			c.Log("%v", err)
		}
	}
	c.scored(n, nan)
}

// asked does what somebody asked for by a file in the folder.
func (c *Coordinator) asked(ctx context.Context) {
	if _, err := os.Stat(filepath.Join(c.Dir, cancelFile)); err == nil && c.spent == "" {
		c.stopAll(ctx, "the sweep was cancelled", true)
	}
	b, err := os.ReadFile(filepath.Join(c.Dir, retryFile))
	if err != nil {
		return
	}
	want := strings.Split(strings.TrimSpace(string(b)), "\n")
	for _, n := range c.g.nodes {
		ended := n.state.Phase == queue.Failed || n.state.Phase == queue.Cancelled
		if !ended || want[0] != "" && !slices.Contains(want, n.Name) && !slices.Contains(want, n.place) && !slices.Contains(want, n.ID) {
			continue
		}
		if err := c.retry(ctx, n); err != nil {
			c.Log("%s cannot be tried again: %v", n.Name, err)
			return
		}
	}
	if err := os.Remove(filepath.Join(c.Dir, retryFile)); err != nil {
		c.Log("%v", err)
	}
}

// retry tries a job again, and those that were cancelled since it was not done.
func (c *Coordinator) retry(ctx context.Context, n *node) error {
	if err := c.Queue.Again(ctx, n.ID); err != nil {
		return err
	}
	n.put = false
	c.set(n, queue.State{Attempt: n.state.Attempt})
	c.lookAt(n)
	for _, r := range c.g.readers[n.ID] {
		if r.state.Phase == queue.Cancelled {
			if err := c.retry(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// afford looks whether the budget is spent.
func (c *Coordinator) afford(ctx context.Context) {
	b := c.sweep.Budget
	switch {
	case c.spent != "":
	case b.CPU > 0 && c.cpu > b.CPU*3600:
		c.stopAll(ctx, fmt.Sprintf("the budget of %g processor hours is spent", b.CPU), false)
	case b.Hours > 0 && c.wall() > b.Hours*3600:
		c.stopAll(ctx, fmt.Sprintf("the budget of %g hours is spent", b.Hours), false)
	}
}

// stopAll begins nothing new; jobs at work are ended too if running says so.
func (c *Coordinator) stopAll(ctx context.Context, why string, running bool) {
	c.spent = why
	c.Log("%s: nothing new is begun", why)
	c.lookAt(c.g.nodes...)
	for _, n := range c.g.nodes {
		if n.put && !n.state.Phase.Ended() && (running || n.state.Phase == queue.Queued) {
			if err := c.Queue.Cancel(ctx, n.ID, why); err != nil {
				c.Log("%s cannot be cancelled: %v", n.Name, err)
			}
		}
	}
}

// wall is how many seconds the sweep has taken, over all its coordinators.
func (c *Coordinator) wall() float64 { return c.before + time.Since(c.began).Seconds() }
