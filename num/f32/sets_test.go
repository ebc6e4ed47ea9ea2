package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sets returns the kernel sets this machine can run, without the plain one.
func sets() []kernelSet { return allSets()[1:] }

// allSets returns them with the plain one first.
func allSets() []kernelSet {
	var all []kernelSet
	for s := range setNames {
		if kernelSet(s).runsWhere(bestSet()) {
			all = append(all, kernelSet(s))
		}
	}
	return all
}

// everySet runs f once for each kernel set of the machine, the plain one included.
func everySet(t *testing.T, f func(t *testing.T)) {
	for _, s := range allSets() {
		t.Run(s.String(), func(t *testing.T) {
			defer use(s)()
			f(t)
		})
	}
}

// guarded returns a slice of n floats that starts off any alignment, between
// guards that nobody may write to, and what checks them.
func guarded(r *rand.Rand, n int) (x []float32, intact func() bool) {
	const guard = 24
	off := guard + r.IntN(16)
	buf := make([]float32, off+n+guard)
	for i := range buf {
		buf[i] = 12345
	}
	x = buf[off : off+n : off+n]
	fill(r, x)
	return x, func() bool {
		for i, v := range buf {
			if (i < off || i >= off+n) && v != 12345 {
				return false
			}
		}
		return true
	}
}

// same fails unless got is want within tol*scale.
func same(t *testing.T, where string, got, want []float32, scale, tol float64) {
	t.Helper()
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if math.IsNaN(g) && math.IsNaN(w) || g == w {
			continue
		}
		if !(math.Abs(g-w) <= tol*(scale+math.Abs(w))) {
			t.Fatalf("%s: element %d of %d: got %v, want %v", where, i, len(want), g, w)
		}
	}
}

// shapes yields sizes that visit every tile and tail of the product kernels, and
// the block borders.
func shapes(r *rand.Rand, n int, f func(m, k, n int)) {
	for i := range n {
		m, k, c := 1+r.IntN(30), 1+r.IntN(40), 1+r.IntN(150)
		switch i % 40 {
		case 6:
			m, k, c = 230+r.IntN(20), 250+r.IntN(20), 250+r.IntN(20)
		case 7, 17, 27:
			m = 180 + r.IntN(60)
		case 8, 18, 28:
			k = 240 + r.IntN(300)
		case 9, 19, 29:
			c, m = 500+r.IntN(100), 1+r.IntN(60)
		}
		f(m, k, c)
	}
}

func TestProductsAgreeWithPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	shapes(r, 160, func(m, k, n int) {
		a, okA := guarded(r, m*k)
		b, okB := guarded(r, k*n)
		bias, _ := guarded(r, n)
		for name, f := range map[string]func(dst []float32){
			"MulNN":     func(dst []float32) { MulNN(dst, a, b, m, k, n, false) },
			"MulNN acc": func(dst []float32) { MulNN(dst, a, b, m, k, n, true) },
			"MulNT":     func(dst []float32) { MulNT(dst, a, b, m, k, n, false) },
			"MulNT acc": func(dst []float32) { MulNT(dst, a, b, m, k, n, true) },
			"packed":    func(dst []float32) { var p Packed; p.Pack(b, k, n); MulPacked(dst, a, &p, m, false) },
			"packed T":  func(dst []float32) { var p Packed; p.PackT(b, k, n); MulPacked(dst, a, &p, m, true) },
			"MulTN":     func(dst []float32) { MulTN(dst, a, b, m, k, n, false) },
			"MulTN acc": func(dst []float32) { MulTN(dst, a, b, m, k, n, true) },
			"Affine":    func(dst []float32) { Affine(dst, a, b, bias, m, k, n, None) },
			"ReLU":      func(dst []float32) { Affine(dst, a, b, bias, m, k, n, ReLU) },
			"no bias":   func(dst []float32) { Affine(dst, a, b, nil, m, k, n, ReLU) },
		} {
			got, okDst := guarded(r, m*n)
			old := append([]float32(nil), got...)
			want := append([]float32(nil), got...)
			undo := use(generic)
			f(want)
			undo()
			for _, set := range sets() {
				copy(got, old)
				undo := use(set)
				f(got)
				undo()
				where := fmt.Sprintf("%v %s m=%d k=%d n=%d", set, name, m, k, n)
				same(t, where, got, want, 1, 8e-7*math.Sqrt(float64(k)))
				if !okDst() || !okA() || !okB() {
					t.Fatalf("%s: wrote outside dst", where)
				}
			}
		}
	})
}

// A row of a product is the same bytes alone, in any batch and at any place of it.
func TestRowsDoNotDependOnTheBatch(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 3))
		for _, n := range []int{1, 7, 8, 17, 33, 64, 130, 520} {
			for _, k := range []int{1, 7, 64, 300} {
				const most = 200
				a, b, bias := fill(r, make([]float32, most*k)), fill(r, make([]float32, k*n)), fill(r, make([]float32, n))
				forms := map[string]func(dst []float32, a []float32, m int){
					"MulNN":  func(dst, a []float32, m int) { MulNN(dst, a, b, m, k, n, false) },
					"MulNT":  func(dst, a []float32, m int) { MulNT(dst, a, b, m, k, n, false) },
					"Affine": func(dst, a []float32, m int) { Affine(dst, a, b, bias, m, k, n, ReLU) },
				}
				for name, f := range forms {
					whole := make([]float32, most*n)
					f(whole, a, most)
					for _, m := range []int{1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 24, 121} {
						i := r.IntN(most - m + 1)
						part := make([]float32, m*n)
						f(part, a[i*k:(i+m)*k], m)
						for j := range part {
							if part[j] != whole[i*n+j] {
								t.Fatalf("%s k=%d n=%d: row %d column %d: got %v in a batch of %d, %v in one of %d",
									name, k, n, i+j/n, j%n, part[j], m, whole[i*n+j], most)
							}
						}
					}
				}
			}
		}
	})
}

// A matrix packed for many products gives the bytes of the plain calls, whatever it
// held before.
func TestPackedIsItsMatrix(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(14, 14))
		var p Packed
		shapes(r, 40, func(m, k, n int) {
			a, b := fill(r, make([]float32, m*k)), fill(r, make([]float32, k*n))
			got, want := fill(r, make([]float32, m*n)), make([]float32, m*n)
			copy(want, got)
			p.Pack(b, k, n)
			MulPacked(got, a, &p, m, true)
			MulNN(want, a, b, m, k, n, true)
			same(t, fmt.Sprintf("Pack m=%d k=%d n=%d", m, k, n), got, want, 0, 0)
			bias := fill(r, make([]float32, n))
			AffinePacked(got, a, &p, bias, m)
			Affine(want, a, b, bias, m, k, n, None)
			same(t, fmt.Sprintf("AffinePacked m=%d k=%d n=%d", m, k, n), got, want, 0, 0)
			p.PackT(b, k, n)
			MulPacked(got, a, &p, m, false)
			MulNT(want, a, b, m, k, n, false)
			same(t, fmt.Sprintf("PackT m=%d k=%d n=%d", m, k, n), got, want, 0, 0)
		})
	})
}

// A convolution is, to the byte, the product of its patches and the kernel; its
// gradient the product of the patches, transposed, and dy.
func TestConvolutionIsAProductOfPatches(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 15))
		for i := range 60 {
			h, w, in, out := 1+r.IntN(9), 1+r.IntN(17), 1+r.IntN(9), 1+r.IntN(40)
			if i%10 == 0 {
				in, out = 32, 32
			}
			where := fmt.Sprintf("h=%d w=%d in=%d out=%d", h, w, in, out)
			x, okX := guarded(r, (h+2)*(w+2)*in)
			var patches []float32 // [h][w][3][3][in]
			for c := range h * w {
				for k := range 9 {
					at := ((c/w+k/3)*(w+2) + c%w + k%3) * in
					patches = append(patches, x[at:at+in]...)
				}
			}
			kernel, okK := guarded(r, 9*in*out)
			bias, _ := guarded(r, out)
			got, okDst := guarded(r, h*w*out)
			want := make([]float32, len(got))
			Affine(want, patches, kernel, bias, h*w, 9*in, out, ReLU)
			Conv3x3(got, x, kernel, bias, h, w, in, out, ReLU)
			same(t, "Conv3x3 "+where, got, want, 0, 0)
			MulNN(want, patches, kernel, h*w, 9*in, out, false)
			Conv3x3(got, x, kernel, nil, h, w, in, out, None)
			same(t, "Conv3x3 without bias "+where, got, want, 0, 0)
			sum := append([]float32(nil), kernel...)
			MulTN(sum, patches, got, 9*in, h*w, out, true)
			Conv3x3Grad(kernel, x, got, h, w, in, out)
			same(t, "Conv3x3Grad "+where, kernel, sum, 0, 0)
			if !okX() || !okK() || !okDst() {
				t.Fatalf("%s: wrote outside its slices", where)
			}
		}
	})
}

// A weight gradient adds its batch up in index order: in one call, or row by row.
func TestMulTNAddsInIndexOrder(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 4))
		shapes(r, 40, func(m, k, n int) {
			a, b := fill(r, make([]float32, k*m)), fill(r, make([]float32, k*n))
			once, rows := make([]float32, m*n), make([]float32, m*n)
			MulTN(once, a, b, m, k, n, true)
			for p := range k {
				MulTN(rows, a[p*m:p*m+m], b[p*n:p*n+n], m, 1, n, true)
			}
			for i := range once {
				if once[i] != rows[i] {
					t.Fatalf("m=%d k=%d n=%d: element %d: got %v at once, %v row by row", m, k, n, i, once[i], rows[i])
				}
			}
		})
	})
}

// sparseOf returns a random matrix with few nonzeros, dense and sparse.
func sparseOf(r *rand.Rand, rows, cols int) ([]float32, *Sparse) {
	dense := make([]float32, rows*cols)
	for i := range dense {
		if r.IntN(8) == 0 {
			dense[i] = float32(1 + r.IntN(2)*r.IntN(3))
		}
	}
	var s Sparse
	s.Reset(cols)
	for i := range rows {
		s.AppendRow(dense[i*cols : i*cols+cols])
	}
	return dense, &s
}

func TestSparseIsItsDenseTwin(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 5))
		for i := range 84 {
			rows, cols, n := 1+r.IntN(20), 1+r.IntN(200), 1+r.IntN(150)
			if i >= 80 { // wide and used often: strips are brought near
				rows, cols, n = 200, 1+r.IntN(20), 512+r.IntN(100)
			}
			where := fmt.Sprintf("rows=%d cols=%d n=%d", rows, cols, n)
			dense, s := sparseOf(r, rows, cols)
			if s.Rows() != rows {
				t.Fatalf("%s: got %d rows", where, s.Rows())
			}
			back := make([]float32, rows*cols)
			for i := range rows {
				for e := s.Ptr[i]; e < s.Ptr[i+1]; e++ {
					back[i*cols+int(s.Idx[e])] += s.Val[e]
				}
			}
			same(t, "AppendRow "+where, back, dense, 0, 0)
			w, okW := guarded(r, cols*n)
			bias, _ := guarded(r, n)
			got, okGot := guarded(r, rows*n)
			want := make([]float32, rows*n)
			for _, act := range []Act{None, ReLU} {
				Affine(want, dense, w, bias, rows, cols, n, act)
				SparseAffine(got, s, w, bias, n, act)
				same(t, "SparseAffine "+where, got, want, 0, 0)
				Affine(want, dense, w, nil, rows, cols, n, act)
				SparseAffine(got, s, w, nil, n, act)
				same(t, "SparseAffine without bias "+where, got, want, 0, 0)
			}
			var p Packed
			p.PackSparse(w, cols, n)
			Affine(want, dense, w, bias, rows, cols, n, None)
			SparseAffinePacked(got, s, &p, bias)
			same(t, "SparseAffinePacked "+where, got, want, 0, 0)
			wantW := append([]float32(nil), w...)
			MulTN(wantW, dense, got, cols, rows, n, true)
			SparseTN(w, s, got, n)
			same(t, "SparseTN "+where, w, wantW, 0, 0)
			if !okW() || !okGot() {
				t.Fatalf("%s: wrote outside dst", where)
			}
		}
	})
}

// vectorFuncs are the functions over vectors, each with up to three inputs that it
// may change; out returns the scalar result, if any.
var vectorFuncs = map[string]func(dst, a, b, c []float32) float64{
	"Axpy":       func(dst, a, b, c []float32) float64 { Axpy(dst, -0.7, a); return 0 },
	"Scale":      func(dst, a, b, c []float32) float64 { Scale(dst, 1.7); return 0 },
	"Add":        func(dst, a, b, c []float32) float64 { Add(dst, a, b); return 0 },
	"Sub":        func(dst, a, b, c []float32) float64 { Sub(dst, a, b); return 0 },
	"Mul":        func(dst, a, b, c []float32) float64 { Mul(dst, a, b); return 0 },
	"MulAdd":     func(dst, a, b, c []float32) float64 { MulAdd(dst, a, b); return 0 },
	"Fill":       func(dst, a, b, c []float32) float64 { Fill(dst, 3); return 0 },
	"Dot":        func(dst, a, b, c []float32) float64 { return float64(Dot(a, b)) },
	"SumSquares": func(dst, a, b, c []float32) float64 { return SumSquares(a) },
	"Adam": func(dst, a, b, c []float32) float64 {
		for i := range c {
			c[i] = c[i] * c[i]
		}
		Adam(dst, a, b, c, 1e-2, 0.9, 0.999, 1e-8, 0.1, 1/(1-0.9), 1/(1-0.999), 1)
		return 0
	},
	"Exp":         func(dst, a, b, c []float32) float64 { Exp(dst, a); return 0 },
	"Tanh":        func(dst, a, b, c []float32) float64 { Tanh(dst, a); return 0 },
	"Sigmoid":     func(dst, a, b, c []float32) float64 { Sigmoid(dst, a); return 0 },
	"ReLUGrad":    func(dst, a, b, c []float32) float64 { ReLUGrad(dst, a, b); return 0 },
	"TanhGrad":    func(dst, a, b, c []float32) float64 { TanhGrad(dst, a, b); return 0 },
	"SigmoidGrad": func(dst, a, b, c []float32) float64 { SigmoidGrad(dst, a, b); return 0 },
	"LSTM": func(dst, a, b, c []float32) float64 {
		n := len(a) / 4
		if n > 0 {
			LSTM(dst[:n], dst[n:2*n], dst[2*n:3*n], a[:4*n], b[:n], n)
		}
		return 0
	},
	"LSTM in place, two rows": func(dst, a, b, c []float32) float64 {
		n := len(a) / 8
		if n > 0 {
			LSTM(dst[:2*n], b[:2*n], dst[2*n:4*n], a[:8*n], b[:2*n], n)
		}
		return 0
	},
	"LSTMGrad": func(dst, a, b, c []float32) float64 {
		n := len(a) / 4
		if n > 0 {
			LSTMGrad(dst[:4*n], b[:n], b[n:2*n], a[:4*n], c[:n], c[n:2*n], n)
		}
		return 0
	},
	"SumRows": func(dst, a, b, c []float32) float64 { SumRows(dst[:len(a)/3], a, 3, len(a)/3); return 0 },
	"Softmax": func(dst, a, b, c []float32) float64 { Softmax(dst, a, 3, len(a)/3); return 0 },
	"MaskedLogSoftmax": func(dst, a, b, c []float32) float64 {
		legal := make([]bool, len(b))
		for i := range legal {
			legal[i] = b[i] > 0
		}
		MaskedLogSoftmax(dst, a, legal, 3, len(a)/3)
		return 0
	},
	"MaskedLogSoftmax all legal": func(dst, a, b, c []float32) float64 { MaskedLogSoftmax(dst, a, nil, 3, len(a)/3); return 0 },
}

func TestVectorsAgreeWithPlain(t *testing.T) {
	for _, set := range sets() {
		for name, f := range vectorFuncs {
			t.Run(set.String()+"/"+name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(6, 6))
				for n := 0; n <= 240; n += 3 {
					var got, want [4][]float32
					var intact [4]func() bool
					for i := range got {
						got[i], intact[i] = guarded(r, n)
						want[i] = append([]float32(nil), got[i]...)
					}
					undo := use(generic)
					w := f(want[0], want[1], want[2], want[3])
					undo()
					undo = use(set)
					g := f(got[0], got[1], got[2], got[3])
					undo()
					where := fmt.Sprintf("%s n=%d", name, n)
					for i := range got {
						same(t, where, got[i], want[i], 1, 4e-7)
						if !intact[i]() {
							t.Fatalf("%s: wrote outside slice %d", where, i)
						}
					}
					if math.Abs(g-w) > 1e-6*math.Sqrt(float64(n+1)) {
						t.Fatalf("%s: got %v, want %v", where, g, w)
					}
				}
			})
		}
	}
}
