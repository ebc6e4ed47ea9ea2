package lab

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// entry is one who plays.
type entry struct {
	name string
	kind string
	bot  string // a bot or a thinker; "": runs
	runs []*run // by seed
	dirs []string
}

// run is a run's agents.
type run struct {
	*spec.Saved
	eval.Copies
}

// with hands over the agents of an entry's seed, nil for bots.
func (e *entry) with(seed int, do func(r *run, own []eval.Member) error) error {
	if e.bot != "" {
		return do(nil, nil)
	}
	r := e.runs[seed%len(e.runs)]
	return r.With(func(own []eval.Member) error { return do(r, own) })
}

// enter finds out who the entries are and which game they play.
func (c *crossing) enter() (game.Game, []entry, error) {
	var list []entry
	for _, name := range c.Entries {
		more, err := c.find(name)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, more...)
	}
	g, spec, err := c.game(list)
	if err != nil {
		return nil, nil, err
	}
	if g.Spec().Seats < 2 {
		return nil, nil, Misused("%s has one seat; cross-play needs two or more", spec.Name)
	}
	var sets []string
	for _, f := range spec.Fields() {
		sets = append(sets, f.Path+"="+f.Default)
	}
	names := map[string]bool{}
	for i := range list {
		e := &list[i]
		if names[e.name] {
			return nil, nil, Misused("%s is entered twice", e.name)
		}
		names[e.name] = true
		if err := c.ready(e, g, spec.Name, sets); err != nil {
			return nil, nil, err
		}
	}
	return g, list, nil
}

// find returns the entries that a name stands for.
func (c *crossing) find(name string) ([]entry, error) {
	dirs := runsIn(name)
	if len(dirs) == 0 && slices.Contains(c.Reg.PresetNames(), name) {
		groups, err := disk.Match(c.Runs, name+"-[0-9][0-9][0-9]")
		if err != nil {
			return nil, err
		}
		for _, group := range slices.Backward(groups) { // the newest that has runs
			if dirs = runsIn(group); len(dirs) > 0 {
				break
			}
		}
		if len(dirs) == 0 {
			return nil, Misused("%s has not been trained yet: no %s in %s; hop train %s does it", name, name+"-001", c.Runs, name)
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

// runsIn returns the runs of a folder by seed; none if there are none.
func runsIn(dir string) []string {
	dirs, _ := Folders(dir)
	return dirs
}

// game returns the game to play.
func (c *crossing) game(list []entry) (game.Game, spec.Game, error) {
	name := cmp.Or(c.Game, c.Reg.UsualGame())
	sp, err := c.Reg.NewGame(name)
	if err != nil {
		return nil, sp, Wrong(err, "--game", name)
	}
	for _, e := range list {
		if len(e.dirs) == 0 {
			continue
		}
		s, err := c.RunSpec(e.dirs[0])
		if err != nil {
			return nil, sp, err
		}
		if c.Game != "" && c.Game != s.Game.Name {
			continue // ready says so
		}
		sp = s.Game
		break
	}
	return build(sp, c.Set)
}

// ready loads an entry's agents, or checks that there is such a bot.
func (c *crossing) ready(e *entry, g game.Game, name string, sets []string) error {
	if e.bot != "" {
		names := slices.Repeat([]string{"random"}, g.Spec().Seats)
		names[0] = e.bot
		if e.kind = "bot"; IsPlanner(e.bot) {
			e.kind = "planner"
			if e.bot == "br" {
				e.kind = "exact best response"
				return nil
			}
		}
		if pybot.Is(e.bot) {
			e.kind = "policy in Python"
		}
		if _, err := Typed(g, names, 0, c.Planner); err != nil {
			return Misused("%s is no folder of runs, no preset, and no player of %s: %w", e.bot, name, err)
		}
		return nil
	}
	e.kind = "run, " + strings.Join(e.dirs, ", ")
	for _, dir := range e.dirs {
		s, err := c.RunSpec(dir)
		if err != nil {
			return err
		}
		if s.Game.Name != name {
			return Misused("%s was trained on %s, the game here is %s", dir, s.Game.Name, name)
		}
		r := &run{}
		if r.Saved, err = c.Reg.Open(dir, sets); err == nil {
			r.New = func() ([]eval.Member, error) { list, _, err := r.Frozen(c.Greedy); return list, err }
			err = r.With(func([]eval.Member) error { return nil })
		}
		if err != nil {
			return fmt.Errorf("%s cannot play this game: %w", dir, err)
		}
		e.runs = append(e.runs, r)
	}
	return nil
}
