package nn

import "math"

// Norm is layer normalisation (Ba et al. 2016): y = g (x - mean) / sqrt(var + eps) + b,
// mean and variance of each row by itself.
type Norm struct {
	D int

	g, b Span // [D], [D]
}

const normEps = 1e-5

// Norm adds a layer with parts name/g, which starts at one, and name/b.
func (p *Params) Norm(name string, d int) Norm {
	return Norm{d, p.Add(name+"/g", ones, d), p.Add(name+"/b", Zeros, d)}
}

// moments returns a row's mean and one over its standard deviation.
func moments(x []float32) (mean, inv float32) {
	sum, square := 0., 0.
	for _, v := range x {
		sum += float64(v)
		square += float64(v) * float64(v)
	}
	n := float64(len(x))
	sum /= n
	return float32(sum), float32(1 / math.Sqrt(max(square/n-sum*sum, 0)+normEps))
}

// Forward writes y[m][D] from x[m][D].
func (l Norm) Forward(p *Params, y, x []float32, m int) {
	g, b := p.w(l.g), p.w(l.b)
	for i := range m {
		row, dst := x[i*l.D:(i+1)*l.D], y[i*l.D:(i+1)*l.D]
		mean, inv := moments(row)
		for j, v := range row {
			dst[j] = g[j]*(v-mean)*inv + b[j]
		}
	}
}

// Backward takes dy, the gradient of Forward's y, adds the gradients of the weights
// to p.G and writes that of x to dx, which may be dy.
func (l Norm) Backward(p *Params, dx, dy, x []float32, m int) {
	w, g, b := p.w(l.g), p.g(l.g), p.g(l.b)
	for i := range m {
		row, d, dst := x[i*l.D:(i+1)*l.D], dy[i*l.D:(i+1)*l.D], dx[i*l.D:(i+1)*l.D]
		mean, inv := moments(row)
		var sum, along float32 // of the gradient of the normalised row, and of that times the row
		for j, v := range row {
			hat := (v - mean) * inv
			g[j] += d[j] * hat
			b[j] += d[j]
			sum += d[j] * w[j]
			along += d[j] * w[j] * hat
		}
		sum, along = sum/float32(l.D), along/float32(l.D)
		for j, v := range row {
			dst[j] = inv * (d[j]*w[j] - sum - (v-mean)*inv*along)
		}
	}
}
