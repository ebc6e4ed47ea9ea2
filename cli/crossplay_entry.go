package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hop/exp"
	"hop/game"
	"hop/runlog"
)

// entry is one who plays.
type entry struct {
	name string
	kind string
	bot  string        // a bot or a thinker; "": runs
	runs []*exp.Agents // by seed
	dirs []string
}

// enter finds out who the entries are and which game they play.
func (c crossplayCmd) enter(a *app) (game.Game, string, []entry, error) {
	var list []entry
	for _, name := range c.Entries {
		more, err := c.find(a, name)
		if err != nil {
			return nil, "", nil, err
		}
		list = append(list, more...)
	}
	spec, err := c.game(a, list)
	if err != nil {
		return nil, "", nil, err
	}
	g, err := spec.Build()
	if err != nil {
		return nil, "", nil, usageError{err}
	}
	if g.Spec().Seats < 2 {
		return nil, "", nil, usage("%s has one seat; cross-play needs two or more", spec.Name)
	}
	var sets []string
	for _, f := range spec.Fields() {
		sets = append(sets, f.Path+"="+f.Default)
	}
	names := map[string]bool{}
	for i := range list {
		e := &list[i]
		if names[e.name] {
			return nil, "", nil, usage("%s is entered twice", e.name)
		}
		names[e.name] = true
		if err := e.ready(a, g, spec.Name, sets, c.Planner); err != nil {
			return nil, "", nil, err
		}
	}
	label := spec.Name
	if l, ok := g.(interface{ Label() string }); ok {
		label += " " + l.Label()
	}
	return g, label, list, nil
}

// find returns the entries that a name stands for.
func (c crossplayCmd) find(a *app, name string) ([]entry, error) {
	dirs := runsIn(name)
	if len(dirs) == 0 && slices.Contains(a.reg.PresetNames(), name) {
		groups, err := filepath.Glob(filepath.Join(c.Runs, name+"-[0-9][0-9][0-9]"))
		if err != nil {
			return nil, err
		}
		slices.Sort(groups)
		for _, group := range slices.Backward(groups) { // the newest that has runs
			if dirs = runsIn(group); len(dirs) > 0 {
				break
			}
		}
		if len(dirs) == 0 {
			return nil, usage("%s has not been trained yet: no %s in %s; hop train %s does it", name, name+"-001", c.Runs, name)
		}
	}
	switch {
	case len(dirs) == 0:
		return []entry{{name: name, bot: name}}, nil
	case c.Split:
		var list []entry
		for _, dir := range dirs {
			list = append(list, entry{name: filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir), dirs: []string{dir}})
		}
		return list, nil
	}
	label := filepath.Base(filepath.Clean(name))
	if len(dirs) == 1 && dirs[0] == name {
		label = filepath.Base(filepath.Dir(name)) + "/" + label
	}
	return []entry{{name: label, dirs: dirs}}, nil
}

// runsIn returns the runs of a folder: itself, or those of its seeds, by seed.
func runsIn(dir string) []string {
	if _, err := os.Stat(filepath.Join(dir, "spec.yaml")); err == nil {
		return []string{dir}
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "seed-*"))
	if err != nil {
		return nil
	}
	slices.SortFunc(dirs, func(a, b string) int {
		if d := len(a) - len(b); d != 0 {
			return d // seed-10 after seed-9
		}
		return strings.Compare(a, b)
	})
	return dirs
}

// specOf returns a run's spec.
func (a *app) specOf(dir string) (exp.Spec, error) {
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return exp.Spec{}, err
	}
	return a.reg.Parse(text, filepath.Join(dir, "spec.yaml"), "run", nil)
}

// game returns the game to play.
func (c crossplayCmd) game(a *app, list []entry) (exp.Game, error) {
	name := c.Game
	if name == "" {
		name = "staghunt"
	}
	spec, err := a.reg.NewGame(name)
	if err != nil {
		return spec, usageError{err}
	}
	for _, e := range list {
		if len(e.dirs) == 0 {
			continue
		}
		s, err := a.specOf(e.dirs[0])
		if err != nil {
			return spec, err
		}
		if c.Game != "" && c.Game != s.Game.Name {
			continue // ready says so
		}
		spec = s.Game
		break
	}
	for _, set := range c.Set {
		path, value, ok := strings.Cut(set, "=")
		path, isGame := strings.CutPrefix(path, "game.")
		if !ok || !isGame {
			return spec, usage("--set %s: want game.FIELD=VALUE, such as game.stags=2", set)
		}
		if err := spec.Set(path, value); err != nil {
			return spec, usage("--set %s: %w", set, err)
		}
	}
	return spec, nil
}

// ready loads an entry's agents, or checks that there is such a bot.
func (e *entry) ready(a *app, g game.Game, name string, sets, planner []string) error {
	if e.bot != "" {
		names := slices.Repeat([]string{"random"}, g.Spec().Seats)
		names[0] = e.bot
		if e.kind = "bot"; isThinker(e.bot) {
			e.kind = "planner"
			if e.bot == "br" {
				e.kind = "exact best response"
				return nil
			}
		}
		if _, err := team(g, names, planner...); err != nil {
			return usage("%s is no folder of runs, no preset, and no player of %s: %w", e.bot, name, err)
		}
		return nil
	}
	e.kind = "run, " + strings.Join(e.dirs, ", ")
	for _, dir := range e.dirs {
		s, err := a.specOf(dir)
		if err != nil {
			return err
		}
		if s.Game.Name != name {
			return usage("%s was trained on %s, the game here is %s", dir, s.Game.Name, name)
		}
		run, err := a.reg.LoadAgentsFor(dir, sets)
		if err != nil {
			return fmt.Errorf("%s cannot play this game: %w", dir, err)
		}
		e.runs = append(e.runs, run)
	}
	return nil
}

func isThinker(name string) bool {
	return slices.Contains([]string{"br", "plan", "plan-infer", "plan-paper"}, name)
}
