package nn

import "github.com/hop-marl/hop/num/f32"

// Dense is y = act(x w + b). The same weights serve dense rows and, through
// ForwardSparse and BackwardSparse, sparse ones.
type Dense struct {
	In, Out int
	Act     Act

	w, b Span // [In][Out], [Out]
}

// Dense adds a layer with parts name/w and name/b. The weights start orthogonal
// with the usual gain of act; give init for another start (a policy head wants
// Orthogonal(0.01)).
func (p *Params) Dense(name string, in, out int, act Act, init ...Init) Dense {
	start := Orthogonal(act.gain())
	if len(init) > 0 {
		start = init[0]
	}
	return Dense{in, out, act, p.Add(name+"/w", start, in, out), p.Add(name+"/b", Zeros, out)}
}

// Spans returns where its weights and its biases lie.
func (d Dense) Spans() (w, b Span) { return d.w, d.b }

// Forward writes y[m][Out] from x[m][In].
func (d Dense) Forward(p *Params, y, x []float32, m int) {
	y, x = y[:m*d.Out], x[:m*d.In]
	act := p.act(d.Act)
	f32.Affine(y, x, p.w(d.w), p.w(d.b), m, d.In, d.Out, act.fused())
	act.finish(y)
}

// ForwardSparse is Forward for the rows of x.
func (d Dense) ForwardSparse(p *Params, y []float32, x *f32.Sparse) {
	y = y[:x.Rows()*d.Out]
	act := p.act(d.Act)
	f32.SparseAffine(y, x, p.w(d.w), p.w(d.b), d.Out, act.fused())
	act.finish(y)
}

// Backward takes dy, the gradient of Forward's y, adds the gradients of the
// weights to p.G and writes that of x to dx, unless dx is nil. dy is overwritten.
func (d Dense) Backward(p *Params, dx, dy, x, y []float32, m int) {
	d.backward(p, dx, dy, x, y, m, false)
}

// BackwardAdd is Backward that adds to dx, for the second and further layers on
// one x.
func (d Dense) BackwardAdd(p *Params, dx, dy, x, y []float32, m int) {
	d.backward(p, dx, dy, x, y, m, true)
}

func (d Dense) backward(p *Params, dx, dy, x, y []float32, m int, acc bool) {
	dy, x = dy[:m*d.Out], x[:m*d.In]
	p.act(d.Act).grad(dy, y[:m*d.Out])
	f32.MulTN(p.g(d.w), x, dy, d.In, m, d.Out, true)
	f32.SumRows(p.g(d.b), dy, m, d.Out)
	if dx != nil {
		f32.MulNT(dx[:m*d.In], dy, p.w(d.w), m, d.Out, d.In, acc)
	}
}

// BackwardSparse is Backward for sparse rows, which have no gradient themselves.
func (d Dense) BackwardSparse(p *Params, dy []float32, x *f32.Sparse, y []float32) {
	d.biasSparse(p, dy, x, y)
	d.gradSparse(p, dy, x)
}

// biasSparse is BackwardSparse without the weights' gradient, for which it leaves dy ready.
func (d Dense) biasSparse(p *Params, dy []float32, x *f32.Sparse, y []float32) {
	m := x.Rows()
	dy = dy[:m*d.Out]
	p.act(d.Act).grad(dy, y[:m*d.Out])
	f32.SumRows(p.g(d.b), dy, m, d.Out)
}

// gradSparse adds the weights' gradient.
func (d Dense) gradSparse(p *Params, dy []float32, x *f32.Sparse) {
	f32.SparseTN(p.g(d.w), x, dy[:x.Rows()*d.Out], d.Out)
}
