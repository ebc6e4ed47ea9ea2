package lab

import (
	"context"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// Site is where something is done: in which game, by whom, in which folder.
type Site struct {
	Game spec.Game
	Set  []string // changes to the game of a run, such as game.size=8, and to how its agents think
	Runs []string // whose agents meet others
	Dir  string   // what is made is written there

	AcceptBuild bool // go on with what another build began
}

// build builds the game.
func (s Site) build() (game.Game, error) {
	g, err := s.Game.Build()
	if err != nil && len(s.Set) > 0 {
		return nil, Wrong(err, "--set", s.Set...)
	}
	if err != nil {
		return nil, Misuse{err}
	}
	return g, nil
}

// Do does what a config says and returns what it comes to.
func (l *Lab) Do(ctx context.Context, c prepare.Config, at Site) (any, error) {
	switch c := c.(type) {
	case *prepare.Collect:
		m, _, err := l.Collect(ctx, *c, at)
		return m, err
	case *prepare.MOA:
		return l.PretrainMOA(ctx, *c, at)
	case *prepare.Sequence:
		return l.PretrainSequence(ctx, *c, at)
	case *prepare.VAE:
		return l.PretrainVAE(ctx, *c, at)
	case *prepare.CVAE:
		return l.PretrainCVAE(ctx, *c, at)
	case *prepare.World:
		return l.PretrainWorld(ctx, *c, at)
	case *prepare.Response:
		return l.PretrainResponse(ctx, *c, at)
	case *prepare.Zoo:
		return l.TrainZoo(ctx, *c, at)
	case *prepare.Adapt:
		return l.Adapt(ctx, *c, at)
	}
	return nil, Misuse{c.Validate()}
}

// inStage returns the lab as it is within a stage: what it says is the stage's, and what it reads
// is counted apart.
func (l *Lab) inStage(name string) *Lab {
	own, reg := *l, *l.Reg
	if l.Watch != nil {
		own.Watch = func(n News) {
			n.Stage = name
			l.Watch(n)
		}
	}
	if was := l.Reg.Runs; was != nil {
		reg.Runs = &runlog.Reader{AcceptOlder: was.AcceptOlder, AcceptUnsealed: was.AcceptUnsealed, Watch: was.Watch}
	}
	own.Reg = &reg
	return &own
}
