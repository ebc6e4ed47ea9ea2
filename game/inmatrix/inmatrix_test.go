package inmatrix_test

import (
	"testing"

	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/inmatrix"
)

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*inmatrix.Config)
	}{
		{"small, five with a view", func(c *inmatrix.Config) {
			c.Map, c.Agents, c.Horizon, c.Freeze, c.View, c.Refill = "small", 5, 40, 2, 1, false
		}},
		{"the whole board, two", func(c *inmatrix.Config) { c.Horizon, c.View = 40, 0 }},
	} {
		c := inmatrix.Default()
		tc.edit(&c)
		t.Run(tc.name, func(t *testing.T) { gametest.Run(t, gametest.New(t, inmatrix.New, c)) })
	}
}

func TestPlaythroughs(t *testing.T) {
	c := inmatrix.Default()
	c.Map, c.Freeze, c.Horizon = "small", 2, 30
	gametest.Playthrough(t, gametest.New(t, inmatrix.New, c), []string{"tft", "hare"}, 1, "testdata/tft_hare.txt")
}

func BenchmarkStep(b *testing.B) {
	gametest.Bench(b, gametest.New(b, inmatrix.New, inmatrix.Default()))
}
