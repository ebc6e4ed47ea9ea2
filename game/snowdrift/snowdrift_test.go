package snowdrift_test

import (
	"testing"

	"hop/game"
	"hop/game/gametest"
	"hop/game/snowdrift"
	"hop/rng"
)

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*snowdrift.Config)
	}{
		{"8x8", func(c *snowdrift.Config) { c.Horizon = 20 }},
		{"4x4", func(c *snowdrift.Config) { c.Size, c.Horizon = 4, 15 }},
		{"two agents, blocks", func(c *snowdrift.Config) { c.Size, c.Agents, c.Blocks, c.Horizon = 6, 2, 4, 20 }},
		{"eight agents, one drift", func(c *snowdrift.Config) { c.Size, c.Agents, c.Drifts, c.Horizon = 3, 8, 1, 20 }},
		{"a drift on every cell", func(c *snowdrift.Config) { c.Size, c.Agents, c.Drifts, c.Horizon = 2, 3, 4, 12 }},
		{"32 drifts", func(c *snowdrift.Config) { c.Size, c.Agents, c.Drifts, c.Horizon = 6, 3, 32, 30 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := snowdrift.Default()
			tc.edit(&c)
			g, err := snowdrift.New(c)
			if err != nil {
				t.Fatal(err)
			}
			gametest.Run(t, g)
		})
	}
}

// Positions read from text carry no mark of their episode, so a copy must take
// the board too.
func TestCopyOfATextPositionTakesTheBoard(t *testing.T) {
	a := at(t, "t=0\n 0* . .\n . 1 .\n . 2 *")
	b := at(t, "t=0\n 0 . .\n * 1 #\n . 2 *")
	b.CopyFrom(a)
	if got, want := text(t, b), text(t, a); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestPlaythroughs(t *testing.T) {
	c := snowdrift.Default()
	c.Size, c.Horizon = 4, 15
	small, err := snowdrift.New(c)
	if err != nil {
		t.Fatal(err)
	}
	c = snowdrift.Default()
	c.Blocks, c.Agents = 4, 3
	blocks, err := snowdrift.New(c)
	if err != nil {
		t.Fatal(err)
	}
	gametest.Playthrough(t, small, []string{"nd", "nd", "fix", "random"}, 1, "testdata/4x4.txt")
	gametest.Playthrough(t, blocks, []string{"nd", "nd", "nd"}, 2, "testdata/8x8_blocks.txt")
}

func BenchmarkStep(b *testing.B) {
	g, err := snowdrift.New(snowdrift.Default())
	if err != nil {
		b.Fatal(err)
	}
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
