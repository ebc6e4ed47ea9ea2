package f32

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The bounds are those that the comments state.
func TestActivationsKeepTheirStatedError(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      func(dst, x []float32)
		twin   func(float64) float64
		lo, hi float64
		rel    float64
		abs    float64
	}{
		{"Exp", Exp, math.Exp, -87.3, 88.7, 1.5e-7, 0},
		{"Exp near 0", Exp, math.Exp, -1, 1, 1.5e-7, 0},
		{"Tanh", Tanh, math.Tanh, -12, 12, 2e-7, 0},
		{"Tanh near 0", Tanh, math.Tanh, -1e-3, 1e-3, 2e-7, 0},
		{"Sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -87, 40, 2.5e-7, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			everySet(t, func(t *testing.T) {
				const n = 200_003
				r := rand.New(rand.NewPCG(7, 7))
				x, got := make([]float32, n), make([]float32, n)
				for i := range x {
					x[i] = float32(c.lo + (c.hi-c.lo)*r.Float64())
				}
				c.f(got, x)
				worst, where := 0.0, 0
				for i := range x {
					want := c.twin(float64(x[i]))
					err := max(math.Abs(float64(got[i])-want)-c.abs, 0) / math.Abs(want)
					if !(err <= worst) {
						worst, where = err, i
					}
				}
				if !(worst <= c.rel) {
					t.Errorf("x=%v: got %v, want %v: relative error %.3g, stated %.3g", x[where], got[where], c.twin(float64(x[where])), worst, c.rel)
				}
				t.Logf("worst relative error %.3g", worst)
			})
		})
	}
}

func TestActivationsAtTheEdges(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name    string
		f       func(dst, x []float32)
		x, want float32
	}{
		{"Exp", Exp, 0, 1}, {"Exp", Exp, -inf, 0}, {"Exp", Exp, inf, inf}, {"Exp", Exp, nan, nan},
		{"Exp", Exp, 1e30, inf}, {"Exp", Exp, -1e30, 0}, {"Exp", Exp, LogZero, 0}, {"Exp", Exp, -88, 0}, {"Exp", Exp, 89, inf},
		{"Tanh", Tanh, 0, 0}, {"Tanh", Tanh, inf, 1}, {"Tanh", Tanh, -inf, -1}, {"Tanh", Tanh, nan, nan}, {"Tanh", Tanh, -50, -1},
		{"Sigmoid", Sigmoid, 0, 0.5}, {"Sigmoid", Sigmoid, inf, 1}, {"Sigmoid", Sigmoid, -inf, 0}, {"Sigmoid", Sigmoid, nan, nan},
	} {
		everySet(t, func(t *testing.T) {
			x := []float32{c.x}
			c.f(x, x)
			if x[0] != c.want && !(x[0] != x[0] && c.want != c.want) {
				t.Errorf("%s(%v): got %v, want %v", c.name, c.x, x[0], c.want)
			}
		})
	}
}

func TestReLUKeepsNaN(t *testing.T) {
	everySet(t, func(t *testing.T) {
		nan := float32(math.NaN())
		for m := 1; m < 14; m++ { // every tile's own last step
			for n := range 40 {
				a, b, dst := make([]float32, m), make([]float32, n), make([]float32, m*n)
				Fill(b, nan)
				Affine(dst, a, b, nil, m, 1, n, ReLU)
				for j, v := range dst {
					if v == v {
						t.Fatalf("m=%d n=%d: element %d: got %v, want NaN", m, n, j, v)
					}
				}
			}
		}
	})
}

func TestSoftmaxIsADistribution(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 8))
		for cols := 1; cols < 70; cols++ {
			const rows = 5
			x, p := make([]float32, rows*cols), make([]float32, rows*cols)
			for i := range x {
				x[i] = 200*r.Float32() - 100
			}
			Softmax(p, x, rows, cols)
			for i := range rows {
				in := x[i*cols : i*cols+cols]
				total := 0.0
				for _, v := range in {
					total += math.Exp(float64(v - maxOf(in, nil)))
				}
				for j, v := range in {
					want := math.Exp(float64(v-maxOf(in, nil))) / total
					if got := float64(p[i*cols+j]); math.Abs(got-want) > 5e-7*want+1e-37 {
						t.Fatalf("row %d column %d of %d: got %v, want %v", i, j, cols, got, want)
					}
				}
			}
			Softmax(x, x, rows, cols)
			same(t, "in place", x, p, 0, 0)
		}
	})
}

func TestIllegalColumnsHaveNoProbability(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 9))
		for cols := 1; cols < 70; cols++ {
			const rows = 6
			x, logp, p := make([]float32, rows*cols), make([]float32, rows*cols), make([]float32, rows*cols)
			legal := make([]bool, rows*cols)
			for i := range x {
				x[i] = 40*r.Float32() - 20
				legal[i] = r.IntN(3) > 0 && i < (rows-1)*cols // none in the last row
				if !legal[i] && r.IntN(2) == 0 {
					x[i] = [...]float32{1e30, float32(math.Inf(1)), float32(math.NaN())}[r.IntN(3)]
				}
			}
			MaskedLogSoftmax(logp, x, legal, rows, cols)
			Exp(p, logp)
			for i := range rows {
				in, ok := x[i*cols:i*cols+cols], legal[i*cols:i*cols+cols]
				top, total := float64(maxOf(in, ok)), 0.0
				for j, v := range in {
					if ok[j] {
						total += math.Exp(float64(v) - top)
					}
				}
				for j, v := range in {
					got := logp[i*cols+j]
					if !ok[j] {
						if got != LogZero || p[i*cols+j] != 0 {
							t.Fatalf("row %d column %d of %d is illegal: got log %v, probability %v, want %v, 0", i, j, cols, got, p[i*cols+j], LogZero)
						}
						continue
					}
					want := float64(v) - top - math.Log(total)
					if math.Abs(float64(got)-want) > 3e-7*(1+math.Abs(want)) {
						t.Fatalf("row %d column %d of %d: got %v, want %v", i, j, cols, got, want)
					}
				}
			}
			in := append([]float32(nil), x...)
			MaskedLogSoftmax(in, in, legal, rows, cols)
			same(t, "in place", in, logp, 0, 0)
		}
	})
}

// Adam's plain form is its definition; this is the definition in float64.
func TestAdamIsItsDefinition(t *testing.T) {
	everySet(t, func(t *testing.T) {
		const n, lr, b1, b2, eps, wd, scale = 37, 1e-2, 0.9, 0.999, 1e-2, 0.05, 0.75
		r := rand.New(rand.NewPCG(10, 10))
		w, m, v := fill(r, make([]float32, n)), make([]float32, n), make([]float32, n)
		w64, m64, v64 := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range w {
			w64[i] = float64(w[i])
		}
		for step := 1; step <= 20; step++ {
			g := fill(r, make([]float32, n))
			g[0], g[1], g[2] = 0, 1e-25, 1e12 // never learns; too small to square; large
			old := append([]float32(nil), g...)
			p1, p2 := math.Pow(b1, float64(step)), math.Pow(b2, float64(step))
			Adam(w, g, m, v, lr, b1, b2, eps, wd, float32(1/(1-p1)), float32(1/(1-p2)), scale)
			for i := range w64 {
				if g[i] != 0 {
					t.Fatalf("step %d leaves gradient %d at %v, want 0", step, i, g[i])
				}
				d := scale * float64(old[i])
				m64[i] = b1*m64[i] + (1-b1)*d
				v64[i] = b2*v64[i] + (1-b2)*d*d
				w64[i] -= lr * (m64[i]/(1-p1)/(math.Sqrt(v64[i]/(1-p2))+eps) + wd*w64[i])
			}
		}
		for i := range w {
			if math.Abs(float64(w[i])-w64[i]) > 1e-5 {
				t.Errorf("parameter %d after 20 steps: got %v, want %v", i, w[i], w64[i])
			}
		}
	})
}

// Adam's kernels count numbers below the normal ones as 0; nobody else does.
func TestAdamLeavesTheProcessorAsItWas(t *testing.T) {
	everySet(t, func(t *testing.T) {
		w, g := []float32{1}, []float32{1}
		Adam(w, g, []float32{0}, []float32{0}, 1e-3, 0.9, 0.999, 1e-8, 0, 10, 1000, 1)
		tiny := w[0] * 0x1p-126
		if tiny *= 0.5; tiny == 0 {
			t.Errorf("half the smallest normal number, times %v, is 0 after Adam", w[0])
		}
	})
}
