package nn

import "github.com/hop-marl/hop/num/f32"

// Seq describes a batch of sequences, time-major: arrays are [T][N][...].
type Seq struct {
	T, N  int
	Reset []bool // [T][N]: the state is zero before this step; nil: never
	Alive []bool // [T][N]: a row that is not keeps its state; nil: all
}

func (s Seq) reset(t, i int) bool { return s.Reset != nil && s.Reset[t*s.N+i] }
func (s Seq) alive(t, i int) bool { return s.Alive == nil || s.Alive[t*s.N+i] }

// packPays says whether to pack the weights once for all steps, as measured.
func (s Seq) packPays() bool { return s.N >= 8 && s.T*s.N >= 128 }

// enter writes the state before step t: the one after the step before, or zero
// for rows that are reset.
func (s Seq) enter(dst, state []float32, t int) {
	copy(dst, state)
	n := len(dst) / s.N
	for i := range s.N {
		if s.reset(t, i) {
			clear(dst[i*n : (i+1)*n])
		}
	}
}

// leave cuts the gradient of the state before step t where it was reset.
func (s Seq) leave(d []float32, t int) {
	n := len(d) / s.N
	for i := range s.N {
		if s.reset(t, i) {
			clear(d[i*n : (i+1)*n])
		}
	}
}

// rowsOf sets dst to a view of rows lo to before hi of x.
func rowsOf(dst, x *f32.Sparse, lo, hi int) *f32.Sparse {
	dst.View(x, lo, hi)
	return dst
}

// LSTM is the recurrent layer of Hochreiter and Schmidhuber with forget gate, the
// gates in the order in, forget, cell, out:
//
//	i, f, g, o = split(x wx + h wh + b);  c' = σ(f) c + σ(i) tanh(g);  h' = σ(o) tanh(c')
type LSTM struct {
	In, H int

	wx, wh, b Span // [In][4H], [H][4H], [4H]
}

// LSTM adds a layer with parts name/wx, name/wh and name/b. The gates' matrices
// start orthogonal, the forget bias at 1.
func (p *Params) LSTM(name string, in, hidden int) LSTM {
	return LSTM{
		in, hidden,
		p.Add(name+"/wx", gates(4), in, 4*hidden), p.Add(name+"/wh", gates(4), hidden, 4*hidden),
		p.Add(name+"/b", forgetBias, 4*hidden),
	}
}

// LSTMWork holds the activations of sequences and their gradients.
type LSTMWork struct {
	H0, C0 []float32 // [N][H]: the state carried in; the caller fills them before Forward
	Y, DY  []float32 // [T][N][H] views: the outputs, and where the caller puts their gradients
	HN, CN []float32 // [N][H] views of the state after the last step
	DH, DC []float32 // [N][H]: after Backward, the gradients of H0 and C0

	hp, cp, c, tc []float32 // [T][N][H]: state before each step, cell after it and its tanh
	gates, d      []float32 // [T][N][4H]: after their activations; gradients before
	y, dy, tmp    []float32
	wx, wh        f32.Packed
	view          f32.Sparse
}

// Work allocates for up to steps steps of rows sequences.
func (l LSTM) Work(steps, rows int) *LSTMWork {
	n := func(k int) []float32 { return make([]float32, k*l.H) }
	all := steps * rows
	return &LSTMWork{
		H0: n(rows), C0: n(rows), DH: n(rows), DC: n(rows),
		hp: n(all), cp: n(all), c: n(all), tc: n(all), y: n(all), dy: n(all), tmp: n(1),
		gates: n(4 * all), d: n(4 * all),
	}
}

// Forward computes ws.Y from x[T][N][In] and the state in ws.H0 and ws.C0.
func (l LSTM) Forward(p *Params, ws *LSTMWork, x []float32, s Seq) {
	l.forward(p, ws, x, nil, s, true)
}

// ForwardSparse is Forward for the T*N rows of x, time-major.
func (l LSTM) ForwardSparse(p *Params, ws *LSTMWork, x *f32.Sparse, s Seq) {
	l.forward(p, ws, nil, x, s, true)
}

// InferSparse is ForwardSparse for a batch that Backward will not see: the same
// numbers, but what Backward needs is not kept, and the cache has less to do.
func (l LSTM) InferSparse(p *Params, ws *LSTMWork, x *f32.Sparse, s Seq) {
	l.forward(p, ws, nil, x, s, false)
}

// input writes the gates' part from rows lo to before hi of x, or if that is nil of xs.
func (l LSTM) input(p *Params, ws *LSTMWork, g, x []float32, xs *f32.Sparse, lo, hi int, packed bool) {
	b := p.w(l.b)
	switch {
	case x == nil && packed:
		f32.SparseAffinePacked(g, rowsOf(&ws.view, xs, lo, hi), &ws.wx, b)
	case x == nil:
		f32.SparseAffine(g, rowsOf(&ws.view, xs, lo, hi), p.w(l.wx), b, 4*l.H, f32.None)
	case packed:
		f32.AffinePacked(g, x[lo*l.In:hi*l.In], &ws.wx, b, hi-lo)
	default:
		f32.Affine(g, x[lo*l.In:hi*l.In], p.w(l.wx), b, hi-lo, l.In, 4*l.H, f32.None)
	}
}

// blockRows is how many rows go through a step together, so that their gates stay
// in the cache from the input's part to the cells: as many as f32 multiplies together.
const blockRows = 132

func (l LSTM) forward(p *Params, ws *LSTMWork, x []float32, xs *f32.Sparse, s Seq, keep bool) {
	n := s.N * l.H
	ws.Y, ws.DY = ws.y[:s.T*n], ws.dy[:s.T*n]
	h, c := ws.H0[:n], ws.C0[:n]
	packed := s.packPays()
	if packed {
		if x != nil {
			ws.wx.Pack(p.w(l.wx), l.In, 4*l.H)
		} else {
			ws.wx.PackSparse(p.w(l.wx), l.In, 4*l.H)
		}
		ws.wh.Pack(p.w(l.wh), l.H, 4*l.H)
	}
	for t := range s.T {
		k := 0 // the place of this step's activations
		if keep {
			k = t * n
		}
		hp, cp := h, c
		if keep || s.Reset != nil {
			hp, cp = ws.hp[k:k+n], ws.cp[k:k+n]
			s.enter(hp, h, t)
			s.enter(cp, c, t)
		}
		h, c = ws.Y[t*n:(t+1)*n], ws.c[k:k+n]
		g, tc := ws.gates[4*k:4*(k+n)], ws.tc[k:k+n]
		for i := 0; i < s.N; i += blockRows {
			rows := min(blockRows, s.N-i)
			lo, hi := i*l.H, (i+rows)*l.H
			l.input(p, ws, g[4*lo:4*hi], x, xs, t*s.N+i, t*s.N+i+rows, packed)
			if packed {
				f32.MulPacked(g[4*lo:4*hi], hp[lo:hi], &ws.wh, rows, true)
			} else {
				f32.MulNN(g[4*lo:4*hi], hp[lo:hi], p.w(l.wh), rows, l.H, 4*l.H, true)
			}
			for ; lo < hi; lo += l.H {
				end := lo + l.H
				if !s.alive(t, lo/l.H) {
					copy(h[lo:end], hp[lo:end])
					copy(c[lo:end], cp[lo:end])
					continue
				}
				f32.LSTM(h[lo:end], c[lo:end], tc[lo:end], g[4*lo:4*end], cp[lo:end], l.H)
			}
		}
	}
	ws.HN, ws.CN = h, c
}

// Step advances the states h[m][H] and c[m][H] in place by one step on x[m][In]:
// the form for play.
func (l LSTM) Step(p *Params, ws *LSTMWork, h, c, x []float32, m int) {
	g := ws.gates[:4*m*l.H]
	f32.Affine(g, x[:m*l.In], p.w(l.wx), p.w(l.b), m, l.In, 4*l.H, f32.None)
	f32.MulNN(g, h[:m*l.H], p.w(l.wh), m, l.H, 4*l.H, true)
	for i := range m {
		lo, hi := i*l.H, (i+1)*l.H
		f32.LSTM(h[lo:hi], c[lo:hi], ws.tmp, g[4*lo:4*hi], c[lo:hi], l.H)
	}
}

// Backward goes back through the last Forward from ws.DY, adds the gradients of
// the weights to p.G and writes that of x to dx, unless dx is nil.
func (l LSTM) Backward(p *Params, ws *LSTMWork, dx, x []float32, s Seq) {
	d := l.backward(p, ws, s)
	all := s.T * s.N
	f32.MulTN(p.g(l.wx), x[:all*l.In], d, l.In, all, 4*l.H, true)
	if dx != nil {
		f32.MulNT(dx[:all*l.In], d, p.w(l.wx), all, 4*l.H, l.In, false)
	}
}

// BackwardSparse is Backward after ForwardSparse.
func (l LSTM) BackwardSparse(p *Params, ws *LSTMWork, x *f32.Sparse, s Seq) {
	f32.SparseTN(p.g(l.wx), x, l.backward(p, ws, s), 4*l.H)
}

// backward returns the gates' gradients [T][N][4H].
func (l LSTM) backward(p *Params, ws *LSTMWork, s Seq) []float32 {
	n, all := s.N*l.H, s.T*s.N
	dh, dc := ws.DH[:n], ws.DC[:n]
	clear(dh)
	clear(dc)
	packed := s.packPays()
	if packed {
		ws.wh.PackT(p.w(l.wh), 4*l.H, l.H)
	}
	for t := s.T - 1; t >= 0; t-- {
		f32.Add(dh, dh, ws.DY[t*n:(t+1)*n])
		d := ws.d[4*t*n : 4*(t+1)*n]
		for i := range s.N {
			at, lo, hi := t*n+i*l.H, i*l.H, (i+1)*l.H
			if !s.alive(t, i) {
				clear(d[4*lo : 4*hi])
				continue
			}
			f32.LSTMGrad(d[4*lo:4*hi], dh[lo:hi], dc[lo:hi], ws.gates[4*at:4*(at+l.H)], ws.cp[at:at+l.H], ws.tc[at:at+l.H], l.H)
		}
		// Live rows pass dh on through the gates alone, dead ones as it is:
		// LSTMGrad left the former at zero.
		if packed {
			f32.MulPacked(dh, d, &ws.wh, s.N, true)
		} else {
			f32.MulNT(dh, d, p.w(l.wh), s.N, 4*l.H, l.H, true)
		}
		s.leave(dh, t)
		s.leave(dc, t)
	}
	d := ws.d[:4*all*l.H]
	f32.MulTN(p.g(l.wh), ws.hp[:all*l.H], d, l.H, all, 4*l.H, true)
	f32.SumRows(p.g(l.b), d, all, 4*l.H)
	return d
}
