// Package ladder measures what each module of a planning agent is worth, and
// what its imperfection costs.
//
// One agent of a trained run plays against fixed co-players, rung after rung: at
// the bottom a PPO agent, then the planning agent with its modules switched on
// one by one until it plays as trained, then with its modules replaced one by
// one by their oracles, and at the top the exact best response. All rungs play
// from the same starts, so the differences between them are measured in pairs,
// and they add up to the whole gap.
//
// Each oracle is also put in alone: the one that closes most of the gap between
// the agent as trained and the best response is the module to work on first.
// Results follow from the runs, the settings and the key.
package ladder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// Config says what to measure.
type Config struct {
	Reg      *spec.Registry
	Runs     []string   // folders of single runs, one a seed; their agents plan
	PPO      []string   // folders of PPO runs, for the lowest rung; run i is compared with PPO[i mod len]
	Vs       [][]string // the co-players of each setting, bots
	Episodes int        // of every rung, run and setting
	Key      rng.Key
	Workers  int
	Progress func(done, total int) // may be nil; called by one at a time
}

// focal is the agent that is measured.
const focal agent.ID = 0

// asTrained names the rung that plays as the run was trained.
const asTrained = "as trained"

// Rung is one kind of play.
type Rung struct {
	Name   string // what plays
	Module string // what was switched on, or replaced, since the rung below
	Oracle bool   // by the truth
	swap   swap
	who    player
}

// player is who plays a rung.
type player int

const (
	own      player = iota // the run's agent
	learnt                 // one that only learnt, of the runs named beside
	response               // the best response
)

// swap says how an agent of a run plays otherwise than it was trained to: with
// fields of its spec changed, and with what it believes replaced by the truth.
type swap struct {
	sets                 []string // such as search.kind=none; not what would change the networks
	goals, others, blind bool     // as in learner.Truth
}

// Rungs returns the ladder of a run's spec, lowest first.
func Rungs(s spec.Spec) ([]Rung, error) {
	if len(s.Kinds) > 0 {
		return nil, fmt.Errorf("ladder: its agents do not learn alike (minds is set), and a rung changes them all; " +
			"name a run whose agents are of one kind")
	}
	p, ok := spec.SettingsAs[hop.Planning](&s)
	if !ok {
		return nil, fmt.Errorf("ladder: its agents do not plan (mind is %s), so there is nothing to take apart; name a run or preset whose "+
			"agents do, such as hop-4x4", s.Mind.Name)
	}
	c := p.Planner()
	list := []Rung{{Name: "PPO agent", Module: "PPO", who: learnt}}
	add := func(name, module string, sets ...string) {
		list = append(list, Rung{Name: name, Module: module, swap: swap{sets: sets}})
	}
	if c.Search.Kind != "none" {
		add("its network alone", "own network", "search.kind=tree", "search.sims=0")
		if c.Search.Others != "uniform" {
			add("planner, others at random", "planner", "search.others=uniform")
		}
		switch c.Goals.Kind {
		case "hand", "classes", "context":
			add("model of others, no inference", "model of others", "belief.within=false", "belief.across=false")
		case "latent":
			add("model of others, no inference", "model of others", "belief.within=false", "belief.across=false")
			list[len(list)-1].swap.blind = true
		}
	}
	last := "model of others"
	if c.Goals.Kind != "none" {
		last = "goal inference"
	}
	if c.Search.Kind == "none" {
		last = "own network"
	}
	add(asTrained, last)
	if c.Search.Kind != "none" {
		for _, o := range oracles(c) {
			before := list[len(list)-1].swap
			list = append(list, Rung{Name: "+ " + o.Name, Module: o.Module, Oracle: true, swap: plus(before, o.swap)})
		}
	}
	return append(list, Rung{Name: "best response", Module: "the rest of the search", Oracle: true, who: response}), nil
}

// oracles returns what can be replaced in a spec's agents, each alone.
func oracles(c *hop.Config) []Rung {
	var list []Rung
	if c.Search.Dynamics == "world" {
		list = append(list, Rung{Name: "true rules", Module: "world model", swap: swap{sets: []string{"search.dynamics=rules"}}})
	}
	if c.Goals.Kind == "hand" {
		list = append(list, Rung{Name: "true goals", Module: "goal inference", swap: swap{goals: true}})
	}
	list = append(list, Rung{Name: "true policies", Module: "model of others", swap: swap{others: true}})
	if c.Leaf.Kind != "scripts" && scriptable(c) {
		leaf := swap{sets: []string{"leaf.kind=scripts"}}
		if c.Search.Dynamics == "world" {
			leaf.sets = append(leaf.sets, "search.dynamics=rules")
		}
		list = append(list, Rung{Name: "scripted leaves", Module: leafModule(c), swap: leaf})
	}
	more := swap{sets: []string{fmt.Sprintf("search.trees=%d", 8*c.Search.Trees)}}
	if c.Search.Kind == "tree" {
		more.sets = []string{fmt.Sprintf("search.sims=%d", 4*max(c.Search.Sims, 1)), fmt.Sprintf("search.trees=%d", 2*c.Search.Trees)}
	}
	return append(list, Rung{Name: "8 times the search", Module: "planner", swap: more})
}

// scriptable reports that leaves by scripts leave the hypotheses as they are: with latent
// goals they are the kinds of those that leaves are evaluated against, who must be bots,
// and a sequence model knows its own kinds alone.
func scriptable(c *hop.Config) bool {
	return len(c.Leaf.Partners) > 0 && c.Goals.Kind != "context" && (c.Goals.Kind != "latent" || c.Leaf.Kind != "net")
}

// leafModule names the module that values leaves.
func leafModule(c *hop.Config) string {
	if c.Leaf.Kind == "response" {
		return "response network"
	}
	return "own network"
}

// plus puts one replacement on top of another.
func plus(a, b swap) swap {
	return swap{append(slices.Clone(a.sets), b.sets...), a.goals || b.goals, a.others || b.others, a.blind || b.blind}
}

// Run climbs the ladder.
func Run(ctx context.Context, c Config) (*Result, error) {
	if len(c.Runs) == 0 || len(c.PPO) == 0 || len(c.Vs) == 0 || c.Episodes < 2 {
		return nil, errors.New("ladder: at least one run, one PPO run, one team of co-players and two episodes are needed")
	}
	text, err := runlog.ReadSpec(c.Runs[0])
	if err != nil {
		return nil, err
	}
	sp, err := c.Reg.Parse(text, filepath.Join(c.Runs[0], "spec.yaml"), "run", nil)
	if err != nil {
		return nil, err
	}
	rungs, err := Rungs(sp)
	if err != nil {
		return nil, err
	}
	trained := slices.IndexFunc(rungs, func(r Rung) bool { return r.Name == asTrained })
	var alone []Rung
	if p, ok := spec.SettingsAs[hop.Planning](&sp); ok && p.Planner().Search.Kind != "none" {
		alone = oracles(p.Planner())
	}
	got, err := (&measuring{c}).all(ctx, slices.Concat(rungs, alone))
	if err != nil {
		return nil, err
	}
	return sum(c, rungs, got[:len(rungs)], alone, got[len(rungs):], trained), nil
}

// measuring plays rungs.
type measuring struct{ Config }

// all returns the focal agent's return of every episode, [rung][run][setting][episode]. What
// several rungs are is played once; runs, settings and rungs play side by side.
func (m *measuring) all(ctx context.Context, list []Rung) ([][][][]float64, error) {
	type game struct{ rung, run, vs int }
	var games []game
	out, at := make([][][][]float64, len(list)), map[string]int{}
	for i, r := range list {
		name := fmt.Sprintf("%d %v", r.who, r.swap)
		if first, ok := at[name]; ok {
			out[i] = out[first]
			continue
		}
		at[name] = i
		out[i] = make([][][]float64, len(m.Runs))
		for run := range m.Runs {
			out[i][run] = make([][]float64, len(m.Vs))
			for vs := range m.Vs {
				games = append(games, game{i, run, vs})
			}
		}
	}
	workers := cores.Share(m.Workers, len(games))
	var mu sync.Mutex // of how many are done
	done := 0
	err := cores.Each(ctx, m.Workers, len(games), func(ctx context.Context, n int) error {
		x, vs := games[n], m.Vs[games[n].vs]
		got, err := m.play(ctx, list[x.rung], x.run, vs, m.Key.Child("run", x.run).Child("vs", x.vs), workers)
		if err != nil {
			return fmt.Errorf("ladder: %s against %v: %w", list[x.rung].Name, vs, err)
		}
		out[x.rung][x.run][x.vs] = got
		mu.Lock()
		defer mu.Unlock()
		if done++; m.Progress != nil {
			m.Progress(done, len(games))
		}
		return nil
	})
	return out, err
}

// lanes is how many envs play side by side; a best response keeps a table each.
const lanes = 16

// play returns the returns of one rung against one team, by episode.
func (m *measuring) play(ctx context.Context, r Rung, run int, vs []string, key rng.Key, workers int) ([]float64, error) {
	dir := m.Runs[run]
	how := r.swap
	if r.who == learnt {
		dir, how = m.PPO[run%len(m.PPO)], swap{}
	}
	team := append([]string{""}, vs...)
	saved, err := m.Reg.Open(dir, how.sets)
	if err != nil {
		return nil, err
	}
	g := saved.Game
	me, err := saved.Focal(focal, learner.Truth{Team: team, Goals: how.goals, Others: how.others, Blind: how.blind})
	if err != nil {
		return nil, err
	}
	if r.who == response {
		if me, err = best(g, team); err != nil {
			return nil, err
		}
	}
	members := []eval.Member{me}
	for _, bot := range vs {
		if _, err := game.NewBot(g, bot); err != nil {
			return nil, err
		}
		members = append(members, eval.Bot(g, bot))
	}
	side := min(lanes, m.Episodes)
	out := make([]float64, m.Episodes)
	_, err = eval.Run(ctx, eval.Config{
		Game: g, Team: members, Episodes: m.Episodes, Key: key, Workers: workers, Lanes: side,
		Each: func(ep rollout.Episode) { out[ep.Index*side+ep.Env] = ep.Return[focal] },
	})
	return out, err
}

// best plays the exact best response.
func best(g game.Game, team []string) (eval.Member, error) {
	if err := oracle.Solvable(g, team[1:]); err != nil {
		return eval.Member{}, err
	}
	return eval.Member{Name: "br", Blind: true, Players: eval.PerWorker(func(lanes int) (rollout.Player, error) {
		return oracle.NewPlayer(g, team, 1, lanes)
	})}, nil
}
