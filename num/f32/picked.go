package f32

import "math"

// Sixteen are numbers that are handled together. What is done to picked rows of a table of them is rounded alike by
// all kernel sets, and done row by row in the order of the picks.
type Sixteen [16]float32

// MulPicked computes dst as the product of the rows of a that are picked.
func MulPicked(dst *Sixteen, a []Sixteen, at []uint8) {
	checkPicks(at, len(a))
	mulPicked(dst, a, at)
}

// AddPicked computes dst as the sum over the rows that are picked of a + b.
func AddPicked(dst *Sixteen, a, b []Sixteen, at []uint8) {
	checkPicks(at, min(len(a), len(b)))
	addPicked(dst, a, b, at)
}

// AdaGradPicked takes one step of AdaGrad over the rows of w that are picked with gradient g, upwards, and sums of
// squares m, with a pull to 0:
//
//	g' = g - pull w
//	m = m + g'²
//	w = w + rate g' / sqrt(1 + m)
func AdaGradPicked(w, m []Sixteen, g *Sixteen, at []uint8, pull, rate float32) {
	checkPicks(at, min(len(w), len(m)))
	adaGradPicked(w, m, g, at, pull, rate)
}

// checkPicks panics if a pick is no row, or there is no row at all.
func checkPicks(at []uint8, rows int) {
	most := uint8(0)
	for _, k := range at {
		most = max(most, k)
	}
	if int(most) >= rows {
		panic("f32: a pick is no row")
	}
}

func mulPickedGeneric(dst *Sixteen, a []Sixteen, at []uint8) {
	for i := range dst {
		dst[i] = 1
	}
	for _, k := range at {
		for i, x := range &a[k] {
			dst[i] *= x
		}
	}
}

func addPickedGeneric(dst *Sixteen, a, b []Sixteen, at []uint8) {
	*dst = Sixteen{}
	for _, k := range at {
		x, y := &a[k], &b[k]
		for i := range dst {
			dst[i] += x[i] + y[i]
		}
	}
}

func adaGradPickedGeneric(w, m []Sixteen, g *Sixteen, at []uint8, pull, rate float32) {
	for _, k := range at {
		w, m := &w[k], &m[k]
		for i, x := range w {
			d := g[i] - float32(pull*x)
			m[i] += float32(d * d)
			w[i] = x + float32(rate*d)/float32(math.Sqrt(float64(1+m[i])))
		}
	}
}
