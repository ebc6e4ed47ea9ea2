package main

import "fmt"

// The registers of a product. Row r of a tile is read at pRow[r] + pAt, so that one
// addition moves all of them.
const (
	pT     = "R0" // *tile
	pDst   = "R1"
	pB     = "R2"
	pCount = "R3"
	pAt    = "R4" // along k, in bytes
	pAStep = "R5"
	pBStep = "R6"
	pTmp   = "R7"
	pTail  = "R8"
	pTimes = "R9" // segments to do
	pLeft  = "R23"
	pA     = "R24" // the tile's first row
)

var pRow = []string{"R10", "R11", "R12", "R13", "R14", "R15", "R16", "R17", "R19", "R20", "R21", "R22"}

// products writes the kernels of a strip of v vectors, each with as many rows at a
// time as 24 registers hold; the other eight are for a and b.
func products() {
	product(8, 3, false)
	product(4, 6, false)
	for _, tail := range []bool{false, true} {
		product(2, 12, tail)
		product(1, 12, tail)
	}
}

// product writes mul<v>: all rows of dst's strip of v vectors, maxRows at a time.
// With tail the last vector is not whole.
func product(v, maxRows int, tail bool) {
	name, what := fmt.Sprintf("mul%dNEON", v), ""
	if tail {
		name, what = fmt.Sprintf("mul%dTailNEON", v), ", the last of tile.tail elements"
	}
	kernel(name, "func(t *tile)", fmt.Sprintf("%s computes all rows of a strip of %d vectors%s, %d rows at a time.", name, v, what, maxRows))
	arg("t", pT)
	rest := ""
	if tail {
		rest = pTail
		ins("MOVD tile_tail(%s), %s", pT, pTail)
	}
	ins("MOVD tile_aStep(%s), %s", pT, pAStep)
	ins("MOVD tile_bStep(%s), %s", pT, pBStep)
	ins("MOVD tile_dst(%s), %s", pT, pDst)
	ins("MOVD tile_a(%s), %s", pT, pA)
	ins("MOVD tile_m(%s), %s", pT, pLeft)
	place("tiles")
	ins("CMP $%d, %s", maxRows, pLeft)
	ins("BLT rest")
	productTile(maxRows, v, rest)
	ins("JMP tiles")
	place("rest")
	for r := maxRows - 1; r > 0; r-- {
		ins("CMP $%d, %s", r, pLeft)
		ins("BEQ rest%d", r)
	}
	ins("RET")
	for r := maxRows - 1; r > 0; r-- {
		place(fmt.Sprintf("rest%d", r))
		productTile(r, v, rest)
		ins("RET")
	}
}

// productTile writes one tile of rows x v vectors: start the chains, run over k,
// apply the floor of the activation, store, move on to the next rows.
func productTile(rows, v int, tail string) {
	acc := func(r, i int) vec { return vec(r*v + i) }
	last := func(i int) string {
		if i == v-1 {
			return tail
		}
		return ""
	}
	bias, dst, started := fresh("bias"), fresh("dst"), fresh("started")
	segment, loop, done := fresh("segment"), fresh("loop"), fresh("done")
	note(fmt.Sprintf("A tile of %d rows.", rows))
	ins("MOVD %s, %s", pA, pRow[0])
	ins("MOVD tile_aRow(%s), %s", pT, pTmp)
	for r := 1; r < rows; r++ {
		ins("ADD %s, %s, %s", pTmp, pRow[r-1], pRow[r])
	}
	ins("MOVD $0, %s", pAt)
	ins("MOVD tile_b(%s), %s", pT, pB)
	ins("MOVD tile_from(%s), %s", pT, pTmp)
	ins("CMP $const_fromBias, %s", pTmp)
	ins("BEQ %s", bias)
	ins("BGT %s", dst)
	for i := range rows * v {
		zero(vec(i))
	}
	ins("JMP %s", started)
	place(bias)
	ins("MOVD tile_bias(%s), %s", pT, pTmp)
	for i := range v {
		load(pTmp, 16*i, acc(0, i), last(i))
		for r := 1; r < rows; r++ {
			move(acc(r, i), acc(0, i))
		}
	}
	ins("JMP %s", started)
	place(dst)
	ins("MOVD %s, %s", pDst, pTmp)
	ins("MOVD tile_dstRow(%s), %s", pT, pCount)
	for r := range rows {
		for i := range v {
			load(pTmp, 16*i, acc(r, i), last(i))
		}
		if r < rows-1 {
			ins("ADD %s, %s", pCount, pTmp)
		}
	}
	place(started)
	ins("MOVD tile_segments(%s), %s", pT, pTimes)
	place(segment)
	ins("MOVD tile_k(%s), %s", pT, pCount)
	place(loop)
	productStep(rows, v, last)
	ins("ADD %s, %s", pAStep, pAt)
	ins("ADD %s, %s", pBStep, pB)
	ins("SUB $1, %s", pCount)
	ins("CBNZ %s, %s", pCount, loop)
	ins("SUBS $1, %s", pTimes)
	ins("BLE %s", done)
	ins("MOVD tile_aJump(%s), %s", pT, pTmp)
	ins("ADD %s, %s", pTmp, pAt)
	ins("JMP %s", segment)
	place(done)
	floor := vec(rows * v)
	ins("FMOVS tile_floor(%s), %s", pT, floor.f())
	spread(floor)
	ins("MOVD tile_dstRow(%s), %s", pT, pTmp)
	for r := range rows {
		for i := range v {
			fmax(acc(r, i), acc(r, i), floor)
			store(acc(r, i), pDst, 16*i, last(i))
		}
		ins("ADD %s, %s", pTmp, pDst)
	}
	ins("MOVD tile_aTile(%s), %s", pT, pTmp)
	ins("ADD %s, %s", pTmp, pA)
	ins("SUB $%d, %s", rows, pLeft)
}

// productStep adds one column of a times one row of b to the tile. An element of a
// is loaded alone; the multiplication itself takes it for all four columns.
func productStep(rows, v int, last func(i int) string) {
	acc := func(r, i int) vec { return vec(r*v + i) }
	free := span(vec(rows*v), 32-rows*v)
	element := func(r int, x vec) { ins("FMOVS (%s)(%s), %s", pRow[r], pAt, x.f()) }
	if rows <= 3 { // few rows: keep a's elements and let b pass through
		for r := range rows {
			element(r, free[r])
		}
		bs := free[rows:min(rows+4, len(free))]
		for i := range v {
			b := bs[i%len(bs)]
			load(pB, 16*i, b, last(i))
			for r := range rows {
				fmlaBy(acc(r, i), b, free[r])
			}
		}
		return
	}
	for i := range v {
		load(pB, 16*i, free[i], last(i))
	}
	xs := free[v:min(v+4, len(free))]
	for r := range rows {
		x := xs[r%len(xs)]
		element(r, x)
		for i := range v {
			fmlaBy(acc(r, i), free[i], x)
		}
	}
}

// packing writes the kernels that lay out b in panels of two vectors and a in panels
// of twelve rows.
func packing() {
	dst, src, n, stride := "R0", "R1", "R2", "R3"
	kernel("packPanelNEON", "func(dst, src *float32, rows, stride int)",
		"packPanelNEON copies two vectors from each of the rows, stride bytes apart, to a panel.")
	for i, name := range []string{"dst", "src", "rows", "stride"} {
		arg(name, []string{dst, src, n, stride}[i])
	}
	place("loop")
	load(src, 0, 0, "")
	load(src, 16, 1, "")
	store(0, dst, 0, "")
	store(1, dst, 16, "")
	ins("ADD %s, %s", stride, src)
	ins("ADD $32, %s", dst)
	ins("SUB $1, %s", n)
	ins("CBNZ %s, loop", n)
	ins("RET")

	kernel("packANEON", "func(dst, src *float32, k, stride, pitch, panels, tail int)",
		"packANEON lays out a block of a, [k][m]: k lines of panels*12+tail floats, stride\nbytes apart, "+
			"become panels [k][12], pitch bytes apart.")
	k, pitch, panels, tail := "R2", "R4", "R5", "R6"
	from, to, left := "R7", "R8", "R9"
	for i, name := range []string{"dst", "src", "k", "stride", "pitch", "panels", "tail"} {
		arg(name, []string{dst, src, k, stride, pitch, panels, tail}[i])
	}
	place("line")
	ins("MOVD %s, %s", src, from)
	ins("MOVD %s, %s", dst, to)
	ins("MOVD %s, %s", panels, left)
	ins("CBZ %s, tail", left)
	place("panel")
	for i := range span(0, 3) {
		load(from, 16*i, vec(i), "")
		store(vec(i), to, 16*i, "")
	}
	ins("ADD $48, %s", from)
	ins("ADD %s, %s", pitch, to)
	ins("SUB $1, %s", left)
	ins("CBNZ %s, panel", left)
	place("tail")
	ins("MOVD %s, %s", tail, left)
	ins("CBZ %s, next", left)
	place("element")
	ins("FMOVS.P 4(%s), F0", from)
	ins("FMOVS.P F0, 4(%s)", to)
	ins("SUB $1, %s", left)
	ins("CBNZ %s, element", left)
	place("next")
	ins("ADD %s, %s", stride, src)
	ins("ADD $48, %s", dst)
	ins("SUB $1, %s", k)
	ins("CBNZ %s, line", k)
	ins("RET")

	kernel("transposeNEON", "func(dst, src *float32, n, stride int)",
		"transposeNEON lays four rows of n floats, stride bytes apart, into columns of a\npanel: n rows of four floats, 32 bytes apart.")
	row := []string{src, "R4", "R5", "R6"}
	for i, name := range []string{"dst", "src", "n", "stride"} {
		arg(name, []string{dst, src, n, stride}[i])
	}
	for r := 1; r < 4; r++ {
		ins("ADD %s, %s, %s", stride, row[r-1], row[r])
	}
	place("loop")
	ins("CMP $4, %s", n)
	ins("BLT rest")
	for r := range row {
		ins("FMOVQ.P 16(%s), F%d", row[r], r)
	}
	// Pairs of rows 0 and 1, then of 2 and 3, then both side by side.
	ins("VZIP1 V1.S4, V0.S4, V4.S4")
	ins("VZIP2 V1.S4, V0.S4, V5.S4")
	ins("VZIP1 V3.S4, V2.S4, V6.S4")
	ins("VZIP2 V3.S4, V2.S4, V7.S4")
	ins("VZIP1 V6.D2, V4.D2, V0.D2")
	ins("VZIP2 V6.D2, V4.D2, V1.D2")
	ins("VZIP1 V7.D2, V5.D2, V2.D2")
	ins("VZIP2 V7.D2, V5.D2, V3.D2")
	for r := range row {
		store(vec(r), dst, 32*r, "")
	}
	ins("ADD $128, %s", dst)
	ins("SUB $4, %s", n)
	ins("JMP loop")
	place("rest")
	ins("CBZ %s, done", n)
	for r := range row {
		ins("FMOVS.P 4(%s), F0", row[r])
		ins("FMOVS F0, %d(%s)", 4*r, dst)
	}
	ins("ADD $32, %s", dst)
	ins("SUB $1, %s", n)
	ins("JMP rest")
	place("done")
	ins("RET")
}
