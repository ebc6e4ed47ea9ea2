package lab

import (
	"slices"

	"hop/exp"
)

// PythonEnv is the flag that names an environment in Python: short for the game python
// and its parameter game.env.
type PythonEnv struct {
	Env string `help:"Play a PettingZoo environment in Python: MODULE:FUNCTION, a function that makes it (docs/environments.md)." placeholder:"MODULE:FUNCTION"`
}

// Named returns the game that is played and its parameters.
func (e PythonEnv) Named(name string, sets []string) (string, []string) {
	if e.Env == "" {
		return name, sets
	}
	return "python", slices.Concat([]string{"game.env=" + e.Env}, sets)
}

// Preset returns what is trained, and with which settings: of a preset that has a
// variant for environments, NAME-env, that one.
func (e PythonEnv) Preset(reg *exp.Registry, what string, sets []string) (string, []string) {
	if e.Env == "" {
		return what, sets
	}
	if what == "hop+main" { // nothing was named
		what = "ppo"
	}
	if slices.Contains(reg.PresetNames(), what+"-env") {
		what += "-env"
	}
	return what, slices.Concat([]string{"game.name=python", "game.env=" + e.Env}, sets)
}
