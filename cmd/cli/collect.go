package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/prepare"
)

type collectCmd struct {
	gameFlags
	Ask flags[prepare.Collect] `embed:""`
	madeFlags
}

func (c collectCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	at, err := c.site(a, c.madeFlags)
	if err != nil {
		return err
	}
	m, g, err := a.lab().Collect(a.ctx, ask, at)
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
