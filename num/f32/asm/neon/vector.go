package main

// eN is how many elements are left in the functions over vectors; within their tails
// it is what the tail has.
const eN = "R6"

var eP = []string{"R0", "R1", "R2", "R3", "R4", "R5"}

// elementwise writes a function that goes over slices of one length; body gets
// their pointers and the tail's register.
func elementwise(name, signature, doc string, slices []string, scalars func(), body func(p []string, tail string)) {
	kernel(name+"NEON", signature, name+"NEON computes "+doc+".")
	p := eP[:len(slices)]
	for i, s := range slices {
		arg(s+"_base", p[i])
	}
	arg(slices[0]+"_len", eN)
	if scalars != nil {
		scalars()
	}
	over(p, body)
	ins("RET")
}

// over writes a loop over eN elements at each of the pointers p.
func over(p []string, body func(p []string, tail string)) {
	place("loop")
	ins("CMP $4, %s", eN)
	ins("BLT rest")
	body(p, "")
	for _, r := range p {
		ins("ADD $16, %s", r)
	}
	ins("SUB $4, %s", eN)
	ins("JMP loop")
	place("rest")
	ins("CBZ %s, done", eN)
	body(p, eN)
	place("done")
}

func vectors() {
	const alpha = vec(8)
	loadAlpha := func() {
		ins("FMOVS %s, %s", args["alpha"], alpha.f())
		spread(alpha)
	}
	operands := []string{"dst", "a", "b"}
	const signature = "func(dst, a, b []float32)"
	binary := func(name, doc string, op func(d, n, m vec)) {
		elementwise(name, signature, doc, operands, nil, func(p []string, tail string) {
			load(p[1], 0, 0, tail)
			load(p[2], 0, 1, tail)
			op(2, 0, 1)
			store(2, p[0], 0, tail)
		})
	}
	elementwise("axpy", "func(dst []float32, alpha float32, x []float32)", "dst + alpha*x", []string{"dst", "x"}, loadAlpha,
		func(p []string, tail string) {
			load(p[0], 0, 0, tail)
			load(p[1], 0, 1, tail)
			fmla(0, 1, alpha)
			store(0, p[0], 0, tail)
		})
	elementwise("scale", "func(dst []float32, alpha float32)", "alpha*dst", []string{"dst"}, loadAlpha,
		func(p []string, tail string) {
			load(p[0], 0, 0, tail)
			fmul(0, 0, alpha)
			store(0, p[0], 0, tail)
		})
	binary("add", "a + b", fadd)
	binary("sub", "a - b", fsub)
	binary("mul", "a * b", fmul)
	elementwise("mulAdd", signature, "dst + a*b", operands, nil, func(p []string, tail string) {
		load(p[0], 0, 2, tail)
		load(p[1], 0, 0, tail)
		load(p[2], 0, 1, tail)
		fmla(2, 0, 1)
		store(2, p[0], 0, tail)
	})
	adam()
	sums()
	peak()
}

// adam writes one step of Adam. Numbers below the normal ones cost these processors
// nothing, so that none is made 0.
func adam() {
	const b1, b1c, b2, b2c, lr, c2, eps, decay, scale = vec(16), vec(17), vec(18), vec(19), vec(20), vec(21), vec(22), vec(23), vec(24)
	elementwise("adam", "func(w, g, m, v []float32, h *adamArgs)", "one step of Adam", []string{"w", "g", "m", "v"},
		func() {
			arg("h", "R7")
			for _, s := range []struct {
				field string
				into  vec
			}{
				{"b1", b1}, {"b1c", b1c}, {"b2", b2}, {"b2c", b2c}, {"lrc1", lr}, {"c2", c2}, {"eps", eps}, {"decay", decay}, {"scale", scale},
			} {
				ins("FMOVS adamArgs_%s(R7), %s", s.field, s.into.f())
				spread(s.into)
			}
		},
		func(p []string, tail string) {
			const w, g, m, v, t = vec(0), vec(1), vec(2), vec(3), vec(4)
			load(p[0], 0, w, tail)
			load(p[1], 0, g, tail)
			zero(t)
			store(t, p[1], 0, tail)
			fmul(g, g, scale)
			load(p[2], 0, m, tail)
			load(p[3], 0, v, tail)
			fmul(m, m, b1)
			fmla(m, g, b1c)
			fmul(v, v, b2)
			fmul(g, g, g)
			fmla(v, g, b2c)
			store(m, p[2], 0, tail)
			store(v, p[3], 0, tail)
			fmul(t, v, c2)
			fmul(m, m, lr)
			fsqrt(t, t)
			fadd(t, t, eps)
			fdiv(m, m, t)
			move(t, w)
			fmls(w, t, decay)
			fsub(w, w, m)
			store(w, p[0], 0, tail)
		})
}

// accumulate writes the frame of a sum: four independent vectors of partial sums.
func accumulate(ptrs []string, add func(acc vec, off int, tail string)) {
	for i := range 4 {
		zero(vec(i))
	}
	advance := func(k int) {
		for _, p := range ptrs {
			ins("ADD $%d, %s", 16*k, p)
		}
		ins("SUB $%d, %s", 4*k, eN)
	}
	place("loop")
	ins("CMP $16, %s", eN)
	ins("BLT single")
	for i := range 4 {
		add(vec(i), 16*i, "")
	}
	advance(4)
	ins("JMP loop")
	place("single")
	ins("CMP $4, %s", eN)
	ins("BLT rest")
	add(0, 0, "")
	advance(1)
	ins("JMP single")
	place("rest")
	ins("CBZ %s, done", eN)
	add(1, 0, eN)
	place("done")
}

func sums() {
	a, b := eP[0], eP[1]
	kernel("dotNEON", "func(a, b []float32) float32", "dotNEON returns the sum of a*b.")
	arg("a_base", a)
	arg("b_base", b)
	arg("a_len", eN)
	accumulate([]string{a, b}, func(acc vec, off int, tail string) {
		load(a, off, 4, tail)
		load(b, off, 5, tail)
		fmla(acc, 4, 5)
	})
	fadd(0, 0, 1)
	fadd(2, 2, 3)
	fadd(0, 0, 2)
	fold(0, 1, fadd)
	ins("FMOVS F0, %s", args["ret"])
	ins("RET")

	kernel("sumSquaresNEON", "func(x []float32) float64", "sumSquaresNEON returns the sum of the squares of x, added up in float64.")
	arg("x_base", a)
	arg("x_len", eN)
	accumulate([]string{a}, func(acc vec, off int, tail string) {
		load(a, off, 4, tail)
		word(0x4e617885, "FCVTL2 V5.2D, V4.4S")
		word(0x0e617884, "FCVTL V4.2D, V4.2S")
		for _, half := range []int{4, 5} {
			ins("VFMLA V%d.D2, V%d.D2, V%d.D2", half, half, acc)
		}
	})
	word(0x4e61d400, "FADD V0.2D, V0.2D, V1.2D")
	word(0x4e63d442, "FADD V2.2D, V2.2D, V3.2D")
	word(0x4e62d400, "FADD V0.2D, V0.2D, V2.2D")
	ins("VDUP V0.D[1], V1.D2")
	ins("FADDD F1, F0, F0")
	ins("FMOVD F0, %s", args["ret"])
	ins("RET")
}

// peak writes the loop of 24 multiply-adds on vectors that never leaves the registers.
func peak() {
	kernel("peakNEON", "func(iters int)", "peakNEON runs rounds of 24 multiply-adds.")
	arg("iters", "R0")
	for i := range 26 {
		zero(vec(i))
	}
	place("loop")
	for i := range 24 {
		fmla(vec(i), 24, 25)
	}
	ins("SUB $1, R0")
	ins("CBNZ R0, loop")
	ins("RET")
}
