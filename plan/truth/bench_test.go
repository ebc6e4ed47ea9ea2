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

// BenchmarkAhead is the planner of the HOP presets on 8x8: every action once in 16
// futures, scored by scripts that are averaged over four more, along episodes.
func BenchmarkAhead(b *testing.B) {
	g := hunting(b, func(c *staghunt.Config) { c.Size, c.Blocks = 8, 5 })
	c := Default().Plan
	c.Trees, c.Sims = 16, 7
	f, err := plan.New(c, 7, 3, 1, c.Trees)
	if err != nil {
		b.Fatal(err)
	}
	w, err := NewWorld(g, []string{"ns", "nh", "random"}, []string{"nh", "stag"}, 1, c.Trees)
	if err != nil {
		b.Fatal(err)
	}
	w.Fit(f)
	bots := NewBots(w, belief.New(belief.Default(), 1, 3, 3), 1)
	s := NewScripts(bots, c.Discount, 15)
	s.Repeat = 4
	var sts []game.State
	positions(g, 200, func(_ int, st game.State) {
		sts = append(sts, g.New())
		sts[len(sts)-1].CopyFrom(st)
	})
	r, rs, i := rng.New(1).Rand(), make([]rng.Rand, c.Trees), 0
	b.ReportAllocs()
	for b.Loop() {
		w.Set(0, sts[i%len(sts)], []game.Seat{0, 1, 2, 3})
		plan.Fork(rs, &r)
		f.Search(w, s, bots, rs)
		i++
	}
}
