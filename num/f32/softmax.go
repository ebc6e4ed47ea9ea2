package f32

import "math"

// LogZero is the log-probability MaskedLogSoftmax gives to an illegal action:
// finite, so that 0 * LogZero is 0 and not NaN, and so low that Exp of it is
// exactly 0.
const LogZero float32 = -1e9

// Softmax computes the softmax of each row of x[rows][cols].
func Softmax(dst, x []float32, rows, cols int) {
	if rows < 0 || cols < 0 || len(dst) != rows*cols || len(x) != rows*cols {
		panic(badLengths)
	}
	softmax(dst, x, rows, cols)
}

// MaskedLogSoftmax computes, for each row of x[rows][cols], the log of the softmax
// over the legal columns. Illegal columns get LogZero, whatever x holds there. A
// row without a legal column is LogZero throughout, so that its probabilities are
// all 0. A nil legal allows every column.
func MaskedLogSoftmax(dst, x []float32, legal []bool, rows, cols int) {
	if rows < 0 || cols < 0 || len(dst) != rows*cols || len(x) != rows*cols {
		panic(badLengths)
	}
	if legal != nil && len(legal) != rows*cols {
		panic(badLengths)
	}
	logSoftmax(dst, x, legal, rows, cols)
}

func softmaxGeneric(dst, x []float32, rows, cols int) {
	for r := range rows {
		in, out := x[r*cols:r*cols+cols], dst[r*cols:r*cols+cols]
		top := maxOf(in, nil)
		for i, v := range in {
			out[i] = v - top
		}
		expGeneric(out, out)
		scaleGeneric(out, float32(1/sumGeneric(out)))
	}
}

func logSoftmaxGeneric(dst, x []float32, legal []bool, rows, cols int) {
	for r := range rows {
		in, out := x[r*cols:r*cols+cols], dst[r*cols:r*cols+cols]
		var ok []bool
		if legal != nil {
			ok = legal[r*cols : r*cols+cols]
		}
		top := float64(maxOf(in, ok))
		sum := 0.0
		for i, v := range in {
			if ok == nil || ok[i] {
				sum += math.Exp(float64(v) - top)
			}
		}
		lse := top + math.Log(sum)
		for i, v := range in {
			if ok == nil || ok[i] {
				out[i] = float32(float64(v) - lse)
			} else {
				out[i] = LogZero
			}
		}
	}
}

// maxOf returns the largest legal element, -Inf if there is none.
func maxOf(x []float32, legal []bool) float32 {
	top := float32(math.Inf(-1))
	for i, v := range x {
		if (legal == nil || legal[i]) && v > top {
			top = v
		}
	}
	return top
}
