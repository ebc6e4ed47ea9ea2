package truth

import (
	"testing"

	"hop/belief"
	"hop/game"
	"hop/game/staghunt"
	"hop/plan"
	"hop/rng"
)

func BenchmarkSearch(b *testing.B) {
	for _, leaf := range []string{"zero", "scripts"} {
		b.Run(leaf, func(b *testing.B) {
			g := hunting(b, func(c *staghunt.Config) { c.Size, c.Blocks = 6, 4 })
			c := plan.Default()
			c.Trees, c.Sims = 3, 200
			f, err := plan.New(c, 7, 3, 1, 1)
			if err != nil {
				b.Fatal(err)
			}
			w, err := NewWorld(g, []string{"ns", "nh"}, []string{"nh", "stag"}, 1, c.Trees)
			if err != nil {
				b.Fatal(err)
			}
			w.Fit(f)
			bots := NewBots(w, belief.New(belief.Default(), 1, 3, 2), 1)
			s := NewScripts(bots, c.Discount, 14)
			s.Zero = leaf == "zero"
			r := rng.New(1).Rand()
			st, rs := g.New(), make([]rng.Rand, c.Trees)
			st.Reset(&r)
			w.Set(0, st, []game.Seat{0, 1, 2, 3})
			b.ReportAllocs()
			for b.Loop() {
				plan.Fork(rs, &r)
				f.Search(w, s, bots, rs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(f.Count.Sims), "ns/sim")
		})
	}
}
