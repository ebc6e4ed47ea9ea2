// Package bench measures speeds: of games, of search and of training.
package bench

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/spec"
)

// EnvRow is a game's speed at random legal play.
type EnvRow struct {
	Game   string  `json:"game"`
	Size   int     `json:"size"`
	Agents int     `json:"agents"`
	Rate   float64 `json:"agent_steps_per_s"`
	NS     float64 `json:"ns_per_agent_step"`
	Bytes  int     `json:"obs_bytes"`
	Allocs float64 `json:"allocs"` // for each env step
}

// Env measures games for so much processor time each, all or only the one named, at the settings
// that their entries name or at their defaults: first the usual game.
func Env(ctx context.Context, reg *spec.Registry, only string, cores int, d time.Duration) ([]EnvRow, error) {
	usual := reg.UsualGame()
	names := append([]string{usual}, slices.DeleteFunc(reg.PlainGames(), func(name string) bool { return name == usual })...)
	var games []spec.Game
	for _, name := range names {
		if only != "" && only != name {
			continue
		}
		g, err := reg.NewGame(name)
		if err != nil {
			return nil, err
		}
		list, err := g.Measured()
		if err != nil {
			return nil, err
		}
		games = append(games, list...)
	}
	var rows []EnvRow
	for _, g := range games {
		row, err := measureEnv(g, max(1, cores), d)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// measureEnv plays random legal moves on as many cores as asked and counts the
// steps of agents that were alive.
func measureEnv(g spec.Game, cores int, d time.Duration) (EnvRow, error) {
	built, err := g.Build()
	if err != nil {
		return EnvRow{}, err
	}
	sp := built.Spec()
	row := EnvRow{Game: sp.Name, Size: sp.Obs.Height, Agents: sp.Seats, Bytes: 4 * sp.Obs.Len()}
	alive, steps, errs := make([]int, cores), make([]int, cores), make([]error, cores)
	var before, after runtime.MemStats
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.ReadMemStats(&before)
	from := cpu.Time()
	var wg sync.WaitGroup
	for k := range cores {
		wg.Go(func() { alive[k], steps[k], errs[k] = playOn(built, k, time.Duration(cores)*d) })
	}
	wg.Wait()
	spent := (cpu.Time() - from).Seconds()
	runtime.ReadMemStats(&after)
	total, played := 0, 0
	for k := range cores {
		total, played = total+alive[k], played+steps[k]
	}
	row.Rate = float64(total) / spent
	row.NS = 1e9 / row.Rate
	row.Allocs = math.Floor(float64(after.Mallocs-before.Mallocs)/float64(played)*100) / 100
	return row, errors.Join(errs...)
}

// playOn plays for so much processor time and counts the steps of living agents and of envs.
func playOn(g game.Game, k int, d time.Duration) (alive, steps int, err error) {
	const lanes, window = 16, 64
	envs, err := rollout.New(rollout.Config{Game: g, Envs: lanes, Key: rng.New(uint64(k)), Workers: 1})
	if err != nil {
		return 0, 0, err
	}
	bots, err := rollout.NewBots(g, "random", lanes)
	if err != nil {
		return 0, 0, err
	}
	players := [][]rollout.Player{make([]rollout.Player, g.Spec().Seats)}
	for i := range players[0] {
		players[0][i] = bots
	}
	ro := batch.New(envs.Shape(window, 0))
	until := cpu.Time() + d
	for cpu.Time() < until {
		for range 16 {
			if err := envs.Collect(ro, players); err != nil {
				return 0, 0, err
			}
			steps += window * lanes
			for a := range agent.ID(ro.Agents) {
				slots := ro.Alive[ro.Slot(a, 0, 0):ro.Slot(a, window, 0)]
				for _, ok := range slots {
					if ok {
						alive++
					}
				}
			}
		}
	}
	return alive, steps, nil
}
