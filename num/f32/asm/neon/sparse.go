package main

import "fmt"

func sparse() {
	for _, v := range []int{8, 4, 2, 1} {
		for _, tail := range []bool{false, true} {
			if tail && v > 2 { // wide strips are never cut short
				continue
			}
			suffix := fmt.Sprintf("%dNEON", v)
			if tail {
				suffix = fmt.Sprintf("%dTailNEON", v)
			}
			sparseRows(v, tail, "sparseAffine"+suffix, false)
			sparseRows(v, tail, "sparseTN"+suffix, true)
			sumRows(v, tail, "sumRows"+suffix)
		}
	}
	nonzeros()
}

// sparseRows writes a strip of s*w + bias, or with transposed the addition of strips
// of dst's rows to rows of w.
func sparseRows(v int, tail bool, name string, transposed bool) {
	t, dst, w, ptr, idx, val := "R0", "R1", "R2", "R3", "R4", "R5"
	e, end, col, stride, cols, rows := "R6", "R7", "R8", "R9", "R10", "R11"
	n, pick, all, at := "R12", "R13", "R14", "R15"
	doc := fmt.Sprintf("%s computes a strip of %d vectors of s*w + bias.", name, v)
	if transposed {
		doc = fmt.Sprintf("%s adds a strip of %d vectors of dst's rows to rows of w.", name, v)
	}
	kernel(name, "func(t *strip)", doc+" An index that is no column\nends it with bad set.")
	arg("t", t)
	for _, p := range []struct{ field, into string }{
		{"dst", dst}, {"w", w}, {"ptr", ptr}, {"idx", idx}, {"val", val}, {"cols", cols}, {"wStride", stride}, {"rows", rows}, {"pick", pick},
	} {
		ins("MOVD strip_%s(%s), %s", p.field, t, p.into)
	}
	ins("MOVD %s, %s", ptr, all)
	last := func(int) string { return "" }
	if tail {
		ins("MOVD strip_tail(%s), %s", t, n)
		last = func(i int) string {
			if i == v-1 {
				return n
			}
			return ""
		}
	}
	acc, x, tmp := span(0, v), vec(v), vec(v+1)
	place("row")
	ins("CBZ %s, here", pick)
	ins("MOVW.P 4(%s), %s", pick, e)
	ins("ADD %s<<2, %s, %s", e, all, ptr)
	place("here")
	ins("MOVW 0(%s), %s", ptr, e)
	ins("MOVW 4(%s), %s", ptr, end)
	if transposed {
		for i := range v {
			load(dst, 16*i, acc[i], last(i))
		}
	} else {
		ins("MOVD strip_bias(%s), %s", t, col)
		ins("CBZ %s, nobias", col)
		for i := range v {
			load(col, 16*i, acc[i], last(i))
		}
		ins("JMP entries")
		place("nobias")
		for i := range v {
			zero(acc[i])
		}
	}
	place("entries")
	ins("CMP %s, %s", end, e)
	ins("BGE store")
	place("entry")
	ins("MOVWU (%s)(%s<<2), %s", idx, e, col)
	ins("CMP %s, %s", cols, col)
	ins("BHS bad")
	ins("MADD %s, %s, %s, %s", col, w, stride, at)
	ins("ADD %s<<2, %s, %s", e, val, near)
	ins("FMOVS (%s), %s", near, x.f())
	for i := range v {
		load(at, 16*i, tmp, last(i))
		if transposed {
			fmlaBy(tmp, acc[i], x)
			store(tmp, at, 16*i, last(i))
		} else {
			fmlaBy(acc[i], tmp, x)
		}
	}
	ins("ADD $1, %s", e)
	ins("CMP %s, %s", end, e)
	ins("BLT entry")
	place("store")
	if !transposed {
		ins("FMOVS strip_floor(%s), %s", t, x.f())
		spread(x)
		for i := range v {
			fmax(acc[i], acc[i], x)
			store(acc[i], dst, 16*i, last(i))
		}
	}
	ins("MOVD strip_stride(%s), %s", t, at)
	ins("ADD %s, %s", at, dst)
	ins("ADD $4, %s", ptr)
	ins("SUB $1, %s", rows)
	ins("CBNZ %s, row", rows)
	ins("RET")
	place("bad")
	ins("MOVD $1, %s", at)
	ins("MOVD %s, strip_bad(%s)", at, t)
	ins("RET")
}

// sumRows writes the addition of all rows of x to a strip of dst, in index order.
func sumRows(v int, tail bool, name string) {
	dst, x, rows, stride, n := "R0", "R1", "R2", "R3", "R4"
	kernel(name, "func(dst, x *float32, rows, stride, tail int)",
		fmt.Sprintf("%s adds all rows of x, stride bytes apart, to a strip of %d vectors of dst.", name, v))
	for i, p := range []string{"dst", "x", "rows", "stride", "tail"} {
		arg(p, []string{dst, x, rows, stride, n}[i])
	}
	last := func(i int) string {
		if tail && i == v-1 {
			return n
		}
		return ""
	}
	acc, tmp := span(0, v), span(vec(v), v)
	for i := range v {
		load(dst, 16*i, acc[i], last(i))
	}
	place("loop")
	for i := range v {
		load(x, 16*i, tmp[i], last(i))
		fadd(acc[i], acc[i], tmp[i])
	}
	ins("ADD %s, %s", stride, x)
	ins("SUB $1, %s", rows)
	ins("CBNZ %s, loop", rows)
	for i := range v {
		store(acc[i], dst, 16*i, last(i))
	}
	ins("RET")
}

// nonzeros writes the scan of a dense row.
func nonzeros() {
	idx, val, x, n, pos, bits, twice, count, high := "R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8"
	left := "R9"
	kernel("nonzerosNEON", "func(idx *int32, val *float32, x []float32) int",
		"nonzerosNEON writes the places and values of what is not 0 and returns how many there\nare; its output needs room for one more.")
	arg("idx", idx)
	arg("val", val)
	arg("x_base", x)
	arg("x_len", n)
	ins("MOVD $0, %s", pos)
	ins("MOVD $0, %s", count)
	place("loop")
	ins("CBZ %s, done", n)
	ins("MOVD $16, %s", left)
	ins("CMP %s, %s", left, n)
	ins("CSEL LT, %s, %s, %s", n, left, left)
	ins("SUB %s, %s", left, n)
	ins("CMP $16, %s", left)
	ins("BLT element")
	note("Sixteen at once: most are 0, and a 0 has no bit set but its sign.")
	for i := range 4 {
		load(x, 16*i, vec(i), "")
	}
	or(0, 0, 1)
	or(2, 2, 3)
	or(0, 0, 2)
	ins("VSHL $1, V0.S4, V0.S4")
	ins("VMOV V0.D[0], %s", bits)
	ins("VMOV V0.D[1], %s", high)
	ins("ORR %s, %s", high, bits)
	ins("CBNZ %s, element", bits)
	ins("ADD $64, %s", x)
	ins("ADD $16, %s", pos)
	ins("JMP loop")
	note("Each element is written; the count goes on only where it was no 0.")
	place("element")
	ins("MOVWU.P 4(%s), %s", x, bits)
	ins("LSLW $1, %s, %s", bits, twice)
	ins("MOVW %s, (%s)(%s<<2)", pos, idx, count)
	ins("MOVW %s, (%s)(%s<<2)", bits, val, count)
	ins("CMPW $0, %s", twice)
	ins("CINC NE, %s, %s", count, count)
	ins("ADD $1, %s", pos)
	ins("SUB $1, %s", left)
	ins("CBNZ %s, element", left)
	ins("JMP loop")
	place("done")
	ins("MOVD %s, %s", count, args["ret"])
	ins("RET")
}
