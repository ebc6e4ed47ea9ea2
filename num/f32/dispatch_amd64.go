package f32

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// bestSet returns the best kernel set that the CPU and the system support.
func bestSet() kernelSet {
	x := &cpu.X86
	switch {
	case !(x.HasAVX2 && x.HasFMA && x.HasBMI2 && x.HasPOPCNT && x.HasOSXSAVE):
		return generic
	case !(x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL):
		return avx2
	}
	return avx512
}

func scale(dst []float32, alpha float32) {
	switch active {
	case avx512:
		scaleAVX512(dst, alpha)
	case avx2:
		scaleAVX2(dst, alpha)
	default:
		scaleGeneric(dst, alpha)
	}
}

func axpy(dst []float32, alpha float32, x []float32) {
	switch active {
	case avx512:
		axpyAVX512(dst, alpha, x)
	case avx2:
		axpyAVX2(dst, alpha, x)
	default:
		axpyGeneric(dst, alpha, x)
	}
}

func add(dst, a, b []float32) {
	switch active {
	case avx512:
		addAVX512(dst, a, b)
	case avx2:
		addAVX2(dst, a, b)
	default:
		addGeneric(dst, a, b)
	}
}

func sub(dst, a, b []float32) {
	switch active {
	case avx512:
		subAVX512(dst, a, b)
	case avx2:
		subAVX2(dst, a, b)
	default:
		subGeneric(dst, a, b)
	}
}

func mul(dst, a, b []float32) {
	switch active {
	case avx512:
		mulAVX512(dst, a, b)
	case avx2:
		mulAVX2(dst, a, b)
	default:
		mulGeneric(dst, a, b)
	}
}

func mulAdd(dst, a, b []float32) {
	switch active {
	case avx512:
		mulAddAVX512(dst, a, b)
	case avx2:
		mulAddAVX2(dst, a, b)
	default:
		mulAddGeneric(dst, a, b)
	}
}

func dot(a, b []float32) float32 {
	switch active {
	case avx512:
		return dotAVX512(a, b)
	case avx2:
		return dotAVX2(a, b)
	}
	return dotGeneric(a, b)
}

func sumSquares(x []float32) float64 {
	switch active {
	case avx512:
		return sumSquaresAVX512(x)
	case avx2:
		return sumSquaresAVX2(x)
	}
	return sumSquaresGeneric(x)
}

func exp(dst, x []float32) {
	switch active {
	case avx512:
		expAVX512(dst, x)
	case avx2:
		expAVX2(dst, x)
	default:
		expGeneric(dst, x)
	}
}

func tanh(dst, x []float32) {
	switch active {
	case avx512:
		tanhAVX512(dst, x)
	case avx2:
		tanhAVX2(dst, x)
	default:
		tanhGeneric(dst, x)
	}
}

func sigmoid(dst, x []float32) {
	switch active {
	case avx512:
		sigmoidAVX512(dst, x)
	case avx2:
		sigmoidAVX2(dst, x)
	default:
		sigmoidGeneric(dst, x)
	}
}

func reluGrad(dx, y, dy []float32) {
	switch active {
	case avx512:
		reluGradAVX512(dx, y, dy)
	case avx2:
		reluGradAVX2(dx, y, dy)
	default:
		reluGradGeneric(dx, y, dy)
	}
}

func tanhGrad(dx, y, dy []float32) {
	switch active {
	case avx512:
		tanhGradAVX512(dx, y, dy)
	case avx2:
		tanhGradAVX2(dx, y, dy)
	default:
		tanhGradGeneric(dx, y, dy)
	}
}

func sigmoidGrad(dx, y, dy []float32) {
	switch active {
	case avx512:
		sigmoidGradAVX512(dx, y, dy)
	case avx2:
		sigmoidGradAVX2(dx, y, dy)
	default:
		sigmoidGradGeneric(dx, y, dy)
	}
}

func lstm(h, c, tc, g, cp []float32) {
	switch active {
	case avx512:
		lstmCellAVX512(&c[0], &g[0], &cp[0], len(c))
		lstmOutAVX512(h, tc, c, g[3*len(h):])
	case avx2:
		lstmCellAVX2(&c[0], &g[0], &cp[0], len(c))
		lstmOutAVX2(h, tc, c, g[3*len(h):])
	default:
		lstmGeneric(h, c, tc, g, cp)
	}
}

func lstmGrad(d, dh, dc, g, cp, tc []float32) {
	switch active {
	case avx512:
		lstmGradAVX512(&d[0], &dh[0], &dc[0], &g[0], &cp[0], &tc[0], len(dh))
	case avx2:
		lstmGradAVX2(&d[0], &dh[0], &dc[0], &g[0], &cp[0], &tc[0], len(dh))
	default:
		lstmGradGeneric(d, dh, dc, g, cp, tc)
	}
}

func adam(w, g, m, v []float32, h *adamArgs) {
	switch active {
	case avx512:
		adamAVX512(w, g, m, v, (*byte)(unsafe.Pointer(h)))
	case avx2:
		adamAVX2(w, g, m, v, (*byte)(unsafe.Pointer(h)))
	default:
		adamGeneric(w, g, m, v, h)
	}
}

func mulPicked(dst *Sixteen, a []Sixteen, at []uint8) {
	switch active {
	case avx512:
		mulPickedAVX512(&dst[0], &a[0][0], at)
	case avx2:
		mulPickedAVX2(&dst[0], &a[0][0], at)
	default:
		mulPickedGeneric(dst, a, at)
	}
}

func addPicked(dst *Sixteen, a, b []Sixteen, at []uint8) {
	switch active {
	case avx512:
		addPickedAVX512(&dst[0], &a[0][0], &b[0][0], at)
	case avx2:
		addPickedAVX2(&dst[0], &a[0][0], &b[0][0], at)
	default:
		addPickedGeneric(dst, a, b, at)
	}
}

func adaGradPicked(w, m []Sixteen, g *Sixteen, at []uint8, pull, rate float32) {
	switch active {
	case avx512:
		adaGradPickedAVX512(&w[0][0], &m[0][0], &g[0], at, pull, rate)
	case avx2:
		adaGradPickedAVX2(&w[0][0], &m[0][0], &g[0], at, pull, rate)
	default:
		adaGradPickedGeneric(w, m, g, at, pull, rate)
	}
}

func softmax(dst, x []float32, rows, cols int) {
	switch {
	case active == generic || len(dst) == 0:
		softmaxGeneric(dst, x, rows, cols)
	case active == avx512:
		softmaxAVX512(&dst[0], &x[0], rows, cols)
	default:
		softmaxAVX2(&dst[0], &x[0], rows, cols)
	}
}

func logSoftmax(dst, x []float32, legal []bool, rows, cols int) {
	switch {
	case active == generic || len(dst) == 0:
		logSoftmaxGeneric(dst, x, legal, rows, cols)
	case active == avx512 && cols <= 16: // by the columns alone: rows must not depend on their batch
		var near [16*16 + 8]float32 // 16 vectors, then 16 masks of 16 bits
		logSoftmaxLanesAVX512(&dst[0], &x[0], unsafe.SliceData(legal), rows, cols, &near[0])
	case active == avx512:
		logSoftmaxAVX512(&dst[0], &x[0], unsafe.SliceData(legal), rows, cols)
	default:
		logSoftmaxAVX2(&dst[0], &x[0], unsafe.SliceData(legal), rows, cols)
	}
}

func peakLoop(iters int) float64 {
	switch active {
	case avx512:
		peakAVX512(iters)
		return 12 * 16 * 2
	case avx2:
		peakAVX2(iters)
		return 12 * 8 * 2
	}
	return peakGeneric(iters)
}
