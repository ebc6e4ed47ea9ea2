package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
// and the sum of absolute products, by which rounding errors are measured.
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

		check := func(name string, f func(), c, size []float64, start func(i int) float32, act Act) {
			copy(dst, old)
			f()
			want, room := make([]float64, len(c)), make([]float64, len(c))
			for i := range c {
				if want[i], room[i] = c[i]+float64(start(i)), size[i]+2; act == ReLU {
					want[i] = max(want[i], 0)
				}
			}
			near(t, name+" "+where, dst, want, room, k)
		}
		zero := func(int) float32 { return 0 }
		prev := func(i int) float32 { return old[i] }
		first := func(i int) float32 { return bias[i%n] }
		c, size := mulTwin(m, k, n, func(i, p int) float32 { return a[i*k+p] }, func(p, j int) float32 { return b[p*n+j] })
		check("MulNN", func() { MulNN(dst, a, b, m, k, n, false) }, c, size, zero, None)
		check("MulNN acc", func() { MulNN(dst, a, b, m, k, n, true) }, c, size, prev, None)
		check("Affine", func() { Affine(dst, a, b, bias, m, k, n, None) }, c, size, first, None)
		check("Affine ReLU", func() { Affine(dst, a, b, bias, m, k, n, ReLU) }, c, size, first, ReLU)
		c, size = mulTwin(m, k, n, func(i, p int) float32 { return a[i*k+p] }, func(p, j int) float32 { return b[j*k+p] })
		check("MulNT", func() { MulNT(dst, a, b, m, k, n, false) }, c, size, zero, None)
		check("MulNT acc", func() { MulNT(dst, a, b, m, k, n, true) }, c, size, prev, None)
		c, size = mulTwin(m, k, n, func(i, p int) float32 { return a[p*m+i] }, func(p, j int) float32 { return b[p*n+j] })
		check("MulTN", func() { MulTN(dst, a, b, m, k, n, false) }, c, size, zero, None)
		check("MulTN acc", func() { MulTN(dst, a, b, m, k, n, true) }, c, size, prev, None)
	}
}

// use makes set the active one and returns what undoes it.
func use(set kernelSet) func() {
	old := active
	active = set
	return func() { active = old }
}

// What is done to picked rows comes to the very bits of its definition, operation by operation, with every kernel set,
// and to no other row.
func TestPickedRowsAreRoundedAsWritten(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 13))
		table := func() []Sixteen {
			x := make([]Sixteen, 1+r.IntN(200))
			for k := range x {
				fill(r, x[k][:])
			}
			return x
		}
		for range 100 {
			a := table()
			b, at := make([]Sixteen, len(a)), make([]uint8, r.IntN(20))
			for k := range b {
				for i, x := range fill(r, b[k][:]) {
					b[k][i] = float32(x * x) // rounded, or some processors add to it in the same operation
				}
			}
			for i := range at {
				at[i] = uint8(r.IntN(len(a)))
			}
			var got, sum, product, g Sixteen
			fill(r, g[:])
			for i := range 16 {
				product[i] = 1
				for _, k := range at {
					product[i] = float32(product[i] * a[k][i])
					sum[i] += a[k][i] + b[k][i]
				}
			}
			if MulPicked(&got, a, at); got != product {
				t.Fatalf("product of %v: got %v, want %v", at, got, product)
			}
			if AddPicked(&got, a, b, at); got != sum {
				t.Fatalf("sum of %v: got %v, want %v", at, got, sum)
			}
			wantA, wantB, was := slices.Clone(a), slices.Clone(b), g
			for _, k := range at {
				for i, x := range wantA[k] {
					d := g[i] - float32(2e-3*x)
					wantB[k][i] += float32(d * d)
					wantA[k][i] = x + float32(0.02*d)/float32(math.Sqrt(float64(1+wantB[k][i])))
				}
			}
			if AdaGradPicked(a, b, &g, at, 2e-3, 0.02); !slices.Equal(a, wantA) || !slices.Equal(b, wantB) || g != was {
				t.Fatalf("AdaGrad of %v: got %v and %v, want %v and %v", at, a, b, wantA, wantB)
			}
		}
	})
}

func TestVectorsAreTheirDefinitions(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(dst, a, b []float32)
		twin func(d, a, b float64) float64
	}{
		{"Axpy", func(dst, a, b []float32) { Axpy(dst, 0.3, a) }, func(d, a, b float64) float64 { return d + 0.3*a }},
		{"Scale", func(dst, a, b []float32) { Scale(dst, 0.3) }, func(d, a, b float64) float64 { return 0.3 * d }},
		{"Add", Add, func(d, a, b float64) float64 { return a + b }},
		{"Sub", Sub, func(d, a, b float64) float64 { return a - b }},
		{"Mul", Mul, func(d, a, b float64) float64 { return a * b }},
		{"MulAdd", MulAdd, func(d, a, b float64) float64 { return d + a*b }},
		{"Fill", func(dst, a, b []float32) { Fill(dst, 7) }, func(d, a, b float64) float64 { return 7 }},
		{"SumRows", func(dst, a, b []float32) { SumRows(dst, append(a, b...), 2, len(a)) }, func(d, a, b float64) float64 { return d + a + b }},
		{"ReLUGrad", ReLUGrad, func(d, y, dy float64) float64 {
			if y > 0 {
				return dy
			}
			return 0
		}},
		{"TanhGrad", TanhGrad, func(d, y, dy float64) float64 { return dy * (1 - y*y) }},
		{"SigmoidGrad", SigmoidGrad, func(d, y, dy float64) float64 { return dy * y * (1 - y) }},
	} {
		everySet(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(12, 12))
			for n := range 70 {
				dst, a, b := fill(r, make([]float32, n)), fill(r, make([]float32, n)), fill(r, make([]float32, n))
				for i := 0; i < n; i += 3 {
					a[i] = 0 // where ReLU ends
				}
				want := make([]float64, n)
				for i := range want {
					want[i] = c.twin(float64(dst[i]), float64(a[i]), float64(b[i]))
				}
				c.f(dst, a, b)
				for i := range want {
					if math.Abs(float64(dst[i])-want[i]) > 3e-7 {
						t.Fatalf("%s: element %d of %d: got %v, want %v", c.name, i, n, dst[i], want[i])
					}
				}
			}
		})
	}
}

func TestSumsAreTheirDefinitions(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 13))
		for n := range 300 {
			a, b := fill(r, make([]float32, n)), fill(r, make([]float32, n))
			var dot, squares float64
			for i := range a {
				dot += float64(a[i]) * float64(b[i])
				squares += float64(a[i]) * float64(a[i])
			}
			if got := float64(Dot(a, b)); math.Abs(got-dot) > 1e-5 {
				t.Fatalf("Dot of %d: got %v, want %v", n, got, dot)
			}
			if got := SumSquares(a); math.Abs(got-squares) > 1e-12 {
				t.Fatalf("SumSquares of %d: got %v, want %v", n, got, squares)
			}
		}
	})
}
