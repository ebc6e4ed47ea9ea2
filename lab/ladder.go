package lab

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/audit/ladder"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
)

// LadderConfig says what is taken apart.
type LadderConfig struct {
	What     string       `yaml:"what" doc:"a preset or spec file of agents that plan, to train first, or the folder of a run" unit:"PRESET|SPEC|RUN" flag:"-"`
	PPO      string       `yaml:"ppo" doc:"the lowest rung: a PPO preset or spec file, or the folder of a run" unit:"PRESET|SPEC|RUN"`
	Set      []string     `yaml:"set" doc:"set a field of what is trained first, such as train.steps=20000; repeatable" unit:"PATH=VALUE" flag:"each"`
	VS       []string     `yaml:"vs" doc:"a team of co-players, such as ns,nh,nh; repeatable" unit:"BOT,..." flag:"each"`
	Seeds    config.Seeds `yaml:"seeds" doc:"seeds to train, where something is trained first"`
	Episodes int          `yaml:"episodes" doc:"starts of every rung, team and seed" range:"2.."`
	Seed     uint64       `yaml:"seed" doc:"the starts follow from it"`
	Out      string       `yaml:"out" doc:"folder to write into; none: a new one, runs/ladder-001" unit:"DIR" flag:"file"`
	Workers  int          `yaml:"workers" doc:"cores to use; 0: all; numbers do not depend on it" range:"0.."`
}

// DefaultLadder returns the ladder of docs/ladder.md.
func DefaultLadder() LadderConfig {
	return LadderConfig{What: "hop-4x4", PPO: "ppo-4x4", VS: []string{"ns,ns,ns", "ns,nh,nh", "nh,ns,random"}, Seeds: config.Seeds{1, 2, 3},
		Episodes: 200, Seed: 1}
}

// Validate returns everything that is wrong, joined.
func (c LadderConfig) Validate() error {
	err := config.Check(c)
	for _, team := range c.teams() {
		if slices.Contains(team, "") {
			err = errors.Join(err, config.Bad("vs", c.VS, "bots, such as ns,nh,nh"))
		}
	}
	return err
}

// teams returns the teams of co-players.
func (c LadderConfig) teams() (list [][]string) {
	for _, text := range c.VS {
		names := strings.Split(text, ",")
		for i := range names {
			names[i] = strings.TrimSpace(names[i])
		}
		list = append(list, names)
	}
	return list
}

// Ladder replaces one module after the other by the truth, after training what is no run, and
// writes the pages.
func (l *Lab) Ladder(ctx context.Context, c LadderConfig) (*ladder.Report, error) {
	if err := c.Validate(); err != nil {
		return nil, Misuse{err}
	}
	if err := l.Climbable(c); err != nil {
		return nil, err
	}
	var err error
	if c.Out == "" {
		if c.Out, err = NewFolder("runs", "ladder"); err != nil {
			return nil, err
		}
	}
	ppo, err := l.runs(ctx, c, c.PPO, nil)
	if err != nil {
		return nil, err
	}
	runs, err := l.runs(ctx, c, c.What, c.Set)
	if err != nil {
		return nil, err
	}
	of, err := l.RunSpec(runs[0])
	if err != nil {
		return nil, err
	}
	count, end := l.Counting("rungs")
	res, err := ladder.Run(ctx, ladder.Config{Reg: l.Reg, Runs: runs, PPO: ppo, Vs: c.teams(), Episodes: c.Episodes,
		Key: rng.New(c.Seed).Child("ladder"), Workers: c.Workers, Progress: count})
	end()
	if err != nil {
		return nil, err
	}
	subject := filepath.Base(c.What)
	if strings.HasPrefix(subject, "seed-") {
		subject = filepath.Base(filepath.Dir(c.What)) + ", " + subject
	}
	r := &ladder.Report{Run: filepath.Dir(runs[0]), PPO: filepath.Dir(ppo[0]), Game: of.Game.Name, Episodes: c.Episodes, Seed: c.Seed,
		Result: res, Page: filepath.Join(c.Out, "ladder.html"), Subject: subject, Command: l.commandLine(), Used: l.Reg.Runs.Used()}
	for _, t := range c.teams() {
		r.Teams = append(r.Teams, strings.Join(t, ","))
	}
	return r, r.Write(c.Out)
}

// Climbable refuses what does not plan, a PPO that there is not, and co-players whom
// the game does not know.
func (l *Lab) Climbable(c LadderConfig) error {
	spec, err := l.SpecOf(c.What, c.Set)
	if err == nil {
		_, err = ladder.Rungs(spec)
	}
	if err != nil {
		return Misuse{err}
	}
	ppo, err := l.SpecOf(c.PPO, nil)
	if err != nil {
		return Wrong(err, "--ppo", c.PPO)
	}
	g, err := spec.Game.Build()
	if err != nil {
		return err
	}
	for _, team := range c.teams() {
		if n := g.Spec().Seats - 1; len(team) != n {
			return Misused("--vs %s: it names %d co-players, %s has room for %d", strings.Join(team, ","), len(team), g.Spec().Name, n)
		}
		for _, name := range team {
			if _, err := game.NewBot(g, name); err != nil {
				return Wrong(err, "--vs", team...)
			}
		}
	}
	return SameGame(&spec, &ppo)
}

// runs returns a run's folders, after training it if it is a spec.
func (l *Lab) runs(ctx context.Context, c LadderConfig, what string, sets []string) ([]string, error) {
	if dirs, err := Folders(what); err == nil {
		return dirs, nil
	}
	spec, err := l.Reg.Load(what, sets)
	if err != nil {
		return nil, Misuse{err}
	}
	t, err := l.NewTraining(spec, c.Seeds, c.Out, c.Workers)
	if err != nil {
		return nil, err
	}
	if _, err := l.Train(ctx, t); err != nil {
		return nil, err
	}
	return Folders(t.Folder)
}
