package f32

// What the products and strips ask of the NEON kernels.

func vectorWidth() int { return 4 }

// limitFor returns the widest strip for m rows: few rows need many columns to
// keep the multipliers busy.
func limitFor(m int) int {
	switch {
	case m <= 3:
		return 8
	case m <= 6:
		return 4
	}
	return 2
}

// tileRows returns the rows of a full tile of the kernel for a strip.
func tileRows(vectors int) int { return [...]int{1: 12, 2: 12, 4: 6, 8: 3}[vectors] }

// mulStrip runs the kernel for a strip of 8, 4, 2 or 1 vectors; those below do likewise.
func mulStrip(t *tile, vectors int) {
	switch {
	case vectors == 8:
		mul8NEON(t)
	case vectors == 4:
		mul4NEON(t)
	case vectors == 2 && t.tail == 4:
		mul2NEON(t)
	case vectors == 2:
		mul2TailNEON(t)
	case t.tail == 4:
		mul1NEON(t)
	default:
		mul1TailNEON(t)
	}
}

func sparseAffineStrip(t *strip, vectors int) {
	switch {
	case vectors == 8:
		sparseAffine8NEON(t)
	case vectors == 4:
		sparseAffine4NEON(t)
	case vectors == 2 && t.tail == 4:
		sparseAffine2NEON(t)
	case vectors == 2:
		sparseAffine2TailNEON(t)
	case t.tail == 4:
		sparseAffine1NEON(t)
	default:
		sparseAffine1TailNEON(t)
	}
}

func sparseTNStrip(t *strip, vectors int) {
	switch {
	case vectors == 8:
		sparseTN8NEON(t)
	case vectors == 4:
		sparseTN4NEON(t)
	case vectors == 2 && t.tail == 4:
		sparseTN2NEON(t)
	case vectors == 2:
		sparseTN2TailNEON(t)
	case t.tail == 4:
		sparseTN1NEON(t)
	default:
		sparseTN1TailNEON(t)
	}
}

func sumRowsStrip(d, p *float32, m, stride, vectors, tail int) {
	switch {
	case vectors == 8:
		sumRows8NEON(d, p, m, stride, tail)
	case vectors == 4:
		sumRows4NEON(d, p, m, stride, tail)
	case vectors == 2 && tail == 4:
		sumRows2NEON(d, p, m, stride, tail)
	case vectors == 2:
		sumRows2TailNEON(d, p, m, stride, tail)
	case tail == 4:
		sumRows1NEON(d, p, m, stride, tail)
	default:
		sumRows1TailNEON(d, p, m, stride, tail)
	}
}

// packPanel copies two vectors from each of the rows to a panel, packRows lays out a block
// of a in panels as high as a tile, transpose a vector of rows in columns of a panel.
func packPanel(dst, src *float32, rows, stride int) { packPanelNEON(dst, src, rows, stride) }
func transpose(dst, src *float32, n, stride int)    { transposeNEON(dst, src, n, stride) }
func packRows(dst, src *float32, k, stride, pitch, panels, tail int) {
	packANEON(dst, src, k, stride, pitch, panels, tail)
}

func nonzeros(idx *int32, val *float32, x []float32) int { return nonzerosNEON(idx, val, x) }
