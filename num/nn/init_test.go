package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
)

// plainly is modified Gram-Schmidt as it is written down, which every machine's first weights come from.
func plainly(dst []float32, in, out, stride int, gain float64, r *rng.Rand) {
	n, length, rowStep, colStep := in, out, stride, 1
	if in > out {
		n, length, rowStep, colStep = out, in, 1, stride
	}
	q := make([]float64, n*length)
	for i := range q {
		q[i] = r.Norm()
	}
	for i := range n {
		v := q[i*length : (i+1)*length]
		scale(v, 1/math.Sqrt(dot(v, v)))
		for j := i + 1; j < n; j++ {
			u := q[j*length : (j+1)*length]
			axpy(u, -dot(u, v), v)
		}
	}
	for i := range n {
		for j := range length {
			dst[i*rowStep+j*colStep] = float32(gain * q[i*length+j])
		}
	}
}

// Two rows at a time come to the same bytes as one after the other, for odd and even numbers of them.
func TestOrthogonalIsGramSchmidtToTheByte(t *testing.T) {
	for _, c := range [][2]int{
		{1, 1}, {2, 1}, {2, 2}, {3, 3}, {3, 7}, {7, 3},
		{64, 64}, {65, 65}, {130, 131}, {20001, 33}, {9000, 64}, {257, 33}, {5, 1023}, {1575, 64}, {8, 5},
	} {
		in, out := c[0], c[1]
		a, b := rng.New(7).Rand(), rng.New(7).Rand()
		got, want := make([]float32, in*out), make([]float32, in*out)
		orthogonal(got, in, out, out, 1.5, &a)
		plainly(want, in, out, out, 1.5, &b)
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Fatalf("%d by %d: weight %d is %v, want %v", in, out, i, got[i], want[i])
			}
		}
	}
}

// BenchmarkOrthogonal is the first weights of a network: of 8x8, of 64x64 with four agents, of 64 agents, of two wide layers.
func BenchmarkOrthogonal(b *testing.B) {
	for _, c := range [][2]int{{1800, 64}, {113000, 64}, {17000, 64}, {1024, 1024}} {
		for name, do := range map[string]func([]float32, int, int, int, float64, *rng.Rand){"before": plainly, "now": orthogonal} {
			b.Run(fmt.Sprintf("%dx%d/%s", c[0], c[1], name), func(b *testing.B) {
				dst, r := make([]float32, c[0]*c[1]), rng.New(1).Rand()
				t0 := cpu.Time()
				for b.Loop() {
					do(dst, c[0], c[1], c[1], 1, &r)
				}
				b.ReportMetric((cpu.Time()-t0).Seconds()/float64(b.N), "cpu-s/op")
			})
		}
	}
}
