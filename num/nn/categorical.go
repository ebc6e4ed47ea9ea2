package nn

import (
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// Logits are unnormalised log-probabilities: what a head puts out. Probs are
// probabilities. They are different types so that a softmax of a softmax, and a
// cross-entropy of probabilities, do not compile.
type (
	Logits []float32
	Probs  []float32
)

// Softmax writes the probabilities of logits[rows][cols].
func Softmax(dst Probs, logits Logits, rows, cols int) {
	f32.Softmax(dst[:rows*cols], logits[:rows*cols], rows, cols)
}

func sigmoid(dst Probs, logits Logits) { f32.Sigmoid(dst, logits) }

// NoClass is the sample of a row without a legal class, and the target of rows
// that do not count.
const NoClass int32 = -1

// Categorical holds distributions over K classes, one per row. Illegal classes
// have log-probability f32.LogZero and probability exactly 0.
type Categorical struct {
	K    int
	LogP []float32 // [m][K] of the last Set
	P    Probs     // [m][K]
}

// NewCategorical allocates for batches of up to rows.
func NewCategorical(k, rows int) *Categorical {
	return &Categorical{K: k, LogP: make([]float32, 0, rows*k), P: make(Probs, 0, rows*k)}
}

// Set computes the distributions of logits[m][K] over the legal[m][K] classes. A
// nil legal allows all.
func (c *Categorical) Set(logits Logits, legal []bool, m int) {
	n := m * c.K
	if legal != nil {
		legal = legal[:n]
	}
	c.LogP, c.P = c.LogP[:n], c.P[:n]
	f32.MaskedLogSoftmax(c.LogP, logits[:n], legal, m, c.K)
	f32.Exp(c.P, c.LogP)
}

// Row returns row i's log-probabilities and probabilities, as views.
func (c *Categorical) Row(i int) (logp []float32, p Probs) {
	return c.LogP[i*c.K : (i+1)*c.K], c.P[i*c.K : (i+1)*c.K]
}

// Sample draws a class from row i with one draw of r, NoClass if none is legal.
func (c *Categorical) Sample(i int, r *rng.Rand) int32 {
	_, p := c.Row(i)
	return rng.Pick(p, r.Float32())
}

// Mode returns the likeliest class of row i, the first of equals, NoClass if none
// is legal.
func (c *Categorical) Mode(i int) int32 {
	_, p := c.Row(i)
	best, top := NoClass, float32(0)
	for k, q := range p {
		if q > top {
			best, top = int32(k), q
		}
	}
	return best
}

// LogProb returns the log-probability of class k in row i.
func (c *Categorical) LogProb(i int, k int32) float32 { return c.LogP[i*c.K+int(k)] }

// Entropy returns row i's entropy in nats.
func (c *Categorical) Entropy(i int) float32 {
	logp, p := c.Row(i)
	h := float32(0)
	for k, q := range p {
		h -= q * logp[k]
	}
	return h
}

// Grad adds to d, row i's gradient of the logits, that of a loss which has the
// derivative dlogp by the log-probability of class k and dentropy by the entropy.
// This is all a policy gradient needs.
func (c *Categorical) Grad(d []float32, i int, k int32, dlogp, dentropy float32) {
	logp, p := c.Row(i)
	d = d[:c.K]
	h := float32(0)
	if dentropy != 0 {
		h = c.Entropy(i)
	}
	for j, q := range p {
		d[j] -= q * (dlogp + dentropy*(logp[j]+h))
	}
	d[k] += dlogp
}

// GradTo is Grad that writes d instead of adding to it. It returns the entropy.
func (c *Categorical) GradTo(d []float32, i int, k int32, dlogp, dentropy float32) float32 {
	logp, p := c.Row(i)
	h := float32(0)
	for j, q := range p {
		h -= q * logp[j]
	}
	all := dlogp + dentropy*h
	d, logp = d[:len(p)], logp[:len(p)]
	for j, q := range p {
		d[j] = -q * (all + dentropy*logp[j])
	}
	d[k] += dlogp
	return h
}

// CrossEntropy is -log P of the target class of each row. class, unless nil, gives
// each class a factor to the row's weight, as in other frameworks. It adds the
// gradient of the logits to d, unless that is nil. The target of a row that counts
// must be a class; an illegal one costs -f32.LogZero and has no gradient.
func (c *Categorical) CrossEntropy(d []float32, target []int32, class []float32, rows Rows) Loss {
	if rows.Total == 0 && class != nil {
		for i := range rows.N {
			if w := rows.weight(i); w != 0 {
				rows.Total += float64(w * class[target[i]])
			}
		}
	}
	unit := rows.perUnit()
	var l Loss
	for i := range rows.N {
		w := rows.weight(i)
		if w == 0 {
			continue
		}
		k := target[i]
		if class != nil {
			w *= class[k]
		}
		logp := c.LogProb(i, k)
		l.add(-float64(logp), w)
		if d != nil && logp != f32.LogZero {
			c.Grad(d[i*c.K:], i, k, -w*unit, 0)
		}
	}
	return l
}

// SoftCrossEntropy is -sum of target * log P over the classes, for targets that
// are distributions [N][K] themselves, such as a search's policy. It adds the
// gradient of the logits to d, unless that is nil.
func (c *Categorical) SoftCrossEntropy(d []float32, target Probs, rows Rows) Loss {
	unit := rows.perUnit()
	var l Loss
	for i := range rows.N {
		w := rows.weight(i)
		if w == 0 {
			continue
		}
		logp, p := c.Row(i)
		t := target[i*c.K : (i+1)*c.K]
		value, mass := 0., float32(0)
		for k, q := range t {
			if q != 0 {
				value -= float64(q) * float64(logp[k])
			}
			if logp[k] != f32.LogZero {
				mass += q
			}
		}
		l.add(value, w)
		if d == nil {
			continue
		}
		for k, q := range t {
			if logp[k] != f32.LogZero {
				d[i*c.K+k] += (p[k]*mass - q) * w * unit
			}
		}
	}
	return l
}
