package f32

const badLengths = "f32: slice lengths do not match"

func checkSame(n, m int) {
	if n != m {
		panic(badLengths)
	}
}

func checkAlike(a, b, c []float32) {
	checkSame(len(a), len(b))
	checkSame(len(a), len(c))
}

// Axpy adds alpha*x to dst.
func Axpy(dst []float32, alpha float32, x []float32) {
	checkSame(len(dst), len(x))
	axpy(dst, alpha, x)
}

// Scale multiplies dst by alpha.
func Scale(dst []float32, alpha float32) { scale(dst, alpha) }

// Add computes dst = a + b.
func Add(dst, a, b []float32) {
	checkAlike(dst, a, b)
	add(dst, a, b)
}

// Sub computes dst = a - b.
func Sub(dst, a, b []float32) {
	checkAlike(dst, a, b)
	sub(dst, a, b)
}

// Mul computes dst = a * b, element by element.
func Mul(dst, a, b []float32) {
	checkAlike(dst, a, b)
	mul(dst, a, b)
}

// MulAdd adds a * b to dst, element by element.
func MulAdd(dst, a, b []float32) {
	checkAlike(dst, a, b)
	mulAdd(dst, a, b)
}

// Fill sets every element of dst to v.
func Fill(dst []float32, v float32) {
	if len(dst) == 0 {
		return
	}
	dst[0] = v
	for i := 1; i < len(dst); i *= 2 {
		copy(dst[i:], dst[:i])
	}
}

// Dot returns the sum of a*b, added up in float32 in an order that depends on the
// length alone.
func Dot(a, b []float32) float32 {
	checkSame(len(a), len(b))
	return dot(a, b)
}

// SumSquares returns the sum of the squares of x, added up in float64.
func SumSquares(x []float32) float64 { return sumSquares(x) }

// SumRows adds the m rows of x[m][n], in index order, to dst[n]: the gradient of
// a bias.
func SumRows(dst, x []float32, m, n int) {
	if m < 0 || n < 0 || len(x) != m*n || len(dst) != n {
		panic(badLengths)
	}
	sumRows(dst, x, m, n)
}

// Adam takes one step of Adam with decoupled weight decay (AdamW; wd 0 is Adam)
// over the parameters w with gradient g and moments m and v, and clears g:
//
//	g = scale g
//	m = beta1 m + (1-beta1) g
//	v = beta2 v + (1-beta2) g²
//	w = w - lr (c1 m / (sqrt(c2 v) + eps) + wd w)
//
// c1 and c2 correct the bias of step t = 1, 2, ...: c1 = 1/(1-beta1^t) and
// c2 = 1/(1-beta2^t), to be computed in float64. A c2 v below 2^-100 may count as
// that, and a moment below the normal numbers as 0.
func Adam(w, g, m, v []float32, lr, beta1, beta2, eps, wd, c1, c2, scale float32) {
	checkSame(len(w), len(g))
	checkAlike(w, m, v)
	h := adamArgs{
		b1: beta1, b1c: float32(1 - float64(beta1)), b2: beta2, b2c: float32(1 - float64(beta2)),
		lrc1: lr * c1, c2: c2, eps: eps, decay: float32(float64(lr) * float64(wd)), scale: scale,
	}
	adam(w, g, m, v, &h)
}

// adamArgs are the scalars of one Adam step, laid out for the kernels.
type adamArgs struct{ b1, b1c, b2, b2c, lrc1, c2, eps, decay, scale float32 }

// Exp computes dst = e^x with a relative error below 1.5e-7. Results too small for
// a normal float32 (x below about -87.3) are 0.
func Exp(dst, x []float32) {
	checkSame(len(dst), len(x))
	exp(dst, x)
}

// Tanh computes dst = tanh(x) with a relative error below 2e-7.
func Tanh(dst, x []float32) {
	checkSame(len(dst), len(x))
	tanh(dst, x)
}

// Sigmoid computes dst = 1/(1+e^-x) with a relative error below 2.5e-7. Results too
// small for a normal float32 may be 0.
func Sigmoid(dst, x []float32) {
	checkSame(len(dst), len(x))
	sigmoid(dst, x)
}

// ReLUGrad computes dx = dy where y > 0, else 0; y is ReLU's output (or input).
func ReLUGrad(dx, y, dy []float32) {
	checkAlike(dx, y, dy)
	reluGrad(dx, y, dy)
}

// TanhGrad computes dx = dy (1 - y²); y is Tanh's output.
func TanhGrad(dx, y, dy []float32) {
	checkAlike(dx, y, dy)
	tanhGrad(dx, y, dy)
}

// SigmoidGrad computes dx = dy y (1 - y); y is Sigmoid's output.
func SigmoidGrad(dx, y, dy []float32) {
	checkAlike(dx, y, dy)
	sigmoidGrad(dx, y, dy)
}
