package f32

import "math"

// axpyGeneric takes eight at a time: a loop of one is twice as slow where it happens to lie badly in the program.
func axpyGeneric(dst []float32, alpha float32, x []float32) {
	x = x[:len(dst)]
	for ; len(dst) >= 8; dst, x = dst[8:], x[8:] {
		d, y := (*[8]float32)(dst), (*[8]float32)(x)
		d[0] += float32(alpha * y[0])
		d[1] += float32(alpha * y[1])
		d[2] += float32(alpha * y[2])
		d[3] += float32(alpha * y[3])
		d[4] += float32(alpha * y[4])
		d[5] += float32(alpha * y[5])
		d[6] += float32(alpha * y[6])
		d[7] += float32(alpha * y[7])
	}
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += float32(alpha * x[i])
	}
}

func scaleGeneric(dst []float32, alpha float32) {
	for i := range dst {
		dst[i] *= alpha
	}
}

func addGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func subGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

func mulGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func mulAddGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] += float32(a[i] * b[i])
	}
}

func dotGeneric(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

func sumGeneric(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v)
	}
	return s
}

func sumSquaresGeneric(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(float64(v) * float64(v))
	}
	return s
}

func sumRowsGeneric(dst, x []float32, m, n int) {
	for i := range m {
		addGeneric(dst, dst, x[i*n:i*n+n])
	}
}

func adamGeneric(w, g, m, v []float32, h *adamArgs) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for i, x := range w {
		d := h.scale * g[i]
		g[i] = 0
		mi := float32(h.b1*m[i]) + float32(h.b1c*d)
		vi := float32(h.b2*v[i]) + float32(h.b2c*float32(d*d))
		m[i], v[i] = mi, vi
		den := float32(math.Sqrt(float64(h.c2*vi))) + h.eps
		w[i] = x - float32(h.decay*x) - float32(h.lrc1*mi)/den
	}
}
