package oracle_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/num/rng"
)

// What holds of the stag hunt holds of every game whose states have a key, and of co-players in
// its language: values are those of an expectimax over the real rules, by the states' whole text.
func TestValuesInOtherGamesEqualExpectimax(t *testing.T) {
	forage := foraging.Default()
	forage.Size, forage.Agents, forage.Food, forage.Horizon = 5, 3, 2, 3
	near := forage
	near.Horizon, near.MaxLevel, near.Shared = 3, 3, false
	drifts := snowdrift.Default()
	drifts.Size, drifts.Agents, drifts.Drifts, drifts.Horizon = 3, 3, 2, 4
	rounds := matrix.Default()
	rounds.Rounds = 4
	for _, c := range []struct {
		g    game.Game
		bots []string
	}{
		{gametest.New(t, foraging.New, forage), []string{"", "solo", "solo"}},
		{gametest.New(t, foraging.New, forage), []string{"", "go(food,last,stay)", "go(food,last,stay)"}},
		{gametest.New(t, foraging.New, near), []string{"", "random", "random"}}, // of two levels, who may change places
		{gametest.New(t, snowdrift.New, drifts), []string{"", "nd", "fix"}},
		{gametest.New(t, snowdrift.New, drifts), []string{"", "slow(nd,2)", "slow(nd,2)"}},
		{gametest.New(t, snowdrift.New, drifts), []string{"", "lazy(nd,.3)", "if(close(1),nd,flee)"}},
		{gametest.New(t, matrix.New, rounds), []string{"", "tft"}},
		{gametest.New(t, matrix.New, rounds), []string{"", "grim"}},
		{gametest.New(t, matrix.New, rounds), []string{"", "majority(.6)"}},
		{gametest.New(t, matrix.New, rounds), []string{"", "m2(1,0,.5,0,1,0,.2,0,1,.1,0,0,.7,0,1,0)"}},
		{gametest.New(t, matrix.New, rounds), []string{"", "slow(pavlov,2)"}},
	} {
		must(t, oracle.Solvable(c.g, c.bots[1:]))
		br, err := oracle.NewBR(c.g, 0.9)
		must(t, err)
		st, r := c.g.New(), rng.New(3).Rand()
		for start := range 3 {
			st.Reset(&r)
			w := &twin{g: c.g, gamma: 0.9, memo: map[string]float64{}, whole: true}
			for _, name := range c.bots {
				if name == "" {
					name = "random"
				}
				b, err := game.NewBot(c.g, name)
				must(t, err)
				w.pol = append(w.pol, b.(game.Policy))
			}
			got, err := br.Value(st, 0, c.bots)
			must(t, err)
			if want := w.value(st); math.Abs(got-want) > 1e-5*max(1, math.Abs(want)) {
				t.Errorf("%s against %v, start %d: %v, want %v", c.g.Spec().Name, c.bots[1:], start, got, want)
			}
		}
	}
}
