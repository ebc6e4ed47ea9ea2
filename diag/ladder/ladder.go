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
	"slices"

	"hop/agent"
	"hop/eval"
	"hop/exp"
	"hop/game"
	"hop/oracle"
	"hop/rng"
	"hop/rollout"
	"hop/runlog"
)

// Config says what to measure.
type Config struct {
	Reg      *exp.Registry
	Runs     []string   // folders of single runs, one a seed; their agents plan
	PPO      []string   // folders of PPO runs, for the lowest rung; run i is compared with PPO[i mod len]
	Vs       [][]string // the co-players of each setting, bots
	Episodes int        // of every rung, run and setting
	Key      rng.Key
	Workers  int
	Progress func(done, total int) // may be nil
}

// focal is the agent that is measured.
const focal agent.ID = 0

// Rung is a way to play.
type Rung struct {
	Name   string // what plays
	Module string // what was switched on, or replaced, since the rung below
	Oracle bool   // by the truth
	swap   exp.Swap
	who    string // "ppo", "br" or "" for the run's own agent
}

// Rungs returns the ladder of a run's spec, lowest first.
func Rungs(s exp.Spec) ([]Rung, error) {
	if !s.Plan.On {
		return nil, errors.New("ladder: its agents do not plan (plan.on is false), so there is nothing to take apart; name a run or preset whose agents do, such as hop-4x4")
	}
	list := []Rung{{Name: "PPO agent", Module: "PPO", who: "ppo"}}
	add := func(name, module string, sets ...string) {
		list = append(list, Rung{Name: name, Module: module, swap: exp.Swap{Sets: sets}})
	}
	if s.Plan.Planner != "none" {
		add("its network alone", "own network", "search.sims=0")
		if s.Plan.Others != "uniform" {
			add("planner, others at random", "planner", "plan.others=uniform")
		}
		switch s.Plan.Goals {
		case "hand", "codes":
			add("model of others, no inference", "model of others", "belief.within=false", "belief.across=false")
		case "latent":
			add("model of others, no inference", "model of others", "plan.gate=0")
		}
	}
	last := "model of others"
	if s.Plan.Goals != "none" {
		last = "goal inference"
	}
	if s.Plan.Planner == "none" {
		last = "own network"
	}
	add("as trained", last)
	if s.Plan.Planner != "none" {
		for _, o := range oracles(s) {
			before := list[len(list)-1].swap
			list = append(list, Rung{Name: "+ " + o.Name, Module: o.Module, Oracle: true, swap: plus(before, o.swap)})
		}
	}
	return append(list, Rung{Name: "best response", Module: "the rest of the search", Oracle: true, who: "br"}), nil
}

// oracles returns what can be replaced in a spec's agents, each alone.
func oracles(s exp.Spec) []Rung {
	var list []Rung
	if s.Plan.Dynamics == "world" {
		list = append(list, Rung{Name: "true rules", Module: "world model", swap: exp.Swap{Sets: []string{"plan.dynamics=rules"}}})
	}
	if s.Plan.Goals == "hand" {
		list = append(list, Rung{Name: "true goals", Module: "goal inference", swap: exp.Swap{Goals: true}})
	}
	list = append(list, Rung{Name: "true policies", Module: "model of others", swap: exp.Swap{Others: true}})
	if s.Plan.Leaf != "scripts" {
		leaf := exp.Swap{Sets: []string{"plan.leaf=scripts"}}
		if s.Plan.Dynamics == "world" {
			leaf.Sets = append(leaf.Sets, "plan.dynamics=rules")
		}
		list = append(list, Rung{Name: "scripted leaves", Module: leafModule(s), swap: leaf})
	}
	more := fmt.Sprintf("search.sims=%d", 4*max(s.Search.Sims, 1))
	trees := fmt.Sprintf("search.trees=%d", 2*s.Search.Trees)
	return append(list, Rung{Name: "8 times the search", Module: "planner", swap: exp.Swap{Sets: []string{more, trees}}})
}

// leafModule names the module that values leaves.
func leafModule(s exp.Spec) string {
	if s.Plan.Leaf == "response" {
		return "response network"
	}
	return "own network"
}

// plus puts one replacement on top of another.
func plus(a, b exp.Swap) exp.Swap {
	return exp.Swap{Sets: append(slices.Clone(a.Sets), b.Sets...), Goals: a.Goals || b.Goals, Others: a.Others || b.Others}
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
	spec, err := c.Reg.Parse(text, c.Runs[0], "run", nil)
	if err != nil {
		return nil, err
	}
	rungs, err := Rungs(spec)
	if err != nil {
		return nil, err
	}
	trained := slices.IndexFunc(rungs, func(r Rung) bool { return r.Name == "as trained" })
	m := &measuring{Config: c, done: map[string][][][]float64{}}
	var alone []Rung
	if spec.Plan.Planner != "none" {
		alone = oracles(spec)
	}
	m.total = len(c.Runs) * len(c.Vs) * (len(rungs) + len(alone))
	measure := func(list []Rung) ([][][][]float64, error) {
		var out [][][][]float64
		for _, r := range list {
			x, err := m.rung(ctx, r)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
		return out, nil
	}
	climbed, err := measure(rungs)
	if err != nil {
		return nil, err
	}
	singles, err := measure(alone)
	if err != nil {
		return nil, err
	}
	return sum(c, rungs, climbed, alone, singles, trained), nil
}

// measuring plays rungs, each once.
type measuring struct {
	Config
	done  map[string][][][]float64 // by rung: [run][setting][episode]
	count int
	total int
}

// rung returns the focal agent's return of every episode, [run][setting][episode].
func (m *measuring) rung(ctx context.Context, r Rung) ([][][]float64, error) {
	name := fmt.Sprintf("%s %v", r.who, r.swap)
	if x, ok := m.done[name]; ok {
		m.tell(len(m.Runs) * len(m.Vs))
		return x, nil
	}
	var out [][][]float64
	for i := range m.Runs {
		var row [][]float64
		for v, vs := range m.Vs {
			x, err := m.play(ctx, r, i, vs, m.Key.Child("run", i).Child("vs", v))
			if err != nil {
				return nil, fmt.Errorf("ladder: %s against %v: %w", r.Name, vs, err)
			}
			row = append(row, x)
			m.tell(1)
		}
		out = append(out, row)
	}
	m.done[name] = out
	return out, nil
}

func (m *measuring) tell(n int) {
	m.count += n
	if m.Progress != nil {
		m.Progress(m.count, m.total)
	}
}

// lanes is how many envs play side by side; a best response keeps a table each.
const lanes = 16

// play returns the returns of one rung against one team, by episode.
func (m *measuring) play(ctx context.Context, r Rung, run int, vs []string, key rng.Key) ([]float64, error) {
	dir := m.Runs[run]
	swap := r.swap
	if r.who == "ppo" {
		dir, swap = m.PPO[run%len(m.PPO)], exp.Swap{}
	}
	team := append([]string{""}, vs...)
	me, g, err := swap.Focal(m.Reg, dir, focal, team)
	if err != nil {
		return nil, err
	}
	if r.who == "br" {
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
		Game: g, Team: members, Episodes: m.Episodes, Key: key, Workers: m.Workers, Lanes: side,
		Each: func(ep rollout.Episode) { out[ep.Index*side+ep.Env] = ep.Return[focal] },
	})
	return out, err
}

// best plays the exact best response.
func best(g game.Game, team []string) (eval.Member, error) {
	if err := oracle.Solvable(g, team[1:]); err != nil {
		return eval.Member{}, err
	}
	return eval.Member{Name: "br", Blind: true, Players: func(workers, lanes int) ([]rollout.Player, error) {
		list := make([]rollout.Player, workers)
		for w := range list {
			p, err := oracle.NewPlayer(g, team, 1, lanes)
			if err != nil {
				return nil, err
			}
			list[w] = p
		}
		return list, nil
	}}, nil
}
