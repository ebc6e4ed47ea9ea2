package lab

import (
	"context"
	"strings"

	"github.com/hop-marl/hop/audit/ladder"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/train/spec"
)

// LadderConfig says what is taken apart. Its tags are those of the command's flags.
type LadderConfig struct {
	What    string     `arg:"" optional:"" help:"@ladder_what" default:"hop-4x4" placeholder:"PRESET|SPEC|RUN"`
	PPO     string     `name:"ppo" help:"@ladder_ppo" default:"ppo-4x4" placeholder:"PRESET|SPEC|RUN"`
	Set     []string   `help:"Set a field of what is trained first, such as train.steps=20000; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seeds   []uint64   `kong:"-"` // that are trained
	Teams   [][]string `kong:"-"`
	Out     string     `help:"Folder to write into; default: a new one, runs/ladder-001." type:"path" placeholder:"DIR"`
	Workers int        `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
}

// LadderRuns returns the folders of both runs, after training what is no run, and
// the game that they play.
func (l *Lab) LadderRuns(ctx context.Context, c LadderConfig) (runs, ppo []string, name string, err error) {
	if ppo, err = l.runs(ctx, c, c.PPO, nil); err != nil {
		return nil, nil, "", err
	}
	if runs, err = l.runs(ctx, c, c.What, c.Set); err != nil {
		return nil, nil, "", err
	}
	spec, err := l.RunSpec(runs[0])
	return runs, ppo, spec.Game.Name, err
}

// Climbable refuses what does not plan, a PPO that there is not, and co-players whom
// the game does not know.
func (l *Lab) Climbable(c LadderConfig) error {
	spec, err := l.specOf(c.What, c.Set)
	if err == nil {
		_, err = ladder.Rungs(spec)
	}
	if err != nil {
		return Misuse{err}
	}
	ppo, err := l.specOf(c.PPO, nil)
	if err != nil {
		return Wrong(err, "--ppo", c.PPO)
	}
	g, err := spec.Game.Build()
	if err != nil {
		return err
	}
	for _, team := range c.Teams {
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

// specOf returns the spec of a preset, a file or a run's folder.
func (l *Lab) specOf(what string, sets []string) (spec.Spec, error) {
	if dirs, err := Folders(what); err == nil {
		return l.RunSpec(dirs[0])
	}
	return l.Reg.Load(what, sets)
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
