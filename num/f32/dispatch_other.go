//go:build !amd64 && !arm64

package f32

func bestSet() kernelSet { return generic }

func mulNN(dst, a, b, bias []float32, m, k, n int, from start, act Act) {
	mulNNGeneric(dst, a, b, bias, m, k, n, from, act)
}
func mulNT(dst, a, b []float32, m, k, n int, acc bool) { mulNTGeneric(dst, a, b, m, k, n, acc) }
func mulTN(dst, a, b []float32, m, k, n int, acc bool) { mulTNGeneric(dst, a, b, m, k, n, acc) }

func (p *Packed) pack(b []float32)                              { p.copy(b) }
func (p *Packed) mul(dst, a, bias []float32, m int, from start) { p.mulCopy(dst, a, bias, m, from) }

func conv3x3(dst, x, k, bias []float32, h, w, in, out int, from start, act Act) {
	conv3x3Generic(dst, x, k, bias, h, w, in, out, from, act)
}
func conv3x3Grad(dk, x, dy []float32, h, w, in, out int) {
	conv3x3GradGeneric(dk, x, dy, h, w, in, out)
}

func (s *Sparse) appendNonzeros(x []float32) { appendNonzerosGeneric(s, x) }
func sparseAffine(dst []float32, s *Sparse, w, bias []float32, n int, act Act, _ layout) {
	sparseAffineGeneric(dst, s, w, bias, n, act)
}
func sparseTN(dw []float32, s *Sparse, g []float32, n int) { sparseTNGeneric(dw, s, g, n) }

func axpy(dst []float32, alpha float32, x []float32) { axpyGeneric(dst, alpha, x) }
func scale(dst []float32, alpha float32)             { scaleGeneric(dst, alpha) }
func add(dst, a, b []float32)                        { addGeneric(dst, a, b) }
func sub(dst, a, b []float32)                        { subGeneric(dst, a, b) }
func mul(dst, a, b []float32)                        { mulGeneric(dst, a, b) }
func mulAdd(dst, a, b []float32)                     { mulAddGeneric(dst, a, b) }
func dot(a, b []float32) float32                     { return dotGeneric(a, b) }
func sumSquares(x []float32) float64                 { return sumSquaresGeneric(x) }
func sumRows(dst, x []float32, m, n int)             { sumRowsGeneric(dst, x, m, n) }
func adam(w, g, m, v []float32, h *adamArgs)         { adamGeneric(w, g, m, v, h) }

func mulPicked(dst *Sixteen, a []Sixteen, at []uint8)    { mulPickedGeneric(dst, a, at) }
func addPicked(dst *Sixteen, a, b []Sixteen, at []uint8) { addPickedGeneric(dst, a, b, at) }
func adaGradPicked(w, m []Sixteen, g *Sixteen, at []uint8, pull, rate float32) {
	adaGradPickedGeneric(w, m, g, at, pull, rate)
}

func lstm(h, c, tc, g, cp []float32)          { lstmGeneric(h, c, tc, g, cp) }
func lstmGrad(d, dh, dc, g, cp, tc []float32) { lstmGradGeneric(d, dh, dc, g, cp, tc) }

func exp(dst, x []float32)               { expGeneric(dst, x) }
func tanh(dst, x []float32)              { tanhGeneric(dst, x) }
func sigmoid(dst, x []float32)           { sigmoidGeneric(dst, x) }
func reluGrad(dx, y, dy []float32)       { reluGradGeneric(dx, y, dy) }
func tanhGrad(dx, y, dy []float32)       { tanhGradGeneric(dx, y, dy) }
func sigmoidGrad(dx, y, dy []float32)    { sigmoidGradGeneric(dx, y, dy) }
func softmax(dst, x []float32, r, c int) { softmaxGeneric(dst, x, r, c) }
func logSoftmax(dst, x []float32, legal []bool, rows, cols int) {
	logSoftmaxGeneric(dst, x, legal, rows, cols)
}

func peakLoop(iters int) float64 { return peakGeneric(iters) }
