package cli

import (
	"context"
	"fmt"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/prepare"
)

type collectCmd struct {
	prepare.Collect
	JSON bool `help:"Print one JSON object."`
}

func (c collectCmd) work(ctx context.Context, l *lab.Lab) (any, error) {
	m, _, err := c.Do(ctx, l)
	return m, err
}

func (c collectCmd) Run(a *app) error {
	m, g, err := c.Do(a.ctx, a.lab())
	if err != nil {
		return lab.Stop(err, "whole files are kept. The same command goes on.")
	}
	if c.JSON {
		return a.emit(map[string]any{
			"dir": c.Out, "rows": m.Rows, "episodes": m.Episodes, "action_counts": m.ActionCounts, "sha256": m.SHA256,
		})
	}
	fmt.Fprintf(a.out, "%s holds %d rows of %d episodes in %d files\n", c.Out, m.Rows, m.Episodes, len(m.Shards))
	for k, n := range m.ActionCounts {
		fmt.Fprintf(a.out, "  %-10s %8d  %5.1f %%\n", g.Spec().Actions[k], n, 100*float64(n)/float64(m.Rows))
	}
	fmt.Fprintf(a.out, "  sha256 %s\n", m.SHA256)
	return nil
}
