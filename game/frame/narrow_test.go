package frame_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// Narrow rows on folded weights are rows on the weights, and their unfolded
// gradients those of the rows.
func TestNarrowRowsAreRows(t *testing.T) {
	const rows, n = 40, 5
	for _, in := range []frame.Input{in, {Height: 5, Width: 3, Planes: 2, Rest: 1}, {Height: 2, Width: 6, Planes: 1, Extra: 3}} {
		for _, kind := range []string{frame.Board, frame.Ego, frame.Egof} {
			where := fmt.Sprintf("%s %+v", kind, in)
			r := rng.New(1).Child("narrow").Rand()
			f := frame.New(kind, in)
			var full, narrow f32.Sparse
			full.Reset(f.Cols)
			narrow.Reset(f.Cols)
			enc := f.Encoder()
			for range rows {
				obs, extra := make([]float32, in.Len()), make([]float32, in.Extra)
				for i := range obs {
					if r.IntN(4) == 0 && (i >= in.Height*in.Width*in.Planes || i%in.Planes > 0) {
						obs[i] = r.Float32()
					}
				}
				if r.IntN(8) > 0 { // else one has left
					obs[r.IntN(in.Height*in.Width)*in.Planes] = 1
				}
				for i := range extra {
					extra[i] = float32(r.IntN(2))
				}
				enc.Add(&full, obs, extra)
				enc.AddNarrow(&narrow, obs, extra)
			}
			if shorter := len(narrow.Idx) < len(full.Idx); shorter != (f.Folds() && in.Planes > 1) {
				t.Errorf("%s: %d entries, narrow %d", where, len(full.Idx), len(narrow.Idx))
			}
			w, dy := make([]float32, f.Cols*n), make([]float32, rows*n)
			for _, x := range [][]float32{w, dy} {
				for i := range x {
					x[i] = r.Float32() - 0.5
				}
			}
			want, got := make([]float32, rows*n), make([]float32, rows*n)
			wantG, gotG := make([]float32, f.Cols*n), make([]float32, f.Cols*n)
			f32.SparseAffine(want, &full, w, nil, n, f32.None)
			f32.SparseTN(wantG, &full, dy, n)
			folded := make([]float32, len(w))
			const parts = 3
			for part := range parts {
				f.Fold(folded, w, n, part, parts)
			}
			f32.SparseAffine(got, &narrow, folded, nil, n, f32.None)
			f32.SparseTN(gotG, &narrow, dy, n)
			for part := range parts {
				f.Unfold(gotG, n, part, parts)
			}
			near(t, where+" forward", got, want)
			near(t, where+" gradient", gotG, wantG)
		}
	}
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4) {
			t.Fatalf("%s: element %d: got %v, want %v", what, i, got[i], want[i])
		}
	}
}
