package cores

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestEachOnce: every part once, nested, on a pool of the context and on one of its own, and
// never more at a time than there are workers.
func TestEachOnce(t *testing.T) {
	shared := New(3, nil)
	shared.Open()
	defer shared.Close()
	for name, ctx := range map[string]context.Context{"own": context.Background(), "shared": With(context.Background(), shared)} {
		var done [20][7]atomic.Int32
		var now, most atomic.Int32
		err := Each(ctx, 3, len(done), func(ctx context.Context, i int) error {
			return Each(ctx, 1, len(done[i]), func(_ context.Context, k int) error {
				for n := now.Add(1); ; {
					if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				time.Sleep(50 * time.Microsecond)
				done[i][k].Add(1)
				now.Add(-1)
				return nil
			})
		})
		if err != nil || most.Load() > 3 || most.Load() < 2 {
			t.Errorf("%s: %v, %d at a time, want at most 3 and more than one", name, err, most.Load())
		}
		for i := range done {
			for k := range done[i] {
				if n := done[i][k].Load(); n != 1 {
					t.Errorf("%s: part %d of %d was done %d times", name, k, i, n)
				}
			}
		}
	}
}

// TestEachFailsAsInOrder: part 3 fails at once and part 1 later: part 1's error is returned, what
// comes after the one that failed is stopped or not begun, what comes before is not.
func TestEachFailsAsInOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 4, 8} {
		var late, stopped atomic.Int32
		three := make(chan struct{})
		err := Each(context.Background(), workers, 40, func(ctx context.Context, i int) error {
			switch {
			case i == 1 && workers >= 4:
				<-three // has failed
				if ctx.Err() != nil {
					t.Errorf("%d workers: part 1 is stopped by part 3", workers)
				}
				return errors.New("one")
			case i == 1:
				return errors.New("one")
			case i == 3:
				defer func() { go func() { time.Sleep(5 * time.Millisecond); close(three) }() }()
				return errors.New("three")
			case i > 1:
				late.Add(1)
				select {
				case <-ctx.Done():
					stopped.Add(1)
					return ctx.Err()
				case <-time.After(20 * time.Second):
				}
			}
			return nil
		})
		if err == nil || err.Error() != "one" {
			t.Errorf("%d workers: %v, want the error of part 1", workers, err)
		}
		if late.Load() != stopped.Load() || int(late.Load()) > workers {
			t.Errorf("%d workers: %d parts after those that failed were begun, %d were stopped", workers, late.Load(), stopped.Load())
		}
	}
}

// TestEachIsCancelled: nothing is begun once the context is done, and no goroutine is left.
func TestEachIsCancelled(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	var begun atomic.Int32
	err := Each(ctx, 4, 100, func(ctx context.Context, i int) error {
		if begun.Add(1) == 4 {
			cancel()
		}
		<-ctx.Done()
		return fmt.Errorf("part %d: %w", i, ctx.Err())
	})
	if !errors.Is(err, context.Canceled) || begun.Load() != 4 {
		t.Errorf("%v after %d were begun", err, begun.Load())
	}
	err = Each(ctx, 4, 100, func(context.Context, int) error { begun.Add(1); return nil })
	if !errors.Is(err, context.Canceled) || begun.Load() != 4 {
		t.Errorf("done before: %v after %d were begun", err, begun.Load())
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestShare(t *testing.T) {
	var got []int
	for _, n := range []int{1, 2, 3, 4, 8, 9, 100} {
		got = append(got, Share(4, n))
	}
	if want := []int{4, 4, 2, 2, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
