package f32

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

func everySetBench(b *testing.B, f func(b *testing.B)) {
	for s := generic; s <= bestSet(); s++ {
		b.Run(s.String(), func(b *testing.B) {
			defer use(s)()
			f(b)
		})
	}
}

func rate(b *testing.B, flops float64) {
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkPeak(b *testing.B) {
	everySetBench(b, func(b *testing.B) {
		flops := PeakLoop(b.N * 1000)
		rate(b, flops/float64(b.N))
	})
}

func BenchmarkProducts(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ m, k, n int }{
		{1, 128, 128}, {16, 128, 128}, {64, 128, 128}, {256, 128, 128}, {1024, 128, 128},
		{256, 512, 512}, {1024, 512, 512}, {256, 128, 8}, {256, 128, 1}, {256, 8, 128}, {1, 128, 8}, {256, 144, 1024}, {1, 256, 1024},
	} {
		x, y, dst := fill(r, make([]float32, c.m*c.k)), fill(r, make([]float32, c.k*c.n)), make([]float32, c.m*c.n)
		// The transposed product of a weight gradient: [in][out] from batches of m rows.
		dw, dy := make([]float32, c.k*c.n), fill(r, make([]float32, c.m*c.n))
		flops := 2 * float64(c.m) * float64(c.k) * float64(c.n)
		b.Run(fmt.Sprintf("m=%d,k=%d,n=%d", c.m, c.k, c.n), func(b *testing.B) {
			everySetBench(b, func(b *testing.B) {
				for name, f := range map[string]func(){
					"NN": func() { MulNN(dst, x, y, c.m, c.k, c.n, false) },
					"NT": func() { MulNT(dst, x, y, c.m, c.k, c.n, false) },
					"TN": func() { MulTN(dw, x, dy, c.k, c.m, c.n, false) },
				} {
					b.Run(name, func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							f()
						}
						rate(b, flops)
					})
				}
			})
			b.Run("gonum/NN", func(b *testing.B) {
				for b.Loop() {
					gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, c.m, c.n, c.k, 1, x, c.k, y, c.n, 0, dst, c.n)
				}
				rate(b, flops)
			})
		})
	}
}
