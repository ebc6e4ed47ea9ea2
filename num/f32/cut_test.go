package f32

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The cuts of rows add to a matrix what the rows do, to the bit: each to its own columns. Rows may be cut
// as they come, and again in another window.
func TestCutsAddWhatRowsDo(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 8))
		var x Sparse
		var cutting Cutting
		for i := range 40 {
			rows, cols, n, parts := 1+r.IntN(60), 1+r.IntN(100), 1+r.IntN(80), r.IntN(10)
			_, all := sparseOf(r, rows, cols)
			cutting.Set(all, parts)
			cutting.Reset(&x, cols)
			for k := range rows {
				x.AppendFrom(all, k)
				if k == rows/2 {
					cutting.Cut(&x)
				}
			}
			cutting.Cut(&x)
			if want := min(parts, 8); parts >= 2 && len(x.Cuts) != want || parts < 2 && len(x.Cuts) > 0 {
				t.Fatalf("%d parts gave %d cuts", parts, len(x.Cuts))
			}
			where := fmt.Sprintf("window %d: rows=%d cols=%d n=%d parts=%d", i, rows, cols, n, parts)
			var view, some Sparse
			if view.View(&x, 0, rows); r.IntN(2) == 0 {
				for range 2 * rows {
					view.Pick = append(view.Pick, int32(r.IntN(rows)))
				}
			}
			if some.View(&x, 0, rows-1); len(some.Cuts) > 0 {
				t.Fatalf("%s: a view of some rows has cuts of all", where)
			}
			g := fill(r, make([]float32, view.Rows()*n))
			got := fill(r, make([]float32, cols*n))
			want := append([]float32(nil), got...)
			SparseTN(want, &view, g, n)
			if len(view.Cuts) == 0 {
				continue
			}
			entries := 0
			for k := range view.Cuts {
				cut := view.Cuts[k]
				entries += len(cut.Idx)
				cut.Pick = view.Pick
				SparseTN(got, &cut, g, n)
			}
			if entries != len(x.Idx) {
				t.Errorf("%s: %d entries in the cuts, want %d", where, entries, len(x.Idx))
			}
			same(t, where, got, want, 0, 0)
		}
	})
}

// Parts have about as many entries each, wherever the entries are.
func TestCutsAreAsLikeAsCanBe(t *testing.T) {
	var x Sparse
	var cutting Cutting
	x.Reset(1000)
	r := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		for range 10 {
			x.AppendEntry(int32(r.IntN(1+r.IntN(1000))), 1) // mostly low ones
		}
		x.EndRow()
	}
	cutting.Set(&x, 4)
	cutting.Reset(&x, 1000)
	for range 3 {
		x.AppendEntry(999, 1)
		x.EndRow()
	}
	cutting.Cut(&x)
	if n := x.Cuts[3].Rows(); n != 3 || len(x.Cuts[3].Idx) != 3 {
		t.Fatalf("the last cut has %d rows and %d entries, want 3 and 3", n, len(x.Cuts[3].Idx))
	}
	for k, want := range []int{0, 0, 0, 3} {
		if got := len(x.Cuts[k].Idx); got != want {
			t.Errorf("cut %d has %d entries, want %d", k, got, want)
		}
	}
	most, least := 0, 1<<30
	var sizes [4]int
	for col, k := range cutting.of {
		sizes[k] += cutting.count[col]
	}
	for _, n := range sizes {
		most, least = max(most, n), min(least, n)
	}
	if most > least*5/4 {
		t.Errorf("parts of %v entries", sizes)
	}
}
