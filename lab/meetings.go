package lab

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// Encounters are an evaluation of agents among strangers, cut into meetings that can take place anywhere and in any order: what comes of
// one follows from it alone. Put together in their order they are what Adapt returns.
type Encounters struct {
	Agents   []Entrant         `json:"agents"`
	Split    adapted.Strangers `json:"split"`    // whom they meet
	Meetings []Meeting         `json:"meetings"` // stranger by stranger
	Used     []runlog.Used     `json:"checkpoints,omitempty"`
}

// Entrant is one who is scored: a run's seeds, or somebody without a run.
type Entrant struct {
	Name  string   `json:"name"`           // as the user wrote it
	Dirs  []string `json:"dirs,omitempty"` // of the run's seeds; none: a bot or a thinker
	Seeds []uint64 `json:"seeds"`          // of the lives; life i plays Dirs[i mod len(Dirs)]
	// Known are scripts that it knows, by which the observer goes where he knows none of the split.
	Known []string `json:"known,omitempty"`
}

// Meeting is one of the agents, with all its seeds and lives, among as many of one stranger as there are other seats.
// The best response is chosen over all seeds, so they stay together.
type Meeting struct {
	Agent     int                `json:"agent"` // from 0
	Stranger  string             `json:"stranger"`
	CoPlayers []adapted.CoPlayer `json:"co_players"` // how the agent knows them
	Watch     string             `json:"watch"`
}

// Cut says which meetings an evaluation is, and of which game. Nothing is played.
func (l *Lab) Cut(ctx context.Context, config prepare.Adapt, at Site) (*Encounters, spec.Game, error) {
	if err := config.Validate(); err != nil {
		return nil, spec.Game{}, Misuse{err}
	}
	if err := portable(config, at); err != nil {
		return nil, spec.Game{}, err
	}
	c := &adapting{Lab: l, Adapt: config, site: at, teams: config.Teams(), people: map[string]eval.Member{}}
	rows, g, about, err := c.rows()
	if err != nil {
		return nil, spec.Game{}, err
	}
	split, err := c.strangers(g, about)
	if err != nil {
		return nil, spec.Game{}, err
	}
	c.forAll(g.Spec().Seats - 1)
	e := &Encounters{Split: *split}
	for _, r := range rows {
		s := Entrant{Name: r.name, Dirs: r.dirs, Seeds: r.seeds}
		for _, dir := range r.dirs { // now, and not on a machine far away
			if _, err := c.Reg.LoadNewcomer(dir, at.Set, c.Agent, c.Learn); err != nil {
				return nil, spec.Game{}, Misused("%w", err)
			}
		}
		if len(r.dirs) == 0 {
			if _, err := c.typed(g, r.name, c.teams[0]); err != nil {
				return nil, spec.Game{}, err
			}
		}
		for name := range r.known {
			if len(c.split) == 0 && scripted(g, name) != nil {
				s.Known = append(s.Known, name)
			}
		}
		slices.Sort(s.Known)
		e.Agents = append(e.Agents, s)
	}
	for _, team := range c.teams {
		m, err := c.meeting(ctx, g, about, team, false)
		if err != nil {
			return nil, spec.Game{}, err
		}
		for i, r := range rows {
			e.Meetings = append(e.Meetings, Meeting{i, team[0], r.coPlayers(m), c.watch(m, r)})
		}
	}
	e.Used = c.used(rows)
	return e, c.game, nil
}

// portable refuses what would not come out alike on every machine, or would open there what is not of the job.
func portable(config prepare.Adapt, at Site) error {
	switch {
	case config.Strangers == "":
		return Misused("--strangers is empty: only meetings with the co-players of a split can be jobs; hop adapt lets agents meet others here")
	case config.Zoo != "":
		return Misused("--zoo %s: learners of a zoo are met on one machine only; leave it out, or use hop strangers score", config.Zoo)
	case config.LearnBest:
		return Misused("--learn-best keeps what it learns on one machine; leave it out, or use hop strangers score")
	case len(config.Then) > 0:
		return Misused("--then: co-players that change are met on one machine only; use hop strangers score")
	}
	for _, name := range at.Runs {
		if pybot.Is(name) {
			return Misused("%s is a policy in Python, which plays on this machine only: use hop strangers score", name)
		}
	}
	return nil
}

// Meet lets one agent, the only one of the site, live among a stranger, and finds out what others would get from the
// same starts. known are scripts that it knows; what its run was raised on is not looked for here.
func (l *Lab) Meet(ctx context.Context, config prepare.Adapt, at Site, stranger string, known []string) (*adapted.Row, error) {
	if err := config.Validate(); err != nil {
		return nil, Misuse{err}
	}
	c := &adapting{Lab: l, Adapt: config, site: at, people: map[string]eval.Member{}, away: true, met: known}
	rows, g, about, err := c.rows()
	if err != nil {
		return nil, err
	}
	if _, err := c.strangers(g, about); err != nil { // whom the observer knows
		return nil, err
	}
	c.teams = [][]string{{stranger}}
	c.forAll(g.Spec().Seats - 1)
	c.share(rows)
	count, end := c.Counting("lives and references")
	defer end()
	all := len(rows[0].seeds) + 1
	var lived atomic.Int64
	count(0, all)
	c.lived = func() { count(int(lived.Add(1)), all) }
	m, err := c.meeting(ctx, g, about, c.teams[0], true)
	if err != nil {
		return nil, err
	}
	return c.cell(ctx, m, rows[0])
}

// Together puts an evaluation together of its meetings, in their order.
func (l *Lab) Together(ctx context.Context, e *Encounters, config prepare.Adapt, played spec.Game, rows []*adapted.Row,
) (*adapted.Table, error) {
	c := &adapting{Lab: l, Adapt: config, game: played, workers: cores.Count(config.Workers)}
	g, err := Site{Game: played}.build()
	if err != nil {
		return nil, err
	}
	about, err := played.Map()
	if err != nil {
		return nil, err
	}
	table := c.table(about)
	for i, m := range e.Meetings {
		r, of := *rows[i], e.Agents[m.Agent]
		r.Run, r.CoPlayers, r.Watch, r.Known = of.Name, m.CoPlayers, m.Watch, allKnown(m.CoPlayers)
		r.Seeds = slices.Clone(r.Seeds)
		for k := range r.Seeds {
			if r.Seeds[k].Run = ""; len(of.Dirs) > 0 {
				r.Seeds[k].Run = of.Dirs[slices.Index(of.Seeds, r.Seeds[k].Seed)%len(of.Dirs)]
			}
		}
		table.Table = append(table.Table, &r)
	}
	table.Used = e.Used
	split := e.Split
	return table, c.sumStrangers(ctx, g, table, &split)
}

// table is one without rows.
func (c *adapting) table(about map[string]any) *adapted.Table {
	return &adapted.Table{Words: c.GameWords(about), Game: about, Steps: c.Steps, Last: c.Last}
}

// allKnown says that none of them is a stranger.
func allKnown(list []adapted.CoPlayer) bool {
	return !slices.ContainsFunc(list, func(p adapted.CoPlayer) bool { return p.Known == adapted.Stranger })
}

// used are the checkpoints that were read, those of who adapts first, seed by seed: seeds are read side by side.
func (c *adapting) used(rows []adaptRow) []runlog.Used {
	var dirs []string
	for _, r := range rows {
		dirs = append(dirs, r.dirs...)
	}
	place := func(u runlog.Used) int {
		if i := slices.Index(dirs, u.Run); i >= 0 {
			return i
		}
		return len(dirs)
	}
	list := c.Reg.Runs.Used()
	slices.SortStableFunc(list, func(a, b runlog.Used) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Step, b.Step))
	})
	return list
}

// typed is one who adapts without a run.
func (c *adapting) typed(g game.Game, name string, vs []string) (eval.Member, error) {
	focal, err := Typed(g, append([]string{name}, vs...), 0, nil)
	if _, none := game.NewBot(g, name); none != nil && !IsPlanner(name) && !pybot.Is(name) {
		return focal, Misused("%s: no folder of a run, no thinker (br, plan, plan-infer, plan-paper), no policy in Python (py:MODULE:FUNCTION, "+
			"FILE.onnx), and %w", name, none)
	}
	return focal, err
}
