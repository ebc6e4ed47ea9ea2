package cleanup_test

import (
	"testing"

	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/gametest"
)

func newGame(t testing.TB, edit func(*cleanup.Config)) *cleanup.Game {
	t.Helper()
	c := cleanup.Default()
	edit(&c)
	return gametest.New(t, cleanup.New, c)
}

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*cleanup.Config)
	}{
		{"8x8", func(c *cleanup.Config) { c.Horizon = 20 }},
		{"view", func(c *cleanup.Config) { c.Size, c.Agents, c.Horizon, c.View, c.Growth = 5, 3, 20, 1, 0.3 }},
		{"two agents, all river and orchard", func(c *cleanup.Config) {
			c.Size, c.Agents, c.Horizon, c.River, c.Orchard, c.Growth = 4, 2, 20, 2, 2, 0.3
		}},
		{"eight agents, no reach", func(c *cleanup.Config) {
			c.Size, c.Agents, c.Horizon, c.River, c.Orchard, c.Reach, c.Growth = 4, 8, 15, 1, 2, 0, 0.5
		}},
		{"sixteen agents", func(c *cleanup.Config) { c.Size, c.Agents, c.View, c.Horizon, c.Growth = 5, 16, 1, 10, 0.3 }},
		{"pooled", func(c *cleanup.Config) { c.Size, c.Agents, c.Pooled, c.Horizon, c.Growth = 5, 16, true, 10, 0.3 }},
		{"sixty-four agents", func(c *cleanup.Config) { c.Size, c.Agents, c.Horizon, c.Growth = 6, 64, 5, 0.3 }},
	} {
		t.Run(tc.name, func(t *testing.T) { gametest.Run(t, newGame(t, tc.edit)) })
	}
}

func TestPlaythroughs(t *testing.T) {
	g := newGame(t, func(c *cleanup.Config) { c.Size, c.Agents, c.Horizon, c.Growth = 6, 3, 25, 0.1 })
	gametest.Playthrough(t, g, []string{"cleaner", "harvester", "fair"}, 1, "testdata/6x6.txt")
}

// The shape of the public good. Team returns over 500 episodes have standard
// errors below 0.2; every gap asked for is at least 2.
func TestCleaningIsAPublicGood(t *testing.T) {
	g := newGame(t, func(*cleanup.Config) {})
	returns := func(team ...string) (x []float64) {
		for _, score := range gametest.Returns(t, g, team, 500, 7) {
			x = append(x, score.Mean)
		}
		return x
	}
	sum := func(x []float64) float64 { return 4 * x[4] }

	for _, alone := range []string{"harvester", "cleaner"} {
		if got := sum(returns(alone, alone, alone, alone)); got != 0 {
			t.Errorf("four of %s earn %.2f, want nothing at all", alone, got)
		}
	}
	one, two, three := returns("cleaner", "harvester", "harvester", "harvester"), returns("cleaner", "cleaner", "harvester", "harvester"),
		returns("cleaner", "cleaner", "cleaner", "harvester")
	if one[0] != 0 || two[0] != 0 || three[0] != 0 {
		t.Errorf("cleaners earn %.2f, %.2f and %.2f, want 0", one[0], two[0], three[0])
	}
	if !(two[3] > one[3]+2 && three[3] > two[3]+2) {
		t.Errorf("a harvester earns %.2f, %.2f and %.2f with one, two and three cleaners, want more and more", one[3], two[3], three[3])
	}
	if !(sum(two) > sum(one)+2 && sum(two) > sum(three)+2) {
		t.Errorf("the team earns %.2f, %.2f and %.2f with one, two and three cleaners, want most with two", sum(one), sum(two), sum(three))
	}
	fair, free := returns("fair", "fair", "fair", "fair"), returns("harvester", "fair", "fair", "fair")
	if fair[0] < 2 {
		t.Errorf("four fair earn %.2f each, want well above the harvesters' 0", fair[0])
	}
	if !(free[0] > fair[0]+2 && free[1] < fair[1]-2) {
		t.Errorf("a harvester among fair earns %.2f and leaves them %.2f, want it above and them below the %.2f of four fair",
			free[0], free[1], fair[0])
	}
}

func BenchmarkStep(b *testing.B) { gametest.Bench(b, newGame(b, func(*cleanup.Config) {})) }
