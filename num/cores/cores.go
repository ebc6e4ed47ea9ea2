// Package cores lets the cores of a run help whoever has work.
//
// A Pool is as many workers as a run may use: the goroutine that asks, and helpers that
// live from Open to Close. Work is cut into numbered parts, so many that every worker finds
// some; who computes a part is decided by who is free, never what is computed, so that
// results do not depend on the number of workers. A part may be work in parts itself: whole
// learners are parts, and so are the shards of their minibatches.
//
// A worker takes the same parts as the last time where it can: what they read and write is
// still in its cache.
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
	workers int
	spin    int // looks for work before a worker sleeps
	open    bool
	helpers sync.WaitGroup
	clock   func() time.Duration // nil: waiting is not counted
	places  [maxJobs]place
	idle    []idle // [workers] of helpers
	_       [64]byte
	top     atomic.Int32 // places that were ever used
	sleeps  atomic.Int32 // who sleeps: helpers, and who waits for the end of a job
	dozes   atomic.Int32 // helpers of them

	mu      sync.Mutex
	wake    sync.Cond
	closing atomic.Bool
}

// maxJobs is how many jobs are open to helpers at a time; who asks beyond that works alone.
const maxJobs = 32

// place is where helpers see a job. One whose parts are short stays there when it is done, until
// another needs the place: it is soon done again, and helpers who wait there see that at once.
type place struct {
	job atomic.Pointer[Job]
	idle
}

// Job is the memory of one kind of work, used again each time; its zero value is ready. A Job
// is done by one goroutine at a time.
type Job struct {
	Whole bool // parts are long and ask for help themselves: one is not begun while waiting for another

	pool   atomic.Pointer[Pool] // that it was done on the last time
	parts  int
	groups int // one after the other, as like as can be: at most 64
	do     func(part int)
	doOn   func(part, worker int) // in place of do
	at     int                    // its place in the pool, the last time
	asleep atomic.Bool            // who asked sleeps until all parts are done
	_      [64]byte               // what follows is written often, each by itself, and looked at by who waits

	free    atomic.Uint64 // a bit for each group of parts that nobody has taken, spread over all bits
	_       [56]byte
	pending atomic.Int32
	_       [60]byte
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
	p := &Pool{workers: workers, clock: clock, idle: make([]idle, workers)}
	p.wake.L = &p.mu
	if workers <= runtime.GOMAXPROCS(0) {
		p.spin = 8000 // half a millisecond: as long as a run does by itself what nobody can help with
	}
	return p
}

// near is how often who waits looks where work is soon expected before it looks elsewhere: a few
// microseconds, less than any part takes.
const near = 64

// patient is how often who waits for the last parts of a job looks before it begins a part of
// another, which may take longer than those.
const patient = 4 * near

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
	p.open = true
	p.closing.Store(false)
	clear(p.idle)
	for i := range p.places {
		p.places[i].idle = idle{}
	}
	for i := 1; i < p.workers; i++ {
		p.helpers.Go(func() { p.help(i) })
	}
}

// Close ends the helpers and returns when they have.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closing.Store(true)
	p.mu.Unlock()
	p.wake.Broadcast()
	p.helpers.Wait()
	p.open = false
	for i := range p.places {
		p.places[i].job.Store(nil)
	}
}

// Idle returns for how long workers have waited since Open, added up.
func (p *Pool) Idle() (sum time.Duration) {
	if p == nil || !p.open || p.clock == nil {
		return 0
	}
	for i := range p.idle {
		sum += p.idle[i].sum(p)
	}
	for i := range p.places {
		sum += p.places[i].sum(p)
	}
	return sum
}

// idle counts how long a worker has waited, in ticks. It holds in its upper 10 bits how many wait
// now, and below them the ends of waiting less the beginnings: one number, so that who reads it
// in between is not misled. Each worker has its own, or they would wait for each other to count.
type idle struct {
	now atomic.Int64
	_   [56]byte
}

// tick is the unit, in nanoseconds, that waiting is counted in.
const tick = 64

func (p *Pool) now() int64 {
	if p.clock == nil {
		return 0
	}
	return int64(p.clock()) / tick
}

// rest notes that the worker begins to wait, and rested that it has something to do.
func (w *idle) rest(p *Pool) { w.now.Add(1<<54 - p.now()) }

func (w *idle) rested(p *Pool) { w.now.Add(p.now() - 1<<54) }

// waiting returns how many wait now, and the ends of waiting less the beginnings.
func (w *idle) waiting() (n int, ended int64) {
	x := w.now.Load()
	ended = x << 10 >> 10
	return int((x - ended) >> 54), ended
}

func (w *idle) sum(p *Pool) time.Duration {
	n, ended := w.waiting()
	return time.Duration((ended + int64(n)*p.now()) * tick)
}

// Do calls do for the parts 0 to before n, in any order and on any workers, and returns when
// all have returned. do is made once by who asks often: nothing allocates here.
func (p *Pool) Do(j *Job, n int, do func(part int)) {
	if p.alone(n) {
		for i := range n {
			do(i)
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
			do(i, 0)
		}
		return
	}
	j.do, j.doOn = nil, do
	p.share(j, n)
}

// alone reports whether nobody can help with so many parts.
func (p *Pool) alone(n int) bool { return p == nil || !p.open || p.workers == 1 || n <= 1 }

// share does a job with whoever helps.
func (p *Pool) share(j *Job, n int) {
	j.pool.Store(p)
	j.parts, j.groups = n, min(n, 64)
	j.pending.Store(int32(j.groups))
	all := uint64(0)
	for g := range j.groups {
		all |= 1 << ((g*64 + j.groups - 1) / j.groups)
	}
	shown := p.post(j)
	j.free.Store(all)
	if shown {
		p.rouse(j)
	}
	for bit := j.take(0); bit >= 0; bit = j.take(bit) {
		p.run(j, bit, 0)
	}
	if shown && j.Whole {
		p.places[j.at].job.CompareAndSwap(j, nil)
	}
	if j.pending.Load() > 0 {
		p.await(j)
	}
}

// post puts a job where helpers see it, which is where it was before if nobody else is there. It
// reports whether there was a place.
func (p *Pool) post(j *Job) bool {
	if p.places[j.at].job.Load() == j {
		return true
	}
	for _, empty := range [2]bool{true, false} {
		for i := range maxJobs {
			at := (j.at + i) % maxJobs
			job := &p.places[at].job
			if old := job.Load(); old != nil && (empty || old.pending.Load() > 0) || !job.CompareAndSwap(old, j) {
				continue
			}
			j.at = at
			for top := p.top.Load(); int(top) <= at && !p.top.CompareAndSwap(top, int32(at+1)); top = p.top.Load() {
			}
			return true
		}
	}
	return false
}

// rouse wakes workers that sleep if more groups of a job are free than helpers look for work.
// One wakes the next when it finds work, but for jobs of long parts all are woken at once.
func (p *Pool) rouse(j *Job) {
	if p.sleeps.Load() == 0 {
		return
	}
	look := -int(p.dozes.Load())
	for i := range p.idle {
		n, _ := p.idle[i].waiting()
		look += n
	}
	if bits.OnesCount64(j.free.Load())-1 <= look {
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

// open reports whether there are groups to be taken by workers of a pool. A job may be done on one
// now and on another later.
func (j *Job) open(p *Pool) bool { return j.free.Load() != 0 && j.pool.Load() == p }

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

// run does the group of a bit.
func (p *Pool) run(j *Job, bit, worker int) {
	g := bit * j.groups / 64
	for part := g * j.parts / j.groups; part < (g+1)*j.parts/j.groups; part++ {
		if j.doOn != nil {
			j.doOn(part, worker)
		} else {
			j.do(part)
		}
	}
	p = j.pool.Load() // another one if it was taken as the job went there from this one
	if j.pending.Add(-1) == 0 && j.asleep.Load() {
		p.mu.Lock() // as in rouse
		p.wake.Broadcast()
		p.mu.Unlock()
	}
}

// find takes a group of some job, the first from bit bit on, looking at the places from one on, so
// that helpers spread over them; whole says that parts that are whole may be begun, which come
// first. The job is nil if there is none.
func (p *Pool) find(from, bit int, whole bool) (*Job, int) {
	n := int(p.top.Load())
	for _, long := range [2]bool{true, false} {
		if long && !whole {
			continue
		}
		for i := range n {
			if j := p.places[(from+i)%n].job.Load(); j != nil && j.Whole == long && j.open(p) {
				if got := j.take(bit); got >= 0 {
					return j, got
				}
			}
		}
	}
	return nil, 0
}

// help takes parts until the pool is closed. A helper stays with a job of short parts, and near
// those that it had the last time, as long as there are some.
func (p *Pool) help(worker int) {
	me, own := &p.idle[worker], worker*64/p.workers
	var last *Job
	bit := own
	me.rest(p)
	defer me.rested(p)
	for left := p.spin; ; {
		j, got := last, -1
		if j != nil && j.open(p) {
			got = j.take(bit)
		}
		if got < 0 {
			if j, got = p.find(worker, own, true); j != nil {
				last, bit = j, got
			}
		}
		if j != nil && got >= 0 {
			me.rested(p)
			p.rouse(j)
			for ; got >= 0; got = j.take(got) {
				p.run(j, got, worker)
			}
			if j.Whole {
				last = nil
			}
			me.rest(p)
			left = p.spin
			continue
		}
		for i := 0; i < near && left > 0 && (last == nil || !last.open(p)); i++ {
			pause(1)
			left--
		}
		if p.closing.Load() {
			return
		}
		if left <= 0 {
			last = nil
			p.sleep(nil)
			left = p.spin
		}
	}
}

// await returns when all parts of a job are done, and helps others if that takes long.
func (p *Pool) await(own *Job) {
	me := &p.places[own.at].idle
	me.rest(p)
	defer me.rested(p)
	for left := p.spin; ; {
		for i := 0; i < patient && left > 0 && own.pending.Load() > 0; i++ {
			pause(1)
			left--
		}
		if own.pending.Load() == 0 {
			return
		}
		if j, bit := p.find(own.at, own.at*64/maxJobs, false); j != nil {
			me.rested(p)
			p.rouse(j)
			p.run(j, bit, own.at%p.workers)
			me.rest(p)
			left = p.spin
		} else if left <= 0 {
			p.sleep(own)
			left = p.spin
		}
	}
}

// sleep waits until own is done, or there are parts to be taken, or the pool is closed.
func (p *Pool) sleep(own *Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sleeps.Add(1)
	defer p.sleeps.Add(-1)
	if own != nil {
		own.asleep.Store(true)
		defer own.asleep.Store(false)
	} else {
		p.dozes.Add(1)
		defer p.dozes.Add(-1)
	}
	for !p.closing.Load() && !p.work(own) {
		p.wake.Wait()
	}
}

// work reports whether own is done or there are parts that who waits for it may take.
func (p *Pool) work(own *Job) bool {
	if own != nil && own.pending.Load() == 0 {
		return true
	}
	for i := range p.top.Load() {
		if j := p.places[i].job.Load(); j != nil && j.open(p) && !(own != nil && j.Whole) {
			return true
		}
	}
	return false
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
