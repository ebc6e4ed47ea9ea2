package lab

import (
	"context"
	"encoding/json"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/spec/names"
)

// Collect writes a dataset and returns what it holds, and the game that was played.
func (l *Lab) Collect(ctx context.Context, c prepare.Collect, at Site) (dataset.Manifest, game.Game, error) {
	if err := c.Validate(); err != nil {
		return dataset.Manifest{}, nil, Misuse{err}
	}
	cfg, err := l.recording(c, at)
	if err != nil {
		return dataset.Manifest{}, nil, err
	}
	if err := cfg.Game.Spec().Discrete("a dataset"); err != nil {
		return dataset.Manifest{}, nil, Misuse{err}
	}
	if err := l.sign(cfg); err != nil {
		l.Note("%v", err)
	}
	count, end := l.Counting("rows")
	defer end()
	cfg.Progress = func(rows, _ int) { count(min(rows, c.Rows), c.Rows) }
	m, err := dataset.Collect(ctx, cfg)
	return m, cfg.Game, err
}

// sign notes in the dataset's folder that this user wrote what its game runs.
func (l *Lab) sign(cfg dataset.Config) error {
	text, err := json.Marshal(cfg.GameSpec)
	if err != nil {
		return err
	}
	g, err := names.Game(l.Reg, text)
	if err != nil {
		return err
	}
	return l.Reg.Trust.Sign(cfg.Dir, g.Executes())
}

// recording says who plays what.
func (l *Lab) recording(c prepare.Collect, at Site) (dataset.Config, error) {
	cfg := dataset.Config{Mix: c.Mix, Rows: c.Rows, Seed: c.Seed, Dir: at.Dir, ShardRows: c.Shard, Workers: c.Workers,
		Build: l.Build(), Accept: at.AcceptBuild}
	if c.Life > 1 {
		cfg.Life = c.Life
	}
	if c.Agents != "" {
		err := l.RecordAgents(&cfg, string(c.Agents), at.Set)
		return cfg, err
	}
	g, err := at.build()
	if err != nil {
		return cfg, err
	}
	if cfg.GameSpec, err = at.Game.Map(); err != nil {
		return cfg, err
	}
	cfg.Game = g
	if c.Population != "" {
		return cfg, l.recordPopulation(c, &cfg)
	}
	for _, name := range c.Mix {
		if _, err := game.NewBot(g, name); err != nil {
			return cfg, Wrong(err, "--mix", c.Mix...)
		}
	}
	among, err := stranger.Population(g, c.Among)
	if err != nil {
		return cfg, Wrong(err, "--among", c.Among...)
	}
	for _, name := range among {
		if _, err := game.NewBot(g, name); err != nil {
			return cfg, Wrong(err, "--among", c.Among...)
		}
	}
	cfg.Among = among
	if len(c.Team) > 0 {
		members, err := team(g, c.Team, nil, Member) // whose names a file holds: they start nothing
		if err != nil {
			return cfg, err
		}
		for _, m := range members {
			cfg.Team = append(cfg.Team, m.Name)
		}
	}
	return cfg, nil
}

// recordPopulation lets the population of a response network play.
func (l *Lab) recordPopulation(c prepare.Collect, cfg *dataset.Config) error {
	m, p, in, err := pretrain.LoadResponse(l.Reg.Runs, string(c.Population))
	if err != nil {
		return Wrong(err, "--population", string(c.Population))
	}
	if spec := cfg.Game.Spec(); frame.Layout(spec.Obs).Input() != in.Bare() || spec.Seats != in.Seats {
		return Misused("--population %s: it learnt another game than %s as it is set here", c.Population, spec.Name)
	}
	var members pretrain.Members
	if c.Zoo != "" {
		zoo, err := l.Population(string(c.Zoo), cfg.Game, cfg.GameSpec)
		if err != nil {
			return err
		}
		members = zoo.Players
	}
	all := pretrain.NewPopulation(m, p, in)
	all.Life = c.Life
	cfg.Population, cfg.Given, cfg.Kinds = all.Kinds, all.Given, all.Dealt
	cfg.Players = func(workers, lanes int) ([][]rollout.Player, error) {
		return all.Players(cfg.Game, workers, lanes, members, rng.New(c.Seed).Child("population"))
	}
	return nil
}
