package foraging_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/gametest"
)

// TestAllFoodSumsToOne plays teams to the end: who took everything got 1.
func TestAllFoodSumsToOne(t *testing.T) {
	for _, shared := range []bool{true, false} {
		c := with(func(c *foraging.Config) { c.Agents, c.Food, c.Shared, c.Horizon = 3, 4, shared, 1000 })
		g := newGame(t, c)
		for seed := range uint64(20) {
			returns := gametest.Returns(t, g, []string{"team", "team", "team"}, 1, seed)
			sum := 3 * returns[3].Mean
			if shared {
				sum /= 3
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("shared %v, seed %d: returns %v, want 1 in all", shared, seed, returns)
			}
		}
	}
}

// TestBotsPlayTheirRule gives the probabilities of one position: a walker goes
// straight nine times in ten.
func TestBotsPlayTheirRule(t *testing.T) {
	const text = `t=0
. . . . .
. a . 1 .
. . . . .
. . . b .
. . . . 0
levels 2 1
food a=3 b=1`
	toB := [6]float32{up: .45 + .1/3, left: .45 + .1/3, stay: .1 / 3}
	for _, c := range []struct {
		bot  string
		seat game.Seat
		want [6]float32
	}{
		{"nearest", 0, toB},
		{"nearest", 1, [6]float32{up: .02, down: .47, left: .47, right: .02, stay: .02}},
		{"solo", 0, toB},
		{"solo", 1, [6]float32{up: .02, down: .92, left: .02, right: .02, stay: .02}},
		{"team", 0, toB},
		{"team", 1, [6]float32{up: .02, down: .02, left: .92, right: .02, stay: .02}},
	} {
		got := gametest.Probs(t, newGame(t, small(2, true)), c.bot, text, c.seat)
		for k := range got {
			if math.Abs(float64(got[k]-c.want[k])) > 1e-6 {
				t.Errorf("%s in seat %d: %v, want %v", c.bot, c.seat, got, c.want)
				break
			}
		}
	}
}

func TestWalkersLoadBesideTheirFood(t *testing.T) {
	g := newGame(t, small(4, true))
	for _, c := range []struct {
		bot  string
		seat game.Seat
		load float32
	}{{"nearest", 0, 1}, {"team", 1, 1}, {"solo", 3, 0}, {"team", 3, 0}} {
		if probs := gametest.Probs(t, g, c.bot, twoFoods, c.seat); probs[load] != c.load {
			t.Errorf("%s in seat %d loads with probability %v, want %v", c.bot, c.seat, probs[load], c.load)
		}
	}
}

// TestTeamsOfBotsFinish: bots that agree on the food take all of it in time,
// even where everyone is needed.
func TestTeamsOfBotsFinish(t *testing.T) {
	for _, n := range []int{2, 3} {
		g := newGame(t, with(func(c *foraging.Config) { c.Coop, c.Agents, c.Food = true, n, 3 }))
		team := []string{"team", "team", "team"}[:n]
		if mean := gametest.Returns(t, g, team, 200, 1)[0].Mean; mean < 0.98 {
			t.Errorf("%d team bots return %v, want nearly all of 1", n, mean)
		}
	}
}
