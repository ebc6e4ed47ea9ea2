package lab

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"hop/agent"
	"hop/eval"
	"hop/exp"
	"hop/game"
	"hop/mind"
	"hop/oracle"
	"hop/report"
	"hop/rng"
)

// meeting is a trio, and what is measured of it once for all who adapt to it.
type meeting struct {
	g         game.Game
	about     map[string]any
	vs, then  []string
	now, next []eval.Member // [A], the first place empty; next is nil if nobody changes
	exact     bool
	random    map[uint64]float64 // by seed of the lives
	best      map[uint64]float64 // where the best response is not exact
	bestBy    string
}

func (c *adapting) meeting(g game.Game, about map[string]any, vs []string) (*meeting, error) {
	m := &meeting{g: g, about: about, vs: vs, then: c.Then, random: map[uint64]float64{}, best: map[uint64]float64{}}
	list, err := c.members(g, about, vs)
	if err != nil {
		flag := "--vs"
		if len(c.Teams) > 1 {
			flag = "--trios"
		}
		return nil, Wrong(err, flag, vs...)
	}
	m.now = append([]eval.Member{{}}, list...)
	all := vs
	if len(c.Then) > 0 {
		if c.AtEpisode < 1 {
			return nil, Misused("--at-episode %d, want at least 1", c.AtEpisode)
		}
		if list, err = c.members(g, about, c.Then); err != nil {
			return nil, Wrong(err, "--then", c.Then...)
		}
		m.next = append([]eval.Member{{}}, list...)
		all = append(slices.Clone(vs), c.Then...)
	}
	m.exact = oracle.Solvable(g, all) == nil && atRandom(vs) <= 1 && atRandom(c.Then) <= 1
	return m, nil
}

// names returns who the co-players of an episode are.
func (c *adapting) names(m *meeting, episode int) []string {
	if m.next != nil && episode >= c.AtEpisode {
		return m.then
	}
	return m.vs
}

// lifeKey names the streams of a seed's lives.
func lifeKey(seed uint64) rng.Key { return rng.New(seed).Child("adapt") }

// live lets a member live among the co-players.
func (c *adapting) live(ctx context.Context, m *meeting, seed uint64, focal exp.Life) (*eval.Adapted, error) {
	run := eval.Adaptation{
		Game: m.g, Team: slices.Clone(m.now), Then: m.next, At: c.AtEpisode, Lives: c.Lives, Steps: c.Steps, Last: c.Last,
		Key: lifeKey(seed), Workers: c.Workers,
	}
	run.Team[0] = focal.Member
	return run.Run(ctx)
}

// learnt is live for one whose weights change: each life alone, with a mind of
// its own, side by side over the cores.
func (c *adapting) learnt(ctx context.Context, m *meeting, seed uint64, s *exp.Stranger, reads []*mind.Readings) (*eval.Adapted, error) {
	lives, errs := make([]*eval.Adapted, c.Lives), make([]error, c.Lives)
	turns := make(chan struct{}, cores(c.Workers))
	var wg sync.WaitGroup
	for n := range c.Lives {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			focal, err := s.Member(reads[n])
			if err != nil {
				errs[n] = err
				return
			}
			// Players of lives side by side must not share memory.
			own, err := c.meeting(m.g, m.about, m.vs)
			if err != nil {
				errs[n] = err
				return
			}
			own.now[0] = focal.Member
			lives[n], errs[n] = eval.Adaptation{
				Game: m.g, Team: own.now, Then: own.next, At: c.AtEpisode, Lives: 1, Steps: c.Steps, Last: c.Last,
				Key: lifeKey(seed).Child("life", n), Workers: 1, GoalLen: focal.GoalLen, Window: c.Every, After: focal.After,
			}.Run(ctx)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := &eval.Adapted{}
	for n, l := range lives {
		out.Score.Merge(l.Score)
		out.First.Merge(l.First)
		out.Played += l.Played
		out.Curve = mergeAll(out.Curve, l.Curve)
		for _, e := range l.Episodes {
			e.Life = n
			out.Episodes = append(out.Episodes, e)
		}
	}
	return out, nil
}

// livedSeed is one seed's lives of one who adapts.
type livedSeed struct {
	report.AdaptedSeed
	res   *eval.Adapted
	value map[[2]int]float64 // the best response's value of starts that were solved, by life and index
	reads []*mind.Readings
}

// cell lets one adapt to one trio.
func (c *adapting) cell(ctx context.Context, m *meeting, r adaptRow) (*report.Adapted, error) {
	out := &report.Adapted{Run: r.name, VS: m.vs, Then: m.then, Known: r.knows(append(slices.Clone(m.vs), m.then...)), Learn: c.Learn,
		Lives: c.Lives}
	if len(r.dirs) == 0 {
		out.Learn = exp.LearnBeliefs
	}
	var all []*livedSeed
	for i, seed := range r.seeds {
		s, err := c.sample(ctx, m, r, i, seed)
		if err != nil {
			return nil, err
		}
		if err := c.refer(ctx, m, s, r.dirs != nil && changes(c.Learn)); err != nil {
			return nil, err
		}
		all = append(all, s)
		out.Seeds = append(out.Seeds, s.AdaptedSeed)
	}
	c.sum(out, m, all)
	return out, nil
}

// changes reports whether weights move, so that every life is lived alone.
func changes(learn string) bool {
	return learn == exp.LearnMOA || learn == exp.LearnPolicy || learn == exp.LearnAll
}

// sample lives one seed's lives.
func (c *adapting) sample(ctx context.Context, m *meeting, r adaptRow, i int, seed uint64) (*livedSeed, error) {
	s := &livedSeed{AdaptedSeed: report.AdaptedSeed{Seed: seed}}
	if len(r.dirs) == 0 {
		focal, err := member(m.g, append([]string{r.name}, m.vs...), 0, nil)
		if _, none := game.NewBot(m.g, r.name); none != nil && !isPlanner(r.name) {
			return nil, Misused("%s: no folder of a run, no thinker (br, plan, plan-infer, plan-paper), and %w", r.name, none)
		}
		if err != nil {
			return nil, err
		}
		s.res, err = c.live(ctx, m, seed, exp.Life{Member: focal})
		return s, err
	}
	s.Run = r.dirs[i%len(r.dirs)]
	x, err := c.Reg.LoadStranger(s.Run, c.Set, c.Agent, c.Learn)
	if err != nil {
		return nil, Misuse{err}
	}
	lives := 1
	if changes(c.Learn) {
		lives = c.Lives
	}
	s.reads = make([]*mind.Readings, lives) // nil for those who read nothing of others
	for n := range s.reads {
		if x.Models {
			s.reads[n] = &mind.Readings{Truth: func(episode, j int) int { return slices.Index(r.types, c.names(m, episode)[j]) }}
		}
	}
	if lives > 1 {
		s.res, err = c.learnt(ctx, m, seed, x, s.reads)
		return s, err
	}
	focal, err := x.Member(s.reads[0])
	if err != nil {
		return nil, err
	}
	s.res, err = c.live(ctx, m, seed, focal)
	return s, err
}

// refer adds the references to a sample.
func (c *adapting) refer(ctx context.Context, m *meeting, s *livedSeed, alone bool) error {
	random, ok := m.random[s.Seed]
	if !ok {
		res, err := c.live(ctx, m, s.Seed, exp.Life{Member: eval.Bot(m.g, "random")})
		if err != nil {
			return err
		}
		random = res.Score.Mean()
		m.random[s.Seed] = random
	}
	s.Random, s.Score = random, s.res.Score.Mean()
	if m.exact {
		if err := c.solve(ctx, m, s, alone); err != nil {
			return err
		}
	} else {
		best, err := c.bestOf(ctx, m, s.Seed)
		if err != nil {
			return err
		}
		s.Best, s.Regret = best, best-s.Score
	}
	s.Normalised = 1 - s.Regret/(s.Best-s.Random)
	return nil
}

// solve computes the exact best response's value of the starts that count, and,
// if co-players change, of those until some time after the change.
func (c *adapting) solve(ctx context.Context, m *meeting, s *livedSeed, alone bool) error {
	m.bestBy = "exact"
	s.value = map[[2]int]float64{}
	want, most := map[[2]int]bool{}, 0
	var scored [][2]int
	for _, e := range s.res.Episodes {
		at := [2]int{e.Life, e.Index}
		most = max(most, e.Index+1)
		if e.Last {
			scored = append(scored, at)
		}
		if m.next != nil && e.Index < c.AtEpisode+24 {
			want[at] = true
		}
	}
	if n := len(scored); atRandom(m.vs)+atRandom(m.then) > 0 && n > c.Starts {
		var some [][2]int
		for i := range c.Starts {
			some = append(some, scored[i*n/c.Starts])
		}
		scored = some
	}
	for _, at := range scored {
		want[at] = true
	}
	workers := cores(c.Workers)
	errs, values := make([]error, workers), make([]map[[2]int]float64, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { values[w], errs[w] = c.values(ctx, m, s.Seed, most, alone, want, w, workers) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, v := range values {
		for at, x := range v {
			s.value[at] = x
		}
	}
	solved := map[[2]int]bool{}
	for _, at := range scored {
		solved[at] = true
	}
	counts := func(e eval.Lived) bool { return solved[[2]int{e.Life, e.Index}] }
	regret, best := c.overLives(s, counts)
	s.Regret, s.Best = regret.Mean(), best.Mean()
	if math.Abs(s.Regret) < 1e-9 {
		s.Regret = 0 // sums of returns round otherwise than sums of values
	}
	return nil
}

// values solves the wanted starts of every workers-th life, from w on.
func (c *adapting) values(ctx context.Context, m *meeting, seed uint64, most int, alone bool, want map[[2]int]bool, w, workers int,
) (map[[2]int]float64, error) {
	br, err := oracle.NewBR(m.g, 1)
	if err != nil {
		return nil, err
	}
	out := map[[2]int]float64{}
	places := []string{"0", "1", "2", "3", "4", "5", "6", "7"}[:m.g.Spec().Seats]
	bots := make([]string, len(places))
	lanes := func(life int, key rng.Key, n int) error {
		value := func(env, index int, st game.State, seat game.Seat, who []string) error {
			at := [2]int{life + env, index}
			if !want[at] || at[0]%workers != w {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			for s, place := range who {
				if bots[s] = ""; place != "0" {
					bots[s] = c.names(m, index)[slices.Index(places, place)-1]
				}
			}
			v, err := br.Value(st, seat, bots)
			out[at] = v
			return err
		}
		return oracle.Starts(m.g, key, n, n*most, false, places, agent.ID(0), value)
	}
	if !alone {
		return out, lanes(0, lifeKey(seed), c.Lives)
	}
	for n := range c.Lives {
		if n%workers != w {
			continue
		}
		if err := lanes(n, lifeKey(seed).Child("life", n), 1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bestOf lets every candidate live the same lives and returns what the best got
// over all seeds so far asked for: the game's bots, the untrained planners, and a
// best response of the zoo.
func (c *adapting) bestOf(ctx context.Context, m *meeting, seed uint64) (float64, error) {
	if best, ok := m.best[seed]; ok {
		return best, nil
	}
	var candidates []eval.Member
	add := func(name string, m eval.Member) {
		m.Name = name
		candidates = append(candidates, m)
	}
	for _, b := range m.g.Bots() {
		if b.Name != "random" {
			add(b.Name, eval.Bot(m.g, b.Name))
		}
	}
	for _, name := range []string{"plan", "plan-infer"} {
		if p, err := member(m.g, append([]string{name}, m.vs...), 0, nil); err == nil && m.next == nil {
			add(name, p)
		}
	}
	if zoo, err := c.Lab.Zoo(c.AdaptConfig.Zoo); err == nil && m.next == nil {
		if e := c.findZoo(zoo, "best-"+m.vs[0], m.about); e != nil && !slices.ContainsFunc(m.vs, func(n string) bool { return n != m.vs[0] }) {
			if p, err := c.Reg.Member(m.g, e.Run+"#0"); err == nil {
				add("PPO "+e.Name, p)
			}
		}
	}
	best, by := 0., ""
	for _, one := range candidates {
		res, err := c.live(ctx, m, seed, exp.Life{Member: one})
		if err != nil {
			return 0, err
		}
		if x := res.Score.Mean(); by == "" || x > best {
			best, by = x, one.Name
		}
	}
	m.best[seed] = best
	if by = "by " + by; m.bestBy != "" && !strings.Contains(m.bestBy, by) {
		by = m.bestBy + ", " + by
	}
	m.bestBy = by
	return best, nil
}
