package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/lab/report/cross"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// CrossConfig says who plays with whom.
type CrossConfig struct {
	Entries  []string              `yaml:"entries" doc:"who plays: folders that hop train made, presets trained before, bots, plan-infer, plan or br" unit:"PRESET|RUN|WHO" need:"yes" flag:"-"`
	Game     string                `yaml:"game" doc:"name of the game; none: that of the first run, or staghunt" unit:"NAME"`
	Set      []string              `yaml:"set" doc:"set a parameter, such as game.stags=2; repeatable" unit:"PATH=VALUE" flag:"each"`
	Episodes int                   `yaml:"episodes" doc:"starts of each pair; each is played from every seat" range:"1.."`
	Seed     uint64                `yaml:"seed" doc:"all random numbers follow from it"`
	Greedy   bool                  `yaml:"greedy" doc:"trained agents take their likeliest action"`
	Split    bool                  `yaml:"split" doc:"every seed of a run is an entry of its own"`
	Runs     string                `yaml:"runs" doc:"where presets trained before are looked for" flag:"file"`
	Planner  []string              `yaml:"planner" doc:"set a field of planners, such as plan.sims=200; repeatable" unit:"PATH=VALUE" flag:"each"`
	Workers  int                   `yaml:"workers" doc:"cores to use; 0: all; numbers do not depend on it" range:"0.."`
	Progress func(done, total int) `yaml:"-"`
}

// DefaultCross returns what is usual; who plays is for its user to say.
func DefaultCross() CrossConfig { return CrossConfig{Episodes: 1000, Seed: 1, Runs: "runs"} }

// crossing is a cross-play under way.
type crossing struct {
	*Lab
	CrossConfig
}

// Crossplay lets each entry take one seat in a team of each entry, all from the same
// starts.
func (l *Lab) Crossplay(ctx context.Context, ask CrossConfig) (*cross.Table, game.Game, error) {
	c := &crossing{l, ask}
	if err := config.Check(ask); err != nil {
		return nil, nil, Misuse{err}
	}
	g, entries, err := c.enter()
	if err != nil {
		return nil, nil, err
	}
	out := &cross.Table{Game: game.Label(g), Starts: c.Episodes, Seats: g.Spec().Seats, Greedy: c.Greedy}
	for _, e := range entries {
		out.Entries = append(out.Entries, cross.Entry{Name: e.name, Kind: e.kind, Seeds: len(e.runs)})
	}
	all, err := c.pairings(g, entries)
	if err != nil {
		return nil, nil, err
	}
	if err := c.play(ctx, g, all); err != nil {
		return nil, nil, err
	}
	for i := range entries {
		out.Cells = append(out.Cells, nil)
		for k := range entries {
			cell := cross.Cell{Newcomer: entries[i].name, Team: entries[k].name}
			var got []*eval.Crossed
			for _, p := range all[i*len(entries)+k] {
				cell.Missing, got = p.missing, append(got, p.got)
			}
			if cell.Missing == "" && !cell.Sum(got, g.Spec().Fixed) {
				return nil, nil, fmt.Errorf("%s among %s got no number", cell.Newcomer, cell.Team)
			}
			out.Cells[i] = append(out.Cells[i], cell)
		}
	}
	out.Used = l.Reg.Runs.Used()
	return out, g, nil
}

// pairing is one seed of a newcomer among one of a team.
type pairing struct {
	one, team *entry
	seed      int
	missing   string      // why they cannot play
	played    [][]float64 // by the newcomer's seat: everyone's returns; a team among itself plays once
	left      atomic.Int32
	got       *eval.Crossed
}

// pairings returns who meets, by cell, and sees whether they can.
func (c *crossing) pairings(g game.Game, entries []entry) (all [][]*pairing, err error) {
	for i := range entries {
		for k := range entries {
			var cell []*pairing
			for seed := range max(1, len(entries[i].runs), len(entries[k].runs)) {
				p := &pairing{one: &entries[i], team: &entries[k], seed: seed, played: make([][]float64, g.Spec().Seats)}
				if i == k {
					p.played = p.played[:1]
				}
				p.left.Store(int32(len(p.played)))
				for seat := 0; seat < len(p.played) && p.missing == ""; seat++ {
					err := c.seated(g, p, seat, func([]eval.Member) error { return nil })
					if no := (Misuse{}); errors.As(err, &no) {
						p.missing = no.Error()
					} else if err != nil {
						return nil, err
					}
				}
				if cell = append(cell, p); p.missing != "" {
					cell = cell[len(cell)-1:]
					break
				}
			}
			all = append(all, cell)
		}
	}
	return all, nil
}

// play plays every pairing from every seat, side by side.
func (c *crossing) play(ctx context.Context, g game.Game, all [][]*pairing) error {
	type place struct {
		*pairing
		seat int
	}
	var list []place
	for _, p := range slices.Concat(all...) {
		for seat := range p.played {
			if p.missing == "" {
				list = append(list, place{p, seat})
			}
		}
	}
	show := cores.Counting(len(list), c.Progress)
	x := eval.Cross{Game: g, Starts: c.Episodes, Key: rng.New(c.Seed), Workers: cores.Share(c.Workers, len(list))}
	return cores.Each(ctx, c.Workers, len(list), func(ctx context.Context, n int) error {
		p, one := list[n], x
		one.Progress = show(n)
		err := c.seated(g, p.pairing, p.seat, func(team []eval.Member) (err error) {
			p.played[p.seat], err = one.Play(ctx, team)
			return err
		})
		if err == nil && p.left.Add(-1) == 0 {
			p.got, p.played = x.Sum(p.played), nil
		}
		return err
	})
}

// seated hands over everyone who plays when the newcomer has a seat.
func (c *crossing) seated(g game.Game, p *pairing, seat int, play func(team []eval.Member) error) error {
	names := slices.Repeat([]string{p.team.name}, g.Spec().Seats)
	names[seat] = p.one.name
	return p.one.with(p.seed, func(r *run, own []eval.Member) error {
		sit := func(r2 *run, others []eval.Member) error {
			team := make([]eval.Member, len(names))
			for b := range team {
				e, who, list := p.team, r2, others
				if b == seat {
					e, who, list = p.one, r, own
				}
				var err error
				if team[b], err = c.member(g, e, who, list, names, b); err != nil {
					return err
				}
			}
			return play(team)
		}
		if p.one == p.team {
			return sit(r, own)
		}
		return p.team.with(p.seed, sit)
	})
}

// member returns the one of an entry that sits on a seat: agent a of a run on
// seat a, with which it trained.
func (c *crossing) member(g game.Game, e *entry, run *run, own []eval.Member, names []string, seat int) (eval.Member, error) {
	if run != nil {
		full, err := run.Spec.Team(&spec.Agents{Game: run.Game}, own)
		if err != nil {
			return eval.Member{}, err
		}
		if full[seat].Name == own[seat].Name {
			return own[seat], nil
		}
		if !run.Spec.Plain() {
			return eval.Member{}, Misused("%s has no agent of its own on seat %d", e.name, seat)
		}
		for b := range own { // a network plays any seat
			if full[b].Name == own[b].Name {
				return own[b], nil
			}
		}
		return eval.Member{}, Misused("%s has no agent that learnt", e.name)
	}
	if IsPlanner(e.bot) && e.bot != "plan-infer" {
		for b, name := range names {
			if _, err := game.NewBot(g, name); err != nil && b != seat {
				return eval.Member{}, Misused("%s needs to know the others' bots", e.bot)
			}
		}
		if e.bot == "br" && AtRandom(names) > 1 {
			return eval.Member{}, Misused("br takes minutes a start among several random bots (hop oracle does it)")
		}
	}
	m, err := Typed(g, names, seat, c.Planner)
	if err != nil {
		return m, Misused("%s cannot play here: %w", e.name, err)
	}
	return m, nil
}

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
