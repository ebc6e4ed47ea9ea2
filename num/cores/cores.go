// Package cores lets the cores of a run help whoever has work.
//
// A Pool is as many workers as a run may use: the goroutine that asks, and helpers that
// live from Open to Close. Work is cut into numbered parts, so many that every worker finds
// some; who computes a part is decided by who is free, never what is computed, so that
// results do not depend on the number of workers. A part may be work in parts itself: whole
// learners are parts, and so are the shards of their minibatches.
//
// A worker takes the same parts as the last time where it can: what they read and write is
// still in its cache. Others leave them to it for a moment.
package cores

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Pool is the workers of a run. A nil Pool, or one that is not open, has one worker: who asks.
type Pool struct {
	// Backwards has the parts of a job begun from the last on, for audits: what parts come to must not hang on it.
	Backwards bool

	workers int
	spin    int // looks for work before a worker sleeps
	open    bool
	helpers sync.WaitGroup
	clock   func() time.Duration // nil: waiting is not counted
	_       [64]byte             // what follows is written often, each by itself, and looked at by who waits
	idle    atomic.Int64
	_       [56]byte
	posted  atomic.Uint32
	_       [60]byte
	jobs    [maxJobs]atomic.Pointer[Job]
	top     atomic.Int32 // places of jobs that were ever used
	sleeps  atomic.Int32

	mu      sync.Mutex
	wake    sync.Cond
	closing bool
}

// maxJobs is how many jobs are open to helpers at a time; who asks beyond that works alone.
const maxJobs = 32

// Job is the memory of one kind of work, used again each time; its zero value is ready. A Job
// is done by one goroutine at a time.
type Job struct {
	Whole bool // parts are long and ask for help themselves: one is not begun while waiting for another

	free    atomic.Uint64 // a bit for each group of parts that nobody has taken, spread over all bits
	times   atomic.Uint32 // that it was done
	parts   int
	groups  int // one after the other, as like as can be: at most 64
	do      func(part int)
	doOn    func(part, worker int) // in place of do
	at      int                    // its place in the pool, the last time
	asker   took                   // what who asked took
	by      []took                 // [workers] what helpers took
	asleep  atomic.Bool            // who asked sleeps until all parts are done
	_       [32]byte
	pending atomic.Int32
	_       [60]byte
}

// took is the groups that a worker took of a job, as their bits: the last time, and this time.
type took struct {
	times     uint32
	last, now uint64
	_         [40]byte
}

// before returns what was taken of a job the last time.
func (t *took) before(j *Job) uint64 {
	if times := j.times.Load(); t.times != times {
		if t.times = times; t.now != 0 { // others may have been faster once
			t.last, t.now = t.now, 0
		}
	}
	return t.last
}

// Count returns how many workers a number of them means: 0 is one a core.
func Count(workers int) int {
	if workers > 0 {
		return workers
	}
	return runtime.GOMAXPROCS(0)
}

// New returns a pool of that many workers; 0: one a core. It has no helpers before Open. The
// clock, which may be nil, is for Idle alone.
func New(workers int, clock func() time.Duration) *Pool {
	workers = Count(workers)
	p := &Pool{workers: workers, clock: clock}
	p.wake.L = &p.mu
	if workers <= runtime.GOMAXPROCS(0) {
		// Half a millisecond each: the more there are the longer some have nothing, and waking one takes longer than its part.
		p.spin = brief * workers
	}
	return p
}

// brief is how often a worker looks for work in half a millisecond.
const brief = 8000

// Brief has workers sleep after half a millisecond without work, since others want the cores.
func (p *Pool) Brief() { p.spin = min(p.spin, brief) }

// Workers returns how many workers there are.
func (p *Pool) Workers() int {
	if p == nil {
		return 1
	}
	return p.workers
}

// Open starts the helpers.
func (p *Pool) Open() {
	if p.open {
		panic("cores: the pool is open")
	}
	p.open, p.closing = true, false
	p.idle.Store(0)
	for i := 1; i < p.workers; i++ {
		p.helpers.Go(func() { p.work(nil, i) })
	}
}

// Close ends the helpers and returns when they have.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.posted.Add(1)
	p.wake.Broadcast()
	p.helpers.Wait()
	p.open = false
}

// Idle returns for how long workers have waited since Open, added up.
func (p *Pool) Idle() time.Duration {
	if p == nil || !p.open || p.clock == nil {
		return 0
	}
	wait, ended := p.waiting()
	return time.Duration((ended + int64(wait)*p.now()) * tick)
}

// waiting returns how many workers wait now, and the ends of waiting less the beginnings.
func (p *Pool) waiting() (n int, ended int64) {
	x := p.idle.Load()
	ended = x << 10 >> 10
	return int((x - ended) >> 54), ended
}

// tick is the unit, in nanoseconds, that waiting is counted in. Pool.idle holds in its upper
// 10 bits how many wait now, and below them the ends of waiting less the beginnings: one
// number, so that who reads it in between is not misled.
const tick = 64

func (p *Pool) now() int64 {
	if p.clock == nil {
		return 0
	}
	return int64(p.clock()) / tick
}

// rest notes that a worker begins to wait, and rested that it has something to do.
func (p *Pool) rest() { p.idle.Add(1<<54 - p.now()) }

func (p *Pool) rested() { p.idle.Add(p.now() - 1<<54) }

// Do calls do for the parts 0 to before n, in any order and on any workers, and returns when
// all have returned. do is made once by who asks often: nothing allocates here.
func (p *Pool) Do(j *Job, n int, do func(part int)) {
	if p.alone(n) {
		for i := range n {
			do(p.part(i, n))
		}
		return
	}
	j.do, j.doOn = do, nil
	p.share(j, n)
}

// DoOn is Do that says who computes a part: a number below Workers, 0 for who asks. It is
// mostly the same number on the same core, and may be given to two at a time.
func (p *Pool) DoOn(j *Job, n int, do func(part, worker int)) {
	if p.alone(n) {
		for i := range n {
			do(p.part(i, n), 0)
		}
		return
	}
	j.do, j.doOn = nil, do
	p.share(j, n)
}

// part returns which of n parts is the i-th to be begun.
func (p *Pool) part(i, n int) int {
	if p != nil && p.Backwards {
		return n - 1 - i
	}
	return i
}

// alone reports whether nobody can help with so many parts.
func (p *Pool) alone(n int) bool { return p == nil || !p.open || p.workers == 1 || n <= 1 }

// share does a job with whoever helps.
func (p *Pool) share(j *Job, n int) {
	j.parts, j.groups = n, min(n, 64)
	j.pending.Store(int32(j.groups))
	all := uint64(0)
	for g := range j.groups {
		all |= 1 << ((g*64 + j.groups - 1) / j.groups)
	}
	if len(j.by) < p.workers {
		j.by = make([]took, p.workers)
	}
	j.times.Add(1)
	j.free.Store(all)
	shown := p.post(j)
	for last := j.asker.before(j); ; {
		bit := j.again(last)
		if bit < 0 {
			bit = j.take(0)
		}
		if bit < 0 {
			break
		}
		j.asker.now |= 1 << bit
		p.run(j, bit, 0)
	}
	if shown {
		p.jobs[j.at].Store(nil)
	}
	if j.pending.Load() > 0 {
		p.work(j, j.at)
	}
}

// post shows a job to helpers, where it was shown before if that is free. It reports whether
// there was a place.
func (p *Pool) post(j *Job) bool {
	for i := range maxJobs {
		at := (j.at + i) % maxJobs
		if p.jobs[at].Load() != nil || !p.jobs[at].CompareAndSwap(nil, j) {
			continue
		}
		j.at = at
		for top := p.top.Load(); int(top) <= at && !p.top.CompareAndSwap(top, int32(at+1)); top = p.top.Load() {
		}
		p.posted.Add(1)
		p.rouse(j)
		return true
	}
	return false
}

// rouse wakes workers that sleep if more groups of a job are free than workers look for work.
// One wakes the next when it finds work, but for jobs of long parts all are woken at once.
func (p *Pool) rouse(j *Job) {
	sleep := int(p.sleeps.Load())
	if sleep == 0 {
		return
	}
	if wait, _ := p.waiting(); bits.OnesCount64(j.free.Load())-1 <= wait-sleep {
		return
	}
	p.mu.Lock() // who is about to sleep has it until it does
	if j.Whole {
		p.wake.Broadcast()
	} else {
		p.wake.Signal()
	}
	p.mu.Unlock()
}

// take returns the bit of a group that nobody has taken, the first from bit from on, -1 if
// there is none. Who comes late may take one of the next time: that is one as any other.
func (j *Job) take(from int) int {
	for {
		free := j.free.Load()
		if free == 0 {
			return -1
		}
		bit := (from + bits.TrailingZeros64(bits.RotateLeft64(free, -from))) & 63
		if j.free.CompareAndSwap(free, free&^(1<<bit)) {
			return bit
		}
	}
}

// again returns the bit of a group that nobody has taken and that is one of those, -1 if there is none.
func (j *Job) again(those uint64) int {
	for {
		free := j.free.Load()
		if free&those == 0 {
			return -1
		}
		if bit := bits.TrailingZeros64(free & those); j.free.CompareAndSwap(free, free&^(1<<bit)) {
			return bit
		}
	}
}

// run does the group of a bit.
func (p *Pool) run(j *Job, bit, worker int) {
	g := bit * j.groups / 64
	for part := g * j.parts / j.groups; part < (g+1)*j.parts/j.groups; part++ {
		if j.doOn != nil {
			j.doOn(p.part(part, j.parts), worker)
		} else {
			j.do(p.part(part, j.parts))
		}
	}
	if j.pending.Add(-1) == 0 && j.asleep.Load() {
		p.mu.Lock() // as in rouse
		p.wake.Broadcast()
		p.mu.Unlock()
	}
}

// helper is a worker that looks for work.
type helper struct {
	pool *Pool
	from int  // its number, or where it looks first, so that helpers spread over the jobs
	own  *Job // what it waits for to be done; nil: it waits for nothing, and remembers what it took
}

// find returns a group of some job as its bit: of jobs with whole parts, which who waits for something
// does not begin, then one that the helper took the last time. Those of others it takes only if it has
// waited; some says whether there are any. The job is nil if there is none.
func (h *helper) find(waited bool) (found *Job, bit int, some bool) {
	p := h.pool
	n := int(p.top.Load())
	first := h.from * 64 / p.workers & 63
	for i := 0; i < n && h.own == nil; i++ {
		if j := p.jobs[(h.from+i)%n].Load(); j != nil && j.Whole {
			if bit = j.take(first); bit >= 0 {
				return j, bit, true
			}
		}
	}
	for i := range n {
		j := p.jobs[(h.from+i)%n].Load()
		if j == nil || j.Whole {
			continue
		}
		if h.own == nil {
			t := &j.by[h.from]
			if bit = j.again(t.before(j)); bit >= 0 {
				t.now |= 1 << bit
				return j, bit, true
			}
		}
		if some = some || j.free.Load() != 0; !waited {
			continue
		}
		if bit = j.take(first); bit >= 0 {
			if h.own == nil {
				j.by[h.from].now |= 1 << bit
			}
			return j, bit, true
		}
	}
	return nil, 0, some
}

// patience is for how many pauses a group is left to who took it the last time: about as long as a shard takes.
const patience = 1000

// work takes parts until own is done; nil, for helpers: until the pool is closed.
func (p *Pool) work(own *Job, from int) {
	h := helper{pool: p, from: from, own: own}
	p.rest()
	defer p.rested()
	left, waited := p.spin, false
	for {
		seen := p.posted.Load()
		if own != nil && own.pending.Load() == 0 {
			return
		}
		j, bit, some := h.find(waited)
		if j != nil {
			p.rested()
			p.rouse(j)
			p.run(j, bit, from%p.workers)
			p.rest()
			left, waited = p.spin, false
			continue
		}
		if waited = some; waited {
			pause(patience)
			continue
		}
		for ; left > 0 && p.posted.Load() == seen && (own == nil || own.pending.Load() > 0); left-- {
			pause(1)
		}
		if left <= 0 {
			if p.sleep(own, seen) {
				return
			}
			left = p.spin
		}
	}
}

// sleep waits until something was posted after seen, or own is done. It reports whether the
// pool is closed.
func (p *Pool) sleep(own *Job, seen uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sleeps.Add(1)
	if own != nil {
		own.asleep.Store(true)
		defer own.asleep.Store(false)
	}
	for p.posted.Load() == seen && (own == nil || own.pending.Load() > 0) && !p.closing {
		p.wake.Wait()
	}
	p.sleeps.Add(-1)
	return own == nil && p.closing
}

type pooled struct{}

// With returns a context whose work shares an open pool.
func With(ctx context.Context, p *Pool) context.Context { return context.WithValue(ctx, pooled{}, p) }

// Of returns the pool that the work of a context shares, nil if it shares none.
func Of(ctx context.Context) *Pool {
	p, _ := ctx.Value(pooled{}).(*Pool)
	return p
}

// Await does work that knows of no context, such as making large networks, reading and
// drawing a report, and returns what it returns, or ctx's error as soon as ctx ends. The
// work is then left behind: it goes on to its end and nobody hears of it, so it must change
// nothing that others see.
func Await[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	go func() {
		v, err := work()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// Each calls do for 0 to before n side by side: on the pool of the context, which the contexts
// that do is given share, or where there is none on one of so many workers (0: one a core). They
// are begun in order. After one that fails those that come later are stopped and no more are
// begun, but those before it go on: the error is the one with which they would have ended one
// after the other. It returns when all have that were begun.
func Each(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	pool := Of(ctx)
	if pool == nil {
		pool = New(workers, nil)
		pool.Open()
		defer pool.Close()
		ctx = With(ctx, pool)
	}
	e := each{failed: n, stops: map[int]context.CancelFunc{}}
	pool.Do(&Job{Whole: true}, min(n, pool.Workers()), func(int) {
		for i, own := e.begin(ctx); own != nil; i, own = e.begin(ctx) {
			e.end(i, do(own, i))
		}
	})
	return e.err
}

// All is Each for functions.
func All(ctx context.Context, list ...func(ctx context.Context) error) error {
	return Each(ctx, 0, len(list), func(ctx context.Context, i int) error { return list[i](ctx) })
}

// Beside is All for what cannot fail, and is done to the end.
func Beside(ctx context.Context, list ...func()) {
	_ = Each(context.WithoutCancel(ctx), 0, len(list), func(_ context.Context, i int) error { list[i](); return nil })
}

// Share returns how many workers each of n parts may ask for that so many workers do side by
// side: where there are fewer parts than workers, two a worker over all of them, so that the
// longest part is not waited for alone.
func Share(workers, n int) int {
	workers = Count(workers)
	return max(1, min(workers, 2*workers/max(n, 1)))
}

// each is parts that are done side by side.
type each struct {
	mu     sync.Mutex
	next   int
	failed int   // the first in order that has failed; as many as there are: none has
	err    error // of that one
	stops  map[int]context.CancelFunc
}

// begin begins the next part; the context is nil if there is none.
func (e *each) begin(ctx context.Context) (i int, own context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i = e.next; i >= e.failed {
		return i, nil
	}
	if err := ctx.Err(); err != nil {
		e.failed, e.err = i, err
		return i, nil
	}
	e.next++
	own, e.stops[i] = context.WithCancel(ctx)
	return i, own
}

// end notes how a part has ended, and stops those after one that has failed.
func (e *each) end(i int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stops[i]()
	delete(e.stops, i)
	if err == nil || i > e.failed {
		return
	}
	e.failed, e.err = i, err
	for k, stop := range e.stops {
		if k > i {
			stop()
		}
	}
}

// Counting returns how parts that are done side by side say how far they are: as shares of one
// count, which does not fall. show may be nil.
func Counting(parts int, show func(done, total int)) func(part int) func(done, total int) {
	var mu sync.Mutex
	at, sum := make([]int, parts), 0
	return func(part int) func(done, total int) {
		return func(done, total int) {
			mu.Lock()
			defer mu.Unlock()
			sum += done - at[part]
			at[part] = done
			if show != nil {
				show(sum, parts*total)
			}
		}
	}
}
