//go:build amd64 || arm64

package f32

import "testing"

// Kernels leave no pointer past the array of the rows that are picked: what lies there may be free, and a collector that
// meets a pointer to it ends the program.
func TestKernelsLeavePointersWhereTheyWere(t *testing.T) {
	everySet(t, func(t *testing.T) {
		if active == generic {
			return
		}
		for _, vectors := range []int{8, 4, 2, 1} {
			n := vectors * vectorWidth()
			s := &Sparse{}
			s.Reset(3)
			for row := range 4 {
				s.AppendEntry(int32(row%3), 1)
				s.EndRow()
			}
			s.Pick = []int32{2, 0, 3, 1}
			w, g := make([]float32, 3*n), make([]float32, 4*n)
			for i, kernel := range []func(*strip, int){sparseTNStrip, sparseAffineStrip} {
				for _, tail := range []int{vectorWidth(), 3} {
					if tail < vectorWidth() && vectors > 2 {
						continue // wide strips are never cut short
					}
					p := newStrip(s, n)
					p.dst, p.w, p.tail, p.pick = &g[0], &w[0], tail, &s.Pick[0]
					was := p
					kernel(&p, vectors)
					p.picked = was.picked
					if p != was {
						t.Errorf("kernel %d of %d vectors, the last of %d: %+v, was %+v", i, vectors, tail, p, was)
					}
				}
			}
		}
	})
}
