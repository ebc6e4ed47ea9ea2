package tag_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/rng"
)

func TestBotsPlayTheirRule(t *testing.T) {
	const open = "t=0\n. . . .\n. 0 . .\n. . . 1\n. . . .\nprey 1"
	const blocks = "t=0\n. # . .\n0 # 1 .\n. # . .\n. . . .\nprey 1"
	for _, c := range []struct {
		bot, text string
		seat      game.Seat
		want      [5]float32
	}{
		{"chase", open, 0, [5]float32{down: .5, right: .5}},
		{"chase", open, 1, [5]float32{down: 1}},
		{"flee", open, 0, [5]float32{up: .5, left: .5}},
		{"flee", open, 1, [5]float32{down: 1}},
		{"chase", blocks, 0, [5]float32{down: 1}},
		{"chase", blocks, 1, [5]float32{up: .5, right: .5}},
		{"flee", blocks, 0, [5]float32{up: 1}},
	} {
		blocked := newGame(t, with(func(c *tag.Config) { c.Size, c.Predators, c.Blocks = 4, 1, 1 }))
		if got := [5]float32(gametest.Probs(t, blocked, c.bot, c.text, c.seat)); got != c.want {
			t.Errorf("%s in seat %d: %v, want %v in\n%s", c.bot, c.seat, got, c.want, c.text)
		}
	}
}

// catches returns the mean number of catches an episode when predators play one
// bot and prey another.
func catches(t testing.TB, predator, prey string, episodes int) float64 {
	t.Helper()
	g := newGame(t, tag.Default())
	st := g.New().(*tag.State)
	var bots [2]game.Bot
	for i, name := range []string{predator, prey} {
		b, err := game.NewBot(g, name)
		if err != nil {
			t.Fatal(err)
		}
		bots[i] = b
	}
	rules, act := rng.New(7).Child("rules").Rand(), rng.New(7).Child("act").Rand()
	acts, rewards := make([]int32, 4), make([]float32, 4)
	total := 0.
	for range episodes {
		for st.Reset(&rules); !st.Over(); {
			for s := range acts {
				b := bots[0]
				if st.Prey(game.Seat(s)) {
					b = bots[1]
				}
				acts[s] = b.Act(st, game.Seat(s), &act)
			}
			st.Step(acts, rewards, &rules)
			for _, x := range rewards {
				total -= math.Min(float64(x), 0)
			}
		}
	}
	return total / float64(episodes)
}

// TestSkillPays: chasers catch more than random predators do, and prey that
// flees is caught less than prey that moves at random.
func TestSkillPays(t *testing.T) {
	const n = 300
	chaseRandom, chaseFlee := catches(t, "chase", "random", n), catches(t, "chase", "chase", n)
	randomRandom, randomFlee := catches(t, "random", "random", n), catches(t, "random", "chase", n)
	t.Logf("catches an episode: chase-random %.2f, chase-flee %.2f, random-random %.2f, random-flee %.2f",
		chaseRandom, chaseFlee, randomRandom, randomFlee)
	if chaseRandom < 2*randomRandom || chaseFlee < 2*randomFlee {
		t.Error("chasing does not double the catches")
	}
	if chaseFlee > chaseRandom/2 || randomFlee > randomRandom/2 {
		t.Error("fleeing does not halve the catches")
	}
}
