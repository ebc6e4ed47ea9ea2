package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// meeting is a trio, and how others lived among it, once for all who adapt to it.
type meeting struct {
	g         game.Game
	about     map[string]any
	parts     []part        // one; two if co-players change
	now, next []eval.Member // [A], the first place empty; next is nil if nobody changes
	mu        sync.Mutex    // of lived
	lived     map[reference]*referred
	scripts   map[string]game.Policy // co-players that can say how they act
}

// part is a stretch of a life among the same co-players.
type part struct {
	vs, who []string // what they are called, and which bot or run's agent each is
	from    int      // its first episode
	exact   bool     // the best response can be solved, start by start
	starts  int      // of so many of a seed; 0: of all

	lasting *oracle.Lasting // or in the long run, because they remember episodes; nil: it cannot
}

func (c *adapting) meeting(ctx context.Context, g game.Game, about map[string]any, vs []string, solve bool) (*meeting, error) {
	m := &meeting{g: g, about: about, lived: map[reference]*referred{}, scripts: map[string]game.Policy{}}
	join := func(flag string, names []string, from int) ([]eval.Member, error) {
		list, who, err := c.members(g, about, names)
		if err != nil {
			return nil, Wrong(err, flag, names...)
		}
		p := part{vs: names, who: who, from: from}
		if solve {
			if err := c.closed(ctx, g, &p); err != nil {
				return nil, err
			}
		}
		m.parts = append(m.parts, p)
		for _, name := range who {
			if p := scripted(g, name); p != nil {
				m.scripts[name] = p
			}
		}
		return append([]eval.Member{{}}, list...), nil
	}
	flag := "--vs"
	if len(c.teams) > 1 {
		flag = "--trios"
	}
	var err error
	if m.now, err = join(flag, vs, 0); err != nil || len(c.Then) == 0 {
		return m, err
	}
	m.next, err = join("--then", c.Then, c.AtEpisode)
	return m, err
}

// part returns which part of a life an episode belongs to.
func (m *meeting) part(episode int) int {
	if k := len(m.parts) - 1; episode >= m.parts[k].from {
		return k
	}
	return 0
}

// lifeKey names the streams of a seed's lives.
func lifeKey(seed uint64) rng.Key { return rng.New(seed).Child("adapt") }

// life is what all lives of a seed have in common. Each lasts so many episodes; nil:
// as many steps as were asked for.
func (c *adapting) life(m *meeting, seed uint64, episodes []int) eval.Adaptation {
	return eval.Adaptation{
		Game: m.g, Team: slices.Clone(m.now), Then: m.next, At: c.AtEpisode, Lives: c.Lives, Steps: c.Steps, Last: c.Last,
		Episodes: episodes, Key: lifeKey(seed), Workers: c.workers,
	}
}

// live lets a member live among the co-players. It is the caller's turn.
func (c *adapting) live(ctx context.Context, m *meeting, seed uint64, episodes []int, focal eval.Member) (*eval.Adapted, error) {
	own, err := c.meeting(ctx, m.g, m.about, m.parts[0].vs, false) // players of lives side by side must not share memory
	if err != nil {
		return nil, err
	}
	run := c.life(own, seed, episodes)
	run.Team[0] = focal
	return run.Run(ctx)
}

// apart is live for those whose weights change, and for whom they are compared with:
// each life alone, with a member and streams of its own, side by side over the cores.
func (c *adapting) apart(ctx context.Context, m *meeting, seed uint64, episodes []int, focal func(n int) (spec.Life, error),
) (*eval.Adapted, error) {
	lives := make([]*eval.Adapted, c.Lives)
	err := together(ctx, c.Lives, func(ctx context.Context, n int) error {
		defer c.turn()()
		focal, err := focal(n)
		if err != nil {
			return err
		}
		own, err := c.meeting(ctx, m.g, m.about, m.parts[0].vs, false) // as in live
		if err != nil {
			return err
		}
		run := c.life(own, seed, episodes)
		run.Team[0], run.GoalLen, run.After = focal.Member, focal.GoalLen, focal.After
		run.Lives, run.Key, run.Workers, run.Window = 1, lifeKey(seed).Child("life", n), 1, c.Every
		if episodes != nil {
			run.Episodes = episodes[n : n+1]
		}
		if lives[n], err = run.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			err = fmt.Errorf("life %d: %w", n, err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &eval.Adapted{}
	for n, l := range lives {
		out.Score.Merge(l.Score)
		out.First.Merge(l.First)
		out.Played += l.Played
		out.Curve = stats.MergeAll(out.Curve, l.Curve)
		for _, e := range l.Episodes {
			e.Life = n
			out.Episodes = append(out.Episodes, e)
		}
	}
	return out, nil
}

// livedSeed is one seed's lives of one who adapts, and what others are worth from
// the same starts.
type livedSeed struct {
	seed         uint64
	run          string
	alone        bool // each life was lived alone, with streams of its own
	res          *eval.Adapted
	reads        []*learner.Predictions
	scored       []map[start]bool // [part] the starts that count
	best, random map[start]float64
}

// start is an episode of a life. Whoever lives it, it starts alike.
type start struct{ life, index int }

func startOf(e eval.Lived) start { return start{e.Life, e.Index} }

// cell lets one adapt to one trio.
func (c *adapting) cell(ctx context.Context, m *meeting, r adaptRow) (*adapted.Row, error) {
	out := &adapted.Row{Run: r.name, VS: m.parts[0].vs, CoPlayers: r.coPlayers(m), Learn: c.Learn, Lives: c.Lives}
	if m.next != nil {
		out.Then, out.At = c.Then, c.AtEpisode
	}
	out.Known = allKnown(out.CoPlayers)
	if len(r.dirs) == 0 {
		out.Learn = spec.LearnBeliefs
	}
	out.Watch = c.watch(m, r)
	all := make([]*livedSeed, len(r.seeds))
	err := together(ctx, len(all), func(ctx context.Context, i int) (err error) {
		if all[i], err = c.sample(ctx, m, r, i, r.seeds[i]); err == nil {
			c.lived()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	by, err := c.refer(ctx, m, all)
	if err != nil {
		return nil, err
	}
	c.sum(out, m, all, by)
	return out, nil
}

// changes reports whether weights move, so that every life is lived alone.
func changes(learn string) bool {
	return learn == spec.LearnMOA || learn == spec.LearnPolicy || learn == spec.LearnAll
}

// sample lives one seed's lives.
func (c *adapting) sample(ctx context.Context, m *meeting, r adaptRow, i int, seed uint64) (*livedSeed, error) {
	s := &livedSeed{seed: seed, alone: len(r.dirs) > 0 && changes(c.Learn)}
	if !s.alone {
		defer c.turn()()
	}
	if len(r.dirs) == 0 {
		focal, err := c.typed(m.g, r.name, m.parts[0].vs)
		if err != nil {
			return nil, err
		}
		s.res, err = c.live(ctx, m, seed, nil, focal)
		return s, err
	}
	s.run = r.dirs[i%len(r.dirs)]
	x, err := c.newcomer(s.run)
	if err != nil {
		return nil, err
	}
	lives := 1
	if s.alone {
		lives = c.Lives
	}
	s.reads = make([]*learner.Predictions, lives) // nil for those who read nothing of others
	for n := range s.reads {
		if x.Models {
			s.reads[n] = &learner.Predictions{
				Truth:   func(episode, j int) int { return slices.Index(r.types, m.parts[m.part(episode)].vs[j]) },
				Pursues: m.pursues, Beside: c.observers(m, r),
			}
		}
	}
	if s.alone {
		s.res, err = c.apart(ctx, m, seed, nil, func(n int) (spec.Life, error) { return x.Member(s.reads[n]) })
		return s, err
	}
	focal, err := x.Member(s.reads[0])
	if err != nil {
		return nil, err
	}
	s.res, err = c.live(ctx, m, seed, nil, focal.Member)
	return s, err
}
