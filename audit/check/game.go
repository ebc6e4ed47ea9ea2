package check

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// Game asks whether the rules are even and mean what they say, before anybody
// learns: the conformance suite's claims, then scripted and random players, by
// place and by name. Seats are compared only where the Spec says that they are
// alike.
func Game(g game.Game, key rng.Key, episodes int) []check.Finding {
	out := conform(g)
	spec := g.Spec()
	if !spec.Symmetric || spec.Seats < 2 {
		return append(out, check.Finding{
			Step: 1, Check: "even play by place", Module: "game",
			Says: "The game does not claim that its seats are alike, so they are not compared.",
		})
	}
	episodes = min(episodes, max(40, 200_000/spec.Horizon)) // long ones say more each
	bots := []string{"random"}
	for _, b := range g.Bots() {
		if len(bots) < 3 && b.Name != "random" {
			bots = append(bots, b.Name)
		}
	}
	for _, name := range bots {
		fs, err := evenPlay(g, name, key.Child(name), episodes)
		if err != nil {
			out = append(out, check.Finding{Step: 1, Check: "even play of " + name, Module: "game",
				Status: check.Fault, Says: fmt.Sprintf("The game's bot %s cannot play it: %v.", name, err), Next: "the bot's Act"})
			continue
		}
		again, asked := []check.Finding(nil), false
		for i := range fs {
			if fs[i].Status == check.Pass || fs[i].Rows == 0 {
				continue
			}
			if !asked { // a page asks some seven such questions: what chance shows once it does not show again
				asked = true
				if again, err = evenPlay(g, name, key.Child(name).Child("again"), 2*episodes); err != nil {
					break
				}
			}
			if again[i].Status == check.Pass {
				fs[i] = again[i]
			}
		}
		out = append(out, fs...)
	}
	return out
}

// conform holds the game to the claims of package gametest. Speed and memory are
// not asked about: they are no reason for wrong returns.
func conform(g game.Game) []check.Finding {
	var out []check.Finding
	held := 0
	for _, c := range gametest.Checks {
		if c.Name == "allocations" || c.Name == "goroutines" || c.Name == "seats" {
			continue
		}
		err := c.Try(g)
		var skip gametest.DoesNotApply
		if err == nil || errors.As(err, &skip) {
			held++
			continue
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		out = append(out, check.Finding{
			Step: 1, Check: "rules: " + c.Name, Module: "game", Status: check.Fault, Effect: 1, Unit: "claims broken", Rows: 1,
			Says: fmt.Sprintf("The rules break a promise: %s (%s).", c.Doc, first), Next: "the game's own package: gametest.Run shows the state",
		})
		if c.Name == "spec" {
			return out
		}
	}
	return append(out, check.Finding{
		Step: 1, Check: "rules", Module: "game", Rows: held,
		Says: fmt.Sprintf("%d claims about the rules hold: masks, leaving, copies, ego-first views, relabelled seats.", held),
	})
}

// even plays teams of one bot and compares seats, and agents dealt to them.
func evenPlay(g game.Game, bot string, key rng.Key, episodes int) ([]check.Finding, error) {
	spec := g.Spec()
	const envs = 16
	e, err := rollout.New(rollout.Config{Game: g, Envs: envs, Key: key, Workers: 1, Blind: true})
	if err != nil {
		return nil, err
	}
	players := make([]rollout.Player, spec.Seats)
	for a := range players {
		if players[a], err = rollout.NewBots(g, bot, envs); err != nil {
			return nil, err
		}
	}
	ro := batch.New(e.Shape(spec.Horizon+1, 0))
	byName, bySeat := make([][]float64, spec.Seats), make([][]float64, spec.Seats)
	sum := make([][]float64, envs)
	for n := range sum {
		sum[n] = make([]float64, spec.Seats)
	}
	failed := ""
	for len(byName[0]) < episodes && failed == "" {
		failed = collect(e, ro, players)
		// Seats' returns are summed here, not taken from the rollout's own account.
		for n := range envs {
			for t := range ro.Steps {
				if ro.Start[ro.Moment(t, n)] {
					clear(sum[n])
				}
				for a := range agent.ID(spec.Seats) {
					sum[n][ro.Seat[ro.Slot(a, t, n)]] += float64(ro.Reward[ro.Step(a, t, n)])
				}
				if ro.Start[ro.Moment(t+1, n)] { // the step only reset: the episode was over before
					for s, x := range sum[n] {
						bySeat[s] = append(bySeat[s], x)
					}
				}
			}
		}
		for _, ep := range e.Episodes() {
			for a, x := range ep.Return {
				byName[a] = append(byName[a], x)
			}
		}
	}
	if failed != "" {
		return nil, errors.New(failed)
	}
	return []check.Finding{
		compareMeans(bySeat, bot, "place", "seat", "game", "the rules: ties, orders of moves and rewards must not follow seat numbers"),
		compareMeans(byName, bot, "name", "agent", "rollout", "rollout: rewards and seats must be mapped by the episode's deal"),
	}, nil
}

// collect plays a window and returns a panic of the rules as text.
func collect(e *rollout.Envs, ro *batch.Rollout, players []rollout.Player) (failed string) {
	defer func() {
		if p := recover(); p != nil {
			failed = fmt.Sprint(p)
		}
	}()
	if err := e.Collect(ro, [][]rollout.Player{players}); err != nil {
		return err.Error()
	}
	return ""
}

// compareMeans asks whether columns that should be alike have one mean.
func compareMeans(x [][]float64, bot, by, unit, module, next string) check.Finding {
	f := check.Finding{Step: 1, Check: fmt.Sprintf("even play of %s by %s", bot, by), Module: module, Rows: len(x[0]),
		Unit: "return above the mean"}
	if len(x[0]) < 20 {
		f.Says = "Too few episodes ended to compare."
		return f
	}
	for s := range x {
		x[s] = x[s][:shortest(x)]
	}
	all := 0.
	means := make([]float64, len(x))
	for s := range x {
		for _, v := range x[s] {
			means[s] += v / float64(len(x[s]))
		}
		all += means[s] / float64(len(x))
	}
	best := 0
	for s := range means {
		f.Saw(means[s], all, "%s %d: mean return", unit, s)
		if math.Abs(means[s]-all) > math.Abs(means[best]-all) {
			best = s
		}
	}
	var diff stats.Acc
	for i := range x[0] {
		mean := 0.
		for s := range x {
			mean += x[s][i] / float64(len(x))
		}
		diff.Add(x[best][i] - mean)
	}
	ci := diff.CI(0.95)
	f.Effect, f.Lo, f.Hi = diff.Mean(), ci[0], ci[1]
	p := check.Friedman(x)
	f.Says = fmt.Sprintf("When %s plays every %s, earnings do not follow the %s: p = %.2g in %d episodes.", bot, unit, by, p, len(x[0]))
	if f.Status = check.ByChance(p); f.Status != check.Pass {
		f.Says = fmt.Sprintf("With the same bot (%s) on every place, %s %d earns %+.3g against the mean of %.3g: p = %.1g in %d episodes.",
			bot, unit, best, f.Effect, all, p, len(x[0]))
		f.Next = next
	}
	return f
}

func shortest(x [][]float64) int {
	n := len(x[0])
	for _, col := range x {
		n = min(n, len(col))
	}
	return n
}
