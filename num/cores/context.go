package cores

import "context"

type pooled struct{}

// With returns a context whose work shares an open pool.
func With(ctx context.Context, p *Pool) context.Context { return context.WithValue(ctx, pooled{}, p) }

// Of returns the pool that the work of a context shares, nil if it shares none.
func Of(ctx context.Context) *Pool {
	p, _ := ctx.Value(pooled{}).(*Pool)
	return p
}
