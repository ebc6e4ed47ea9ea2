package main

// The registers of the functions over rows.
const (
	rDst, rX, rLegal    = "R0", "R1", "R2"
	rRows, rCols, rRest = "R3", "R4", "R6" // rRest: the elements of the last vector, 0: none
	rLeft               = "R5"
	rIn, rOut, rFlags   = "R9", "R10", "R11" // within the row
	rTmp, rBits         = "R12", "R13"
)

// rows writes the softmax, and the log-softmax of the legal columns: for each row the
// maximum, then the sum of exponentials, then the result.
func rows() {
	const x, top, total, minusInf, logZero, outside, none = vec(0), vec(1), vec(2), vec(3), vec(4), vec(5), vec(6)
	t := span(16, 6)
	begin := func(name, signature, doc string) {
		kernel(name, signature, doc)
		arg("dst", rDst)
		arg("x", rX)
		arg("rows", rRows)
		arg("cols", rCols)
		ins("AND $3, %s, %s", rCols, rRest)
		note("outside: what of the last vector lies beyond the row.")
		ins("MOVD $tails<>+16(SB), %s", rTmp)
		ins("SUB %s<<2, %s, %s", rRest, rTmp, rTmp)
		load(rTmp, 0, outside, "")
		ins("VMOVI $255, %s", none.b16())
		xor(outside, outside, none)
		loadTable()
		num(minusInf, "minusInf")
		num(logZero, "logZero")
	}
	// pass writes a loop over the vectors of a row.
	pass := func(name string, body func(tail string)) {
		ins("MOVD %s, %s", rX, rIn)
		ins("MOVD %s, %s", rDst, rOut)
		ins("MOVD %s, %s", rLegal, rFlags)
		ins("LSR $2, %s, %s", rCols, rLeft)
		ins("CBZ %s, %s_rest", rLeft, name)
		place(name)
		body("")
		ins("ADD $16, %s", rIn)
		ins("ADD $16, %s", rOut)
		ins("ADD $4, %s", rFlags)
		ins("SUB $1, %s", rLeft)
		ins("CBNZ %s, %s", rLeft, name)
		place(name + "_rest")
		ins("CBZ %s, %s_end", rRest, name)
		body(rRest)
		place(name + "_end")
	}
	end := func() {
		ins("ADD %s<<2, %s", rCols, rDst)
		ins("ADD %s<<2, %s", rCols, rX)
		ins("SUB $1, %s", rRows)
		ins("CBNZ %s, row", rRows)
		ins("RET")
	}

	begin("softmaxNEON", "func(dst, x *float32, rows, cols int)", "softmaxNEON computes the softmax of rows.")
	ins("MOVD $0, %s", rLegal)
	place("row")
	move(top, minusInf)
	pass("max", func(tail string) {
		load(rIn, 0, x, tail)
		if tail != "" {
			where(outside, minusInf, x)
		}
		fmax(top, top, x)
	})
	fold(top, t[0], fmax)
	zero(total)
	pass("exp", func(tail string) {
		load(rIn, 0, x, tail)
		fsub(x, x, top)
		exp(x, t)
		store(x, rOut, 0, tail)
		if tail != "" {
			bic(x, x, outside)
		}
		fadd(total, total, x)
	})
	fold(total, t[0], fadd)
	num(x, "one")
	fdiv(total, x, total)
	pass("scale", func(tail string) {
		load(rOut, 0, x, tail)
		fmul(x, x, total)
		store(x, rOut, 0, tail)
	})
	end()

	begin("logSoftmaxNEON", "func(dst, x *float32, legal *bool, rows, cols int)",
		"logSoftmaxNEON computes the log-softmax of the legal columns of rows; a nil legal allows all.")
	arg("legal", rLegal)
	// illegal sets none where a column does not count.
	illegal := func(tail string) {
		flags, done := fresh("flags"), fresh("known")
		ins("CBNZ %s, %s", rLegal, flags)
		if tail != "" {
			move(none, outside)
		} else {
			zero(none)
		}
		ins("JMP %s", done)
		place(flags)
		if tail != "" { // byte by byte, not to read beyond the slice
			word := fresh("word")
			ins("MOVBU (%s), %s", rFlags, rBits)
			ins("CMP $2, %s", tail)
			ins("BLT %s", word)
			ins("MOVBU 1(%s), %s", rFlags, rTmp)
			ins("ORR %s<<8, %s", rTmp, rBits)
			ins("BEQ %s", word)
			ins("MOVBU 2(%s), %s", rFlags, rTmp)
			ins("ORR %s<<16, %s", rTmp, rBits)
			place(word)
		} else {
			ins("MOVWU (%s), %s", rFlags, rBits)
		}
		ins("FMOVS %s, %s", rBits, none.f())
		ins("VUXTL V%d.B8, V%d.H8", none, none)
		ins("VUXTL V%d.H4, V%d.S4", none, none)
		zero(t[0])
		ins("VCMEQ %s, %s, %s", t[0].s4(), none.s4(), none.s4())
		place(done)
	}
	place("row")
	move(top, minusInf)
	pass("max", func(tail string) {
		illegal(tail)
		load(rIn, 0, x, tail)
		where(none, minusInf, x)
		fmax(top, top, x)
	})
	fold(top, t[0], fmax)
	zero(total)
	pass("sum", func(tail string) {
		illegal(tail)
		load(rIn, 0, x, tail)
		fsub(x, x, top)
		exp(x, t)
		bic(x, x, none)
		fadd(total, total, x)
	})
	fold(total, t[0], fadd)
	logOf(total, t)
	pass("out", func(tail string) {
		illegal(tail)
		load(rIn, 0, x, tail)
		fsub(x, x, top)
		fsub(x, x, total)
		where(none, logZero, x)
		store(x, rOut, 0, tail)
	})
	ins("CBZ %s, next", rLegal)
	ins("ADD %s, %s", rCols, rLegal)
	place("next")
	end()
}
