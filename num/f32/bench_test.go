package f32

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

func everySetBench(b *testing.B, f func(b *testing.B)) {
	for _, s := range allSets() {
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

// BenchmarkSparse times the first layer of a net on 256 observations of 350 planes
// with 15 ones each, and its weight gradient.
func BenchmarkSparse(b *testing.B) {
	const rows, cols, n, ones = 256, 350, 128, 15
	r := rand.New(rand.NewPCG(1, 1))
	dense := make([]float32, rows*cols)
	for i := range rows {
		for range ones {
			dense[i*cols+r.IntN(cols)] = 1
		}
	}
	w, bias, dst := fill(r, make([]float32, cols*n)), fill(r, make([]float32, n)), make([]float32, rows*n)
	everySetBench(b, func(b *testing.B) {
		var s Sparse
		build := func() {
			s.Reset(cols)
			for i := range rows {
				s.AppendRow(dense[i*cols : i*cols+cols])
			}
		}
		build()
		flops := 2 * n * float64(len(s.Idx))
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"AppendRow", build},
			{"SparseAffine", func() { SparseAffine(dst, &s, w, bias, n, ReLU) }},
			{"SparseTN", func() { SparseTN(w, &s, dst, n) }},
		} {
			b.Run(c.name, func(b *testing.B) {
				for b.Loop() {
					c.f()
				}
				rate(b, flops)
			})
		}
		clear(w)
	})
}

// BenchmarkVectors times the functions over vectors on 32768 elements that stay
// near, and the softmax on 256 rows of 7.
func BenchmarkVectors(b *testing.B) {
	const n, rows, cols = 32768, 256, 7
	r := rand.New(rand.NewPCG(1, 1))
	x, y, z, dst := fill(r, make([]float32, n)), fill(r, make([]float32, n)), make([]float32, n), make([]float32, n)
	legal := make([]bool, rows*cols)
	for i := range legal {
		legal[i] = r.IntN(4) > 0
	}
	everySetBench(b, func(b *testing.B) {
		for _, c := range []struct {
			name string
			n    int
			f    func()
		}{
			{"Axpy", n, func() { Axpy(dst, 1e-3, x) }},
			{"Dot", n, func() { Dot(x, y) }},
			{"SumSquares", n, func() { SumSquares(x) }},
			{"SumRows", n, func() { SumRows(dst[:128], x, n/128, 128) }},
			{"ReLUGrad", n, func() { ReLUGrad(dst, x, y) }},
			{"Exp", n, func() { Exp(dst, x) }},
			{"Tanh", n, func() { Tanh(dst, x) }},
			{"Adam", n, func() { Adam(dst, x, y, z, 1e-3, 0.9, 0.999, 1e-8, 0, 1, 1, 1) }},
			{"Softmax", rows * cols, func() { Softmax(dst[:rows*cols], x[:rows*cols], rows, cols) }},
			{"MaskedLogSoftmax", rows * cols, func() { MaskedLogSoftmax(dst[:rows*cols], x[:rows*cols], legal, rows, cols) }},
		} {
			b.Run(c.name, func(b *testing.B) {
				for b.Loop() {
					c.f()
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(c.n), "ns/element")
			})
		}
	})
}
