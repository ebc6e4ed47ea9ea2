package rules_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/commons"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/rng"
)

// All that can come of a step has probability 1 together by the law, and the law's
// entropy is that of these probabilities: each step is played with other draws until
// nothing new comes. What comes of the draws costs as much on average as the law says.
func TestDrawsAreThoseOfTheGames(t *testing.T) {
	for _, c := range []struct {
		g      game.Game
		draws  rules.Drawing
		params map[string]any
	}{
		{gametest.New(t, coin.New, coin.Config{Size: 3, Agents: 3, Horizon: 9, Pays: 1, Harm: 2, Take: "action", Pause: 1, Memory: true}),
			rules.CoinChance, map[string]any{"take": "action", "pause": 1}},
		{gametest.New(t, coin.New, coin.Config{Size: 2, Agents: 2, Horizon: 9, Pays: 1, Harm: 2, Take: "walk", Memory: true}),
			rules.CoinChance, map[string]any{"take": "walk", "pause": 0}},
		{gametest.New(t, cleanup.New, cleanup.Config{Size: 3, Agents: 2, Horizon: 9, River: 1, Orchard: 1, Pollution: .4, Growth: .5,
			Depletion: .9, Start: .5, Reach: 1, Pays: 1}),
			rules.CleanupChance, map[string]any{"pollution": .4, "growth": .5, "restoration": 0, "depletion": .9, "reach": 1}},
		{gametest.New(t, commons.New, commons.Config{Size: 4, Agents: 2, Horizon: 15, Apart: 2, Growth: .15, Reach: 1, Keep: 2, Pays: 1}),
			rules.CommonsChance, map[string]any{"reach": 1, "growth": .15}},
		{gametest.New(t, tag.New, tag.Config{Size: 4, Blocks: 1, Predators: 2, Prey: 2, Start: 2, Horizon: 20}),
			rules.TagChance, map[string]any{"start": 2}},
	} {
		spec := c.g.Spec()
		l, n := spec.Obs, spec.Seats
		law := rules.ChanceOf(spec, c.params, c.draws)()
		cols, board := len(l.Planes), l.PlanesLen()
		r := rng.New(1).Rand()
		st, again := c.g.New(), c.g.New()
		before, after := make([]float32, l.Len()), make([]float32, l.Len())
		acts, pays := make([]int32, n), make([]float32, n)
		bots := c.g.Bots()
		drawn := 0
		st.Reset(&r)
		for range 60 {
			if st.Over() {
				st.Reset(&r)
			}
			me := game.Seat(r.IntN(n))
			st.Observe(me, before)
			for s := range acts {
				acts[s] = bots[r.IntN(len(bots))].New().Act(st, game.Seat(s), &r)
			}
			step := rules.Drawn{Before: before[:board], After: after[:board], Feat: before[board : board+l.Features], Joint: make([]int32, n)}
			for a := range n {
				step.Joint[a] = acts[(int(me)+a)%n]
			}
			seen, sum, entropy, said, paid := map[string]float64{}, 0., 0., 0., 0.
			const draws = 1500
			for range draws {
				again.CopyFrom(st)
				again.Step(acts, pays, &r)
				again.Observe(me, after)
				key := make([]byte, board)
				for i, v := range after[:board] {
					key[i] = byte(v)
				}
				if cost, ok := seen[string(key)]; ok {
					paid += cost / draws
					continue
				}
				nats, mean := make([]float64, cols), make([]float64, cols)
				law(step, nats, mean)
				cost := 0.
				said = 0
				for i := range nats {
					cost += nats[i]
					said += mean[i]
				}
				seen[string(key)] = cost
				paid += cost / draws
				sum += math.Exp(-cost)
				entropy += math.Exp(-cost) * cost
			}
			if len(seen) > 1 {
				drawn++
			}
			// Two prey on one cell look alike from a plane but not from their own; all else is told apart.
			if !(math.Abs(sum-1) <= .03 && math.Abs(entropy-said) <= .15 && math.Abs(paid-said) <= .15) {
				t.Fatalf("%s: %d outcomes have probability %v together and entropy %v, and cost %v on average; the law says %v", spec.Name, len(seen),
					sum, entropy, paid, said)
			}
			st.Step(acts, pays, &r)
		}
		if drawn < 3 {
			t.Errorf("%s: chance decided %d of 60 steps, too few to test by", spec.Name, drawn)
		}
	}
	if rules.ChanceOf(game.Spec{}, map[string]any{"pause": 2}, rules.CoinChance)() != nil {
		t.Error("it is known how coins come where the wait for one is not observed")
	}
}
