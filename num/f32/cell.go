package f32

// LSTM applies the gates of rows of LSTM cells, n a row. g[m][4n] holds the gates
// in, forget, cell, out before their activations and then after them:
//
//	c = σ(f) cp + σ(i) tanh(g);  tc = tanh(c);  h = σ(o) tc
//
// All others are [m][n]; c may be cp. It panics if the lengths do not fit.
func LSTM(h, c, tc, g, cp []float32, n int) {
	checkCells(g, n, h, c, tc, cp)
	for i := 0; i < len(h); i += n {
		lstm(h[i:i+n], c[i:i+n], tc[i:i+n], g[4*i:4*(i+n)], cp[i:i+n])
	}
}

// LSTMGrad goes back through LSTM. From dh and dc, the gradients of h and c, it
// writes those of the gates before their activations to d[m][4n] and that of cp to
// dc, and clears dh. g, cp and tc are those of LSTM.
func LSTMGrad(d, dh, dc, g, cp, tc []float32, n int) {
	checkCells(g, n, dh, dc, cp, tc)
	checkSame(len(d), len(g))
	for i := 0; i < len(dh); i += n {
		lstmGrad(d[4*i:4*(i+n)], dh[i:i+n], dc[i:i+n], g[4*i:4*(i+n)], cp[i:i+n], tc[i:i+n])
	}
}

func checkCells(g []float32, n int, rows ...[]float32) {
	if n <= 0 || len(g)%(4*n) != 0 {
		panic("f32: the gates are not four for each cell")
	}
	for _, x := range rows {
		checkSame(4*len(x), len(g))
	}
}

func lstmGeneric(h, c, tc, g, cp []float32) {
	n := len(h)
	sigmoidGeneric(g[:2*n], g[:2*n])
	tanhGeneric(g[2*n:3*n], g[2*n:3*n])
	sigmoidGeneric(g[3*n:], g[3*n:])
	mulGeneric(c, g[n:2*n], cp)
	mulAddGeneric(c, g[:n], g[2*n:3*n])
	tanhGeneric(tc, c)
	mulGeneric(h, g[3*n:], tc)
}

func lstmGradGeneric(d, dh, dc, g, cp, tc []float32) {
	n := len(dh)
	for j := range n {
		i, f, u, o := g[j], g[n+j], g[2*n+j], g[3*n+j]
		e := dc[j] + float32(dh[j]*o)*(1-float32(tc[j]*tc[j]))
		d[j] = float32(e*u) * (i - float32(i*i))
		d[n+j] = float32(e*cp[j]) * (f - float32(f*f))
		d[2*n+j] = float32(e*i) * (1 - float32(u*u))
		d[3*n+j] = float32(dh[j]*tc[j]) * (o - float32(o*o))
		dc[j], dh[j] = e*f, 0
	}
}
