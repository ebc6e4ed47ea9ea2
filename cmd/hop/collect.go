package main

import (
	"fmt"

	"hop/dataset"
)

type collectCmd struct {
	gameFlags
	Mix     []string `help:"Two bots: teams of 0..n of the first, the rest of the second, in turn." placeholder:"BOT,BOT" xor:"who"`
	Team    []string `help:"One bot a seat, or one for all, in every episode." placeholder:"BOT,..." xor:"who"`
	Rows    int      `help:"Stop at the first whole episode that reaches so many rows." default:"107000"`
	Seed    uint64   `help:"Names all random streams." default:"1"`
	Out     string   `help:"Folder of the dataset; an interrupted one is finished." required:"" type:"path" placeholder:"DIR"`
	Shard   int      `help:"The most rows in one file; 0: 32768." default:"0"`
	Workers int      `help:"How many cores to use; 0: all. The files are the same." default:"0"`
	JSON    bool     `help:"Print one JSON object."`
}

func (collectCmd) Help() string {
	return `Examples:

  hop collect --mix ns,nh --rows 107000 --seed 7 --out data/
  hop collect --game staghunt --set game.size=8 --set game.blocks=5 --team ns,ns,nh,random --out data8/

Only rows of agents that are alive. docs/data.md describes the columns; numpy opens the files.`
}

func (c collectCmd) Run(a *app) error {
	g, params, err := c.build()
	if err != nil {
		return err
	}
	if len(c.Mix) == 0 && len(c.Team) == 0 {
		return usage("name two bots with --mix, or a team with --team")
	}
	cfg := dataset.Config{
		Game: g, Mix: c.Mix, Rows: c.Rows, Seed: c.Seed, Dir: c.Out, ShardRows: c.Shard, Workers: c.Workers, Version: version,
	}
	if len(c.Team) > 0 {
		members, err := team(g, c.Team)
		if err != nil {
			return err
		}
		for _, m := range members {
			cfg.Team = append(cfg.Team, m.Name)
		}
	}
	if cfg.GameSpec, err = params.Map(); err != nil {
		return err
	}
	bar := a.progress("rows")
	cfg.Progress = func(rows, _ int) { bar.update(min(rows, c.Rows), c.Rows) }
	m, err := dataset.Collect(a.ctx, cfg)
	bar.end()
	if err != nil {
		return err
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
