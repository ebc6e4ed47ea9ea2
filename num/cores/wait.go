package cores

import "context"

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
