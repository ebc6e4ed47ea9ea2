package coin_test

import (
	"testing"

	"hop/game"
	"hop/game/coin"
	"hop/game/gametest"
	"hop/rng"
)

func newGame(t testing.TB, edit func(*coin.Config)) *coin.Game {
	t.Helper()
	c := coin.Default()
	edit(&c)
	g, err := coin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*coin.Config)
	}{
		{"5x5", func(c *coin.Config) { c.Horizon = 20 }},
		{"LOLA", func(c *coin.Config) { c.Size, c.Take, c.Pause, c.Horizon = 3, "walk", 0, 20 }},
		{"four agents, long pause", func(c *coin.Config) { c.Agents, c.Pause, c.Horizon = 4, 3, 20 }},
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

// play returns each seat's mean return.
func play(t *testing.T, g *coin.Game, team []string, episodes int, seed uint64) []float64 {
	t.Helper()
	bots := make([]game.Bot, len(team))
	for s, name := range team {
		var err error
		if bots[s], err = game.NewBot(g, name); err != nil {
			t.Fatal(err)
		}
	}
	st, r := g.New(), rng.New(seed).Rand()
	acts, rewards := make([]int32, len(team)), make([]float32, len(team))
	means := make([]float64, len(team))
	for range episodes {
		for st.Reset(&r); !st.Over(); {
			for s := range acts {
				acts[s] = bots[s].Act(st, game.Seat(s), &r)
			}
			st.Step(acts, rewards, &r)
			for s, x := range rewards {
				means[s] += float64(x) / float64(episodes)
			}
		}
	}
	return means
}

// The return on which the default rules were settled: bots that take only their
// own coins earn 9 each. A mean of 2,000 episodes has a standard error of 0.05.
func TestOwnCoinBotsEarnNineEach(t *testing.T) {
	for s, got := range play(t, newGame(t, func(*coin.Config) {}), []string{"own", "own"}, 2000, 7) {
		if got < 8.5 || got >= 9.5 {
			t.Errorf("seat %d earns %.2f, want 9 after rounding", s, got)
		}
	}
}

// Taking everything beats restraint against either, and ruins both: a dilemma.
// The gaps are above 3, the standard errors below 0.2.
func TestTakingEverythingIsTheDilemma(t *testing.T) {
	g := newGame(t, func(*coin.Config) {})
	own := play(t, g, []string{"own", "own"}, 2000, 7)
	mixed := play(t, g, []string{"own", "any"}, 2000, 7)
	greedy := play(t, g, []string{"any", "any"}, 2000, 7)
	t.Logf("own own %.2f, own any %.2f, any any %.2f", own, mixed, greedy)
	if mixed[1] < own[1]+3 {
		t.Errorf("any against own earns %.2f, want well above own's %.2f", mixed[1], own[1])
	}
	if greedy[0] < mixed[0]+3 {
		t.Errorf("any against any earns %.2f, want well above own's %.2f", greedy[0], mixed[0])
	}
	if greedy[0] > own[0]-3 {
		t.Errorf("two any earn %.2f each, want well below two own's %.2f", greedy[0], own[0])
	}
}

func BenchmarkStep(b *testing.B) {
	g := newGame(b, func(*coin.Config) {})
	spec := g.Spec()
	st, r := g.New(), rng.New(1).Rand()
	legal, obs := make([]bool, len(spec.Actions)), make([]float32, spec.Obs.Len())
	acts, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	st.Reset(&r)
	for b.Loop() {
		for s := range acts {
			st.Legal(game.Seat(s), legal)
			st.Observe(game.Seat(s), obs)
			acts[s] = game.Uniform(legal, &r)
		}
		st.Step(acts, rewards, &r)
		if st.Over() {
			st.Reset(&r)
		}
	}
	b.ReportMetric(float64(b.N*spec.Seats)/b.Elapsed().Seconds(), "agent-steps/s")
}
