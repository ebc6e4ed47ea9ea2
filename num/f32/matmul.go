package f32

// Act is an activation that a product applies before it stores. The others pay
// no better fused: call Tanh or Sigmoid on the result.
type Act uint8

const (
	None Act = iota
	ReLU
)

// MulNN computes dst[m][n] = a[m][k] b[k][n], or adds it to dst if acc is set.
// It panics if a length does not match its shape.
func MulNN(dst, a, b []float32, m, k, n int, acc bool) {
	checkMul(dst, a, b, m, k, n)
	from := fromZero
	if acc {
		from = fromDst
	}
	mulNN(dst, a, b, nil, m, k, n, from, None)
}

// MulNT computes dst[m][n] = a[m][k] b[n][k]ᵀ, or adds it to dst if acc is set.
// It panics if a length does not match its shape.
func MulNT(dst, a, b []float32, m, k, n int, acc bool) {
	checkMul(dst, a, b, m, k, n)
	mulNT(dst, a, b, m, k, n, acc)
}

// MulTN computes dst[m][n] = a[k][m]ᵀ b[k][n], or adds it to dst if acc is set:
// the gradient of a weight matrix summed over a batch of k rows.
// It panics if a length does not match its shape.
func MulTN(dst, a, b []float32, m, k, n int, acc bool) {
	checkMul(dst, a, b, m, k, n)
	mulTN(dst, a, b, m, k, n, acc)
}

// Affine computes dst[m][n] = act(a[m][k] b[k][n] + bias[n]), the forward pass
// of a dense layer. A nil bias is zero. It panics if a length does not match its
// shape.
func Affine(dst, a, b, bias []float32, m, k, n int, act Act) {
	checkMul(dst, a, b, m, k, n)
	from := fromZero
	if bias != nil {
		if len(bias) != n {
			panic("f32: bias length does not match the columns")
		}
		from = fromBias
	}
	mulNN(dst, a, b, bias, m, k, n, from, act)
}

// start says what an element's chain of additions begins with.
type start int

const (
	fromZero start = iota
	fromBias
	fromDst
)

func checkMul(dst, a, b []float32, m, k, n int) {
	if m < 0 || k < 0 || n < 0 {
		panic("f32: a matrix has a negative size")
	}
	if len(dst) != m*n || len(a) != m*k || len(b) != k*n {
		panic("f32: slice lengths do not match the matrix sizes")
	}
}
