package cvae

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/num/nn"
)

// contrast is InfoNCE (van den Oord et al. 2018) between what is inferred and the codes of the
// subgoals of the same rows: each row names its own among all, by the densities that what it
// infers gives them.
//
//	s[i,j] = -1/2 sum_d (key[j,d] - mu[i,d])^2 / var[i,d]
//	loss   = -ln (exp s[i,i] / sum_j exp s[i,j])
//
// Rows that share a subgoal are no wrong answers for each other. It adds the gradients by mean
// and by log-variance to dmu and dlogvar, unless they are nil.
func contrast(dmu, dlogvar, mu, logvar, keys []float32, dim int, rows nn.Rows) nn.Loss {
	var l nn.Loss
	among, p := make([]int, 0, rows.N), make([]float64, rows.N)
	for i := range rows.N {
		if !rows.Alive[i] {
			continue
		}
		among = rivals(among[:0], i, keys, dim, rows)
		at := i * dim
		l.Add(surprise(p, i, among, mu[at:at+dim], logvar[at:at+dim], keys))
		if dmu != nil {
			pull(dmu[at:at+dim], dlogvar[at:at+dim], p, among, mu[at:at+dim], logvar[at:at+dim], keys, rows.Scale/float32(rows.Total))
		}
	}
	return l
}

// rivals appends row i and those with other keys.
func rivals(dst []int, i int, keys []float32, dim int, rows nn.Rows) []int {
	own := keys[i*dim : (i+1)*dim]
	for j := range rows.N {
		if j == i || rows.Alive[j] && !slices.Equal(own, keys[j*dim:(j+1)*dim]) {
			dst = append(dst, j)
		}
	}
	return dst
}

// surprise returns -ln of what row i gives its own key and writes what it gives each of those
// among which it is, less 1 for its own: the loss's gradient by the scores.
func surprise(p []float64, i int, among []int, mu, logvar, keys []float32) float32 {
	own, top := 0., math.Inf(-1)
	for k, j := range among {
		p[k] = 0
		for d, m := range mu {
			e := float64(keys[j*len(mu)+d]) - float64(m)
			p[k] -= 0.5 * e * e * math.Exp(-float64(logvar[d]))
		}
		if top = max(top, p[k]); j == i {
			own = p[k]
		}
	}
	sum := 0.
	for k := range among {
		p[k] = math.Exp(p[k] - top)
		sum += p[k]
	}
	for k, j := range among {
		if p[k] /= sum; j == i {
			p[k]--
		}
	}
	return float32(top + math.Log(sum) - own)
}

// pull adds the gradients that come back from the scores.
func pull(dmu, dlogvar []float32, p []float64, among []int, mu, logvar, keys []float32, unit float32) {
	for d, m := range mu {
		precision := math.Exp(-float64(logvar[d]))
		first, second := 0., 0.
		for k, j := range among {
			e := float64(keys[j*len(mu)+d]) - float64(m)
			first += p[k] * e * precision
			second += p[k] * 0.5 * e * e * precision
		}
		dmu[d] += unit * float32(first)
		dlogvar[d] += unit * float32(second)
	}
}

// Contrast returns the mean loss of inferred rows, as many at a time as a shard of a batch may
// have, whose subgoals have these codes.
func (m *Model) Contrast(mu, logvar, keys []float32) float64 {
	var l nn.Loss
	const some = 128
	alive := slices.Repeat([]bool{true}, some)
	for rows := len(mu) / m.Dim; rows > 0; rows = len(mu) / m.Dim {
		n := min(some, rows)
		l = l.Plus(contrast(nil, nil, mu, logvar, keys, m.Dim, nn.Rows{N: n, Alive: alive, Scale: 1, Total: float64(n)}))
		mu, logvar, keys = mu[n*m.Dim:], logvar[n*m.Dim:], keys[n*m.Dim:]
	}
	return l.Mean()
}
