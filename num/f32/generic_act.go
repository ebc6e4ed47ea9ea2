package f32

import "math"

const tiny = 0x1p-126 // the smallest normal float32

func expGeneric(dst, x []float32) {
	for i, v := range x {
		e := math.Exp(float64(v))
		if e < tiny {
			e = 0
		}
		dst[i] = float32(e)
	}
}

func tanhGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Tanh(float64(v)))
	}
}

func sigmoidGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func reluGradGeneric(dx, y, dy []float32) {
	y, dy = y[:len(dx)], dy[:len(dx)]
	for i := range dx {
		if y[i] > 0 {
			dx[i] = dy[i]
		} else {
			dx[i] = 0
		}
	}
}

func tanhGradGeneric(dx, y, dy []float32) {
	y, dy = y[:len(dx)], dy[:len(dx)]
	for i := range dx {
		dx[i] = dy[i] * (1 - float32(y[i]*y[i]))
	}
}

func sigmoidGradGeneric(dx, y, dy []float32) {
	y, dy = y[:len(dx)], dy[:len(dx)]
	for i := range dx {
		dx[i] = dy[i] * float32(y[i]*(1-y[i]))
	}
}
