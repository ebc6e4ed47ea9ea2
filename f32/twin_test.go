package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The twins here are slow, obvious and in float64; the plain kernels are tested
// against them, and the other sets against the plain ones.

// fill fills x with numbers in [-1, 1).
func fill(r *rand.Rand, x []float32) []float32 {
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

// mulTwin returns a b with its element (i,p) and (p,j) read through at and bt,
// and the sum of absolute products, by which rounding errors are judged.
func mulTwin(m, k, n int, at, bt func(i, p int) float32) (c, size []float64) {
	c, size = make([]float64, m*n), make([]float64, m*n)
	for i := range m {
		for j := range n {
			for p := range k {
				v := float64(at(i, p)) * float64(bt(p, j))
				c[i*n+j] += v
				size[i*n+j] += math.Abs(v)
			}
		}
	}
	return c, size
}

// near fails unless got is want within k+2 roundings of size.
func near(t *testing.T, where string, got []float32, want, size []float64, k int) {
	t.Helper()
	for i := range want {
		if tol := float64(k+2) * 0x1p-24 * (size[i] + math.Abs(want[i])); !(math.Abs(float64(got[i])-want[i]) <= tol) {
			t.Fatalf("%s: element %d: got %v, want %v ± %.2g", where, i, got[i], want[i], tol)
		}
	}
}

func TestPlainProductsAgreeWithFloat64(t *testing.T) {
	defer use(generic)()
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		m, k, n := 1+r.IntN(20), r.IntN(40), 1+r.IntN(40)
		where := fmt.Sprintf("m=%d k=%d n=%d", m, k, n)
		a, b, bias := fill(r, make([]float32, m*k)), fill(r, make([]float32, k*n)), fill(r, make([]float32, n))
		old := fill(r, make([]float32, m*n))
		dst := append([]float32(nil), old...)

		plus := func(c []float64, f func(i int) float32) []float64 {
			out := make([]float64, len(c))
			for i := range c {
				out[i] = c[i] + float64(f(i))
			}
			return out
		}
		c, size := mulTwin(m, k, n, func(i, p int) float32 { return a[i*k+p] }, func(p, j int) float32 { return b[p*n+j] })
		for i := range size {
			size[i] += 2
		}
		prev := func(i int) float32 { return old[i] }
		MulNN(dst, a, b, m, k, n, true)
		near(t, "MulNN acc "+where, dst, plus(c, prev), size, k)
		MulNN(dst, a, b, m, k, n, false)
		near(t, "MulNN "+where, dst, c, size, k)
		Affine(dst, a, b, bias, m, k, n, None)
		lin := plus(c, func(i int) float32 { return bias[i%n] })
		near(t, "Affine "+where, dst, lin, size, k)
		Affine(dst, a, b, bias, m, k, n, ReLU)
		for i, v := range lin {
			lin[i] = max(v, 0)
		}
		near(t, "Affine ReLU "+where, dst, lin, size, k)

		c, size = mulTwin(m, k, n, func(i, p int) float32 { return a[i*k+p] }, func(p, j int) float32 { return b[j*k+p] })
		for i := range size {
			size[i] += 2
		}
		MulNT(dst, a, b, m, k, n, false)
		near(t, "MulNT "+where, dst, c, size, k)
		copy(dst, old)
		MulNT(dst, a, b, m, k, n, true)
		near(t, "MulNT acc "+where, dst, plus(c, prev), size, k)

		c, size = mulTwin(m, k, n, func(i, p int) float32 { return a[p*m+i] }, func(p, j int) float32 { return b[p*n+j] })
		for i := range size {
			size[i] += 2
		}
		MulTN(dst, a, b, m, k, n, false)
		near(t, "MulTN "+where, dst, c, size, k)
		copy(dst, old)
		MulTN(dst, a, b, m, k, n, true)
		near(t, "MulTN acc "+where, dst, plus(c, prev), size, k)
	}
}

// use makes set the active one and returns what undoes it.
func use(set kernelSet) func() {
	old := active
	active = set
	return func() { active = old }
}
