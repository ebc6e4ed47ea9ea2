package nn

import (
	"math"

	"hop/f32"
)

// Embedding is a table with a row of D numbers for each of N small integers.
type Embedding struct {
	N, D int

	w Span // [N][D]
}

// Embedding adds a table with the part name/w, drawn normal with deviation 1.
func (p *Params) Embedding(name string, n, d int) Embedding {
	return Embedding{n, d, p.Add(name+"/w", Kaiming(math.Sqrt(float64(n))), n, d)}
}

// Forward writes the rows y[len(idx)][D] of idx. NoClass gives a row of zeros.
func (e Embedding) Forward(p *Params, y []float32, idx []int32) {
	w := p.w(e.w)
	for i, k := range idx {
		row := y[i*e.D : (i+1)*e.D]
		if k == NoClass {
			clear(row)
			continue
		}
		copy(row, w[int(k)*e.D:(int(k)+1)*e.D])
	}
}

// Backward adds the gradients of the rows that Forward gave to p.G.
func (e Embedding) Backward(p *Params, dy []float32, idx []int32) {
	g := p.g(e.w)
	for i, k := range idx {
		if k != NoClass {
			row := g[int(k)*e.D : (int(k)+1)*e.D]
			f32.Add(row, row, dy[i*e.D:(i+1)*e.D])
		}
	}
}

// LayerNorm brings each row to mean 0 and variance 1, then scales and shifts its
// columns (Ba et al. 2016).
type LayerNorm struct {
	D int

	scale, shift Span // [D]
}

// layerNormEps is added to the variance.
const layerNormEps = 1e-5

// LayerNorm adds a layer with parts name/scale, from 1, and name/shift, from 0.
func (p *Params) LayerNorm(name string, d int) LayerNorm {
	return LayerNorm{d, p.Add(name+"/scale", Ones, d), p.Add(name+"/shift", Zeros, d)}
}

// LayerNormWork keeps what Backward needs.
type LayerNormWork struct {
	x     []float32 // [rows][D]: before scale and shift
	scale []float32 // [rows]: one over the deviation
	tmp   []float32 // [D]
}

// Work allocates for batches of up to rows.
func (l LayerNorm) Work(rows int) *LayerNormWork {
	return &LayerNormWork{make([]float32, rows*l.D), make([]float32, rows), make([]float32, l.D)}
}

// Forward writes y[m][D] from x[m][D]. y may be x.
func (l LayerNorm) Forward(p *Params, ws *LayerNormWork, y, x []float32, m int) {
	for i := range m {
		in, hat, out := x[i*l.D:(i+1)*l.D], ws.x[i*l.D:(i+1)*l.D], y[i*l.D:(i+1)*l.D]
		mean := float32(f32.Sum(in) / float64(l.D))
		for j, v := range in {
			hat[j] = v - mean
		}
		s := float32(1 / math.Sqrt(f32.SumSquares(hat)/float64(l.D)+layerNormEps))
		f32.Scale(hat, s)
		ws.scale[i] = s
		copy(out, p.w(l.shift))
		f32.MulAdd(out, hat, p.w(l.scale))
	}
}

// Backward adds the gradients of scale and shift to p.G and writes that of x to
// dx. dx may be dy.
func (l LayerNorm) Backward(p *Params, ws *LayerNormWork, dx, dy []float32, m int) {
	w, g, h := p.w(l.scale), p.g(l.scale), ws.tmp
	f32.SumRows(p.g(l.shift), dy[:m*l.D], m, l.D)
	for i := range m {
		hat, d, out := ws.x[i*l.D:(i+1)*l.D], dy[i*l.D:(i+1)*l.D], dx[i*l.D:(i+1)*l.D]
		f32.MulAdd(g, d, hat)
		f32.Mul(h, d, w)
		mean, along := float32(f32.Sum(h)/float64(l.D)), f32.Dot(h, hat)/float32(l.D)
		for j := range out {
			out[j] = ws.scale[i] * (h[j] - mean - hat[j]*along)
		}
	}
}
