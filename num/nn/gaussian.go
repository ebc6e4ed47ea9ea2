package nn

import (
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// Gaussian holds diagonal normal distributions of D dimensions, one per row, given
// by mean and log-variance, with the gradients that losses leave for them.
type Gaussian struct {
	D            int
	Mu, LogVar   []float32 // [m][D], views of what Set got
	Std, Var     []float32 // [m][D]
	DMu, DLogVar []float32 // [m][D], zeroed by Set
	Eps          []float32 // [m][D], the noise of the last Sample
}

// NewGaussian allocates for batches of up to rows.
func NewGaussian(d, rows int) *Gaussian {
	n := func() []float32 { return make([]float32, 0, d*rows) }
	return &Gaussian{D: d, Std: n(), Var: n(), DMu: n(), DLogVar: n(), Eps: n()}
}

// Set takes the means and log-variances [m][D], which must stay as they are until
// the losses have been taken, and zeroes their gradients.
func (g *Gaussian) Set(mu, logVar []float32, m int) {
	n := m * g.D
	g.Mu, g.LogVar = mu[:n], logVar[:n]
	g.Std, g.Var, g.DMu, g.DLogVar, g.Eps = g.Std[:n], g.Var[:n], g.DMu[:n], g.DLogVar[:n], g.Eps[:n]
	copy(g.Std, g.LogVar)
	f32.Scale(g.Std, 0.5)
	f32.Exp(g.Std, g.Std)
	f32.Mul(g.Var, g.Std, g.Std)
	clear(g.DMu)
	clear(g.DLogVar)
	clear(g.Eps)
}

// Sample draws z[m][D] = Mu + Std Eps. Rows that are not alive (nil: all are) get
// their mean and draw nothing; the others draw from r in order.
func (g *Gaussian) Sample(z []float32, alive []bool, r *rng.Rand) {
	for i := range g.Eps {
		if g.Eps[i] = 0; alive == nil || alive[i/g.D] {
			g.Eps[i] = float32(r.Norm())
		}
	}
	z = z[:len(g.Mu)]
	copy(z, g.Mu)
	f32.MulAdd(z, g.Std, g.Eps)
}

// SampleGrad adds to DMu and DLogVar the gradient that comes back through the last
// Sample: dz[m][D] is that of its z.
func (g *Gaussian) SampleGrad(dz []float32) {
	for i, d := range dz[:len(g.Mu)] {
		g.DMu[i] += d
		g.DLogVar[i] += 0.5 * d * g.Std[i] * g.Eps[i]
	}
}

// KLStandard is the divergence from the standard normal, summed over the
// dimensions: (mu² + var - 1 - logvar)/2. It adds to DMu and DLogVar.
func (g *Gaussian) KLStandard(rows Rows) Loss {
	unit := rows.perUnit()
	var l Loss
	for i := range rows.N {
		w := rows.weight(i)
		if w == 0 {
			continue
		}
		sum := 0.
		for j := i * g.D; j < (i+1)*g.D; j++ {
			mu, v := float64(g.Mu[j]), float64(g.Var[j])
			sum += 0.5 * (mu*mu + v - 1 - float64(g.LogVar[j]))
			g.DMu[j] += g.Mu[j] * w * unit
			g.DLogVar[j] += 0.5 * (g.Var[j] - 1) * w * unit
		}
		l.add(sum, w)
	}
	return l
}

// KL is the divergence KL(g || q) summed over the dimensions:
// (logvar_q - logvar_g + (var_g + (mu_g - mu_q)²)/var_q - 1)/2. It adds to the
// gradients of g, and to those of q unless q is held fixed.
func (g *Gaussian) KL(q *Gaussian, fixed bool, rows Rows) Loss {
	unit := rows.perUnit()
	var l Loss
	for i := range rows.N {
		w := rows.weight(i)
		if w == 0 {
			continue
		}
		sum := 0.
		for j := i * g.D; j < (i+1)*g.D; j++ {
			e := (g.Mu[j] - q.Mu[j]) / q.Var[j]
			ratio := g.Var[j] / q.Var[j]
			square := e * (g.Mu[j] - q.Mu[j])
			sum += 0.5 * (float64(q.LogVar[j]) - float64(g.LogVar[j]) + float64(ratio) + float64(square) - 1)
			g.DMu[j] += e * w * unit
			g.DLogVar[j] += 0.5 * (ratio - 1) * w * unit
			if !fixed {
				q.DMu[j] -= e * w * unit
				q.DLogVar[j] += 0.5 * (1 - ratio - square) * w * unit
			}
		}
		l.add(sum, w)
	}
	return l
}

// Gumbel draws one-hot samples of K classes that gradients pass straight through
// (Jang et al. 2017): forward is the sample, backward is the softmax of the noisy
// logits over the temperature.
type Gumbel struct {
	K    int
	Soft Probs // [m][K]: the relaxed samples of the last Sample

	noisy Logits // [m][K]
	tau   float32
}

// NewGumbel allocates for batches of up to rows.
func NewGumbel(k, rows int) *Gumbel {
	return &Gumbel{K: k, Soft: make(Probs, 0, k*rows), noisy: make(Logits, 0, k*rows)}
}

// Sample writes one-hot rows y[m][K] drawn from the logits at temperature tau.
// Rows that are not alive (nil: all are) are zero and draw nothing; the others
// draw from r in order. It panics if tau is not positive.
func (u *Gumbel) Sample(y []float32, logits Logits, alive []bool, tau float32, r *rng.Rand) {
	if !(tau > 0) {
		panic("nn: a temperature must be positive")
	}
	m := len(logits) / u.K
	u.tau, u.Soft, u.noisy = tau, u.Soft[:m*u.K], u.noisy[:m*u.K]
	for i := range u.noisy {
		u.noisy[i] = 0
		if alive == nil || alive[i/u.K] {
			u.noisy[i] = (logits[i] + float32(r.Gumbel())) / tau
		}
	}
	Softmax(u.Soft, u.noisy, m, u.K)
	clear(y[:m*u.K])
	for i := range m {
		row := u.Soft[i*u.K : (i+1)*u.K]
		if alive != nil && !alive[i] {
			clear(row)
			continue
		}
		best := 0
		for k, p := range row {
			if p > row[best] {
				best = k
			}
		}
		y[i*u.K+best] = 1
	}
}

// Grad adds to dlogits the gradient that comes back from dy, that of the one-hot
// samples.
func (u *Gumbel) Grad(dlogits, dy []float32) {
	for i := 0; i < len(u.Soft); i += u.K {
		p, d := u.Soft[i:i+u.K], dy[i:i+u.K]
		mean := f32.Dot(p, d)
		for k, q := range p {
			dlogits[i+k] += q * (d[k] - mean) / u.tau
		}
	}
}
