package cli

import (
	"hop/exp"
	"hop/game"
	"hop/lab"
)

// gameFlags choose a game and its parameters.
type gameFlags struct {
	lab.PythonEnv
	Game string   `help:"Name of the game (hop list games)." default:"staghunt"`
	Set  []string `help:"Set a parameter, such as game.size=8; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
}

// build returns the game and the part of a spec that describes it.
func (f gameFlags) build(a *app) (game.Game, exp.Game, error) {
	return a.lab().NewGame(f.Named(f.Game, f.Set))
}
