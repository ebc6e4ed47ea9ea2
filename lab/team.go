package lab

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/bandit"
	"github.com/hop-marl/hop/search/truth"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/played"
	"github.com/hop-marl/hop/train/eval"
)

// Team turns names that a user typed into members: bots and planners, and policies in Python, which
// are started. A single name stands for the whole team. planner sets fields of planners, such as
// plan.sims=200.
func Team(g game.Game, names []string, planner ...string) ([]eval.Member, error) {
	return team(g, names, planner, Typed)
}

// team makes members of names, each by the same function.
func team(g game.Game, names, planner []string, member func(game.Game, []string, int, []string) (eval.Member, error),
) ([]eval.Member, error) {
	spec, typed := g.Spec(), names
	if len(names) == 1 {
		names = slices.Repeat(names, spec.Seats)
	}
	if len(names) != spec.Seats {
		return nil, Misused("--team %s: it has %d members, the game has %d seats; name one for each, or one for all",
			strings.Join(names, ","), len(names), spec.Seats)
	}
	members := make([]eval.Member, len(names))
	for i := range names {
		m, err := member(g, names, i, planner)
		if err != nil {
			return nil, Wrong(err, "--team", typed...)
		}
		members[i] = m
	}
	return members, nil
}

// RunTeam returns the game of a run's folder and who plays it: the run's agents, or
// whom names say, where run is the run's own agent of that number.
func (l *Lab) RunTeam(dir string, sets, names, planner []string) (game.Game, []eval.Member, error) {
	dirs, err := Folders(dir)
	if err != nil {
		return nil, nil, err
	}
	agents, err := l.Reg.LoadAgentsFor(dirs[0], sets)
	if err != nil {
		return nil, nil, err
	}
	members, err := agents.Spec.Team(agents, agents.Members)
	if err != nil || len(names) == 0 {
		return agents.Game, members, err
	}
	if len(names) == 1 {
		names = slices.Repeat(names, len(members))
	}
	bots := slices.Clone(names)
	for i, name := range names {
		if name == "run" {
			bots[i] = agents.Game.Bots()[0].Name // in its place for now
		}
	}
	others, err := Team(agents.Game, bots, planner...)
	if err != nil {
		return nil, nil, err
	}
	for i := range others {
		if names[i] != "run" {
			members[i] = others[i]
		}
	}
	return agents.Game, members, nil
}

// RecordAgents lets the final agents of a run play for a dataset.
func (l *Lab) RecordAgents(cfg *dataset.Config, dir string, sets []string) error {
	run, err := l.Reg.LoadAgentsFor(dir, sets)
	if err != nil {
		return Wrong(err, "--agents", dir)
	}
	cfg.Game = run.Game
	if cfg.GameSpec, err = run.Spec.Game.Map(); err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	for i := range run.Members {
		cfg.Team = append(cfg.Team, fmt.Sprintf("%s/%s#%d@%d", filepath.Base(filepath.Dir(dir)), filepath.Base(dir), i, run.Step))
	}
	cfg.Players = func(workers, lanes int) ([][]rollout.Player, error) {
		players := make([][]rollout.Player, workers)
		for _, m := range run.Members {
			list, err := m.Players(workers, lanes)
			if err != nil {
				return nil, err
			}
			for w := range players {
				players[w] = append(players[w], list[w])
			}
		}
		return players, nil
	}
	return nil
}

// Planners are the names of those who think without having been trained.
var Planners = []string{"br", "plan", "plan-infer", "plan-paper", "bandit"}

// IsPlanner reports whether a name stands for somebody who thinks.
func IsPlanner(name string) bool { return slices.Contains(Planners, name) }

// without returns the names but one.
func without(names []string, at int) []string { return slices.Delete(slices.Clone(names), at, at+1) }

// Typed is Member for names that a user typed: they may also stand for a policy in Python, which is
// started.
func Typed(g game.Game, names []string, at int, set []string) (eval.Member, error) {
	if !pybot.Is(names[at]) {
		return Member(g, names, at, set)
	}
	p, err := pybot.Open(g, names[at])
	if err != nil {
		return eval.Member{}, Misuse{err}
	}
	return eval.Member{Name: names[at], Players: p.Players}, nil
}

// Member returns what a name of a team stands for: a bot; br, the best response;
// plan, the untrained planner that knows its co-players' bots; plan-infer, which
// infers them; plan-paper, with HOP's settings; or the model of a person, played:FOLDER.
func Member(g game.Game, names []string, at int, set []string) (eval.Member, error) {
	name := names[at]
	m := eval.Member{Name: name, Blind: true}
	switch name {
	case "br":
		if err := oracle.Solvable(g, without(names, at)); err != nil {
			return m, Misuse{err}
		}
		m.Players = eval.PerWorker(func(lanes int) (rollout.Player, error) { return oracle.NewPlayer(g, names, 1, lanes) })
	case "plan", "plan-infer", "plan-paper":
		c := truth.Default()
		if name == "plan-paper" {
			c.Plan = search.Paper()
		}
		if name != "plan-infer" {
			c.Known = names
		}
		for _, s := range set {
			path, value, ok := strings.Cut(s, "=")
			if !ok {
				return m, Misused("--planner %s: want FIELD=VALUE, such as plan.sims=200", s)
			}
			if err := config.Set(&c, path, value); err != nil {
				return m, Misused("--planner %s: %w", s, err)
			}
		}
		player := func(lanes int) (rollout.Player, error) { return truth.NewPlayer(g, c, agent.ID(at), lanes) }
		if _, err := player(1); err != nil {
			return m, Misuse{err}
		}
		m.Players = eval.PerWorker(player)
	case "bandit":
		m.Players = eval.PerWorker(func(lanes int) (rollout.Player, error) { return bandit.NewPlayer(g, bandit.Scripts(g), .5, lanes) })
	default:
		if dir, ok := played.Folder(name); ok {
			m, err := eval.Played(g, dir)
			if err != nil {
				err = Misuse{err}
			}
			return m, err
		}
		if _, err := game.NewBot(g, name); err != nil {
			return m, Misuse{err}
		}
		return eval.Bot(g, name), nil
	}
	return m, nil
}

// AtRandom counts those who act at random.
func AtRandom(names []string) (n int) {
	for _, name := range names {
		if name == "random" {
			n++
		}
	}
	return n
}
