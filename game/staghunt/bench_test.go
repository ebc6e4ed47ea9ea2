package staghunt

import (
	"fmt"
	"testing"

	"hop/game"
	"hop/rng"
)

// BenchmarkStep plays random legal actions and writes every living seat's mask
// and observation: what collecting a window costs the rules.
func BenchmarkStep(b *testing.B) {
	for _, size := range []int{4, 8, 16} {
		for _, agents := range []int{2, 4, 8} {
			b.Run(fmt.Sprintf("%dx%d/%d", size, size, agents), func(b *testing.B) {
				g, err := New(with(func(c *Config) { c.Size, c.Agents = size, agents }))
				if err != nil {
					b.Fatal(err)
				}
				st, r := g.New(), rng.New(1).Rand()
				obs := make([]float32, g.spec.Obs.Len())
				legal := make([]bool, actions)
				acts, rewards := make([]int32, agents), make([]float32, agents)
				st.Reset(&r)
				rows := 0
				b.ReportAllocs()
				for b.Loop() {
					if st.Over() {
						st.Reset(&r)
					}
					for s := range acts {
						acts[s] = game.NoAction
						if !st.Alive(game.Seat(s)) {
							continue
						}
						st.Legal(game.Seat(s), legal)
						st.Observe(game.Seat(s), obs)
						acts[s] = game.Uniform(legal, &r)
						rows++
					}
					st.Step(acts, rewards, &r)
				}
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
