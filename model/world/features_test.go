package world_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// tagged is tag for one prey on a small board, and fed foraging for one item, where
// a reward needs nothing that is not observed.
var (
	tagged = tag.Config{Size: 3, Predators: 2, Prey: 1, Start: 1, Horizon: 9}
	fed    = foraging.Config{Size: 5, Agents: 2, Food: 1, MinLevel: 1, MaxLevel: 2, Shared: true, Horizon: 9}
)

// inputOf is what a model reads of a game whose features are levels of a tag or a
// forager.
func inputOf(g game.Game) world.Input {
	spec := g.Spec()
	l := spec.Obs
	in := world.Input{
		Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: spec.Seats, Actions: len(spec.Actions), Horizon: spec.Horizon,
		Legal: l.Legal, Time: l.Time, Last: l.Last, Owned: l.Owned, Features: l.Features, Rewards: []float32{-2, -1, 0, .5, 1},
	}
	if l.Features > 0 {
		in.Values = []float32{0, .25, .5, .75, 1}
	}
	for f := spec.Seats; f < l.Features; f++ {
		in.Zeroes = append(in.Zeroes, f)
	}
	return in
}

// steps plays by the game's bots, another at each decision, and calls each with the state before and after.
func steps(g game.Game, count int, seed uint64, each func(was, st game.State, acts []int32, rewards []float32)) {
	r, spec := rng.New(seed).Rand(), g.Spec()
	st, was := g.New(), g.New()
	acts, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	var bots []game.Bot
	for _, info := range g.Bots() {
		bots = append(bots, info.New())
	}
	st.Reset(&r)
	for range count {
		if st.Over() {
			st.Reset(&r)
		}
		was.CopyFrom(st)
		for s := range acts {
			acts[s] = bots[r.IntN(len(bots))].Act(st, game.Seat(s), &r)
		}
		st.Step(acts, rewards, &r)
		each(was, st, acts, rewards)
	}
}

// recorded is a batch of such steps, each through the eyes of every seat.
func recorded(g game.Game, count int, seed uint64) world.Batch {
	var b world.Batch
	l, n := g.Spec().Obs, g.Spec().Seats
	obs := make([]float32, l.Len())
	steps(g, count, seed, func(was, st game.State, acts []int32, rewards []float32) {
		for s := range n {
			was.Observe(game.Seat(s), obs)
			b.Obs = append(b.Obs, obs...)
			st.Observe(game.Seat(s), obs)
			b.Next, b.NextFeat = append(b.Next, obs[:l.PlanesLen()]...), append(b.NextFeat, obs[l.FeaturesAt():l.LegalAt()]...)
			for i := range n {
				b.Joint, b.Reward = append(b.Joint, acts[(s+i)%n]), append(b.Reward, rewards[(s+i)%n])
			}
			b.Over = append(b.Over, st.Over())
			b.Rows++
		}
	})
	return b
}

// What belongs to agents, be it a feature or a plane of coins, is seen from every
// seat as the game shows it there, and so is what Step writes for everyone.
func TestEverySeatSeesFeaturesAndCoinsAsTheGameShowsThem(t *testing.T) {
	for _, g := range []game.Game{
		gametest.New(t, tag.New, tag.Config{Size: 4, Blocks: 1, Predators: 2, Prey: 2, Start: 2, Horizon: 9}),
		gametest.New(t, foraging.New, foraging.Config{Size: 5, Agents: 3, Food: 2, MinLevel: 1, MaxLevel: 3, Horizon: 30}),
		gametest.New(t, coin.New, coin.Config{Size: 3, Agents: 3, Horizon: 20, Pays: 1, Harm: 2, Take: "action", Pause: 1, Memory: true}),
	} {
		in := inputOf(g)
		m, p, err := world.New(world.Default(), in, rng.New(1))
		must(t, err)
		ws, dst, turned, n := m.Work(), next(in, 1), make([]float32, in.Len()), in.Agents
		obs, want, got, legal := make([]float32, in.Len()), make([]float32, in.Len()), make([]float32, in.Len()), make([]bool, in.Actions)
		joint := make([]int32, n)
		steps(g, 60, 3, func(was, st game.State, acts []int32, _ []float32) {
			for s := range n {
				st.Observe(game.Seat(s), obs)
				for k := range n {
					other := game.Seat((s + k) % n)
					st.Observe(other, want)
					st.Legal(other, legal)
					in.View(got, obs, k, legal)
					if !slices.Equal(got, want) {
						t.Fatalf("%s: seat %d seen from seat %d:\ngot  %v\nwant %v", g.Spec().Name, other, s, got, want)
					}
					joint[k] = acts[other]
				}
				was.Observe(game.Seat(s), obs)
				ws.Step(p, dst, obs, joint, 1)
				for k := range n {
					in.View(turned, dst.Obs[0], k, dst.Legal[k])
					if !slices.Equal(dst.Obs[k], turned) {
						t.Fatalf("%s: Step shows agent %d\n%v\nwhich agent 0's view turned is not:\n%v", g.Spec().Name, k, dst.Obs[k], turned)
					}
				}
			}
		})
	}
}

// Things are far from being a toss-up here: what the others learn from is which of
// them is likelier, and a difference must not change that.
func TestGradientsWithFeatures(t *testing.T) {
	for _, c := range []struct {
		g     game.Game
		fault string
	}{{gametest.New(t, tag.New, tagged), world.MeanPool}, {gametest.New(t, foraging.New, fed), world.NoFault}} {
		b := recorded(c.g, 4, 1)
		m, p, err := world.New(world.Config{Variant: world.Heads, Hidden: []int{3}, Dense: []int{4}, Fault: c.fault}, inputOf(c.g), rng.New(1))
		must(t, err)
		bias, _ := p.Find("things/head/b")
		w, _ := p.At(bias.Span)
		for i := range w {
			w[i] = -3
		}
		ws := m.Work()
		nntest.Check(t, nntest.Model{
			Params: []*nn.Params{p},
			Loss: func() float64 {
				l := ws.Loss(p, &b)
				return (l.Things.Sum + l.Move.Sum + l.Reward.Sum + l.Over.Sum + l.Legal.Sum + l.Features.Sum) / float64(b.Rows)
			},
			Grad: func() { ws.Learn(p, &b, b.Rows) },
		})
	}
}

// A game with features is learnt: what Step says of new steps is what the game does,
// from every seat, but for where a caught prey or a new coin appears, which is
// chance. A catch is paid as it is, whoever is the predator, and so is a coin,
// whoever owns it.
func TestGamesWithFeaturesOrOwnersAreLearnt(t *testing.T) {
	for _, c := range []struct {
		g                  game.Game
		count, train, most int
	}{
		{gametest.New(t, tag.New, tagged), 4000, 700, 8},
		{gametest.New(t, foraging.New, fed), 5000, 700, 8},
		{gametest.New(t, coin.New, coin.Config{Size: 3, Agents: 2, Horizon: 9, Pays: 1, Harm: 2, Take: "action", Pause: 1,
			Memory: true}), 4000, 500, 2},
	} {
		in, b, name := inputOf(c.g), recorded(c.g, c.count, 1), c.g.Spec().Name
		m, p, err := world.New(world.Config{Variant: world.Heads, Hidden: []int{32}, Dense: []int{4}, Fault: world.NoFault}, in, rng.New(1))
		must(t, err)
		opt := nn.NewAdam(p, nn.AdamConfig{})
		ws, dst, n := m.Work(), next(in, 1), in.Agents
		for i := range c.train {
			const rows = 64
			lo := i * rows % (b.Rows - rows)
			part := b.Part(in, lo, lo+rows)
			ws.Learn(p, &part, rows)
			_, err := opt.Step(5e-3*(1-float64(i)/float64(c.train)), 1)
			must(t, err)
		}
		obs, want, legal := make([]float32, in.Len()), make([]float32, in.Len()), make([]bool, in.Actions)
		wrong := map[string]int{}
		all, paid := 0, 0
		steps(c.g, 400, 9, func(was, st game.State, acts []int32, rewards []float32) {
			was.Observe(0, obs)
			ws.Step(p, dst, obs, acts, 1)
			bad, takes := false, slices.ContainsFunc(rewards, func(r float32) bool { return r != 0 })
			note := func(what string, ok bool) {
				if !ok {
					wrong[what]++
					bad = true
				}
			}
			all++
			if takes {
				paid++
			}
			note("over", dst.Over[0] == st.Over())
			for s := range n {
				note("reward", dst.Reward[s][0] == rewards[s])
				if takes && name == "tag" || name == "coin" {
					continue // chance decides
				}
				st.Observe(game.Seat(s), want)
				st.Legal(game.Seat(s), legal)
				note("legal", slices.Equal(dst.Legal[s], legal))
				at := in.Height * in.Width * in.Planes
				note("features", slices.Equal(dst.Obs[s][at:at+in.Features], want[at:at+in.Features]))
				note("obs", slices.Equal(dst.Obs[s], want))
			}
			if bad {
				wrong["steps"]++
			}
		})
		if wrong["steps"] > c.most || paid < 5 {
			t.Errorf("%s: %d of %d steps, of which %d pay, are wrong, want at most %d; by part: %v", name, wrong["steps"], all, paid, c.most, wrong)
		}
	}
}
