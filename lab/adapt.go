package lab

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/search/truth"
	"github.com/hop-marl/hop/store/played"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// adapting is an adaptation under way.
type adapting struct {
	*Lab
	prepare.Adapt
	site    Site
	teams   [][]string
	game    spec.Game     // that of all meetings
	split   []string      // the strangers that say how they act and remember nothing; nil: none are met
	turns   chan struct{} // what is computed side by side, one a core
	workers int           // of each
	lived   func()        // counts what is done: a seed's lives, and the references of a meeting
	away    bool          // whom a run knows was found out elsewhere
	met     []string      // then these are the scripts among them

	reading sync.Mutex
	people  map[string]eval.Member    // by their names
	agents  map[string]*spec.Newcomer // by their folders
}

// Adapt lets the agents of runs, and others, live among co-players, strangers or not, and finds out
// what the best response and random play would get from the same starts. It writes the
// tables into the site's folder, if it has one.
func (l *Lab) Adapt(ctx context.Context, config prepare.Adapt, at Site) (*adapted.Table, error) {
	if err := config.Validate(); err != nil {
		return nil, Misuse{err}
	}
	c := &adapting{Lab: l, Adapt: config, site: at, teams: config.Teams(), people: map[string]eval.Member{}}
	work := func() (*adapted.Table, error) { return c.run(ctx) }
	var table *adapted.Table
	var err error
	if slices.ContainsFunc(slices.Concat(prepare.Players(&config), at.Runs), pybot.Is) {
		table, err = cores.Await(ctx, work) // which may take minutes for a window
	} else {
		table, err = work()
	}
	if err == nil && at.Dir != "" {
		err = adapted.Write(at.Dir, table)
	}
	return table, err
}

func (c *adapting) run(ctx context.Context) (*adapted.Table, error) {
	rows, g, about, err := c.rows()
	if err != nil {
		return nil, err
	}
	var split *adapted.Strangers
	if c.Strangers != "" {
		if split, err = c.strangers(g, about); err != nil {
			return nil, err
		}
	}
	c.forAll(g.Spec().Seats - 1)
	table := c.table(about)
	count, end := c.Counting("lives and references")
	defer end()
	c.share(rows)
	cells := make([][]*adapted.Row, len(c.teams))
	var lived atomic.Int64
	all := 0
	for _, r := range rows {
		all += len(c.teams) * (len(r.seeds) + 1)
	}
	count(0, all) // the clock starts here
	c.lived = func() { count(int(lived.Add(1)), all) }
	err = together(ctx, len(c.teams), func(ctx context.Context, i int) error {
		m, err := c.meeting(ctx, g, about, c.teams[i], true)
		if err != nil {
			return err
		}
		for _, r := range rows { // who comes later is compared with the same references
			res, err := c.cell(ctx, m, r)
			if err != nil {
				return err
			}
			cells[i] = append(cells[i], res)
			c.lived()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	table.Table = slices.Concat(cells...)
	table.Used = c.used(rows)
	if split == nil {
		return table, nil
	}
	for i, r := range table.Table { // as meetings elsewhere are
		if table.Table[i], err = adapted.HandIn(r); err != nil {
			return nil, err
		}
	}
	return table, c.sumStrangers(ctx, g, table, split)
}

// forAll lets a single co-player that is named stand for all others.
func (c *adapting) forAll(others int) {
	for i, t := range c.teams {
		if len(t) == 1 {
			c.teams[i] = slices.Repeat(t, others)
		}
	}
	if len(c.Then) == 1 {
		c.Then = slices.Repeat(c.Then, others)
	}
}

// share says how many cores each seed's lives are lived on: meetings and seeds come first, but some take
// five times as long as others, so that where few are left a core each is not enough.
func (c *adapting) share(rows []adaptRow) {
	seeds := 1
	for _, r := range rows {
		seeds = max(seeds, len(r.seeds))
	}
	c.turns = make(chan struct{}, cores.Count(c.Workers))
	c.workers = livedOn(cores.Count(c.Workers), len(c.teams)*seeds)
}

// livedOn returns on how many of all cores each of so many parts is lived.
func livedOn(all, parts int) int { return max(cores.Share(all, parts), min(4, all, 8*all/parts)) }

// turn waits for a core, and returns what leaves it to others.
func (c *adapting) turn() (leave func()) {
	c.turns <- struct{}{}
	return func() { <-c.turns }
}

// together calls do for 0 to before n, side by side. After an error the others are stopped;
// the first in order is returned that is not about that.
func together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if errs[i] = do(ctx, i); errs[i] != nil {
				stop()
			}
		})
	}
	wg.Wait()
	var stopped error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		stopped = cmp.Or(stopped, err)
	}
	return stopped
}

// adaptRow is one who adapts: a run's seeds, or somebody without a run.
type adaptRow struct {
	name  string
	dirs  []string // of the run; none: a bot or a thinker
	seeds []uint64 // of the lives; sample i plays dirs[i mod len(dirs)]
	known map[string]spec.Acquaintance
	types []string // bots that stand for its hypotheses
}

// rows finds out who adapts, and on which game: the first run's, or the flags'.
func (c *adapting) rows() (rows []adaptRow, g game.Game, about map[string]any, err error) {
	most := 1
	for _, name := range c.site.Runs {
		r := adaptRow{name: strings.TrimRight(filepath.ToSlash(name), "/")}
		if r.dirs, err = adaptFolders(name); err != nil {
			return nil, nil, nil, err
		}
		most = max(most, len(r.dirs))
		rows = append(rows, r)
	}
	for i := range rows {
		r := &rows[i]
		if r.seeds = c.Seeds; r.seeds == nil { // one life for each seed of the run
			n := len(r.dirs)
			if n == 0 {
				n = most
			}
			for k := range n {
				r.seeds = append(r.seeds, uint64(k+1))
			}
		}
		if len(r.dirs) == 0 {
			r.known = map[string]spec.Acquaintance{}
			if strings.HasPrefix(r.name, "plan") {
				for _, bot := range truth.Default().Models {
					r.known[bot] = spec.Acquaintance{Partner: true}
				}
			}
			continue
		}
		s, err := c.newcomer(r.dirs[0])
		if err != nil {
			return nil, nil, nil, err
		}
		if r.known, err = c.knownTo(&s.Spec); err != nil {
			return nil, nil, nil, err
		}
		for _, name := range s.Met {
			name = game.Called(s.Game, name)
			a := r.known[name]
			a.Partner = true
			r.known[name] = a
		}
		if p, ok := spec.SettingsAs[hop.Planning](s.Spec.LearnsAs(agent.ID(c.Agent))); ok && p.Planner().Goals.Kind == "hand" {
			r.types = p.Planner().Leaf.Partners
		}
		here, err := s.Spec.Game.Map()
		if err != nil {
			return nil, nil, nil, err
		}
		if g == nil {
			g, about, c.game = s.Game, here, s.Spec.Game
		} else if c.GameWords(here) != c.GameWords(about) {
			return nil, nil, nil, Misused(
				"%s was trained on %s, the first run on %s: compare runs on one game, or name it with --set game.FIELD=VALUE",
				r.name, c.GameWords(here), c.GameWords(about))
		}
	}
	if g == nil {
		if g, err = c.site.build(); err != nil {
			return nil, nil, nil, err
		}
		if about, err = c.site.Game.Map(); err != nil {
			return nil, nil, nil, err
		}
		c.game = c.site.Game
	}
	for _, r := range rows {
		if !pybot.Is(r.name) {
			continue
		}
		if _, err := pybot.Open(g, r.name); err != nil { // before anything is solved
			return nil, nil, nil, Misuse{err}
		}
	}
	return rows, g, about, nil
}

// newcomer is Registry.LoadNewcomer. A run is read once: each life has an agent of its own made of it.
func (c *adapting) newcomer(dir string) (*spec.Newcomer, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if x := c.agents[dir]; x != nil {
		return x, nil
	}
	x, err := c.Reg.LoadNewcomer(dir, c.site.Set, c.Agent, c.Learn)
	if err != nil {
		return nil, Misused("%w", err)
	}
	if c.agents == nil {
		c.agents = map[string]*spec.Newcomer{}
	}
	c.agents[dir] = x
	return x, nil
}

// knownTo returns whom the agents of a run know. Elsewhere what the run was raised on is not there, nor looked for.
func (c *adapting) knownTo(s *spec.Spec) (map[string]spec.Acquaintance, error) {
	if !c.away {
		return s.Known()
	}
	known := map[string]spec.Acquaintance{}
	for _, name := range c.met {
		known[name] = spec.Acquaintance{Partner: true}
	}
	return known, nil
}

// adaptFolders returns the folders of a run's seeds; none if the name is not a
// folder.
func adaptFolders(name string) ([]string, error) {
	if pybot.Is(name) {
		return nil, nil
	}
	if _, err := os.Stat(name); err == nil {
		return Folders(name)
	}
	if strings.ContainsAny(name, `/\`) {
		return nil, Misused("%s is no run: there is no such folder", name)
	}
	return nil, nil
}

// members turns names into co-players: bots, policies in Python, people, members or kinds of the zoo, RUN#AGENT. The
// k-th of a member is agent k of its run, from 1: the focal agent has 0's place.
// It also returns which bot, or which run's agent, each is.
func (c *adapting) members(g game.Game, about map[string]any, names []string) (list []eval.Member, who []string, err error) {
	if n := g.Spec().Seats - 1; len(names) != n {
		return nil, nil, Misused("%d co-players are named (%s), the game has room for %d", len(names), strings.Join(names, ","), n)
	}
	var zoo []ZooEntry
	for i, name := range names {
		if pybot.Is(name) {
			m, err := Typed(g, names, i, nil)
			if err != nil {
				return nil, nil, err
			}
			list, who = append(list, m), append(who, name)
			continue
		}
		m, err := c.member(g, name)
		if err == nil {
			list, who = append(list, m), append(who, game.Called(g, name))
			continue
		}
		if _, person := played.Folder(name); person {
			return nil, nil, Misuse{err}
		}
		if strings.Contains(name, "#") {
			return nil, nil, Misused("%w", err)
		}
		if zoo == nil {
			if zoo, err = c.Lab.Zoo(c.Adapt.ZooFolder()); err != nil {
				return nil, nil, err
			}
		}
		e := c.FindZoo(zoo, name, about)
		if e == nil {
			_, err := game.NewBot(g, name)
			return nil, nil, Misused("%w; nor is there a %q for %s in the zoo %s: hop zoo train makes some", err, name, c.GameWords(about),
				c.Adapt.ZooFolder())
		}
		address := e.Address(i + 1)
		if m, err = c.Reg.Member(g, address); err != nil {
			return nil, nil, err
		}
		m.Name = name
		list, who = append(list, m), append(who, address)
	}
	return list, who, nil
}

// member is Registry.Member. What people played is read once.
func (c *adapting) member(g game.Game, name string) (eval.Member, error) {
	if _, person := played.Folder(name); !person {
		return c.Reg.Member(g, name)
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	if m, ok := c.people[name]; ok {
		return m, nil
	}
	m, err := c.Reg.Member(g, name)
	if err == nil {
		c.people[name] = m
	}
	return m, err
}

// knows says how those who adapt know a co-player; who is the bot or the run's agent
// that its name stands for.
func (r adaptRow) knows(name, who string) adapted.CoPlayer {
	p := adapted.CoPlayer{Name: name, Known: adapted.Stranger}
	if len(r.dirs) == 0 && r.name == "br" { // it is told
		p.Known = adapted.InSearch
	}
	folder, _, isAgent := strings.Cut(who, "#")
	if isAgent && slices.ContainsFunc(r.dirs, func(dir string) bool { return sameFolder(dir, folder) }) {
		p.Known, p.Where = adapted.InTraining, "it learnt with it"
		return p
	}
	a, ok := r.known[who]
	if !ok {
		a, ok = r.known[name] // a member of the zoo that the response network learnt to answer
	}
	plain, _, _ := strings.Cut(who, "@") // at whatever age
	for other, x := range r.known {      // the same folder may be written otherwise
		other, _, _ := strings.Cut(other, "@")
		if dir, agent, frozen := strings.Cut(other, "#"); frozen && isAgent && strings.HasSuffix(plain, "#"+agent) && sameFolder(dir, folder) {
			a, ok = x, true
		}
	}
	switch {
	case !ok:
	case len(a.Team) > 0:
		p.Known, p.Where = adapted.InTraining, strings.Join(a.Team, ", ")
	case a.Recorded:
		p.Known = adapted.InData
	case a.Partner:
		p.Known = adapted.InSearch
	}
	return p
}

// sameFolder reports whether two paths name one folder.
func sameFolder(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

// coPlayers says how those who adapt know each kind of co-player of a meeting: as
// they know the one of it that they know least.
func (r adaptRow) coPlayers(m *meeting) (list []adapted.CoPlayer) {
	for _, p := range m.parts {
		for i, name := range p.vs {
			one := r.knows(name, p.who[i])
			k := slices.IndexFunc(list, func(q adapted.CoPlayer) bool { return q.Name == name })
			if k < 0 {
				list = append(list, one)
			} else if one.Known == adapted.Stranger {
				list[k] = one
			}
		}
	}
	return list
}
