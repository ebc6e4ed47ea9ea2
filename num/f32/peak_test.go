package f32

import (
	"math/rand/v2"
	"testing"
	"time"
)

// best returns the shortest of several times of f, in seconds.
func best(times int, f func()) float64 {
	t := time.Duration(1 << 62)
	for range times {
		start := time.Now()
		f()
		t = min(t, time.Since(start))
	}
	return t.Seconds()
}

// BenchmarkShareOfPeak prints what share of the core's peak the large products
// reach. Peak and product are timed by turns and the best of each counts, since a
// busy machine slows both.
func BenchmarkShareOfPeak(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	everySetBench(b, func(b *testing.B) {
		for _, c := range []struct {
			name    string
			m, k, n int
			f       func(dst, a, b []float32, m, k, n int, acc bool)
		}{
			{"NN/m=1024,k=128,n=128", 1024, 128, 128, MulNN},
			{"NT/m=1024,k=128,n=128", 1024, 128, 128, MulNT},
			{"TN/m=128,k=1024,n=128", 128, 1024, 128, MulTN},
			{"NN/m=1024,k=512,n=512", 1024, 512, 512, MulNN},
			{"NT/m=1024,k=512,n=512", 1024, 512, 512, MulNT},
			{"TN/m=512,k=1024,n=512", 512, 1024, 512, MulTN},
			{"NN/m=256,k=128,n=128", 256, 128, 128, MulNN},
			{"NT/m=256,k=128,n=128", 256, 128, 128, MulNT},
			{"TN/m=128,k=256,n=128", 128, 256, 128, MulTN},
			{"NN/m=16,k=128,n=128", 16, 128, 128, MulNN},
			{"NN/m=1,k=128,n=128", 1, 128, 128, MulNN},
			{"NN/m=256,k=128,n=8", 256, 128, 8, MulNN},
			{"NT/m=256,k=8,n=128", 256, 8, 128, MulNT},
			{"TN/m=128,k=256,n=8", 128, 256, 8, MulTN},
			{"NN/m=4096,k=144,n=16", 4096, 144, 16, MulNN},
			{"NN/m=4096,k=144,n=32", 4096, 144, 32, MulNN},
			{"NN/m=256,k=128,n=1", 256, 128, 1, MulNN},
			{"NN/m=1,k=128,n=8", 1, 128, 8, MulNN},
		} {
			b.Run(c.name, func(b *testing.B) {
				x, y, dst := fill(r, make([]float32, c.m*c.k)), fill(r, make([]float32, c.k*c.n)), make([]float32, c.m*c.n)
				flops := 2 * float64(c.m) * float64(c.k) * float64(c.n)
				var peak, got float64
				for b.Loop() {
					for range 10 {
						var did float64
						t := best(4, func() { did = PeakLoop(20_000) })
						peak = max(peak, did/t)
						got = max(got, flops/best(20, func() { c.f(dst, x, y, c.m, c.k, c.n, false) }))
					}
				}
				b.ReportMetric(peak/1e9, "peak")
				b.ReportMetric(got/1e9, "GFLOP/s")
				b.ReportMetric(100*got/peak, "%")
			})
		}
	})
}
