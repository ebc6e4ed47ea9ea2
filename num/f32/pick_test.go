package f32

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Picked rows come out as if they had been copied, in any order, some twice and
// some never, and a view of them too.
func TestPickedRowsAreThoseRows(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 6))
		for i := range 60 {
			rows, cols, n := 1+r.IntN(20), 1+r.IntN(100), 1+r.IntN(150)
			if i >= 57 { // strips are brought near
				rows, cols, n = 200, 1+r.IntN(10), 512+r.IntN(100)
			}
			_, all := sparseOf(r, rows, cols)
			picked, copied := *all, Sparse{}
			copied.Reset(cols)
			for range 1 + r.IntN(2*rows) {
				k := r.IntN(rows)
				picked.Pick = append(picked.Pick, int32(k))
				idx, val := all.Row(k)
				for e, col := range idx {
					copied.AppendEntry(col, val[e])
				}
				copied.EndRow()
			}
			compare := func(what string, a, b *Sparse) {
				where := fmt.Sprintf("%s rows=%d of %d cols=%d n=%d", what, a.Rows(), rows, cols, n)
				if a.Rows() != b.Rows() {
					t.Fatalf("%s: got %d rows, want %d", where, a.Rows(), b.Rows())
				}
				w, bias := fill(r, make([]float32, cols*n)), fill(r, make([]float32, n))
				got, want := make([]float32, a.Rows()*n), make([]float32, a.Rows()*n)
				SparseAffine(got, a, w, bias, n, ReLU)
				SparseAffine(want, b, w, bias, n, ReLU)
				same(t, "SparseAffine "+where, got, want, 0, 0)
				wantW := append([]float32(nil), w...)
				SparseTN(w, a, got, n)
				SparseTN(wantW, b, got, n)
				same(t, "SparseTN "+where, w, wantW, 0, 0)
			}
			compare("picked", &picked, &copied)
			lo := r.IntN(picked.Rows())
			hi := lo + 1 + r.IntN(picked.Rows()-lo)
			var some, others Sparse
			some.View(&picked, lo, hi)
			others.View(&copied, lo, hi)
			compare("view", &some, &others)
		}
	})
}

// Every kernel looks at the columns itself: one of each width meets an index that is
// just beyond the last column, and one below the first.
func TestEveryStripRefusesWhatIsNoColumn(t *testing.T) {
	everySet(t, func(t *testing.T) {
		for _, n := range []int{1, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 64, 128} {
			for _, bad := range []int32{3, -1} {
				s := &Sparse{Cols: 3, Ptr: []int32{0, 1, 2}, Idx: []int32{0, bad}, Val: []float32{1, 1}}
				w, rows := make([]float32, 5*n)[n:4*n], make([]float32, 2*n)
				for name, f := range map[string]func(){
					"SparseAffine": func() { SparseAffine(rows, s, w, nil, n, None) },
					"SparseTN":     func() { SparseTN(w, s, rows, n) },
				} {
					func() {
						defer func() {
							if e := recover(); e != badIndex {
								t.Errorf("%s n=%d with column %d of 3: got %v, want %q", name, n, bad, e, badIndex)
							}
						}()
						f()
					}()
				}
			}
		}
	})
}
