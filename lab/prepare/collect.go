package prepare

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/spec/names"
)

// Collect says who plays what for a dataset. Its tags are those of the command's flags.
type Collect struct {
	lab.PythonEnv
	Game       string   `help:"Name of the game (hop list games)." default:"staghunt"`
	Set        []string `help:"Set a parameter, such as game.size=8; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
	Mix        []string `help:"Two bots: teams of 0..n of the first, the rest of the second, in turn." placeholder:"BOT" xor:"who"`
	Among      []string `help:"Some bots: each agent is any of them, drawn anew for each life." placeholder:"BOT" xor:"who"`
	Team       []string `help:"One bot a seat, or one for all, in every episode." placeholder:"BOT" xor:"who"`
	Agents     string   `help:"Run whose final agents play, in its game; --set changes the game." type:"path" placeholder:"RUN" xor:"who"`
	Population string   `help:"Response network (hop pretrain response) whose population plays: teams of those that it learnt among and of itself." type:"path" placeholder:"RUN" xor:"who"`
	Life       int      `help:"Episodes that a team stays together before the next is drawn." default:"1"`
	Zoo        string   `help:"Folder of hop zoo train, if the population has members of it." type:"path" placeholder:"DIR"`
	Rows       int      `help:"Stop at the first whole episode that reaches so many rows." default:"107000"`
	Seed       uint64   `help:"All random numbers follow from it." default:"1"`
	Out        string   `help:"Folder of the dataset; an interrupted one is finished." required:"" type:"path" placeholder:"DIR"`
	Shard      int      `help:"The most rows in one file; 0: 32768." default:"0"`
	Workers    int      `help:"How many cores to use; 0: all. The files are the same." default:"0"`

	AcceptBuild bool `help:"Go on with what another build of hop began."`
}

// Do writes the dataset and returns what it holds, and the game that was played.
func (c Collect) Do(ctx context.Context, l *lab.Lab) (dataset.Manifest, game.Game, error) {
	if c.Rows < 1 {
		return dataset.Manifest{}, nil, lab.Misused("--rows %d, want at least 1", c.Rows)
	}
	cfg, err := c.config(l)
	if err != nil {
		return dataset.Manifest{}, nil, err
	}
	if err := sign(l, cfg); err != nil {
		l.Note("%v", err)
	}
	count, end := l.Counting("rows")
	defer end()
	cfg.Progress = func(rows, _ int) { count(min(rows, c.Rows), c.Rows) }
	m, err := dataset.Collect(ctx, cfg)
	return m, cfg.Game, err
}

// sign notes in the dataset's folder that this user wrote what its game runs.
func sign(l *lab.Lab, cfg dataset.Config) error {
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

// config says who plays what.
func (c Collect) config(l *lab.Lab) (dataset.Config, error) {
	cfg := dataset.Config{Mix: c.Mix, Rows: c.Rows, Seed: c.Seed, Dir: c.Out, ShardRows: c.Shard, Workers: c.Workers,
		Build: l.Build(), Accept: c.AcceptBuild}
	switch {
	case c.Life < 0:
		return cfg, lab.Misused("--life %d, want at least 1", c.Life)
	case c.Life > 1:
		cfg.Life = c.Life
	}
	if c.Agents != "" {
		err := l.RecordAgents(&cfg, c.Agents, c.Set)
		return cfg, err
	}
	g, params, err := l.NewGame(c.Named(c.Game, c.Set))
	if err != nil {
		return cfg, err
	}
	if c.Population != "" {
		if cfg.GameSpec, err = params.Map(); err != nil {
			return cfg, err
		}
		cfg.Game = g
		return cfg, c.population(l, &cfg)
	}
	if len(c.Mix)+len(c.Among)+len(c.Team) == 0 {
		return cfg, lab.Misused("name two bots with --mix, some with --among, a team with --team, " +
			" a run with --agents, or a response network with --population")
	}
	if len(c.Mix) > 0 && len(c.Mix) != 2 {
		return cfg, lab.Misused("--mix %s: want two bots", strings.Join(c.Mix, ","))
	}
	for _, name := range c.Mix {
		if _, err := game.NewBot(g, name); err != nil {
			return cfg, lab.Wrong(err, "--mix", c.Mix...)
		}
	}
	for _, name := range c.Among {
		if _, err := game.NewBot(g, name); err != nil {
			return cfg, lab.Wrong(err, "--among", c.Among...)
		}
	}
	cfg.Among = c.Among
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

// population lets the population of a response network play.
func (c Collect) population(l *lab.Lab, cfg *dataset.Config) error {
	m, p, in, err := pretrain.LoadResponse(l.Reg.Runs, c.Population)
	if err != nil {
		return lab.Wrong(err, "--population", c.Population)
	}
	if spec := cfg.Game.Spec(); frame.Layout(spec.Obs).Input() != in.Bare() || spec.Seats != in.Seats {
		return lab.Misused("--population %s: it learnt another game than %s as it is set here", c.Population, spec.Name)
	}
	var members pretrain.Members
	if c.Zoo != "" {
		zoo, err := l.Population(c.Zoo, cfg.Game, cfg.GameSpec)
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
