package cli

import (
	"fmt"

	"hop/dataset"
	"hop/lab"
)

type collectCmd struct {
	gameFlags
	Mix     []string `help:"Two bots: teams of 0..n of the first, the rest of the second, in turn." placeholder:"BOT" xor:"who"`
	Team    []string `help:"One bot a seat, or one for all, in every episode." placeholder:"BOT" xor:"who"`
	Agents  string   `help:"Run whose final agents play, in its game; --set changes the game." type:"path" placeholder:"RUN" xor:"who"`
	Rows    int      `help:"Stop at the first whole episode that reaches so many rows." default:"107000"`
	Seed    uint64   `help:"All random numbers follow from it." default:"1"`
	Out     string   `help:"Folder of the dataset; an interrupted one is finished." required:"" type:"path" placeholder:"DIR"`
	Shard   int      `help:"The most rows in one file; 0: 32768." default:"0"`
	Workers int      `help:"How many cores to use; 0: all. The files are the same." default:"0"`
	JSON    bool     `help:"Print one JSON object."`
}

func (c collectCmd) Run(a *app) error {
	cfg, err := c.config(a)
	if err != nil {
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
		fmt.Fprintf(a.out, "  %-10s %8d  %5.1f %%\n", cfg.Game.Spec().Actions[k], n, 100*float64(n)/float64(m.Rows))
	}
	fmt.Fprintf(a.out, "  sha256 %s\n", m.SHA256)
	return nil
}

// config says who plays what.
func (c collectCmd) config(a *app) (dataset.Config, error) {
	cfg := dataset.Config{Mix: c.Mix, Rows: c.Rows, Seed: c.Seed, Dir: c.Out, ShardRows: c.Shard, Workers: c.Workers, Version: version}
	if c.Agents != "" {
		err := a.lab().RecordAgents(&cfg, c.Agents, c.Set)
		return cfg, err
	}
	g, params, err := c.build(a)
	if err != nil {
		return cfg, err
	}
	if len(c.Mix) == 0 && len(c.Team) == 0 {
		return cfg, usage("name two bots with --mix, a team with --team, or a run with --agents")
	}
	if len(c.Team) > 0 {
		members, err := lab.Team(g, c.Team)
		if err != nil {
			return cfg, err
		}
		for _, m := range members {
			cfg.Team = append(cfg.Team, m.Name)
		}
	}
	cfg.Game = g
	cfg.GameSpec, err = params.Map()
	return cfg, err
}
