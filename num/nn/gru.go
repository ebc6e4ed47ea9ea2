package nn

import "github.com/hop-marl/hop/num/f32"

// GRU is the gated recurrent unit in the form PyTorch has, the gates in the order
// reset, update, new:
//
//	r, z = σ(x wx + bx + h wh + bh);  n = tanh(x wx + bx + r (h wh + bh));  h' = (1-z) n + z h
type GRU struct {
	In, H int

	wx, wh, bx, bh Span // [In][3H], [H][3H], [3H], [3H]
}

// GRU adds a layer with parts name/wx, name/wh, name/bx and name/bh. The gates'
// matrices start orthogonal.
func (p *Params) GRU(name string, in, hidden int) GRU {
	return GRU{
		in, hidden,
		p.Add(name+"/wx", gates(3), in, 3*hidden), p.Add(name+"/wh", gates(3), hidden, 3*hidden),
		p.Add(name+"/bx", Zeros, 3*hidden), p.Add(name+"/bh", Zeros, 3*hidden),
	}
}

// GRUWork holds the activations of sequences and their gradients.
type GRUWork struct {
	H0    []float32 // [N][H]: the state carried in; the caller fills it before Forward
	Y, DY []float32 // [T][N][H] views: the outputs, and where the caller puts their gradients
	HN    []float32 // [N][H] view of the state after the last step
	DH    []float32 // [N][H]: after Backward, the gradient of H0

	hp             []float32 // [T][N][H]: state before each step
	gx, gh, dx, dh []float32 // [T][N][3H]: gates from the input and from the state; their gradients
	y, dy, tmp     []float32
}

// Work allocates for up to steps steps of rows sequences.
func (l GRU) Work(steps, rows int) *GRUWork {
	n := func(k int) []float32 { return make([]float32, k*l.H) }
	all := steps * rows
	return &GRUWork{
		H0: n(rows), DH: n(rows), hp: n(all), y: n(all), dy: n(all), tmp: n(1),
		gx: n(3 * all), gh: n(3 * all), dx: n(3 * all), dh: n(3 * all),
	}
}

// Forward computes ws.Y from x[T][N][In] and the state in ws.H0.
func (l GRU) Forward(p *Params, ws *GRUWork, x []float32, s Seq) {
	n := s.N * l.H
	ws.Y, ws.DY = ws.y[:s.T*n], ws.dy[:s.T*n]
	h := ws.H0[:n]
	for t := range s.T {
		hp := ws.hp[t*n : (t+1)*n]
		s.enter(hp, h, t)
		gx, gh := ws.gx[3*t*n:3*(t+1)*n], ws.gh[3*t*n:3*(t+1)*n]
		f32.Affine(gx, x[t*s.N*l.In:(t+1)*s.N*l.In], p.w(l.wx), p.w(l.bx), s.N, l.In, 3*l.H, f32.None)
		f32.Affine(gh, hp, p.w(l.wh), p.w(l.bh), s.N, l.H, 3*l.H, f32.None)
		h = ws.Y[t*n : (t+1)*n]
		for i := range s.N {
			lo, hi := i*l.H, (i+1)*l.H
			if !s.alive(t, i) {
				copy(h[lo:hi], hp[lo:hi])
				continue
			}
			l.cell(h[lo:hi], gx[3*lo:3*hi], gh[3*lo:3*hi], hp[lo:hi])
		}
	}
	ws.HN = h
}

// cell applies the gates of one row: gx then holds r, z and n. h may be hp.
func (l GRU) cell(h, gx, gh, hp []float32) {
	f32.Add(gx[:2*l.H], gx[:2*l.H], gh[:2*l.H])
	f32.Sigmoid(gx[:2*l.H], gx[:2*l.H])
	r, z, n := gx[:l.H], gx[l.H:2*l.H], gx[2*l.H:]
	f32.MulAdd(n, r, gh[2*l.H:])
	f32.Tanh(n, n)
	f32.Sub(h, hp, n) // h' = n + z (h - n)
	f32.Mul(h, h, z)
	f32.Add(h, h, n)
}

// Step advances the states h[m][H] in place by one step on x[m][In]: the form for
// play.
func (l GRU) Step(p *Params, ws *GRUWork, h, x []float32, m int) {
	gx, gh := ws.gx[:3*m*l.H], ws.gh[:3*m*l.H]
	f32.Affine(gx, x[:m*l.In], p.w(l.wx), p.w(l.bx), m, l.In, 3*l.H, f32.None)
	f32.Affine(gh, h[:m*l.H], p.w(l.wh), p.w(l.bh), m, l.H, 3*l.H, f32.None)
	for i := range m {
		lo, hi := i*l.H, (i+1)*l.H
		l.cell(h[lo:hi], gx[3*lo:3*hi], gh[3*lo:3*hi], h[lo:hi])
	}
}

// Backward goes back through the last Forward from ws.DY, adds the gradients of
// the weights to p.G and writes that of x to dx, unless dx is nil.
func (l GRU) Backward(p *Params, ws *GRUWork, dx, x []float32, s Seq) {
	d := l.backward(p, ws, s)
	all := s.T * s.N
	f32.MulTN(p.g(l.wx), x[:all*l.In], d, l.In, all, 3*l.H, true)
	if dx != nil {
		f32.MulNT(dx[:all*l.In], d, p.w(l.wx), all, 3*l.H, l.In, false)
	}
}

// backward returns the gradients [T][N][3H] of the gates' part from the input.
func (l GRU) backward(p *Params, ws *GRUWork, s Seq) []float32 {
	n, all := s.N*l.H, s.T*s.N
	dh := ws.DH[:n]
	clear(dh)
	for t := s.T - 1; t >= 0; t-- {
		f32.Add(dh, dh, ws.DY[t*n:(t+1)*n])
		dgx, dgh := ws.dx[3*t*n:3*(t+1)*n], ws.dh[3*t*n:3*(t+1)*n]
		for i := range s.N {
			at, lo, hi := t*n+i*l.H, i*l.H, (i+1)*l.H
			if !s.alive(t, i) {
				clear(dgx[3*lo : 3*hi])
				clear(dgh[3*lo : 3*hi])
				continue
			}
			l.cellBack(dgx[3*lo:3*hi], dgh[3*lo:3*hi], dh[lo:hi], ws.tmp, ws.gx[3*at:3*(at+l.H)], ws.gh[3*at:3*(at+l.H)], ws.hp[at:at+l.H])
		}
		f32.MulNT(dh, dgh, p.w(l.wh), s.N, 3*l.H, l.H, true)
		s.leave(dh, t)
	}
	dgx, dgh := ws.dx[:3*all*l.H], ws.dh[:3*all*l.H]
	f32.MulTN(p.g(l.wh), ws.hp[:all*l.H], dgh, l.H, all, 3*l.H, true)
	f32.SumRows(p.g(l.bx), dgx, all, 3*l.H)
	f32.SumRows(p.g(l.bh), dgh, all, 3*l.H)
	return dgx
}

// cellBack writes the gates' gradients of one row and leaves in dh what goes
// straight to the state before, dh z.
func (l GRU) cellBack(dgx, dgh, dh, tmp, gx, gh, hp []float32) {
	r, z, n := gx[:l.H], gx[l.H:2*l.H], gx[2*l.H:]
	dr, dz, dn := dgx[:l.H], dgx[l.H:2*l.H], dgx[2*l.H:]
	f32.Sub(tmp, hp, n)
	f32.Mul(dz, dh, tmp)
	f32.SigmoidGrad(dz, z, dz)
	f32.Mul(tmp, dh, z)
	f32.Sub(dn, dh, tmp) // dh (1-z)
	copy(dh, tmp)
	f32.TanhGrad(dn, n, dn)
	f32.Mul(dr, dn, gh[2*l.H:])
	f32.SigmoidGrad(dr, r, dr)
	copy(dgh, dgx[:2*l.H])
	f32.Mul(dgh[2*l.H:], dn, r)
}
