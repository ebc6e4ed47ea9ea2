package truth_test

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

// BenchmarkAhead is the planner of the HOP presets on 8x8: every action once in 16
// futures, scored by scripts that are averaged over four more, along episodes.
func BenchmarkAhead(b *testing.B) {
	set := func(c *staghunt.Config) { c.Size, c.Blocks = 8, 5 }
	c := truth.Default().Plan
	c.Trees, c.Sims = 16, 7
	h := newBench(b, set, c, "ns", "nh", "random")
	g, w, f, bots := hunting(b, set), h.w, h.f, h.bots
	s := truth.NewScripts(bots, c.Discount, 15)
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
		search.Fork(rs, &r)
		f.Search(w, s, bots, rs)
		i++
	}
}
