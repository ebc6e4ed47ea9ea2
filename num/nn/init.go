package nn

import (
	"math"
	"runtime"
	"sync"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// Init fills a part of the given shape with its first values.
type Init func(dst []float32, shape []int, r *rng.Rand)

// Zeros is the Init of biases.
func Zeros(dst []float32, _ []int, _ *rng.Rand) { f32.Fill(dst, 0) }

// ones is the Init of a gain.
func ones(dst []float32, _ []int, _ *rng.Rand) { f32.Fill(dst, 1) }

// fans returns the inputs and outputs of a weight matrix.
func fans(shape []int) (in, out int) {
	in, out = 1, shape[len(shape)-1]
	for _, d := range shape[:len(shape)-1] {
		in *= d
	}
	return in, out
}

// Kaiming draws normal weights of standard deviation gain/sqrt(inputs) (He et al.
// 2015, fan in; gain sqrt 2 before a ReLU).
func Kaiming(gain float64) Init {
	return func(dst []float32, shape []int, r *rng.Rand) {
		in, _ := fans(shape)
		sd := gain / math.Sqrt(float64(in))
		for i := range dst {
			dst[i] = float32(sd * r.Norm())
		}
	}
}

// Orthogonal draws gain times a uniform matrix [in][out] whose rows, or columns if
// there are fewer of them, are orthonormal (Saxe et al. 2014). It works in float64
// without the kernels, so every machine starts from the same weights.
func Orthogonal(gain float64) Init {
	return func(dst []float32, shape []int, r *rng.Rand) {
		in, out := fans(shape)
		orthogonal(dst, in, out, out, gain, r)
	}
}

// orthogonal fills the in by out block at the start of dst, whose rows are stride
// apart.
func orthogonal(dst []float32, in, out, stride int, gain float64, r *rng.Rand) {
	n, length, rowStep, colStep := in, out, stride, 1
	if in > out {
		n, length, rowStep, colStep = out, in, 1, stride
	}
	q := make([]float64, n*length)
	for i := range q {
		q[i] = r.Norm()
	}
	orthonormal(q, n, length)
	for i := range n {
		for j := range length {
			dst[i*rowStep+j*colStep] = float32(gain * q[i*length+j])
		}
	}
}

const (
	panelLen   = 1 << 16 // numbers of a panel, about: few enough to stay near while they are taken off other rows
	fewNumbers = 1 << 20 // of rows to be taken off: so few are soon done
)

// orthonormal makes n rows of that length orthonormal by modified Gram-Schmidt, a panel of rows at a time: when it is done, it
// is taken off all rows after it, of which cores share pairs. In whatever order that happens, a row meets those before it in theirs.
func orthonormal(q []float64, n, length int) {
	row := func(i int) []float64 { return q[i*length : (i+1)*length] }
	panel := min(max(panelLen/length, 4), 64)
	for lo := 0; lo < n; lo += panel {
		hi := min(lo+panel, n)
		for j := lo; j < hi; j++ {
			u := row(j)
			for i := lo; i < j; i++ {
				axpy(u, -dot(u, row(i)), row(i))
			}
			scale(u, 1/math.Sqrt(dot(u, u)))
		}
		done := q[lo*length : hi*length]
		pairs, workers := (n-hi)/2, 1
		if pairs*len(done) > fewNumbers {
			workers = min(runtime.GOMAXPROCS(0), pairs)
		}
		var wait sync.WaitGroup
		for w := range workers {
			wait.Go(func() {
				for k := w; k < pairs; k += workers {
					beyond(row(hi+2*k), row(hi+2*k+1), done)
				}
			})
		}
		wait.Wait()
		if (n-hi)%2 == 1 {
			for i := lo; i < hi; i++ {
				axpy(row(n-1), -dot(row(n-1), row(i)), row(i))
			}
		}
	}
}

// beyond takes off a and b what lies along each of the rows of q, in their order, which are orthonormal: the numbers of a
// dot and an axpy for each. A row is read once for both, and while one is taken off, it is found what lies along the next.
func beyond(a, b, q []float64) {
	n := len(a)
	v := q[:n]
	da, db := dot(a, v), dot(b, v)
	for q = q[n:]; len(q) > 0; q = q[n:] {
		da, db = axpyDot(a, b, -da, -db, v, q[:n])
		v = q[:n]
	}
	axpy(a, -da, v)
	axpy(b, -db, v)
}

// gates is the Init of a recurrent matrix [in][n*hidden]: each gate's block is
// orthogonal by itself.
func gates(n int) Init {
	return func(dst []float32, shape []int, r *rng.Rand) {
		in, out := fans(shape)
		for i := range n {
			orthogonal(dst[i*out/n:], in, out/n, out, 1, r)
		}
	}
}

// forgetBias is the Init of an LSTM's bias [4H]: 1 for the forget gate, else 0.
func forgetBias(dst []float32, _ []int, _ *rng.Rand) {
	h := len(dst) / 4
	f32.Fill(dst, 0)
	f32.Fill(dst[h:2*h], 1)
}

func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64 // four chains, so that additions overlap; not an array, which would be in memory
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

// axpyDot adds alpha v to a and beta v to b, and returns the dots of both with w.
func axpyDot(a, b []float64, alpha, beta float64, v, w []float64) (float64, float64) {
	var a0, a1, a2, a3, b0, b1, b2, b3 float64
	for len(a) >= 4 && len(b) >= 4 && len(v) >= 4 && len(w) >= 4 {
		x0, y0 := a[0]+alpha*v[0], b[0]+beta*v[0]
		a[0], b[0] = x0, y0
		a0 += x0 * w[0]
		b0 += y0 * w[0]
		x1, y1 := a[1]+alpha*v[1], b[1]+beta*v[1]
		a[1], b[1] = x1, y1
		a1 += x1 * w[1]
		b1 += y1 * w[1]
		x2, y2 := a[2]+alpha*v[2], b[2]+beta*v[2]
		a[2], b[2] = x2, y2
		a2 += x2 * w[2]
		b2 += y2 * w[2]
		x3, y3 := a[3]+alpha*v[3], b[3]+beta*v[3]
		a[3], b[3] = x3, y3
		a3 += x3 * w[3]
		b3 += y3 * w[3]
		a, b, v, w = a[4:], b[4:], v[4:], w[4:]
	}
	for i := range a {
		a[i] += alpha * v[i]
		b[i] += beta * v[i]
		a0 += a[i] * w[i]
		b0 += b[i] * w[i]
	}
	return a0 + a1 + (a2 + a3), b0 + b1 + (b2 + b3)
}

func axpy(dst []float64, alpha float64, x []float64) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] += alpha * v
	}
}

func scale(dst []float64, alpha float64) {
	for i := range dst {
		dst[i] *= alpha
	}
}
