package snowdrift_test

import (
	"testing"

	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/snowdrift"
)

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*snowdrift.Config)
	}{
		{"8x8", func(c *snowdrift.Config) { c.Horizon = 20 }},
		{"4x4", func(c *snowdrift.Config) { c.Size, c.Horizon = 4, 15 }},
		{"view", func(c *snowdrift.Config) { c.Size, c.Agents, c.Blocks, c.View, c.Horizon = 6, 3, 2, 1, 20 }},
		{"two agents, blocks", func(c *snowdrift.Config) { c.Size, c.Agents, c.Blocks, c.Horizon = 6, 2, 4, 20 }},
		{"eight agents, one drift", func(c *snowdrift.Config) { c.Size, c.Agents, c.Drifts, c.Horizon = 3, 8, 1, 20 }},
		{"a drift on every cell", func(c *snowdrift.Config) { c.Size, c.Agents, c.Drifts, c.Horizon = 2, 3, 4, 12 }},
		{"sixteen agents", func(c *snowdrift.Config) { c.Size, c.Agents, c.View, c.Horizon = 5, 16, 1, 10 }},
		{"sixty-four agents", func(c *snowdrift.Config) { c.Size, c.Agents, c.Drifts, c.Horizon = 6, 64, 20, 5 }},
		{"32 drifts", func(c *snowdrift.Config) { c.Size, c.Agents, c.Drifts, c.Horizon = 6, 3, 32, 30 }},
	} {
		c := snowdrift.Default()
		tc.edit(&c)
		t.Run(tc.name, func(t *testing.T) { gametest.Run(t, gametest.New(t, snowdrift.New, c)) })
	}
}

// Positions read from text carry no mark of their episode, so a copy must take
// the board too.
func TestCopyOfATextPositionTakesTheBoard(t *testing.T) {
	a := at(t, "t=0\n 0* . .\n . 1 .\n . 2 *")
	b := at(t, "t=0\n 0 . .\n * 1 #\n . 2 *")
	b.CopyFrom(a)
	if got, want := gametest.Text(t, b), gametest.Text(t, a); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestPlaythroughs(t *testing.T) {
	c := snowdrift.Default()
	c.Size, c.Horizon = 4, 15
	small := gametest.New(t, snowdrift.New, c)
	c = snowdrift.Default()
	c.Blocks, c.Agents = 4, 3
	blocks := gametest.New(t, snowdrift.New, c)
	gametest.Playthrough(t, small, []string{"nd", "nd", "fix", "random"}, 1, "testdata/4x4.txt")
	gametest.Playthrough(t, blocks, []string{"nd", "nd", "nd"}, 2, "testdata/8x8_blocks.txt")
}

func BenchmarkStep(b *testing.B) {
	gametest.Bench(b, gametest.New(b, snowdrift.New, snowdrift.Default()))
}
