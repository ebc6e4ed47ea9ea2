package nn

import "math"

// Rows says which rows of a batch a loss is over, and how much each counts. A row
// that is not alive, or whose weight is 0, adds exactly nothing: neither its
// values nor its NaNs reach the loss or a gradient.
type Rows struct {
	N      int
	Alive  []bool    // [N]; nil: all
	Weight []float32 // [N]; nil: 1 each

	// Scale multiplies the gradient, not the reported loss; 0 means 1.
	Scale float32
	// Total is what the mean divides by, for a batch cut into shards: the weight
	// of the whole batch. 0 means the weight of these rows.
	Total float64
}

// weight returns how much row i counts.
func (r Rows) weight(i int) float32 {
	if r.Alive != nil && !r.Alive[i] {
		return 0
	}
	if r.Weight != nil {
		return r.Weight[i]
	}
	return 1
}

// Sum returns the weight of all rows, the Total of a batch before it is cut.
func (r Rows) Sum() float64 {
	sum := 0.
	for i := range r.N {
		sum += float64(r.weight(i))
	}
	return sum
}

// perUnit returns the factor from a row's weight to its share of the gradient.
func (r Rows) perUnit() float32 {
	total, s := r.Total, float64(r.Scale)
	if total == 0 {
		total = r.Sum()
	}
	if s == 0 {
		s = 1
	}
	return float32(s / total) // of no use, and not used, if no row counts
}

// Loss is a weighted sum over rows and what it is over. Losses of the shards of
// one batch add up.
type Loss struct {
	Sum, Weight float64
	Rows        int // rows that counted
}

// Add adds a row that weighs 1.
func (l *Loss) Add(v float32) {
	l.Sum += float64(v)
	l.Weight++
	l.Rows++
}

// Mean returns the weighted mean, 0 if no row counted.
func (l Loss) Mean() float64 {
	if l.Weight == 0 {
		return 0
	}
	return l.Sum / l.Weight
}

// Plus returns the loss over the rows of both.
func (l Loss) Plus(k Loss) Loss { return Loss{l.Sum + k.Sum, l.Weight + k.Weight, l.Rows + k.Rows} }

func (l *Loss) add(value float64, w float32) {
	l.Sum += value * float64(w)
	l.Weight += float64(w)
	l.Rows++
}

// MSE is the squared difference of y[N][cols] and target, averaged over the
// columns. It adds the gradient of y to dy, unless that is nil.
func MSE(dy, y, target []float32, cols int, rows Rows) Loss {
	unit := rows.perUnit() / float32(cols)
	var l Loss
	for i := range rows.N {
		w := rows.weight(i)
		if w == 0 {
			continue
		}
		sum := 0.
		for j := i * cols; j < (i+1)*cols; j++ {
			e := y[j] - target[j]
			sum += float64(e) * float64(e)
			if dy != nil {
				dy[j] += 2 * e * w * unit
			}
		}
		l.add(sum/float64(cols), w)
	}
	return l
}

// Bernoulli is the negative log-likelihood of 0/1 targets [N][cols], such as
// planes, summed over the columns. Targets between 0 and 1 are allowed. The zero
// value is not usable: make one with NewBernoulli.
type Bernoulli struct {
	Cols   int
	Weight []float32 // [Cols]: a factor for each column; nil: 1
	P      Probs     // [N][Cols] of the last Set

	logits Logits
}

// NewBernoulli allocates for batches of up to rows.
func NewBernoulli(cols, rows int) *Bernoulli {
	return &Bernoulli{Cols: cols, P: make(Probs, 0, rows*cols)}
}

// Set takes the logits [m][Cols], which must stay as they are until the losses
// have been taken, and computes their probabilities P.
func (b *Bernoulli) Set(logits Logits, m int) {
	b.logits = logits[:m*b.Cols]
	b.P = b.P[:m*b.Cols]
	sigmoid(b.P, b.logits)
}

// Loss adds the gradient of the logits to d, unless that is nil.
func (b *Bernoulli) Loss(d []float32, target []float32, rows Rows) Loss {
	unit := rows.perUnit()
	var l Loss
	for i := range rows.N {
		w := rows.weight(i)
		if w == 0 {
			continue
		}
		at := i * b.Cols
		l.add(b.row(at, target), w)
		if d == nil {
			continue
		}
		for j := range b.Cols {
			g := (b.P[at+j] - target[at+j]) * w * unit
			if b.Weight != nil {
				g *= b.Weight[j]
			}
			d[at+j] += g
		}
	}
	return l
}

// row returns the sum over the columns from at on of max(x,0) - xt + log(1+e^-|x|).
// The last term is -log of the likelier side's probability, which lies in [1/2, 1]:
// the product of many of them is logged at once.
func (b *Bernoulli) row(at int, target []float32) float64 {
	sum, prod := 0., 1.
	for j := range b.Cols {
		x, t, p := float64(b.logits[at+j]), float64(target[at+j]), float64(b.P[at+j])
		likely := max(p, 1-p)
		if b.Weight != nil {
			sum += float64(b.Weight[j]) * (max(x, 0) - x*t - math.Log(likely))
			continue
		}
		sum += max(x, 0) - x*t
		if prod *= likely; j%512 == 511 {
			sum -= math.Log(prod)
			prod = 1
		}
	}
	return sum - math.Log(prod)
}
