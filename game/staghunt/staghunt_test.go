package staghunt

import (
	"fmt"
	"testing"

	"github.com/hop-marl/hop/game/gametest"
)

// settings are the boards that the suite is run on.
var settings = []Config{
	Default(),
	with(func(c *Config) { c.Size, c.Agents, c.Hares, c.Horizon = 2, 2, 1, 12 }),
	with(func(c *Config) { c.Size, c.Stags, c.Agents, c.Horizon = 3, 2, 8, 20 }),
	with(func(c *Config) { c.Size, c.Blocks, c.Stags = 8, 5, 2 }),
	with(func(c *Config) { c.EndAfter, c.Hares, c.Agents = 5, 6, 3 }),
	with(func(c *Config) { c.Strength = []float64{1, 2, 3, 4} }),
	with(func(c *Config) { c.Stags, c.Hares = 0, 0 }),
	with(func(c *Config) { c.Size, c.Blocks, c.Stags, c.View, c.Horizon = 7, 3, 2, 1, 20 }),
	with(func(c *Config) { c.Size, c.Agents, c.Stags, c.View, c.Horizon = 5, 16, 3, 1, 10 }),
	with(func(c *Config) { c.Size, c.Agents, c.Stags, c.Hares, c.Horizon = 6, 64, 8, 16, 5 }),
}

func with(change func(c *Config)) Config {
	c := Default()
	change(&c)
	return c
}

func TestConforms(t *testing.T) {
	for _, c := range settings {
		g := gametest.New(t, New, c)
		t.Run(fmt.Sprintf("%s %d agents", g.Label(), c.Agents), func(t *testing.T) { gametest.Run(t, g) })
	}
}
