package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/spec"
)

type evalCmd struct {
	gameFlags
	Ask flags[lab.EvalConfig] `embed:""`
	jsonFlag
}

func (c evalCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	bar := a.progress("episodes")
	ask.Progress = bar.Update
	out, err := lab.Eval(a.ctx, g, ask)
	bar.End()
	if err != nil {
		return err
	}
	return c.answer(a, out, out.Text(g.Spec().Goals))
}

type oracleCmd struct {
	gameFlags
	Ask flags[lab.SolveConfig] `embed:""`
	jsonFlag
}

func (c oracleCmd) Run(a *app, k *kong.Context) error {
	ask, err := c.Ask.read(k, nil)
	if err != nil {
		return err
	}
	g, _, err := c.build(a)
	if err != nil {
		return err
	}
	bar := a.progress("starts")
	ask.Progress = bar.Update
	out, err := lab.Solve(a.ctx, g, ask)
	bar.End()
	if err != nil {
		return err
	}
	return c.answer(a, out, out.Text())
}

// envFlag names an environment in Python.
type envFlag struct {
	Env     lab.PythonEnv `help:"Play a PettingZoo environment in Python: MODULE:FUNCTION, a function that makes it (docs/environments.md)." placeholder:"MODULE:FUNCTION"`
	Lenient bool          `help:"With --env: clip observations that are outside of their space, and count them, instead of refusing them."`
}

// with returns settings, and what the flags of the environment add to them.
func (f envFlag) with(sets []string) []string {
	if f.Lenient && f.Env != "" {
		return slices.Concat([]string{"game.lenient=true"}, sets)
	}
	return sets
}

// gameFlags choose a game and its parameters.
type gameFlags struct {
	envFlag
	Game string   `help:"Name of the game (hop list games)." default:"staghunt"`
	Set  []string `help:"Set a parameter, such as game.size=8; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
}

// splitSets tells parameters of the game from other fields.
func splitSets(sets []string) (ofGame, other []string) {
	for _, s := range sets {
		if strings.HasPrefix(s, "game.") {
			ofGame = append(ofGame, s)
		} else {
			other = append(other, s)
		}
	}
	return ofGame, other
}

// site returns where something is done in that game.
func (f gameFlags) site(a *app, m madeFlags) (lab.Site, error) {
	g, err := a.lab().GameWith(f.Env.Named(f.Game, f.with(f.Set)))
	return lab.Site{Game: g, Set: f.Set, Dir: m.Out, AcceptBuild: m.AcceptBuild}, err
}

// build returns the game and the part of a spec that describes it.
func (f gameFlags) build(a *app) (game.Game, spec.Game, error) {
	return a.lab().NewGame(f.Env.Named(f.Game, f.with(f.Set)))
}
