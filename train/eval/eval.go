// Package eval plays fixed agents and bots and counts what they get.
//
// Episodes are played in a fixed number of lanes, each with its own streams and
// the same number of episodes, so the result is the same for any number of
// workers, and long episodes weigh no more than short ones.
package eval

import (
	"context"
	"errors"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/played"
)

// window is how many steps are played between looks at the clock and the context.
const window = 64

// Config says what to play.
type Config struct {
	Game     game.Game
	Team     []Member // one a seat
	Episodes int
	Key      rng.Key
	Workers  int                   // 0: one a core
	Lanes    int                   // 0: 64; copies of the game that play side by side
	FixSeat  bool                  // member a always sits on seat a
	Progress func(done, total int) // may be nil; between windows exact, else what one worker's share says
	Each     func(rollout.Episode) // may be nil; sees the episodes in a fixed order
}

// Member is one of the team.
type Member struct {
	Name string
	// Players returns a player for each worker. They play env n < lanes.
	Players func(workers, lanes int) ([]rollout.Player, error)
	Blind   bool // looks at no observation
}

// Bot returns the game's bot of that name as a member.
func Bot(g game.Game, name string) Member {
	return botOf(name, func() (game.Bot, error) { return game.NewBot(g, name) })
}

// Played returns the model of a person, by the folder of what it played.
func Played(g game.Game, dir string) (Member, error) {
	p, err := played.Open(g, dir)
	if err != nil {
		return Member{}, err
	}
	return botOf(p.Name, p.Bot), nil
}

// botOf is a member whose every copy is a bot of its own.
func botOf(name string, fresh func() (game.Bot, error)) Member {
	return Member{Name: name, Blind: true, Players: func(workers, lanes int) ([]rollout.Player, error) {
		bots, err := rollout.BotsOf(fresh, lanes) // shared: each env has a bot of its own
		if err != nil {
			return nil, err
		}
		players := make([]rollout.Player, workers)
		for w := range players {
			players[w] = bots
		}
		return players, nil
	}}
}

// Result is what a team got. Every accumulator counts episodes, a member's those that it was in.
type Result struct {
	Return []stats.Acc   // [A] by member
	Life   []stats.Acc   // [A] steps until it left, or the end
	Goals  [][]stats.Acc // [A][goals] share of episodes in which it reached the goal last
	Mean   stats.Acc     // the members' mean return of an episode
	Steps  stats.Acc     // length of an episode
}

// Run plays the team, on the pool of the context if it has one.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	spec := cfg.Game.Spec()
	if cfg.Episodes <= 0 {
		return nil, errors.New("eval: at least one episode is needed")
	}
	if cfg.Lanes == 0 {
		cfg.Lanes = 64
	}
	cfg.Lanes = min(cfg.Lanes, cfg.Episodes)
	blind := true
	for _, m := range cfg.Team {
		blind = blind && m.Blind
	}
	quota := func(lane int) int { return (cfg.Episodes + cfg.Lanes - 1 - lane) / cfg.Lanes }
	envs, err := rollout.New(rollout.Config{
		Game: cfg.Game, Envs: cfg.Lanes, Key: cfg.Key, Workers: cfg.Workers, Cores: cores.Of(ctx), Blind: blind, FixSeat: cfg.FixSeat,
		Rest: func(ep rollout.Episode) bool { return ep.Index+1 >= quota(ep.Env) },
	})
	if err != nil {
		return nil, err
	}
	if pool := cores.New(cfg.Workers, nil); pool.Workers() > envs.Workers { // who has no lane helps planners with theirs
		pool.Open()
		defer pool.Close()
		envs.Cores = pool
	}
	players, err := assemble(cfg.Team, envs.Workers, cfg.Lanes)
	if err != nil {
		return nil, err
	}
	res := &Result{
		Return: make([]stats.Acc, spec.Seats), Life: make([]stats.Acc, spec.Seats), Goals: make([][]stats.Acc, spec.Seats),
	}
	for a := range res.Goals {
		res.Goals[a] = make([]stats.Acc, len(spec.Goals))
	}
	var ended *counter
	if cfg.Progress != nil {
		ended = &counter{Player: players[0][0], workers: envs.Workers, episodes: cfg.Episodes, progress: cfg.Progress}
		players[0][0] = ended
	}
	ro := batch.New(envs.Shape(window, 0))
	for done := 0; done < cfg.Episodes; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := envs.Collect(ro, players); err != nil {
			return nil, err
		}
		for _, ep := range envs.Episodes() {
			res.add(ep)
			if cfg.Each != nil {
				cfg.Each(ep)
			}
			done++
		}
		if cfg.Progress != nil {
			ended.done, ended.shown, ended.ended = done, max(done, ended.shown), 0
			cfg.Progress(ended.shown, cfg.Episodes)
		}
	}
	return res, nil
}

// counter is a player through which progress is seen within a window, which takes
// planners long: it counts the episodes of its worker for all of them.
type counter struct {
	rollout.Player
	workers, episodes  int
	done, shown, ended int // before this window; told so far; of this worker in this window
	progress           func(done, total int)
}

// EpisodeOver counts, and tells players that remember episodes.
func (c *counter) EpisodeOver(v *rollout.View, n int) {
	c.ended++
	if est := c.done + min(c.ended*c.workers, (c.episodes-c.done)*v.T/window); est > c.shown {
		c.shown = est
		c.progress(est, c.episodes)
	}
	if w, ok := c.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

func assemble(team []Member, workers, lanes int) ([][]rollout.Player, error) {
	players := make([][]rollout.Player, workers)
	for w := range players {
		players[w] = make([]rollout.Player, len(team))
	}
	for a, m := range team {
		ps, err := m.Players(workers, lanes)
		if err != nil {
			return nil, err
		}
		for w := range players {
			players[w][a] = ps[w]
		}
	}
	return players, nil
}

func (res *Result) add(ep rollout.Episode) {
	sum, here := 0., 0
	for a := range agent.ID(len(ep.Return)) {
		if ep.Life[a] == 0 { // not in the episode: absent is not zero
			continue
		}
		res.Return[a].Add(ep.Return[a])
		res.Life[a].Add(float64(ep.Life[a]))
		sum, here = sum+ep.Return[a], here+1
		for g := range res.Goals[a] {
			hit := 0.
			if ep.Goal[a] == g {
				hit = 1
			}
			res.Goals[a][g].Add(hit)
		}
	}
	res.Mean.Add(sum / float64(here))
	res.Steps.Add(float64(ep.Steps))
}
