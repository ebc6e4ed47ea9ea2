package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of f32's type strip.
const (
	sDst = 8 * iota
	sW
	sBias
	sPtr
	sIdx
	sVal
	sRows
	sCols
	sStride
	sWStride
	sTail
	sBad
	sFloor
	sPick
	sPicked // scratch: bytes of pick that are behind; a pointer there would end up past the array, where the collector meets it
)

// ahead is how many rows before it is needed a picked row is asked for.
const ahead = 3

// strips calls f for each strip width, in AVX2 twice for those that can be masked.
func strips(s isa, f func(v int, tail bool, suffix string)) {
	for _, v := range []int{8, 4, 2, 1} {
		suffix := fmt.Sprintf("%d%s", v, s.name)
		if s.is512() || v > 2 {
			f(v, s.is512(), suffix)
			continue
		}
		f(v, false, suffix)
		f(v, true, fmt.Sprintf("%dTail%s", v, s.name))
	}
}

func sparse(s isa) {
	strips(s, func(v int, tail bool, suffix string) {
		sparseRows(s, v, tail, "sparseAffine"+suffix, false)
		sparseRows(s, v, tail, "sparseTN"+suffix, true)
		sumRows(s, v, tail, "sumRows"+suffix)
	})
	nonzeros(s)
}

// sparseRows writes a strip of s*w + bias, or with transposed the addition of
// strips of dst's rows to rows of w. An index that is no column ends the kernel
// with bad set.
func sparseRows(s isa, v int, tail bool, name string, transposed bool) {
	t, dst, w, ptr, idx, val := reg.RAX, reg.RDI, reg.RSI, reg.RDX, reg.R8, reg.R9
	e, end, col, stride, cols, rows := reg.RCX, reg.RBX, reg.R10, reg.R11, reg.R12, reg.R13
	kernel(name, "func(t *byte)", t)
	if tail {
		MOVQ(at(t, sTail), rows)
		s.loadMask(rows, reg.RCX)
	}
	MOVQ(at(t, sDst), dst)
	MOVQ(at(t, sW), w)
	MOVQ(at(t, sPtr), ptr)
	MOVQ(at(t, sIdx), idx)
	MOVQ(at(t, sVal), val)
	MOVQ(at(t, sCols), cols)
	MOVQ(at(t, sWStride), stride)
	MOVQ(at(t, sRows), rows)
	XORQ(col, col)
	MOVQ(col, at(t, sPicked))
	acc, x, tmp := s.regs[:v], s.regs[v], s.regs[v+1]
	last := func(i int) bool { return tail && i == v-1 }

	Label("row")
	MOVQ(at(t, sPick), col)
	TESTQ(col, col)
	JZ(ref("here"))
	ADDQ(at(t, sPicked), col)
	MOVLQSX(at(col, 0), e)
	ADDQ(U8(4), at(t, sPicked))
	MOVQ(at(t, sPtr), ptr)
	LEAQ(indexed(ptr, e, 4, 0), ptr)
	CMPQ(rows, U8(ahead))
	JLE(ref("here"))
	// Picked rows lie anywhere: ask for one that comes later.
	MOVLQSX(at(col, 4*ahead), e)
	MOVQ(at(t, sPtr), end)
	MOVLQSX(indexed(end, e, 4, 0), e)
	for line := range 2 {
		PREFETCHT0(indexed(idx, e, 4, 64*line))
		PREFETCHT0(indexed(val, e, 4, 64*line))
	}
	Label("here")
	MOVLQSX(at(ptr, 0), e)
	MOVLQSX(at(ptr, 4), end)
	switch {
	case transposed:
		for i := range v {
			s.load(at(dst, i*s.bytes()), acc[i], last(i))
		}
	default:
		MOVQ(at(t, sBias), col)
		TESTQ(col, col)
		JZ(ref("nobias"))
		for i := range v {
			s.load(at(col, i*s.bytes()), acc[i], last(i))
		}
		JMP(ref("entries"))
		Label("nobias")
		for i := range v {
			s.zero(acc[i])
		}
	}
	Label("entries")
	CMPQ(e, end)
	JGE(ref("store"))
	Label("entry")
	MOVL(indexed(idx, e, 4, 0), col.As32())
	CMPQ(col, cols)
	JAE(ref("bad"))
	IMULQ(stride, col)
	VBROADCASTSS(indexed(val, e, 4, 0), x)
	for i := range v {
		m := indexed(w, col, 1, i*s.bytes())
		switch {
		case transposed:
			s.load(m, tmp, last(i))
			VFMADD231PS(acc[i], x, tmp)
			s.store(tmp, m, last(i))
		case last(i):
			s.load(m, tmp, true)
			VFMADD231PS(tmp, x, acc[i])
		default:
			VFMADD231PS(m, x, acc[i])
		}
	}
	INCQ(e)
	CMPQ(e, end)
	JLT(ref("entry"))
	Label("store")
	if !transposed {
		VBROADCASTSS(at(t, sFloor), x)
		for i := range v {
			VMAXPS(acc[i], x, acc[i])
			s.store(acc[i], at(dst, i*s.bytes()), last(i))
		}
	}
	ADDQ(at(t, sStride), dst)
	ADDQ(U8(4), ptr)
	DECQ(rows)
	JNZ(ref("row"))
	VZEROUPPER()
	RET()
	Label("bad")
	MOVQ(U32(1), at(t, sBad))
	VZEROUPPER()
	RET()
}

// sumRows writes the addition of all rows of x, stride bytes apart, to a strip of
// dst, in index order.
func sumRows(s isa, v int, tail bool, name string) {
	dst, x, rows, stride, n := reg.RDI, reg.RSI, reg.RCX, reg.RDX, reg.R8
	kernel(name, "func(dst, x *float32, rows, stride, tail int)", dst, x, rows, stride)
	if tail {
		Load(Param("tail"), n)
		s.loadMask(n, reg.RAX)
	}
	acc, tmp := s.regs[:v], s.regs[v]
	last := func(i int) bool { return tail && i == v-1 }
	for i := range v {
		s.load(at(dst, i*s.bytes()), acc[i], last(i))
	}
	Label("loop")
	for i := range v {
		s.load(at(x, i*s.bytes()), tmp, last(i))
		VADDPS(tmp, acc[i], acc[i])
	}
	ADDQ(stride, x)
	DECQ(rows)
	JNZ(ref("loop"))
	for i := range v {
		s.store(acc[i], at(dst, i*s.bytes()), last(i))
	}
	VZEROUPPER()
	RET()
}

// nonzeros writes the scan of a dense row, which returns how many there are. Its output needs room for one vector
// more than it returns.
func nonzeros(s isa) {
	idx, val, x, n, tmp, count := reg.RDI, reg.RSI, reg.RDX, reg.RCX, reg.RAX, reg.RBX
	kernel("nonzeros"+s.name, "func(idx *int32, val *float32, x []float32) int", idx, val)
	Load(Param("x").Base(), x)
	Load(Param("x").Len(), n)
	XORQ(count, count)
	if s.is512() {
		zero, v, pos, step := z.regs[0], z.regs[1], z.regs[2], z.regs[3]
		length := reg.R8
		MOVQ(n, length)
		z.zero(zero)
		VMOVDQU32(iota16, pos)
		MOVL(U32(16), tmp.As32())
		VPBROADCASTD(tmp.As32(), step)
		body := func(tail bool) {
			skip := label("skip", tail)
			z.load(at(x, 0), v, tail)
			PREFETCHT0(indexed(x, length, 4, 0)) // rows mostly follow one another
			VCMPPS(U8(4), zero, v, reg.K2)       // not equal, or not a number
			KMOVW(reg.K2, tmp.As32())
			TESTL(tmp.As32(), tmp.As32())
			JZ(ref(skip))
			VCOMPRESSPS_Z(v, reg.K2, z.regs[4])
			VPCOMPRESSD_Z(pos, reg.K2, z.regs[5])
			VMOVUPS(z.regs[4], indexed(val, count, 4, 0))
			VMOVUPS(z.regs[5], indexed(idx, count, 4, 0))
			POPCNTL(tmp.As32(), tmp.As32())
			ADDQ(tmp, count)
			Label(skip)
		}
		Label("loop")
		CMPQ(n, U8(16))
		JL(ref("rest"))
		body(false)
		VPADDD(step, pos, pos)
		ADDQ(U8(64), x)
		SUBQ(U8(16), n)
		JMP(ref("loop"))
		Label("rest")
		TESTQ(n, n)
		JZ(ref("done"))
		z.loadMask(n, tmp)
		body(true)
	} else {
		zero, v := y.regs[0], y.regs[1]
		pos, bit := reg.R8, reg.R9
		y.zero(zero)
		XORQ(pos, pos)
		body := func(tail bool) {
			next, skip := label("bit", tail), label("skip", tail)
			y.load(indexed(x, pos, 4, 0), v, tail)
			VCMPPS(U8(4), zero, v, v)
			VMOVMSKPS(v, tmp.As32())
			TESTL(tmp.As32(), tmp.As32())
			JZ(ref(skip))
			Label(next)
			BSFL(tmp.As32(), bit.As32())
			ADDQ(pos, bit)
			MOVL(bit.As32(), indexed(idx, count, 4, 0))
			MOVL(indexed(x, bit, 4, 0), bit.As32())
			MOVL(bit.As32(), indexed(val, count, 4, 0))
			INCQ(count)
			LEAL(at(tmp, -1), bit.As32())
			ANDL(bit.As32(), tmp.As32())
			JNZ(ref(next))
			Label(skip)
		}
		Label("loop")
		CMPQ(n, U8(8))
		JL(ref("rest"))
		body(false)
		ADDQ(U8(8), pos)
		SUBQ(U8(8), n)
		JMP(ref("loop"))
		Label("rest")
		TESTQ(n, n)
		JZ(ref("done"))
		y.loadMask(n, tmp)
		body(true)
	}
	Label("done")
	VZEROUPPER()
	Store(count, ReturnIndex(0))
	RET()
}
