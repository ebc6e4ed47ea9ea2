package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of f32's type tile.
const (
	tDst = 8 * iota
	tA
	tB
	tBias
	tM
	tK
	tARow
	tAStep
	tATile
	tBStep
	tDstRow
	tTail
	tFrom
	tFloor
	tSegments
	tAJump
	tRow  // scratch: a, past the rows done
	tLeft // scratch: rows to do
)

// The registers of a product. The row pointers stand four rows apart, so that
// with one and three row strides as index they reach twelve rows.
var (
	pT     = reg.RAX // *tile
	pDst   = reg.RDI
	pB     = reg.RDX
	pCount = reg.RCX
	pARow  = reg.R10
	pARow3 = reg.R11
	pAStep = reg.R12
	pBStep = reg.R13
	pA     = []reg.GPPhysical{reg.RSI, reg.R8, reg.R9}
	pTmp   = reg.RBX
)

// products writes the kernels of a strip of v vectors, each with as many rows at
// a time as the registers hold.
func products(s isa) {
	if s.is512() {
		product(s, 8, 3, true, false)
		product(s, 4, 6, true, false)
		product(s, 2, 12, true, false)
		product(s, 2, 12, true, true)
		product(s, 1, 12, true, false)
		return
	}
	product(s, 8, 1, false, false)
	product(s, 4, 2, false, false)
	for _, tail := range []bool{false, true} {
		product(s, 2, 6, tail, false)
		product(s, 1, 12, tail, false)
	}
}

// product writes mul<v>: all rows of dst's strip of v vectors, maxRows at a time. With tail the last
// vector is masked. With far, mul<v>Far, for what is not in the nearest cache: it
// asks for b and dst before they are needed, which costs a little otherwise.
func product(s isa, v, maxRows int, tail, far bool) {
	name := fmt.Sprintf("mul%d%s", v, s.name)
	if far {
		name = fmt.Sprintf("mul%dFar%s", v, s.name)
	}
	if tail && !s.is512() {
		name = fmt.Sprintf("mul%dTail%s", v, s.name)
	}
	kernel(name, "func(t *byte)", pT)
	if tail {
		MOVQ(at(pT, tTail), pTmp)
		s.loadMask(pTmp, reg.RCX)
	}
	MOVQ(at(pT, tARow), pARow)
	LEAQ(indexed(pARow, pARow, 2, 0), pARow3)
	MOVQ(at(pT, tAStep), pAStep)
	MOVQ(at(pT, tBStep), pBStep)
	MOVQ(at(pT, tDst), pDst)

	MOVQ(at(pT, tA), pTmp)
	MOVQ(pTmp, at(pT, tRow))
	MOVQ(at(pT, tM), pTmp)
	MOVQ(pTmp, at(pT, tLeft))

	Label("tiles")
	CMPQ(at(pT, tLeft), U8(maxRows))
	JL(ref("rest"))
	productTile(s, maxRows, v, tail, far)
	JMP(ref("tiles"))
	Label("rest")
	MOVQ(at(pT, tLeft), pTmp)
	for r := maxRows - 1; r > 0; r-- {
		CMPQ(pTmp, U8(r))
		JEQ(ref(label("rest", r)))
	}
	VZEROUPPER()
	RET()
	for r := maxRows - 1; r > 0; r-- {
		Label(label("rest", r))
		productTile(s, r, v, tail, false)
		VZEROUPPER()
		RET()
	}
}

// productTile writes one tile of rows x v vectors: start the chains, run over k,
// apply the floor of the activation, store, move on to the next rows.
func productTile(s isa, rows, v int, tail, far bool) {
	acc := func(r, i int) reg.VecPhysical { return s.regs[r*v+i] }
	last := func(i int) bool { return tail && i == v-1 }
	id := rows

	for g := 0; 4*g < rows; g++ {
		if g == 0 {
			MOVQ(at(pT, tRow), pA[0])
		} else {
			LEAQ(indexed(pA[g-1], pARow, 4, 0), pA[g])
		}
	}
	MOVQ(at(pT, tB), pB)
	MOVQ(at(pT, tFrom), pTmp)
	CMPQ(pTmp, U8(1))
	JEQ(ref(label("bias", id)))
	JGT(ref(label("dst", id)))
	for r := range rows {
		for i := range v {
			s.zero(acc(r, i))
		}
	}
	JMP(ref(label("started", id)))
	Label(label("bias", id))
	MOVQ(at(pT, tBias), pTmp)
	for i := range v {
		s.load(at(pTmp, i*s.bytes()), acc(0, i), last(i))
		for r := 1; r < rows; r++ {
			VMOVAPS(acc(0, i), acc(r, i))
		}
	}
	JMP(ref(label("started", id)))
	Label(label("dst", id))
	MOVQ(pDst, pTmp)
	for r := range rows {
		for i := range v {
			s.load(at(pTmp, i*s.bytes()), acc(r, i), last(i))
		}
		if r < rows-1 {
			ADDQ(at(pT, tDstRow), pTmp)
		}
	}

	Label(label("started", id))
	if far { // fetch what the next tile starts from
		MOVQ(at(pT, tDstRow), pCount)
		LEAQ(indexed(pCount, pCount, 2, 0), pTmp)
		LEAQ(indexed(pDst, pTmp, 4, 0), pTmp)
		for range rows {
			PREFETCHT0(at(pTmp, 0))
			PREFETCHT0(at(pTmp, 64))
			ADDQ(pCount, pTmp)
		}
	}
	MOVQ(at(pT, tSegments), pTmp)
	Label(label("segment", id))
	MOVQ(at(pT, tK), pCount)
	TESTQ(pCount, pCount)
	JZ(ref(label("done", id)))
	Label(label("loop", id))
	productStep(s, rows, v, tail, far)
	for g := 0; 4*g < rows; g++ {
		ADDQ(pAStep, pA[g])
	}
	ADDQ(pBStep, pB)
	DECQ(pCount)
	JNZ(ref(label("loop", id)))
	DECQ(pTmp)
	JLE(ref(label("done", id)))
	for g := 0; 4*g < rows; g++ {
		ADDQ(at(pT, tAJump), pA[g])
	}
	JMP(ref(label("segment", id)))

	Label(label("done", id))
	floor := s.regs[rows*v]
	VBROADCASTSS(at(pT, tFloor), floor)
	for r := range rows {
		for i := range v {
			VMAXPS(acc(r, i), floor, acc(r, i))
			s.store(acc(r, i), at(pDst, i*s.bytes()), last(i))
		}
		ADDQ(at(pT, tDstRow), pDst)
	}
	MOVQ(at(pT, tATile), pTmp)
	ADDQ(pTmp, at(pT, tRow))
	SUBQ(U8(rows), at(pT, tLeft))
}

// productStep adds one column of a times one row of b to the tile.
func productStep(s isa, rows, v int, tail, far bool) {
	acc := func(r, i int) reg.VecPhysical { return s.regs[r*v+i] }
	row := func(r int) Mem {
		switch r % 4 {
		case 0:
			return at(pA[r/4], 0)
		case 3:
			return indexed(pA[r/4], pARow3, 1, 0)
		default:
			return indexed(pA[r/4], pARow, uint8(r%4), 0)
		}
	}
	free := s.regs[rows*v:]
	if rows <= 3 { // few rows: keep a's elements and let b pass through
		for r := range rows {
			VBROADCASTSS(row(r), free[r])
		}
		bs := free[rows:]
		if !s.is512() && tail {
			bs = bs[:len(bs)-1]
		}
		for i := range v {
			b := bs[i%min(len(bs), 4)]
			s.load(at(pB, i*s.bytes()), b, tail && i == v-1)
			for r := range rows {
				VFMADD231PS(b, free[r], acc(r, i))
			}
		}
		return
	}
	for i := range v {
		s.load(at(pB, i*s.bytes()), free[i], tail && i == v-1)
		if far {
			PREFETCHT0(at(pB, 2048+i*s.bytes()))
		}
	}
	xs := free[v:]
	if !s.is512() && tail {
		xs = xs[:len(xs)-1]
	}
	for r := range rows {
		x := xs[r%min(len(xs), 4)]
		VBROADCASTSS(row(r), x)
		for i := range v {
			VFMADD231PS(free[i], x, acc(r, i))
		}
	}
}

// packing writes the kernels that lay out b in panels of two vectors. packPanel
// copies two vectors from each of the rows, stride bytes apart, to a panel.
func packing(s isa) {
	dst, src, n, stride := reg.RDI, reg.RSI, reg.RCX, reg.RDX
	kernel("packPanel"+s.name, "func(dst, src *float32, rows, stride int)", dst, src, n, stride)
	Label("loop")
	VMOVUPS(at(src, 0), s.regs[0])
	VMOVUPS(at(src, s.bytes()), s.regs[1])
	VMOVUPS(s.regs[0], at(dst, 0))
	VMOVUPS(s.regs[1], at(dst, s.bytes()))
	ADDQ(stride, src)
	ADDQ(U8(64), dst)
	if s.is512() {
		ADDQ(U8(64), dst)
	}
	DECQ(n)
	JNZ(ref("loop"))
	VZEROUPPER()
	RET()
	packA(s)
	if s.is512() {
		transpose16()
	} else {
		transpose8()
	}
}

// packA writes the kernel that lays out a block of a, [k][m], in panels as high as
// a tile of the two-vector product: k lines of panels*rows+tail floats, stride
// bytes apart, become panels [k][rows], pitch bytes apart.
func packA(s isa) {
	rows := 6
	if s.is512() {
		rows = 12
	}
	dst, src, k, stride, panels, tail := reg.RDI, reg.RSI, reg.RCX, reg.RDX, reg.R8, reg.R9
	from, to, n, pitch := reg.R10, reg.R11, reg.R12, reg.R13
	kernel("packA"+s.name, "func(dst, src *float32, k, stride, pitch, panels, tail int)", dst, src, k, stride, pitch, panels, tail)
	s.loadMask(tail, reg.RAX)
	// The first two thirds of a panel's line and the last.
	var most, rest reg.VecPhysical = reg.X0, reg.X1
	if s.is512() {
		most = reg.Y0
	}
	cut := 4 * rows / 3 * 2
	Label("line")
	MOVQ(src, from)
	MOVQ(dst, to)
	MOVQ(panels, n)
	TESTQ(n, n)
	JZ(ref("tail"))
	Label("panel")
	VMOVUPS(at(from, 0), most)
	if s.is512() {
		VMOVUPS(at(from, cut), rest)
		VMOVUPS(rest, at(to, cut))
	} else {
		VMOVSD(at(from, cut), rest)
		VMOVSD(rest, at(to, cut))
	}
	VMOVUPS(most, at(to, 0))
	ADDQ(U8(4*rows), from)
	ADDQ(pitch, to)
	DECQ(n)
	JNZ(ref("panel"))
	Label("tail")
	TESTQ(tail, tail)
	JZ(ref("next"))
	s.load(at(from, 0), s.regs[4], true)
	s.store(s.regs[4], at(to, 0), true)
	Label("next")
	ADDQ(stride, src)
	ADDQ(U8(4*rows), dst)
	DECQ(k)
	JNZ(ref("line"))
	VZEROUPPER()
	RET()
}

// transpose16 writes the transposition of 16 rows of src into columns of a panel:
// n floats a row, stride bytes apart, become n rows of 16 floats, 128 bytes apart.
func transpose16() {
	dst, n, stride, tmp := reg.RDI, reg.RCX, reg.RDX, reg.RAX
	row := []reg.GPPhysical{reg.RSI, reg.R8, reg.R9, reg.R10}
	stride3 := reg.R11
	kernel("transposeAVX512", "func(dst, src *float32, n, stride int)", dst, row[0], n, stride)
	LEAQ(indexed(stride, stride, 2, 0), stride3)
	for g := 1; g < 4; g++ {
		LEAQ(indexed(row[g-1], stride, 4, 0), row[g])
	}
	Label("loop")
	MOVL(U32(0xffff), tmp.As32())
	CMPQ(n, U8(16))
	JGE(ref("full"))
	BZHIL(n.As32(), tmp.As32(), tmp.As32())
	Label("full")
	KMOVW(tmp.As32(), mask)
	a, b := z.regs[:16], z.regs[16:]
	for r := range 16 {
		m := at(row[r/4], 0)
		if r%4 == 3 {
			m = indexed(row[r/4], stride3, 1, 0)
		} else if r%4 > 0 {
			m = indexed(row[r/4], stride, uint8(r%4), 0)
		}
		VMOVUPS_Z(m, mask, a[r])
	}
	// Pairs, then quads, then the four 128-bit lanes as a 4x4 of their own.
	for i := 0; i < 16; i += 2 {
		VUNPCKLPS(a[i+1], a[i], b[i])
		VUNPCKHPS(a[i+1], a[i], b[i+1])
	}
	for i := 0; i < 16; i += 4 {
		VUNPCKLPD(b[i+2], b[i], a[i])
		VUNPCKHPD(b[i+2], b[i], a[i+1])
		VUNPCKLPD(b[i+3], b[i+1], a[i+2])
		VUNPCKHPD(b[i+3], b[i+1], a[i+3])
	}
	for c := range 4 { // a[c], a[4+c], a[8+c], a[12+c] hold column c of each lane
		VSHUFF32X4(U8(0x88), a[4+c], a[c], b[c])
		VSHUFF32X4(U8(0xdd), a[4+c], a[c], b[4+c])
		VSHUFF32X4(U8(0x88), a[12+c], a[8+c], b[8+c])
		VSHUFF32X4(U8(0xdd), a[12+c], a[8+c], b[12+c])
	}
	for c := range 4 {
		VSHUFF32X4(U8(0x88), b[8+c], b[c], a[c])
		VSHUFF32X4(U8(0x88), b[12+c], b[4+c], a[4+c])
		VSHUFF32X4(U8(0xdd), b[8+c], b[c], a[8+c])
		VSHUFF32X4(U8(0xdd), b[12+c], b[4+c], a[12+c])
	}
	for r := range 16 {
		VMOVUPS(a[r], at(dst, 128*r))
		if r < 15 {
			CMPQ(n, U8(r+1))
			JEQ(ref("done"))
		}
	}
	for g := range 4 {
		ADDQ(U8(64), row[g])
	}
	ADDQ(U32(16*128), dst)
	SUBQ(U8(16), n)
	JNZ(ref("loop"))
	Label("done")
	VZEROUPPER()
	RET()
}

// transpose8 writes the same for 8 rows, with AVX2: rows of 8 floats, 64 bytes apart.
func transpose8() {
	dst, n, stride := reg.RDI, reg.RCX, reg.RDX
	row := []reg.GPPhysical{reg.RSI, reg.R8}
	stride3, tmp := reg.R11, reg.RAX
	kernel("transposeAVX2", "func(dst, src *float32, n, stride int)", dst, row[0], n, stride)
	LEAQ(indexed(stride, stride, 2, 0), stride3)
	LEAQ(indexed(row[0], stride, 4, 0), row[1])
	a, b := y.regs[:8], []reg.VecPhysical{reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y0}
	body := func(tail bool) {
		for r := range 8 {
			m := at(row[r/4], 0)
			if r%4 == 3 {
				m = indexed(row[r/4], stride3, 1, 0)
			} else if r%4 > 0 {
				m = indexed(row[r/4], stride, uint8(r%4), 0)
			}
			y.load(m, a[r], tail)
		}
		b[7] = reg.Y7 // the last pair is unpacked in place
		for i := 0; i < 6; i += 2 {
			VUNPCKLPS(a[i+1], a[i], b[i])
			VUNPCKHPS(a[i+1], a[i], b[i+1])
		}
		VUNPCKLPS(a[7], a[6], b[6])
		VUNPCKHPS(a[7], a[6], b[7])
		c := []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y8}
		for i := 0; i < 8; i += 4 {
			VUNPCKLPD(b[i+2], b[i], c[i])
			VUNPCKHPD(b[i+2], b[i], c[i+1])
			VUNPCKLPD(b[i+3], b[i+1], c[i+2])
			VUNPCKHPD(b[i+3], b[i+1], c[i+3])
		}
		out := []reg.VecPhysical{reg.Y9, reg.Y10, reg.Y11, reg.Y12}
		for i := range 4 {
			VPERM2F128(U8(0x20), c[4+i], c[i], out[i])
			VPERM2F128(U8(0x31), c[4+i], c[i], c[4+i])
		}
		for r := range 8 {
			v := out[r%4]
			if r >= 4 {
				v = c[r]
			}
			VMOVUPS(v, at(dst, 64*r))
			if tail {
				CMPQ(n, U8(r+1))
				JEQ(ref("done"))
			}
		}
	}
	Label("loop")
	CMPQ(n, U8(8))
	JL(ref("rest"))
	body(false)
	ADDQ(U8(32), row[0])
	ADDQ(U8(32), row[1])
	ADDQ(U32(8*64), dst)
	SUBQ(U8(8), n)
	JMP(ref("loop"))
	Label("rest")
	TESTQ(n, n)
	JZ(ref("done"))
	y.loadMask(n, tmp)
	body(true)
	Label("done")
	VZEROUPPER()
	RET()
}
