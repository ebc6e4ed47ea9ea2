package search

import (
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// BenchmarkSearch is a search whose steps and leaves cost next to nothing: what is left
// is the walk down the trees and back.
func BenchmarkSearch(b *testing.B) {
	for _, hashed := range []bool{false, true} {
		name := "trees"
		if hashed {
			name = "hashed"
		}
		b.Run(name, func(b *testing.B) {
			g := corridor(12, 1, []int{0, 1})
			c := Default()
			c.Hashed, c.VisitAll = hashed, false
			f, err := New(c, g.actions, g.others, 8, 64)
			must(b, err)
			g.at = make([]int, f.Slots())
			rs := rng.New(1).Rands("search", 8*c.Trees)
			b.ReportAllocs()
			for b.Loop() {
				g.batches = g.batches[:0]
				f.Search(g, g, g, rs)
			}
		})
	}
}
