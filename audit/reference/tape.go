package reference

import "math"

// Mat is a matrix with its gradient.
type Mat struct {
	Rows, Cols int
	V, G       []float64 // [Rows][Cols]
}

// NewMat returns a matrix of zeros.
func NewMat(rows, cols int) *Mat {
	return &Mat{rows, cols, make([]float64, rows*cols), make([]float64, rows*cols)}
}

// Row returns row i, a view.
func (m *Mat) Row(i int) []float64 { return m.V[i*m.Cols : (i+1)*m.Cols] }

// Grad returns the gradient of row i, a view.
func (m *Mat) Grad(i int) []float64 { return m.G[i*m.Cols : (i+1)*m.Cols] }

// shaped returns the same numbers in another number of rows.
func (m *Mat) shaped(rows int) *Mat { return &Mat{rows, len(m.V) / rows, m.V, m.G} }

// Tape remembers what was computed, to differentiate it: every function below
// returns its result and notes how gradients go back through it.
type Tape struct {
	back  []func()
	round float64 // what a softmax's sum is off by before float32 holds it; 0: it is exact
}

// ulps is by how much what a probability is divided by is off before float32 holds it: nothing, or a digit up or down. Of a
// probability next to 1 that digit is all there is to learn from, and below it nothing is.
func ulps(shaken uint64) float64 { return 1 + 1.2e-7*(float64((shaken+1)%3)-1) }

// logistic is the probability of a bit, as float32 holds it.
func (t *Tape) logistic(x float64) float64 {
	if t.round == 0 {
		return logistic(x)
	}
	return 1 / float64(float32((1+math.Exp(-x))*t.round))
}

// Backward adds to every matrix's G the derivatives of the sum of y's entries.
func (t *Tape) Backward(y *Mat) {
	for i := range y.G {
		y.G[i] = 1
	}
	for i := len(t.back) - 1; i >= 0; i-- {
		t.back[i]()
	}
	t.back = t.back[:0]
}

// Do notes how gradients go back through something that is not below.
func (t *Tape) Do(back func()) { t.back = append(t.back, back) }

// Affine is x w + b; b may be nil.
func (t *Tape) Affine(x, w, b *Mat) *Mat { return t.affine(x, w, b, true) }

// Input is Affine for an x that is nobody's function: most of it is zero, and its
// own gradient is not wanted.
func (t *Tape) Input(x, w, b *Mat) *Mat { return t.affine(x, w, b, false) }

func (t *Tape) affine(x, w, b *Mat, back bool) *Mat {
	y := NewMat(x.Rows, w.Cols)
	for i := range x.Rows {
		to := y.Row(i)
		if b != nil {
			copy(to, b.V)
		}
		for k, v := range x.Row(i) {
			if v != 0 {
				add(to, v, w.Row(k))
			}
		}
	}
	t.Do(func() {
		for i := range x.Rows {
			d := y.Grad(i)
			for k, v := range x.Row(i) {
				if back {
					x.G[i*x.Cols+k] += dot(d, w.Row(k))
				}
				if v != 0 {
					add(w.Grad(k), v, d)
				}
			}
			if b != nil {
				add(b.G, 1, d)
			}
		}
	})
	return y
}

// add adds k x to y.
func add(y []float64, k float64, x []float64) {
	for i, v := range x {
		y[i] += k * v
	}
}

func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// Map is f of every entry; df is f's derivative, given x and f(x).
func (t *Tape) Map(x *Mat, f func(x float64) float64, df func(x, y float64) float64) *Mat {
	y := NewMat(x.Rows, x.Cols)
	for i, v := range x.V {
		y.V[i] = f(v)
	}
	t.Do(func() {
		for i, v := range x.V {
			x.G[i] += df(v, y.V[i]) * y.G[i]
		}
	})
	return y
}

// Exp is e to the power of every entry.
func (t *Tape) Exp(x *Mat) *Mat {
	return t.Map(x, math.Exp, func(_, y float64) float64 { return y })
}

// Tanh is the hyperbolic tangent.
func (t *Tape) Tanh(x *Mat) *Mat {
	return t.Map(x, math.Tanh, func(_, y float64) float64 { return 1 - y*y })
}

// Sigmoid is the logistic function.
func (t *Tape) Sigmoid(x *Mat) *Mat {
	return t.Map(x, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, func(_, y float64) float64 { return y * (1 - y) })
}

// ReLU is the positive part.
func (t *Tape) ReLU(x *Mat) *Mat {
	return t.Map(x, func(x float64) float64 { return max(x, 0) }, func(_, y float64) float64 {
		if y > 0 {
			return 1
		}
		return 0
	})
}

// Clamp holds every entry between lo and hi.
func (t *Tape) Clamp(x *Mat, lo, hi float64) *Mat {
	return t.Map(x, func(x float64) float64 { return min(max(x, lo), hi) }, func(x, _ float64) float64 {
		if x < lo || x > hi {
			return 0
		}
		return 1
	})
}

// Scale is k x.
func (t *Tape) Scale(x *Mat, k float64) *Mat {
	return t.Map(x, func(x float64) float64 { return k * x }, func(_, _ float64) float64 { return k })
}

// pair is a function of two matrices, entry by entry; df returns both derivatives.
func (t *Tape) pair(a, b *Mat, f func(a, b float64) float64, df func(a, b float64) (da, db float64)) *Mat {
	y := NewMat(a.Rows, a.Cols)
	for i := range y.V {
		y.V[i] = f(a.V[i], b.V[i])
	}
	t.Do(func() {
		for i, d := range y.G {
			da, db := df(a.V[i], b.V[i])
			a.G[i] += da * d
			b.G[i] += db * d
		}
	})
	return y
}

// Add is a + b.
func (t *Tape) Add(a, b *Mat) *Mat {
	return t.pair(a, b, func(a, b float64) float64 { return a + b }, func(_, _ float64) (float64, float64) { return 1, 1 })
}

// Sub is a - b.
func (t *Tape) Sub(a, b *Mat) *Mat {
	return t.pair(a, b, func(a, b float64) float64 { return a - b }, func(_, _ float64) (float64, float64) { return 1, -1 })
}

// Mul is a times b, entry by entry.
func (t *Tape) Mul(a, b *Mat) *Mat {
	return t.pair(a, b, func(a, b float64) float64 { return a * b }, func(a, b float64) (float64, float64) { return b, a })
}

// Max is the larger of the two; of equals the first one's derivative counts.
func (t *Tape) Max(a, b *Mat) *Mat {
	return t.pair(a, b, func(a, b float64) float64 { return max(a, b) }, func(a, b float64) (float64, float64) {
		if b > a {
			return 0, 1
		}
		return 1, 0
	})
}

// gather makes a matrix of parts of rows of others: put is called for each, with the
// part's matrix, row and columns, in the order in which they follow each other.
func (t *Tape) gather(rows, cols int, parts func(put func(x *Mat, row, lo, hi int))) *Mat {
	y, at := NewMat(rows, cols), 0
	parts(func(x *Mat, row, lo, hi int) {
		copy(y.V[at:], x.Row(row)[lo:hi])
		at += hi - lo
	})
	t.Do(func() {
		at := 0
		parts(func(x *Mat, row, lo, hi int) {
			add(x.Grad(row)[lo:hi], 1, y.G[at:at+hi-lo])
			at += hi - lo
		})
	})
	return y
}

// Slice returns columns lo to before hi.
func (t *Tape) Slice(x *Mat, lo, hi int) *Mat {
	return t.gather(x.Rows, hi-lo, func(put func(*Mat, int, int, int)) {
		for i := range x.Rows {
			put(x, i, lo, hi)
		}
	})
}

// Concat puts the columns of several side by side.
func (t *Tape) Concat(xs ...*Mat) *Mat {
	cols := 0
	for _, x := range xs {
		cols += x.Cols
	}
	return t.gather(xs[0].Rows, cols, func(put func(*Mat, int, int, int)) {
		for i := range xs[0].Rows {
			for _, x := range xs {
				put(x, i, 0, x.Cols)
			}
		}
	})
}

// Pick returns the rows of x with these numbers, in their order.
func (t *Tape) Pick(x *Mat, rows []int) *Mat {
	return t.gather(len(rows), x.Cols, func(put func(*Mat, int, int, int)) {
		for _, r := range rows {
			put(x, r, 0, x.Cols)
		}
	})
}

// Stack puts the rows of several below each other.
func (t *Tape) Stack(xs []*Mat) *Mat {
	rows := 0
	for _, x := range xs {
		rows += x.Rows
	}
	return t.gather(rows, xs[0].Cols, func(put func(*Mat, int, int, int)) {
		for _, x := range xs {
			for i := range x.Rows {
				put(x, i, 0, x.Cols)
			}
		}
	})
}

// Choose takes row i of yes where rows[i] says so, else of no.
func (t *Tape) Choose(rows []bool, yes, no *Mat) *Mat {
	return t.gather(yes.Rows, yes.Cols, func(put func(*Mat, int, int, int)) {
		for i, ok := range rows {
			if ok {
				put(yes, i, 0, yes.Cols)
			} else {
				put(no, i, 0, no.Cols)
			}
		}
	})
}

// At returns from every row the entry of one column, [Rows][1].
func (t *Tape) At(x *Mat, col []int32) *Mat {
	return t.gather(x.Rows, 1, func(put func(*Mat, int, int, int)) {
		for i, k := range col {
			put(x, i, int(k), int(k)+1)
		}
	})
}

// LogSoftmax is every row's log-probabilities over its legal columns; those of the
// others are 0 here and have no gradient, because nothing may be made of them.
// legal may be nil: all are.
func (t *Tape) LogSoftmax(x *Mat, legal []bool) *Mat {
	y := NewMat(x.Rows, x.Cols)
	ok := func(i, k int) bool { return legal == nil || legal[i*x.Cols+k] }
	for i := range x.Rows {
		row, top, sum := x.Row(i), math.Inf(-1), 0.
		for k, v := range row {
			if ok(i, k) {
				top = max(top, v)
			}
		}
		for k, v := range row {
			if ok(i, k) {
				sum += math.Exp(v - top)
			}
		}
		if t.round != 0 {
			sum = float64(float32(sum * t.round))
		}
		for k, v := range row {
			if ok(i, k) {
				y.Row(i)[k] = v - top - math.Log(sum)
			}
		}
	}
	t.Do(func() {
		for i := range x.Rows {
			d, sum := y.Grad(i), 0.
			for k := range d {
				if ok(i, k) {
					sum += d[k]
				}
			}
			for k, v := range y.Row(i) {
				if ok(i, k) {
					x.G[i*x.Cols+k] += d[k] - math.Exp(v)*sum
				}
			}
		}
	})
	return y
}

// Softmax returns probabilities over the legal columns; legal nil: all are.
func Softmax[F float32 | float64](logits []F, legal []bool) []float64 {
	out, top, sum := make([]float64, len(logits)), math.Inf(-1), 0.
	ok := func(k int) bool { return legal == nil || legal[k] }
	for k, x := range logits {
		if ok(k) {
			top = max(top, float64(x))
		}
	}
	for k, x := range logits {
		if ok(k) {
			out[k] = math.Exp(float64(x) - top)
			sum += out[k]
		}
	}
	for k := range out {
		out[k] /= max(sum, 1e-300)
	}
	return out
}

// Weigh is the sum of all entries, each times its weight: [1][1].
func (t *Tape) Weigh(x *Mat, weight []float64) *Mat {
	y := NewMat(1, 1)
	for i, v := range x.V {
		y.V[0] += v * weight[i]
	}
	t.Do(func() {
		for i := range x.V {
			x.G[i] += weight[i] * y.G[0]
		}
	})
	return y
}

// Mean is the sum of all entries over n.
func (t *Tape) Mean(x *Mat, n int) *Mat {
	w := make([]float64, len(x.V))
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return t.Weigh(x, w)
}

// Entropy is every row's entropy in nats, from log-probabilities over legal
// columns, [Rows][1].
func (t *Tape) Entropy(logp *Mat, legal []bool) *Mat {
	y := NewMat(logp.Rows, 1)
	ok := func(i, k int) bool { return legal == nil || legal[i*logp.Cols+k] }
	for i := range logp.Rows {
		for k, v := range logp.Row(i) {
			if ok(i, k) {
				y.V[i] -= math.Exp(v) * v
			}
		}
	}
	t.Do(func() {
		for i := range logp.Rows {
			for k, v := range logp.Row(i) {
				if ok(i, k) {
					logp.G[i*logp.Cols+k] -= math.Exp(v) * (1 + v) * y.G[i]
				}
			}
		}
	})
	return y
}

// Conv3x3 convolves images [H][W][In], a row each, with w [9 In][Out]: stride 1,
// zeros beyond the edge.
func (t *Tape) Conv3x3(x, w, b *Mat, height, width, in int) *Mat {
	y := NewMat(x.Rows, height*width*w.Cols)
	at := func(f func(i, from, to, tap int)) { // every image, input cell, output cell and tap
		for i := range x.Rows {
			for r := range height {
				for c := range width {
					for k := range 9 {
						rr, cc := r+k/3-1, c+k%3-1
						if rr >= 0 && rr < height && cc >= 0 && cc < width {
							f(i, (rr*width+cc)*in, (r*width+c)*w.Cols, k)
						}
					}
				}
			}
		}
	}
	for i := range x.Rows {
		for cell := range height * width {
			copy(y.Row(i)[cell*w.Cols:], b.V)
		}
	}
	at(func(i, from, to, tap int) {
		for ch, v := range x.Row(i)[from : from+in] {
			if v == 0 {
				continue
			}
			add(y.Row(i)[to:to+w.Cols], v, w.Row(tap*in+ch))
		}
	})
	t.Do(func() {
		at(func(i, from, to, tap int) {
			d := y.Grad(i)[to : to+w.Cols]
			for ch, v := range x.Row(i)[from : from+in] {
				x.Grad(i)[from+ch] += dot(d, w.Row(tap*in+ch))
				add(w.Grad(tap*in+ch), v, d)
			}
		})
		for i := range x.Rows {
			for cell := range height * width {
				add(b.G, 1, y.Grad(i)[cell*w.Cols:(cell+1)*w.Cols])
			}
		}
	})
	return y
}
