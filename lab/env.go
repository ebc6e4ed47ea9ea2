package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/train/spec"
)

// PythonEnv names an environment in Python, MODULE:FUNCTION: short for the game python and
// its parameter game.env; "": none.
type PythonEnv string

// Named returns the game that is played and its parameters.
func (e PythonEnv) Named(name string, sets []string) (string, []string) {
	if e == "" {
		return name, sets
	}
	return "python", slices.Concat([]string{"game.env=" + string(e)}, sets)
}

// Preset returns what is trained, and with which settings: of a preset that has a
// variant for environments, NAME-env, that one.
func (e PythonEnv) Preset(reg *spec.Registry, what string, sets []string) (string, []string) {
	if e == "" {
		return what, sets
	}
	if what == "hop+main" { // nothing was named
		what = "ppo"
	}
	if slices.Contains(reg.PresetNames(), what+"-env") {
		what += "-env"
	}
	return what, slices.Concat([]string{"game.name=python", "game.env=" + string(e)}, sets)
}

// packages returns the versions of what a spec's game is made of, if another program
// plays it.
func packages(s *spec.Spec) map[string]string {
	g, err := s.Game.Build()
	if err != nil {
		return nil
	}
	if p, ok := game.As[interface{ Packages() map[string]string }](g); ok {
		return p.Packages()
	}
	return nil
}

// moved says in which packages two lists differ; "" if in none.
func moved(was, is map[string]string) string {
	all := maps.Clone(is)
	maps.Copy(all, was)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a, b := was[name], is[name]; a != b {
			list = append(list, fmt.Sprintf("%s was %s and is %s", name, cmp.Or(a, "not there"), cmp.Or(b, "not there")))
		}
	}
	return strings.Join(list, ", ")
}

// goesOn refuses to go on with a run whose running episodes cannot be played again.
func goesOn(dir string, g game.Game) error {
	if r, ok := game.As[interface{ Replays() bool }](g); ok && !r.Replays() {
		return Misused("%s cannot go on: its environment's episodes cannot be played again (game.replay is false), so nobody knows where they "+
			"stood; train anew, or let reset(seed=...) seed every source of chance", dir)
	}
	return nil
}
