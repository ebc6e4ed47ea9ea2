package learned_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/learned"
)

// levelled is a state with another feature than it has.
type levelled struct {
	game.State
	at int
	v  float32
}

func (l levelled) Observe(s game.Seat, dst []float32) {
	l.State.Observe(s, dst)
	dst[l.at] = l.v
}

// A search sees a real state from every seat as the game shows it, features and
// coins included, whoever plans, and takes states that differ in a feature for two.
func TestStatesKeepTheirFeatures(t *testing.T) {
	for _, g := range []game.Game{
		gametest.New(t, tag.New, tag.Config{Size: 4, Predators: 2, Prey: 1, Start: 2, Horizon: 9}),
		gametest.New(t, foraging.New, foraging.Config{Size: 5, Agents: 3, Food: 2, MinLevel: 1, MaxLevel: 3, Horizon: 30}),
		gametest.New(t, coin.New, coin.Config{Size: 3, Agents: 3, Horizon: 20, Pays: 1, Harm: 2, Take: "action", Pause: 1, Memory: true}),
	} {
		in, l, n := inputOf(g), g.Spec().Obs, g.Spec().Seats
		slices.Sort(in.Rewards)
		if in.Owned, in.Features = l.Owned, l.Features; l.Features > 0 {
			in.Values = []float32{0, .5, 1}
		}
		c := world.Default()
		c.Hidden = []int{4}
		m, p, err := world.New(c, in, rng.New(1))
		must(t, err)
		w, err := learned.New(m, p, learned.Config{Envs: 1, Trees: 1, Log: 4})
		must(t, err)
		f, err := search.New(search.Default(), in.Actions, n-1, 1, 1)
		must(t, err)
		w.Fit(f)
		got, want, seats := make([]float32, in.Len()), make([]float32, in.Len()), make([]game.Seat, n)
		walk(g, 40, 3, func(st, _ game.State, _ []int32, _ []float32) {
			for first := range n {
				for i := range seats {
					seats[i] = game.Seat((first + n - i) % n)
				}
				w.Set(0, st, seats)
				_, key := w.Root(0, 0)
				for place, s := range seats {
					st.Observe(s, want)
					if w.Observe(got, 0, 0, place); !slices.Equal(got, want) {
						t.Fatalf("%s: planning for seat %d, seat %d sees\n%v, want\n%v", g.Spec().Name, first, s, got, want)
					}
				}
				if l.Features == 0 {
					continue
				}
				w.Set(0, levelled{st, l.LegalAt() - 1, .125}, seats)
				if _, other := w.Root(0, 0); other == key {
					t.Fatalf("%s: a state with another feature has the same key", g.Spec().Name)
				}
			}
		})
	}
}
