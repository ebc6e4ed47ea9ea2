package nn

import (
	"math"

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
	for i := range n { // modified Gram-Schmidt
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
