package cores

import (
	"context"
	"sync"
)

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
