package main

// horner computes p*x + c for each named constant and returns the registers that
// then hold the result and nothing: a multiply-add writes over its addend.
func horner(p, c, x vec, names ...string) (result, free vec) {
	for _, n := range names {
		num(c, n)
		fmla(c, p, x)
		p, c = c, p
	}
	return p, c
}

// exp writes x = e^x; t are six scratch registers.
func exp(x vec, t []vec) {
	n, i, r, p, c, low := t[0], t[1], t[2], t[3], t[4], t[5]
	// What is too small counts as 0 until the end, and is 0 then. NaN stays.
	num(c, "expMin")
	fcmgt(low, c, x)
	bic(r, x, low)
	num(c, "expMax")
	fmin(r, r, c)
	num(c, "log2e")
	fmul(n, r, c)
	fcvtns(i, n)
	scvtf(n, i)
	num(c, "ln2hi")
	fmls(r, n, c)
	num(c, "ln2lo")
	fmls(r, n, c)
	num(p, "exp0")
	p, c = horner(p, c, r, "exp1", "exp2", "exp3", "exp4", "exp5")
	fmul(n, r, r)
	fmla(r, p, n)
	num(c, "one")
	fadd(p, r, c)
	// 2^i in two factors, since 2^128 is no float32; their exponents have a bias of 127 each.
	num(c, "bias254")
	ins("VADD %s, %s, %s", c.s4(), i.s4(), i.s4())
	ins("VUSHR $1, %s, %s", i.s4(), n.s4())
	ins("VSUB %s, %s, %s", n.s4(), i.s4(), i.s4())
	for _, h := range []vec{n, i} {
		ins("VSHL $23, %s, %s", h.s4(), h.s4())
		fmul(p, p, h)
	}
	bic(x, p, low)
}

// logOf writes x = ln x for x normal and positive; NaN and +Inf become NaN. t are six
// scratch registers.
func logOf(x vec, t []vec) {
	e, m, p, sq, c, low := t[0], t[1], t[2], t[3], t[4], t[5]
	ins("VUSHR $23, %s, %s", x.s4(), e.s4())
	num(c, "bias126")
	ins("VSUB %s, %s, %s", c.s4(), e.s4(), e.s4())
	scvtf(e, e)
	num(c, "mantissa")
	and(m, x, c)
	num(c, "halfBits")
	or(m, m, c) // in [1/2, 1)
	// Below sqrt(1/2) take twice m and one less of e.
	num(c, "sqrtHalf")
	fcmgt(low, c, m)
	and(p, m, low)
	fadd(m, m, p)
	num(c, "one")
	and(low, low, c)
	fsub(e, e, low)
	fsub(m, m, c)
	fmul(sq, m, m)
	num(p, "log0")
	p, c = horner(p, c, m, "log1", "log2", "log3", "log4", "log5", "log6", "log7", "log8")
	fmul(p, p, sq)
	fmul(p, p, m)
	num(c, "ln2lo")
	fmla(p, e, c)
	num(c, "half")
	fmls(p, sq, c)
	fadd(p, p, m)
	num(c, "ln2hi")
	fmla(p, e, c)
	zero(c)
	fmla(p, x, c) // x*0 + log: NaN stays
	move(x, p)
}

// logistic writes x = 1/(1+e^-x); t are six scratch registers.
func logistic(x vec, t []vec) {
	num(t[0], "sign")
	xor(x, x, t[0])
	exp(x, t)
	num(t[0], "one")
	fadd(x, x, t[0])
	fdiv(x, t[0], x)
}

// tanh writes x = tanh x; t are nine scratch registers.
func tanh(x vec, t []vec) {
	c, d, a, big, small := t[0], t[1], t[6], t[7], t[8]
	num(c, "abs")
	and(a, x, c)
	fadd(big, a, a)
	exp(big, t[:6])
	num(c, "one")
	fadd(big, big, c)
	num(d, "two")
	fdiv(big, d, big)
	fsub(big, c, big)
	num(c, "sign")
	and(c, x, c)
	or(big, big, c)
	sq := t[2]
	fmul(sq, x, x)
	num(small, "tanh0")
	small, _ = horner(small, c, sq, "tanh1", "tanh2", "tanh3", "tanh4")
	fmul(small, small, sq)
	fmul(small, small, x)
	fadd(small, small, x)
	num(d, "tanhSmall")
	fcmgt(d, d, a)
	where(d, small, big)
	move(x, big)
}

func activations() {
	t := span(16, 9)
	unary := func(name, doc string, op func(x vec, t []vec)) {
		elementwise(name, "func(dst, x []float32)", doc, []string{"dst", "x"}, loadTable, func(p []string, tail string) {
			load(p[1], 0, 0, tail)
			op(0, t)
			store(0, p[0], 0, tail)
		})
	}
	unary("exp", "e^x", exp)
	unary("sigmoid", "1/(1+e^-x)", logistic)
	unary("tanh", "tanh x", tanh)

	grad := func(name, doc string, op func(y, dy vec)) {
		elementwise(name, "func(dx, y, dy []float32)", doc, []string{"dx", "y", "dy"}, loadTable, func(p []string, tail string) {
			load(p[1], 0, 0, tail)
			load(p[2], 0, 1, tail)
			op(0, 1)
			store(1, p[0], 0, tail)
		})
	}
	grad("reluGrad", "dy where y > 0, else 0", func(y, dy vec) {
		zero(2)
		fcmgt(2, y, 2)
		and(dy, dy, 2)
	})
	grad("tanhGrad", "dy (1-y²)", func(y, dy vec) {
		num(2, "one")
		fmls(2, y, y)
		fmul(dy, dy, 2)
	})
	grad("sigmoidGrad", "dy y (1-y)", func(y, dy vec) {
		move(2, y)
		fmls(2, y, y)
		fmul(dy, dy, 2)
	})
}

// cells writes the two passes over a row of LSTM cells.
func cells() {
	t := span(16, 9)
	// Gate i of four stands i rows of n floats beyond base.
	strides := []string{"", "R9", "R10", "R11"}
	gate := func(base string, i int) string {
		if i == 0 {
			return base
		}
		ins("ADD %s, %s, R12", strides[i], base)
		return "R12"
	}
	frame := func(name, signature, doc string, pointers []string, body func(p []string, tail string)) {
		kernel(name+"NEON", signature, name+"NEON "+doc)
		for i, q := range pointers {
			arg(q, eP[i])
		}
		arg("n", eN)
		ins("LSL $2, %s, R9", eN)
		ins("LSL $3, %s, R10", eN)
		ins("ADD R9, R10, R11")
		loadTable()
		over(eP[:len(pointers)], body)
		ins("RET")
	}

	frame("lstmCell", "func(c, gates, cp *float32, n int)",
		"applies the gates[4][n] of a row to its cells.", []string{"c", "gates", "cp"},
		func(p []string, tail string) {
			c, g, cp := p[0], p[1], p[2]
			const x, in, cell = vec(0), vec(1), vec(2)
			squash := func(i int) {
				load(gate(g, i), 0, x, tail)
				logistic(x, t)
				store(x, gate(g, i), 0, tail)
			}
			squash(3)
			squash(0)
			move(in, x)
			squash(1)
			load(cp, 0, cell, tail)
			fmul(cell, cell, x)
			load(gate(g, 2), 0, x, tail)
			tanh(x, t)
			store(x, gate(g, 2), 0, tail)
			fmla(cell, x, in)
			store(cell, c, 0, tail)
		})
	elementwise("lstmOut", "func(h, tc, c, o []float32)", "tc = tanh c and h = o tc", []string{"h", "tc", "c", "o"}, loadTable,
		func(p []string, tail string) {
			load(p[2], 0, 0, tail)
			tanh(0, t)
			store(0, p[1], 0, tail)
			load(p[3], 0, 1, tail)
			fmul(0, 0, 1)
			store(0, p[0], 0, tail)
		})
	frame("lstmGrad", "func(d, dh, dc, gates, cp, tc *float32, n int)",
		"goes back through a row of cells.", []string{"d", "dh", "dc", "gates", "cp", "tc"},
		func(p []string, tail string) {
			d, dh, dc, g, cp, tc := p[0], p[1], p[2], p[3], p[4], p[5]
			const dH, dC, tC, in, next, one, y, v, u = vec(0), vec(1), vec(2), vec(3), vec(4), vec(5), vec(6), vec(7), vec(16)
			// throughSigmoid stores v y (1-y) as the gradient of gate i.
			throughSigmoid := func(i int, y vec) {
				move(u, y)
				fmls(u, y, y)
				fmul(v, v, u)
				store(v, gate(d, i), 0, tail)
			}
			// throughTanh turns v into v (1-y²).
			throughTanh := func(y vec) {
				move(u, one)
				fmls(u, y, y)
				fmul(v, v, u)
			}
			num(one, "one")
			load(dh, 0, dH, tail)
			load(dc, 0, dC, tail)
			load(tc, 0, tC, tail)
			load(gate(g, 3), 0, y, tail)
			fmul(v, dH, tC)
			throughSigmoid(3, y)
			fmul(v, dH, y)
			throughTanh(tC)
			fadd(dC, dC, v)
			load(g, 0, in, tail)
			load(gate(g, 2), 0, next, tail)
			fmul(v, dC, next)
			throughSigmoid(0, in)
			fmul(v, dC, in)
			throughTanh(next)
			store(v, gate(d, 2), 0, tail)
			load(gate(g, 1), 0, y, tail)
			load(cp, 0, v, tail)
			fmul(v, dC, v)
			throughSigmoid(1, y)
			fmul(dC, dC, y)
			store(dC, dc, 0, tail)
			zero(dH)
			store(dH, dh, 0, tail)
		})
}
