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
