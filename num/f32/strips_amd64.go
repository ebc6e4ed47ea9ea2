package f32

import "unsafe"

// What the products and strips ask of the AVX kernels.

func vectorWidth() int {
	if active == avx512 {
		return 16
	}
	return 8
}

// limitFor returns the widest strip for m rows: few rows need many columns to
// keep the multipliers busy.
func limitFor(m int) int {
	switch {
	case active == avx512 && m <= 3, m == 1:
		return 8
	case active == avx512 && m <= 6, m == 2:
		return 4
	}
	return 2
}

// tileRows returns the rows of a full tile of the kernel for a strip.
func tileRows(vectors int) int {
	if active == avx512 {
		return [...]int{1: 12, 2: 12, 4: 6, 8: 3}[vectors]
	}
	return [...]int{1: 12, 2: 6, 4: 2, 8: 1}[vectors]
}

// nearK is up to how many steps two vectors of b stay in the nearest cache.
const nearK = 128

// mulStrip runs the kernel for a strip of 8, 4, 2 or 1 vectors.
func mulStrip(t *tile, vectors int) {
	p := (*byte)(unsafe.Pointer(t))
	switch {
	case active == avx512 && vectors == 8:
		mul8AVX512(p)
	case active == avx512 && vectors == 4:
		mul4AVX512(p)
	case active == avx512 && vectors == 2 && t.k*max(t.segments, 1) > nearK:
		mul2FarAVX512(p)
	case active == avx512 && vectors == 2:
		mul2AVX512(p)
	case active == avx512:
		mul1AVX512(p)
	case vectors == 8:
		mul8AVX2(p)
	case vectors == 4:
		mul4AVX2(p)
	case vectors == 2 && t.tail == 8:
		mul2AVX2(p)
	case vectors == 2:
		mul2TailAVX2(p)
	case t.tail == 8:
		mul1AVX2(p)
	default:
		mul1TailAVX2(p)
	}
}

// packPanel copies two vectors from each of the rows to a panel, packRows lays out a block
// of a in panels as high as a tile, transpose a vector of rows in columns of a panel.
func packPanel(dst, src *float32, rows, stride int) {
	if active == avx512 {
		packPanelAVX512(dst, src, rows, stride)
	} else {
		packPanelAVX2(dst, src, rows, stride)
	}
}

func packRows(dst, src *float32, k, stride, pitch, panels, tail int) {
	if active == avx512 {
		packAAVX512(dst, src, k, stride, pitch, panels, tail)
	} else {
		packAAVX2(dst, src, k, stride, pitch, panels, tail)
	}
}

func transpose(dst, src *float32, n, stride int) {
	if active == avx512 {
		transposeAVX512(dst, src, n, stride)
	} else {
		transposeAVX2(dst, src, n, stride)
	}
}

// sparseAffineStrip runs the kernel for a strip of 8, 4, 2 or 1 vectors; the two below
// do likewise.
func sparseAffineStrip(t *strip, vectors int) {
	p := (*byte)(unsafe.Pointer(t))
	switch {
	case active == avx512 && vectors == 8:
		sparseAffine8AVX512(p)
	case active == avx512 && vectors == 4:
		sparseAffine4AVX512(p)
	case active == avx512 && vectors == 2:
		sparseAffine2AVX512(p)
	case active == avx512:
		sparseAffine1AVX512(p)
	case vectors == 8:
		sparseAffine8AVX2(p)
	case vectors == 4:
		sparseAffine4AVX2(p)
	case vectors == 2 && t.tail == 8:
		sparseAffine2AVX2(p)
	case vectors == 2:
		sparseAffine2TailAVX2(p)
	case t.tail == 8:
		sparseAffine1AVX2(p)
	default:
		sparseAffine1TailAVX2(p)
	}
}

func sparseTNStrip(t *strip, vectors int) {
	p := (*byte)(unsafe.Pointer(t))
	switch {
	case active == avx512 && vectors == 8:
		sparseTN8AVX512(p)
	case active == avx512 && vectors == 4:
		sparseTN4AVX512(p)
	case active == avx512 && vectors == 2:
		sparseTN2AVX512(p)
	case active == avx512:
		sparseTN1AVX512(p)
	case vectors == 8:
		sparseTN8AVX2(p)
	case vectors == 4:
		sparseTN4AVX2(p)
	case vectors == 2 && t.tail == 8:
		sparseTN2AVX2(p)
	case vectors == 2:
		sparseTN2TailAVX2(p)
	case t.tail == 8:
		sparseTN1AVX2(p)
	default:
		sparseTN1TailAVX2(p)
	}
}

func sumRowsStrip(d, p *float32, m, stride, vectors, tail int) {
	switch {
	case active == avx512 && vectors == 8:
		sumRows8AVX512(d, p, m, stride, tail)
	case active == avx512 && vectors == 4:
		sumRows4AVX512(d, p, m, stride, tail)
	case active == avx512 && vectors == 2:
		sumRows2AVX512(d, p, m, stride, tail)
	case active == avx512:
		sumRows1AVX512(d, p, m, stride, tail)
	case vectors == 8:
		sumRows8AVX2(d, p, m, stride, tail)
	case vectors == 4:
		sumRows4AVX2(d, p, m, stride, tail)
	case vectors == 2 && tail == 8:
		sumRows2AVX2(d, p, m, stride, tail)
	case vectors == 2:
		sumRows2TailAVX2(d, p, m, stride, tail)
	case tail == 8:
		sumRows1AVX2(d, p, m, stride, tail)
	default:
		sumRows1TailAVX2(d, p, m, stride, tail)
	}
}

func nonzeros(idx *int32, val *float32, x []float32) int {
	if active == avx512 {
		return nonzerosAVX512(idx, val, x)
	}
	return nonzerosAVX2(idx, val, x)
}
