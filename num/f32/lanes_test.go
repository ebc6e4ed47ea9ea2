package f32

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A row's log-softmax is the same alone and among others, wherever its flags lie,
// and nothing beyond the rows is written.
func TestLogSoftmaxOfARowIsItsOwn(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 11))
		for i := range 200 {
			rows, cols, off := 1+r.IntN(40), 1+r.IntN(20), r.IntN(4)
			x, _ := guarded(r, rows*cols)
			got, ok := guarded(r, rows*cols)
			legal := make([]bool, off+rows*cols)[off:]
			for i := range legal {
				legal[i] = r.IntN(3) > 0
			}
			if i%8 == 0 {
				legal = nil
			}
			MaskedLogSoftmax(got, x, legal, rows, cols)
			want := make([]float32, rows*cols)
			for lo := 0; lo < rows*cols; lo += cols {
				var flags []bool
				if legal != nil {
					flags = append([]bool{}, legal[lo:lo+cols]...)
				}
				MaskedLogSoftmax(want[lo:lo+cols], x[lo:lo+cols], flags, 1, cols)
			}
			where := fmt.Sprintf("rows=%d cols=%d flags at %d", rows, cols, off)
			same(t, where, got, want, 0, 0)
			if !ok() {
				t.Fatalf("%s: wrote outside dst", where)
			}
		}
	})
}
