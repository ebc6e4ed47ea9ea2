package f32

import "math"

const (
	geluC = 0.7978845608028654 // sqrt(2/π)
	geluA = 0.044715
	tiny  = 0x1p-126 // the smallest normal float32
)

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

func geluGeneric(dst, x []float32) {
	for i, v := range x {
		z := float64(v)
		s := 1 / (1 + math.Exp(-2*geluC*(z+geluA*z*z*z)))
		dst[i] = float32(z * s)
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

func geluGradGeneric(dx, x, dy []float32) {
	x, dy = x[:len(dx)], dy[:len(dx)]
	for i, v := range x {
		z := float64(v)
		s := 1 / (1 + math.Exp(-2*geluC*(z+geluA*z*z*z)))
		d := s + z*s*(1-s)*2*geluC*(1+3*geluA*z*z)
		dx[i] = dy[i] * float32(d)
	}
}
