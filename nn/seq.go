package nn

import "hop/f32"

// Seq describes a batch of sequences, time-major: arrays are [T][N][...].
type Seq struct {
	T, N  int
	Reset []bool // [T][N]: the state is zero before this step; nil: never
	Alive []bool // [T][N]: a row that is not keeps its state; nil: all
}

func (s Seq) reset(t, i int) bool { return s.Reset != nil && s.Reset[t*s.N+i] }
func (s Seq) alive(t, i int) bool { return s.Alive == nil || s.Alive[t*s.N+i] }

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

// stepRows sets dst to a view of the rows of x at step t.
func (s Seq) stepRows(dst, x *f32.Sparse, t int) *f32.Sparse {
	lo, hi := t*s.N, (t+1)*s.N
	*dst = f32.Sparse{Ptr: x.Ptr[lo : hi+1], Idx: x.Idx[:x.Ptr[hi]], Val: x.Val[:x.Ptr[hi]], Cols: x.Cols}
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
	l.forward(p, ws, s, func(g []float32, t int) {
		f32.Affine(g, x[t*s.N*l.In:(t+1)*s.N*l.In], p.w(l.wx), p.w(l.b), s.N, l.In, 4*l.H, f32.None)
	})
}

// ForwardSparse is Forward for the T*N rows of x, time-major.
func (l LSTM) ForwardSparse(p *Params, ws *LSTMWork, x *f32.Sparse, s Seq) {
	l.forward(p, ws, s, func(g []float32, t int) {
		f32.SparseAffine(g, s.stepRows(&ws.view, x, t), p.w(l.wx), p.w(l.b), 4*l.H, f32.None)
	})
}

// forward asks input for the gates' part from the input of each step: step by
// step, so that they are still in the cache when the state's part is added.
func (l LSTM) forward(p *Params, ws *LSTMWork, s Seq, input func(g []float32, t int)) {
	n := s.N * l.H
	ws.Y, ws.DY = ws.y[:s.T*n], ws.dy[:s.T*n]
	h, c := ws.H0[:n], ws.C0[:n]
	for t := range s.T {
		hp, cp := ws.hp[t*n:(t+1)*n], ws.cp[t*n:(t+1)*n]
		s.enter(hp, h, t)
		s.enter(cp, c, t)
		g := ws.gates[4*t*n : 4*(t+1)*n]
		input(g, t)
		f32.MulNN(g, hp, p.w(l.wh), s.N, l.H, 4*l.H, true)
		h, c = ws.Y[t*n:(t+1)*n], ws.c[t*n:(t+1)*n]
		tc := ws.tc[t*n : (t+1)*n]
		for i := range s.N {
			lo, hi := i*l.H, (i+1)*l.H
			if !s.alive(t, i) {
				copy(h[lo:hi], hp[lo:hi])
				copy(c[lo:hi], cp[lo:hi])
				continue
			}
			l.cell(h[lo:hi], c[lo:hi], tc[lo:hi], g[4*lo:4*hi], cp[lo:hi])
		}
	}
	ws.HN, ws.CN = h, c
}

// cell applies the gates of one row. h and c may be the state before it.
func (l LSTM) cell(h, c, tc, g, cp []float32) {
	f32.Sigmoid(g[:2*l.H], g[:2*l.H])
	f32.Tanh(g[2*l.H:3*l.H], g[2*l.H:3*l.H])
	f32.Sigmoid(g[3*l.H:], g[3*l.H:])
	i, f, u, o := g[:l.H], g[l.H:2*l.H], g[2*l.H:3*l.H], g[3*l.H:]
	f32.Mul(c, f, cp)
	f32.MulAdd(c, i, u)
	f32.Tanh(tc, c)
	f32.Mul(h, o, tc)
}

// Step advances the states h[m][H] and c[m][H] in place by one step on x[m][In]:
// the form for play.
func (l LSTM) Step(p *Params, ws *LSTMWork, h, c, x []float32, m int) {
	g := ws.gates[:4*m*l.H]
	f32.Affine(g, x[:m*l.In], p.w(l.wx), p.w(l.b), m, l.In, 4*l.H, f32.None)
	f32.MulNN(g, h[:m*l.H], p.w(l.wh), m, l.H, 4*l.H, true)
	for i := range m {
		lo, hi := i*l.H, (i+1)*l.H
		l.cell(h[lo:hi], c[lo:hi], ws.tmp, g[4*lo:4*hi], c[lo:hi])
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
	for t := s.T - 1; t >= 0; t-- {
		f32.Add(dh, dh, ws.DY[t*n:(t+1)*n])
		d := ws.d[4*t*n : 4*(t+1)*n]
		for i := range s.N {
			at, lo, hi := t*n+i*l.H, i*l.H, (i+1)*l.H
			if !s.alive(t, i) {
				clear(d[4*lo : 4*hi])
				continue
			}
			l.cellBack(d[4*lo:4*hi], dh[lo:hi], dc[lo:hi], ws.tmp, ws.gates[4*at:4*(at+l.H)], ws.cp[at:at+l.H], ws.tc[at:at+l.H])
		}
		// Live rows pass dh on through the gates alone, dead ones as it is:
		// cellBack left the former at zero.
		f32.MulNT(dh, d, p.w(l.wh), s.N, 4*l.H, l.H, true)
		s.leave(dh, t)
		s.leave(dc, t)
	}
	d := ws.d[:4*all*l.H]
	f32.MulTN(p.g(l.wh), ws.hp[:all*l.H], d, l.H, all, 4*l.H, true)
	f32.SumRows(p.g(l.b), d, all, 4*l.H)
	return d
}

// cellBack writes the gates' gradients d of one row, turns dc into that of the
// cell before and clears dh.
func (l LSTM) cellBack(d, dh, dc, tmp, g, cp, tc []float32) {
	i, f, u, o := g[:l.H], g[l.H:2*l.H], g[2*l.H:3*l.H], g[3*l.H:]
	di, df, du, do := d[:l.H], d[l.H:2*l.H], d[2*l.H:3*l.H], d[3*l.H:]
	f32.Mul(do, dh, tc)
	f32.SigmoidGrad(do, o, do)
	f32.Mul(tmp, dh, o)
	f32.TanhGrad(tmp, tc, tmp)
	f32.Add(dc, dc, tmp)
	f32.Mul(di, dc, u)
	f32.SigmoidGrad(di, i, di)
	f32.Mul(df, dc, cp)
	f32.SigmoidGrad(df, f, df)
	f32.Mul(du, dc, i)
	f32.TanhGrad(du, u, du)
	f32.Mul(dc, dc, f)
	clear(dh)
}
