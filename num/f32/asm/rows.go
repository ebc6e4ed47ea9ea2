package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The registers of the functions over rows, and the mask of legal columns.
var (
	rDst, rX, rLegal   = reg.RDI, reg.RSI, reg.RDX
	rRows, rCols, rPos = reg.R8, reg.R9, reg.R10
	rRest, rTmp, rByte = reg.R11, reg.RAX, reg.RBX
	legalK             = reg.K3
	legalY             = reg.Y14
)

// rows writes the softmax, and the log-softmax of the legal columns: for each row the maximum, then the sum of
// exponentials, then the result.
func rows(s isa) {
	r := s.regs
	x, t, top, total, minusInf, logZero := r[0], r[1:5], r[6], r[7], r[8], r[9]

	begin := func(name, signature string) {
		kernel(name+s.name, signature)
		Load(Param("dst"), rDst)
		Load(Param("x"), rX)
		Load(Param("rows"), rRows)
		Load(Param("cols"), rCols)
		MOVQ(rCols, rRest)
		ANDQ(U8(s.width-1), rRest)
		s.loadMask(rRest, rTmp)
		VMOVUPS(num("minusInf"), minusInf)
	}
	// pass writes a loop over the vectors of a row.
	pass := func(name string, body func(tail bool)) {
		XORQ(rPos, rPos)
		Label(name)
		LEAQ(at(rPos, s.width), rTmp)
		CMPQ(rTmp, rCols)
		JGT(ref(name + "_rest"))
		body(false)
		ADDQ(U8(s.width), rPos)
		JMP(ref(name))
		Label(name + "_rest")
		TESTQ(rRest, rRest)
		JZ(ref(name + "_end"))
		body(true)
		Label(name + "_end")
	}
	end := func() {
		LEAQ(indexed(rDst, rCols, 4, 0), rDst)
		LEAQ(indexed(rX, rCols, 4, 0), rX)
		DECQ(rRows)
		JNZ(ref("row"))
		VZEROUPPER()
		RET()
	}
	in := indexed(rX, rPos, 4, 0)
	out := indexed(rDst, rPos, 4, 0)
	maxOp := func(a, b, c Op) { VMAXPS(a, b, c) }
	addOp := func(a, b, c Op) { VADDPS(a, b, c) }

	begin("softmax", "func(dst, x *float32, rows, cols int)")
	Label("row")
	VMOVAPS(minusInf, top)
	pass("max", func(tail bool) {
		s.load(in, x, tail)
		if tail {
			s.elseWhere(mask, tailY, minusInf, x)
		}
		VMAXPS(x, top, top)
	})
	fold(s, 6, 1, maxOp)
	VBROADCASTSS(top.AsX(), top)
	s.zero(total)
	pass("exp", func(tail bool) {
		s.load(in, x, tail)
		VSUBPS(top, x, x)
		s.exp(x, t[0], t[1], t[2], t[3])
		s.store(x, out, tail)
		if tail {
			s.zeroElse(mask, tailY, x)
		}
		VADDPS(x, total, total)
	})
	fold(s, 7, 1, addOp)
	VBROADCASTSS(total.AsX(), total)
	VMOVUPS(num("one"), x)
	VDIVPS(total, x, total)
	pass("scale", func(tail bool) {
		s.load(out, x, tail)
		VMULPS(total, x, x)
		s.store(x, out, tail)
	})
	end()

	begin("logSoftmax", "func(dst, x *float32, legal *bool, rows, cols int)")
	Load(Param("legal"), rLegal)
	Label("row")
	VMOVAPS(minusInf, top)
	pass("max", func(tail bool) {
		s.legal("max", tail)
		s.load(in, x, tail)
		s.elseWhere(legalK, legalY, minusInf, x)
		VMAXPS(x, top, top)
	})
	fold(s, 6, 1, maxOp)
	VBROADCASTSS(top.AsX(), top)
	s.zero(total)
	pass("sum", func(tail bool) {
		s.legal("sum", tail)
		s.load(in, x, tail)
		VSUBPS(top, x, x)
		s.exp(x, t[0], t[1], t[2], t[3])
		s.zeroElse(legalK, legalY, x)
		VADDPS(x, total, total)
	})
	fold(s, 7, 1, addOp)
	VBROADCASTSS(total.AsX(), total)
	s.log(total, t[0], t[1], t[2], t[3])
	VMOVUPS(num("logZero"), logZero)
	pass("out", func(tail bool) {
		s.legal("out", tail)
		s.load(in, x, tail)
		VSUBPS(top, x, x)
		VSUBPS(total, x, x)
		s.elseWhere(legalK, legalY, logZero, x)
		s.store(x, out, tail)
	})
	TESTQ(rLegal, rLegal)
	JZ(ref("next"))
	ADDQ(rCols, rLegal)
	Label("next")
	end()
}

// elseWhere sets x to alt outside the mask.
func (s isa) elseWhere(k reg.OpmaskPhysical, m, alt, x reg.VecPhysical) {
	if s.is512() {
		VBLENDMPS(x, alt, k, x)
	} else {
		VBLENDVPS(m, x, alt, x)
	}
}

// zeroElse sets x to 0 outside the mask.
func (s isa) zeroElse(k reg.OpmaskPhysical, m, x reg.VecPhysical) {
	if s.is512() {
		VMOVAPS_Z(x, k, x)
	} else {
		VANDPS(m, x, x)
	}
}

// legal makes the mask of the legal columns at rPos; a nil rLegal allows all.
func (s isa) legal(name string, tail bool) {
	name = label(name, "legal", tail)
	bytes := indexed(rLegal, rPos, 1, 0)
	v := s.regs[1]
	if s.is512() {
		if tail {
			KMOVW(mask, legalK)
		} else {
			KXNORW(legalK, legalK, legalK)
		}
		TESTQ(rLegal, rLegal)
		JZ(ref(name))
		VPMOVZXBD_Z(bytes, legalK, v)
		VPTESTMD(v, v, legalK)
		Label(name)
		return
	}
	if tail {
		VMOVAPS(tailY, legalY)
	} else {
		VPCMPEQD(legalY, legalY, legalY)
	}
	TESTQ(rLegal, rLegal)
	JZ(ref(name))
	if tail { // byte by byte, not to read beyond the slice
		XORQ(rTmp, rTmp)
		MOVQ(rRest, reg.RCX)
		Label(name + "_byte")
		SHLQ(U8(8), rTmp)
		LEAQ(indexed(rLegal, rPos, 1, 0), rByte)
		MOVBQZX(indexed(rByte, reg.RCX, 1, -1), rByte)
		ORQ(rByte, rTmp)
		DECQ(reg.RCX)
		JNZ(ref(name + "_byte"))
		VMOVQ(rTmp, v.AsX())
		VPMOVZXBD(v.AsX(), v)
	} else {
		VPMOVZXBD(bytes, v)
	}
	s.zero(legalY)
	VPCMPGTD(legalY, v, legalY)
	Label(name)
}

// lanes writes the log-softmax of rows of at most 16 columns with AVX-512, sixteen
// rows at a time, one in each lane: no sum runs across a vector. near has room for
// 16 vectors and as many masks.
func lanes() {
	near, at4, word, bits := reg.R11, reg.R12, reg.R13, reg.R15
	r := z.regs
	x, t, top, total, minusInf, logZero := r[0], r[1:5], r[6], r[7], r[8], r[9]
	row, byteAt, low, one, three, lowByte := r[10], r[11], r[12], r[13], r[14], r[15]
	kernel("logSoftmaxLanesAVX512", "func(dst, x *float32, legal *bool, rows, cols int, near *float32)",
		rDst, rX, rLegal, rRows, rCols, near)
	VMOVUPS(num("minusInf"), minusInf)
	VMOVUPS(num("logZero"), logZero)
	VPBROADCASTD(rCols.As32(), row)
	VPMULLD(iota16, row, row)
	for _, c := range []struct {
		v reg.VecPhysical
		n uint32
	}{{one, 1}, {three, 3}, {lowByte, 255}} {
		MOVL(U32(c.n), rTmp.As32())
		VPBROADCASTD(rTmp.As32(), c.v)
	}

	Label("block")
	MOVL(U32(0xffff), rTmp.As32())
	CMPQ(rRows, U8(16))
	JGE(ref("full"))
	BZHIL(rRows.As32(), rTmp.As32(), rTmp.As32())
	Label("full")
	KMOVW(rTmp.As32(), mask)
	// Flags are read as the aligned words that hold them, never beyond the slice's own.
	MOVQ(rLegal, word)
	ANDQ(I8(-4), word)
	MOVQ(rLegal, rTmp)
	ANDQ(U8(3), rTmp)
	VPBROADCASTD(rTmp.As32(), byteAt)
	VPADDD(row, byteAt, byteAt)
	MOVQ(rX, at4)
	VMOVAPS(minusInf, top)
	XORQ(rPos, rPos)
	MOVQ(near, bits)
	Label("max")
	KMOVW(mask, reg.K2)
	VGATHERDPS(Mem{Base: at4, Index: row, Scale: 4}, reg.K2, x)
	KMOVW(mask, legalK)
	TESTQ(rLegal, rLegal)
	JZ(ref("allowed"))
	VPSRLD(U8(2), byteAt, t[0])
	KMOVW(mask, reg.K2)
	VPGATHERDD(Mem{Base: word, Index: t[0], Scale: 4}, reg.K2, t[1])
	VPANDD(three, byteAt, low)
	VPSLLD(U8(3), low, low)
	VPSRLVD(low, t[1], t[1])
	VPTESTMD(lowByte, t[1], mask, legalK)
	VPADDD(one, byteAt, byteAt)
	Label("allowed")
	VBLENDMPS(x, minusInf, legalK, x)
	VMAXPS(x, top, top)
	VMOVUPS(x, at(bits, 0))
	KMOVW(legalK, rTmp.As32())
	MOVW(rTmp.As16(), indexed(near, rPos, 2, 1024))
	ADDQ(U8(64), bits)
	ADDQ(U8(4), at4)
	INCQ(rPos)
	CMPQ(rPos, rCols)
	JL(ref("max"))

	z.zero(total)
	MOVQ(near, bits)
	MOVQ(rCols, rPos)
	Label("sum")
	VMOVUPS(at(bits, 0), x)
	VSUBPS(top, x, x)
	z.exp(x, t[0], t[1], t[2], t[3])
	VADDPS(x, total, total)
	ADDQ(U8(64), bits)
	DECQ(rPos)
	JNZ(ref("sum"))
	z.log(total, t[0], t[1], t[2], t[3])

	MOVQ(near, bits)
	MOVQ(rDst, at4)
	XORQ(rPos, rPos)
	Label("out")
	MOVWLZX(indexed(near, rPos, 2, 1024), rTmp.As32())
	KMOVW(rTmp.As32(), legalK)
	VMOVUPS(at(bits, 0), x)
	VSUBPS(top, x, x)
	VSUBPS(total, x, x)
	VBLENDMPS(x, logZero, legalK, x)
	KMOVW(mask, reg.K2)
	VSCATTERDPS(x, reg.K2, Mem{Base: at4, Index: row, Scale: 4})
	ADDQ(U8(64), bits)
	ADDQ(U8(4), at4)
	INCQ(rPos)
	CMPQ(rPos, rCols)
	JL(ref("out"))

	MOVQ(rCols, rTmp)
	SHLQ(U8(4), rTmp)
	LEAQ(indexed(rX, rTmp, 4, 0), rX)
	LEAQ(indexed(rDst, rTmp, 4, 0), rDst)
	TESTQ(rLegal, rLegal)
	JZ(ref("next"))
	ADDQ(rTmp, rLegal)
	Label("next")
	SUBQ(U8(16), rRows)
	JG(ref("block"))
	VZEROUPPER()
	RET()
}
