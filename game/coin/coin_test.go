package coin_test

import (
	"testing"

	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/gametest"
)

func newGame(t testing.TB, edit func(*coin.Config)) *coin.Game {
	t.Helper()
	c := coin.Default()
	edit(&c)
	return gametest.New(t, coin.New, c)
}

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*coin.Config)
	}{
		{"5x5", func(c *coin.Config) { c.Horizon = 20 }},
		{"LOLA", func(c *coin.Config) { c.Size, c.Take, c.Pause, c.Horizon = 3, "walk", 0, 20 }},
		{"four agents, long pause", func(c *coin.Config) { c.Agents, c.Pause, c.Horizon = 4, 3, 20 }},
		{"view", func(c *coin.Config) { c.Agents, c.View, c.Horizon = 3, 1, 20 }},
		{"three agents, crowded", func(c *coin.Config) { c.Size, c.Agents, c.Pause, c.Horizon = 2, 3, 0, 15 }},
	} {
		t.Run(tc.name, func(t *testing.T) { gametest.Run(t, newGame(t, tc.edit)) })
	}
}

func TestPlaythroughs(t *testing.T) {
	gametest.Playthrough(t, newGame(t, func(c *coin.Config) { c.Horizon = 20 }), []string{"own", "any"}, 1, "testdata/own_any.txt")
	lola := newGame(t, func(c *coin.Config) { c.Size, c.Take, c.Pause, c.Horizon = 3, "walk", 0, 12 })
	gametest.Playthrough(t, lola, []string{"own", "random"}, 2, "testdata/lola.txt")
}

// The return on which the default rules were settled: bots that take only their
// own coins earn 9 each. A mean of 2,000 episodes has a standard error of 0.05.
func TestOwnCoinBotsEarnNineEach(t *testing.T) {
	for s, got := range gametest.Returns(t, newGame(t, func(*coin.Config) {}), []string{"own", "own"}, 2000, 7) {
		if got.Mean < 8.5 || got.Mean >= 9.5 {
			t.Errorf("seat %d earns %.2f, want 9 after rounding", s, got.Mean)
		}
	}
}

// Taking everything beats restraint against either, and ruins both: a dilemma.
// The gaps are above 3, the standard errors below 0.2.
func TestTakingEverythingIsTheDilemma(t *testing.T) {
	g := newGame(t, func(*coin.Config) {})
	own := gametest.Returns(t, g, []string{"own", "own"}, 2000, 7)
	mixed := gametest.Returns(t, g, []string{"own", "any"}, 2000, 7)
	greedy := gametest.Returns(t, g, []string{"any", "any"}, 2000, 7)
	t.Logf("own own %.2f, own any %.2f, any any %.2f", own, mixed, greedy)
	if mixed[1].Mean < own[1].Mean+3 {
		t.Errorf("any against own earns %.2f, want well above own's %.2f", mixed[1].Mean, own[1].Mean)
	}
	if greedy[0].Mean < mixed[0].Mean+3 {
		t.Errorf("any against any earns %.2f, want well above own's %.2f", greedy[0].Mean, mixed[0].Mean)
	}
	if greedy[0].Mean > own[0].Mean-3 {
		t.Errorf("two any earn %.2f each, want well below two own's %.2f", greedy[0].Mean, own[0].Mean)
	}
}

func BenchmarkStep(b *testing.B) { gametest.Bench(b, newGame(b, func(*coin.Config) {})) }
