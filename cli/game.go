package cli

import (
	"strings"

	"hop/eval"
	"hop/exp"
	"hop/game"
)

// gameFlags choose a game and its parameters.
type gameFlags struct {
	Game string   `help:"Name of the game (hop list games)." default:"staghunt"`
	Set  []string `help:"Set a parameter, such as game.size=8; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
}

// build returns the game and the part of a spec that describes it.
func (f gameFlags) build(a *app) (game.Game, exp.Game, error) {
	g, err := a.reg.NewGame(f.Game)
	if err != nil {
		return nil, g, usageError{err}
	}
	for _, s := range f.Set {
		path, value, ok := strings.Cut(s, "=")
		path, isGame := strings.CutPrefix(path, "game.")
		if !ok || !isGame {
			return nil, g, usage("--set %s: want game.FIELD=VALUE, such as game.size=8", s)
		}
		if err := g.Set(path, value); err != nil {
			return nil, g, usage("--set %s: %w", s, err)
		}
	}
	built, err := g.Build()
	if err != nil {
		return nil, g, usageError{err}
	}
	return built, g, nil
}

// team turns names of bots and thinkers into members. A single name stands for
// the whole team. planner sets fields of planners.
func team(g game.Game, names []string, planner ...string) ([]eval.Member, error) {
	spec := g.Spec()
	if len(names) == 1 {
		for len(names) < spec.Seats {
			names = append(names, names[0])
		}
	}
	if len(names) != spec.Seats {
		return nil, usage("the team has %d members (%s), the game has %d seats; name one for each, or one for all", len(names), strings.Join(names, ","), spec.Seats)
	}
	members := make([]eval.Member, len(names))
	for i, name := range names {
		m, err := thinker(g, names, i, planner)
		if err != nil {
			return nil, err
		}
		if m != nil {
			members[i] = *m
			continue
		}
		if _, err := game.NewBot(g, name); err != nil {
			return nil, usageError{err}
		}
		members[i] = eval.Bot(g, name)
	}
	return members, nil
}
