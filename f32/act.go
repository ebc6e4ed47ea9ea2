package f32

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

// GELU computes the tanh form of Hendrycks and Gimpel,
// dst = x/2 (1 + tanh(sqrt(2/π) (x + 0.044715 x³))), the one that other
// frameworks call approximate, within 5e-7 of the result plus 1e-7.
func GELU(dst, x []float32) {
	checkSame(len(dst), len(x))
	gelu(dst, x)
}

// ReLUGrad computes dx = dy where y > 0, else 0; y is ReLU's output (or input).
func ReLUGrad(dx, y, dy []float32) {
	checkSame(len(dx), len(y))
	checkSame(len(dx), len(dy))
	reluGrad(dx, y, dy)
}

// TanhGrad computes dx = dy (1 - y²); y is Tanh's output.
func TanhGrad(dx, y, dy []float32) {
	checkSame(len(dx), len(y))
	checkSame(len(dx), len(dy))
	tanhGrad(dx, y, dy)
}

// SigmoidGrad computes dx = dy y (1 - y); y is Sigmoid's output.
func SigmoidGrad(dx, y, dy []float32) {
	checkSame(len(dx), len(y))
	checkSame(len(dx), len(dy))
	sigmoidGrad(dx, y, dy)
}

// GELUGrad computes dx = dy GELU'(x); x is GELU's input.
func GELUGrad(dx, x, dy []float32) {
	checkSame(len(dx), len(x))
	checkSame(len(dx), len(dy))
	geluGrad(dx, x, dy)
}
