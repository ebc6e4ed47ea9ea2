package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// refer finds out which starts of some samples count, and what the best response and
// the random bot are worth from these very starts. It returns, for each part of the
// lives, by whom the best response is.
func (c *adapting) refer(ctx context.Context, m *meeting, all []*livedSeed) ([]string, error) {
	counted := make([]int, len(m.parts))
	for _, s := range all {
		c.choose(m, s)
		for k := range m.parts {
			counted[k] += len(s.scored[k])
		}
	}
	err := together(ctx, 2*len(all), func(ctx context.Context, i int) (err error) {
		s := all[i/2]
		if i%2 == 0 {
			return c.solve(ctx, m, s)
		}
		s.random, err = c.reference(ctx, m, s, eval.Bot(m.g, "random"))
		return err
	})
	if err != nil {
		return nil, err
	}
	by := make([]string, len(m.parts))
	for k, p := range m.parts {
		if counted[k] == 0 {
			return nil, Misused("no life of %d steps has an episode %d, the first of those who come later: choose an earlier one with "+
				"--at-episode, or more --steps", c.Steps, p.from)
		}
		if by[k] = "exact"; p.exact {
			continue
		}
		if p.lasting != nil {
			by[k] = lastingName
			for _, s := range all {
				for at := range s.scored[k] {
					s.best[at] = p.lasting.Gain
				}
			}
			continue
		}
		var err error
		if by[k], err = c.bestOf(ctx, m, k, all); err != nil {
			return nil, err
		}
	}
	return by, nil
}

// choose picks the starts that count: of each part of a life the episodes that ended
// in its last steps. Where one start takes the oracle long, some of them.
func (c *adapting) choose(m *meeting, s *livedSeed) {
	s.scored = make([]map[start]bool, len(m.parts))
	total := make([]map[int]int, len(m.parts)) // [part] steps of each life
	for k := range m.parts {
		s.scored[k], total[k] = map[start]bool{}, map[int]int{}
	}
	for _, e := range s.res.Episodes {
		total[m.part(e.Index)][e.Life] += e.Steps
	}
	var list []start // of the last part
	for _, e := range s.res.Episodes {
		k := m.part(e.Index)
		last := e.Last
		if k < len(m.parts)-1 { // the part is over before the life is
			left := total[k][e.Life] - e.Steps
			total[k][e.Life], last = left, left < c.Last
		}
		if last && k == len(m.parts)-1 {
			list = append(list, startOf(e))
		} else if last {
			s.scored[k][startOf(e)] = true
		}
	}
	k := len(m.parts) - 1
	if n, most := len(list), m.parts[k].starts; m.parts[k].exact && most > 0 && n > most {
		for i := range most {
			s.scored[k][list[i*n/most]] = true
		}
		return
	}
	for _, at := range list {
		s.scored[k][at] = true
	}
}

// reference names somebody who lives the lives of a seed to be compared with.
type reference struct {
	name  string
	seed  uint64
	alone bool
}

// referred is what a reference got.
type referred struct {
	episodes []int // of each life
	returns  map[start]float64
}

// reference returns what somebody gets from the starts of a sample, episode by
// episode. Each of its lives has as many episodes as the sample's, however long they take it.
func (c *adapting) reference(ctx context.Context, m *meeting, s *livedSeed, one eval.Member) (map[start]float64, error) {
	episodes := make([]int, c.Lives)
	for _, e := range s.res.Episodes {
		episodes[e.Life] = max(episodes[e.Life], e.Index+1)
	}
	key := reference{one.Name, s.seed, s.alone}
	m.mu.Lock()
	r := m.lived[key]
	m.mu.Unlock()
	if r != nil {
		enough := true
		for n, k := range episodes {
			enough = enough && r.episodes[n] >= k
			episodes[n] = max(k, r.episodes[n])
		}
		if enough {
			return r.returns, nil
		}
	}
	var res *eval.Adapted
	var err error
	if s.alone {
		res, err = c.apart(ctx, m, s.seed, episodes, func(int) (spec.Life, error) { return spec.Life{Member: one}, nil })
	} else {
		leave := c.turn()
		res, err = c.live(ctx, m, s.seed, episodes, one)
		leave()
	}
	if err != nil {
		return nil, err
	}
	r = &referred{episodes, map[start]float64{}}
	for _, e := range res.Episodes {
		r.returns[startOf(e)] = e.Return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lived[key] = r
	return r.returns, nil
}

// solve computes the exact best response's value of the starts that count, where it
// can, and, if co-players change, of all until some time after the change.
func (c *adapting) solve(ctx context.Context, m *meeting, s *livedSeed) error {
	s.best = map[start]float64{}
	want, most := map[start]bool{}, 0
	for _, e := range s.res.Episodes {
		k, at := m.part(e.Index), startOf(e)
		most = max(most, e.Index+1)
		want[at] = m.parts[k].exact && (s.scored[k][at] || m.next != nil && e.Index < c.AtEpisode+adapted.BackWithin)
	}
	values := make([]map[start]float64, c.workers)
	err := together(ctx, len(values), func(ctx context.Context, w int) (err error) {
		defer c.turn()()
		values[w], err = c.values(ctx, m, s, most, want, w, len(values))
		return err
	})
	for _, v := range values {
		maps.Copy(s.best, v)
	}
	return err
}

// values solves the wanted starts of every workers-th life, from w on.
func (c *adapting) values(ctx context.Context, m *meeting, s *livedSeed, most int, want map[start]bool, w, workers int,
) (map[start]float64, error) {
	out := map[start]float64{}
	if !slices.ContainsFunc(m.parts, func(p part) bool { return p.exact }) {
		return out, nil
	}
	br, err := oracle.NewBR(m.g, 1)
	if err != nil {
		return nil, err
	}
	br.Until(ctx, 0)
	places := []string{"0", "1", "2", "3", "4", "5", "6", "7"}[:m.g.Spec().Seats]
	bots := make([]string, len(places))
	lanes := func(life int, key rng.Key, n int) error {
		value := func(env, index int, st game.State, seat game.Seat, who []string) error {
			at := start{life + env, index}
			if !want[at] || at.life%workers != w {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			for s, place := range who {
				if bots[s] = ""; place != "0" {
					bots[s] = m.parts[m.part(index)].vs[slices.Index(places, place)-1]
				}
			}
			v, err := br.Value(st, seat, bots)
			out[at] = v
			return err
		}
		return oracle.Starts(m.g, key, n, n*most, false, places, agent.ID(0), value)
	}
	if !s.alone {
		return out, lanes(0, lifeKey(s.seed), c.Lives)
	}
	for n := w; n < c.Lives; n += workers {
		if err := lanes(n, lifeKey(s.seed).Child("life", n), 1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bestOf lets every candidate live the lives of all samples and takes the one that
// got most from the starts that count in part k for the best response there.
func (c *adapting) bestOf(ctx context.Context, m *meeting, k int, all []*livedSeed) (string, error) {
	list, err := c.candidates(ctx, m)
	if err != nil {
		return "", err
	}
	got := make([][]map[start]float64, len(list)) // [candidate][sample]
	err = together(ctx, len(list), func(ctx context.Context, i int) error {
		got[i] = make([]map[start]float64, len(all))
		one := func(ctx context.Context, k int) (err error) {
			got[i][k], err = c.reference(ctx, m, all[k], list[i])
			return err
		}
		if list[i].Blind {
			return together(ctx, len(all), one)
		}
		for k := range all { // agents of a run share memory
			if err := one(ctx, k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	by, most := "", 0.
	var best []map[start]float64 // [sample]
	for i, one := range list {
		var mean stats.Acc
		returns := got[i]
		for n, s := range all {
			if lives := c.overLives(s, k, returns[n]); len(lives) > 0 {
				mean.Add(meanOf(lives).best)
			}
		}
		if by == "" || mean.Mean() > most {
			by, most, best = one.Name, mean.Mean(), returns
		}
	}
	for i, s := range all {
		for _, e := range s.res.Episodes {
			if at := startOf(e); m.part(e.Index) == k {
				s.best[at] = best[i][at]
			}
		}
	}
	return "by " + by, nil
}

// candidates are whom the best response is sought among where it cannot be solved:
// the game's bots, the untrained planners, a best response of the zoo and, if that is asked for,
// a PPO that learnt against these very co-players.
func (c *adapting) candidates(ctx context.Context, m *meeting) (list []eval.Member, err error) {
	add := func(name string, m eval.Member) {
		m.Name = name
		list = append(list, m)
	}
	for _, b := range m.g.Bots() {
		add(b.Name, eval.Bot(m.g, b.Name))
	}
	if m.next != nil {
		return list, nil
	}
	vs := m.parts[0].vs
	for _, name := range []string{"plan", "plan-infer"} {
		if p, err := Member(m.g, append([]string{name}, vs...), 0, nil); err == nil {
			add(name, p)
		}
	}
	zoo, err := c.Lab.Zoo(c.Adapt.ZooFolder())
	if err != nil {
		c.Lab.Note("no best response of the zoo is among the candidates: %v", err)
	} else {
		e := c.FindZoo(zoo, vs[0], m.about)
		if e != nil {
			e = c.FindZoo(zoo, "best-"+e.Name, m.about)
		}
		if e != nil && !slices.ContainsFunc(vs, func(n string) bool { return n != vs[0] }) {
			p, err := c.Reg.Member(m.g, e.Address(0))
			if err != nil {
				c.Lab.Note("%s is not among the candidates for the best response: %v", e.Run, err)
			} else {
				add("PPO "+e.Name, p)
			}
		}
	}
	if c.LearnBest {
		defer c.turn()()
		p, err := c.learnt(ctx, c.game, m.g, vs, learntSteps)
		if err != nil {
			return nil, err
		}
		add(learntName, p)
	}
	return list, nil
}

// learntName is what a best response is called that learnt against the very co-players.
const learntName = "PPO learnt against it"

// learntSteps is how long it learns: ten seconds of a core on a board of 4x4.
const learntSteps = 3_000_000

// learnt returns a PPO that learnt against these co-players in this game, with the settings of
// the game's preset and steps that get smaller. It is kept in the user's cache, in a folder named
// by all that it follows from: the spec, its seed, and the program.
func (l *Lab) learnt(ctx context.Context, of spec.Game, g game.Game, vs []string, steps int) (eval.Member, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return eval.Member{}, fmt.Errorf("a place for what is learnt: %w", err)
	}
	reg := *l.Reg
	reg.Runs = &runlog.Reader{} // what is kept for speed is nothing that a page names
	quiet := &Lab{Reg: &reg, Version: l.Version, Command: l.Command}
	team := []string{"learn"}
	for _, name := range vs {
		team = append(team, strconv.Quote(game.Called(g, name)))
	}
	sum := sha256.Sum256([]byte(l.Build().Line() + strings.Join(team, ",")))
	b := Breed{Name: "against-" + hex.EncodeToString(sum[:8]), apart: true, latest: true,
		set: []string{"train.team=[" + strings.Join(team, ",") + "]", "ppo.lr_end=1e-4", "ppo.entropy_end=1e-3"}}
	at := Site{Game: of, Dir: filepath.Join(cache, "hop", "learnt")}
	run, err := quiet.raise(ctx, prepare.Zoo{Seed: 1, Steps: steps, Workers: 1}, at, b, 1)
	if err != nil {
		return eval.Member{}, err
	}
	m, err := reg.Member(g, run.Address(0))
	m.Name = learntName
	return m, err
}
