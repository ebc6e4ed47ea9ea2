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
	var s [4]float64 // four chains, so that additions overlap
	n := len(a) &^ 3
	for i := 0; i < n; i += 4 {
		s[0] += a[i] * b[i]
		s[1] += a[i+1] * b[i+1]
		s[2] += a[i+2] * b[i+2]
		s[3] += a[i+3] * b[i+3]
	}
	for i := n; i < len(a); i++ {
		s[0] += a[i] * b[i]
	}
	return s[0] + s[1] + (s[2] + s[3])
}

func axpy(dst []float64, alpha float64, x []float64) {
	for i, v := range x {
		dst[i] += alpha * v
	}
}

func scale(dst []float64, alpha float64) {
	for i := range dst {
		dst[i] *= alpha
	}
}
