package f32

import "unsafe"

// bestSet returns neon: every arm64 processor has it.
func bestSet() kernelSet { return neon }

func scale(dst []float32, alpha float32) {
	if active == neon {
		scaleNEON(dst, alpha)
	} else {
		scaleGeneric(dst, alpha)
	}
}

func axpy(dst []float32, alpha float32, x []float32) {
	if active == neon {
		axpyNEON(dst, alpha, x)
	} else {
		axpyGeneric(dst, alpha, x)
	}
}

func add(dst, a, b []float32) {
	if active == neon {
		addNEON(dst, a, b)
	} else {
		addGeneric(dst, a, b)
	}
}

func sub(dst, a, b []float32) {
	if active == neon {
		subNEON(dst, a, b)
	} else {
		subGeneric(dst, a, b)
	}
}

func mul(dst, a, b []float32) {
	if active == neon {
		mulNEON(dst, a, b)
	} else {
		mulGeneric(dst, a, b)
	}
}

func mulAdd(dst, a, b []float32) {
	if active == neon {
		mulAddNEON(dst, a, b)
	} else {
		mulAddGeneric(dst, a, b)
	}
}

func dot(a, b []float32) float32 {
	if active == neon {
		return dotNEON(a, b)
	}
	return dotGeneric(a, b)
}

func sumSquares(x []float32) float64 {
	if active == neon {
		return sumSquaresNEON(x)
	}
	return sumSquaresGeneric(x)
}

func exp(dst, x []float32) {
	if active == neon {
		expNEON(dst, x)
	} else {
		expGeneric(dst, x)
	}
}

func tanh(dst, x []float32) {
	if active == neon {
		tanhNEON(dst, x)
	} else {
		tanhGeneric(dst, x)
	}
}

func sigmoid(dst, x []float32) {
	if active == neon {
		sigmoidNEON(dst, x)
	} else {
		sigmoidGeneric(dst, x)
	}
}

func reluGrad(dx, y, dy []float32) {
	if active == neon {
		reluGradNEON(dx, y, dy)
	} else {
		reluGradGeneric(dx, y, dy)
	}
}

func tanhGrad(dx, y, dy []float32) {
	if active == neon {
		tanhGradNEON(dx, y, dy)
	} else {
		tanhGradGeneric(dx, y, dy)
	}
}

func sigmoidGrad(dx, y, dy []float32) {
	if active == neon {
		sigmoidGradNEON(dx, y, dy)
	} else {
		sigmoidGradGeneric(dx, y, dy)
	}
}

func lstm(h, c, tc, g, cp []float32) {
	if active == neon {
		lstmCellNEON(&c[0], &g[0], &cp[0], len(c))
		lstmOutNEON(h, tc, c, g[3*len(h):])
	} else {
		lstmGeneric(h, c, tc, g, cp)
	}
}

func lstmGrad(d, dh, dc, g, cp, tc []float32) {
	if active == neon {
		lstmGradNEON(&d[0], &dh[0], &dc[0], &g[0], &cp[0], &tc[0], len(dh))
	} else {
		lstmGradGeneric(d, dh, dc, g, cp, tc)
	}
}

func adam(w, g, m, v []float32, h *adamArgs) {
	if active == neon {
		adamNEON(w, g, m, v, h)
	} else {
		adamGeneric(w, g, m, v, h)
	}
}

func mulPicked(dst *Sixteen, a []Sixteen, at []uint8)    { mulPickedGeneric(dst, a, at) }
func addPicked(dst *Sixteen, a, b []Sixteen, at []uint8) { addPickedGeneric(dst, a, b, at) }
func adaGradPicked(w, m []Sixteen, g *Sixteen, at []uint8, pull, rate float32) {
	adaGradPickedGeneric(w, m, g, at, pull, rate)
}

func softmax(dst, x []float32, rows, cols int) {
	if active == generic || len(dst) == 0 {
		softmaxGeneric(dst, x, rows, cols)
	} else {
		softmaxNEON(&dst[0], &x[0], rows, cols)
	}
}

func logSoftmax(dst, x []float32, legal []bool, rows, cols int) {
	if active == generic || len(dst) == 0 {
		logSoftmaxGeneric(dst, x, legal, rows, cols)
	} else {
		logSoftmaxNEON(&dst[0], &x[0], unsafe.SliceData(legal), rows, cols)
	}
}

func peakLoop(iters int) float64 {
	if active == neon {
		peakNEON(iters)
		return 24 * 4 * 2
	}
	return peakGeneric(iters)
}
