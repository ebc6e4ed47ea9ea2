package f32

import "unsafe"

// strip is the argument of the sparse kernels: all rows of a strip of columns.
// The generator knows its layout.
type strip struct {
	dst, w, bias *float32
	ptr, idx     *int32
	val          *float32
	rows, cols   int
	stride       int // bytes from row to row of dst
	wStride      int // bytes from row to row of w
	tail         int // elements of the last vector
	bad          int // set if an index was no column
	floor        float32
	entries      int // for nearStrip
}

// strips cuts n columns into strips of 8, 4, 2 or 1 vectors. next returns the
// first column of the next strip, its vectors, and how many elements its last
// vector has; wide strips are never cut short.
type strips struct{ n, at, width int }

func (s *strips) next(limit int) (at, vectors, tail int, ok bool) {
	rest := s.n - s.at
	if rest <= 0 {
		return 0, 0, 0, false
	}
	vectors = 1
	switch {
	case rest >= 8*s.width && limit >= 8:
		vectors = 8
	case rest >= 4*s.width && limit >= 4:
		vectors = 4
	case rest > s.width:
		vectors = 2
	}
	at, tail = s.at, min(rest-(vectors-1)*s.width, s.width)
	s.at += vectors * s.width
	return at, vectors, tail, true
}

func vectorWidth() int {
	if active == avx512 {
		return 16
	}
	return 8
}

func sparseAffine(dst []float32, s *Sparse, w, bias []float32, n int, act Act) {
	if active == generic || len(dst) == 0 {
		sparseAffineGeneric(dst, s, w, bias, n, act)
		return
	}
	t := newStrip(s, n)
	t.floor = floorOf(act)
	near, limit := nearStrip(&t, n)
	for cut := (strips{n: n, width: vectorWidth()}); ; {
		at, vectors, tail, ok := cut.next(limit)
		if !ok {
			break
		}
		t.dst, t.tail = &dst[at], tail
		if near != nil {
			near.fetch(&t, w[at:], n, vectors, tail)
		} else if len(w) > 0 {
			t.w = &w[at]
		}
		if bias != nil {
			t.bias = &bias[at]
		}
		p := (*byte)(unsafe.Pointer(&t))
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
		case vectors == 2 && tail == 8:
			sparseAffine2AVX2(p)
		case vectors == 2:
			sparseAffine2TailAVX2(p)
		case tail == 8:
			sparseAffine1AVX2(p)
		default:
			sparseAffine1TailAVX2(p)
		}
		if t.bad != 0 {
			break
		}
	}
	if near != nil {
		near.giveBack()
	}
	if t.bad != 0 {
		panic(badIndex)
	}
}

func sparseTN(dw []float32, s *Sparse, g []float32, n int) {
	if active == generic || len(g) == 0 || len(dw) == 0 {
		sparseTNGeneric(dw, s, g, n)
		return
	}
	t := newStrip(s, n)
	near, limit := nearStrip(&t, n)
	for cut := (strips{n: n, width: vectorWidth()}); ; {
		at, vectors, tail, ok := cut.next(limit)
		if !ok {
			break
		}
		t.dst, t.w, t.tail = &g[at], &dw[at], tail
		if near != nil {
			near.fetch(&t, dw[at:], n, vectors, tail)
		}
		p := (*byte)(unsafe.Pointer(&t))
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
		case vectors == 2 && tail == 8:
			sparseTN2AVX2(p)
		case vectors == 2:
			sparseTN2TailAVX2(p)
		case tail == 8:
			sparseTN1AVX2(p)
		default:
			sparseTN1TailAVX2(p)
		}
		if near != nil {
			near.bring(dw[at:], &t, n, vectors, tail)
		}
		if t.bad != 0 {
			break
		}
	}
	if near != nil {
		near.giveBack()
	}
	if t.bad != 0 {
		panic(badIndex)
	}
}

// nearStrip returns a workspace if the strips of w should be copied to it before
// use, and the widest strip. Rows of w that lie a large power of two apart fall
// into few sets of the first-level cache; side by side a narrow strip fits there.
func nearStrip(t *strip, n int) (near *workspace, limit int) {
	if n < 512 || t.cols*4*vectorWidth() > len(near.b) || t.entries < 8*t.cols {
		return nil, 8
	}
	return takeWorkspace(), 4
}

// fetch copies a strip of w to the workspace and points t there.
func (near *workspace) fetch(t *strip, w []float32, n, vectors, tail int) {
	cols := (vectors-1)*vectorWidth() + tail
	for i := range t.cols {
		copy(near.b[i*cols:(i+1)*cols], w[i*n:])
	}
	t.w, t.wStride = &near.b[0], 4*cols
}

// bring copies the strip back.
func (near *workspace) bring(w []float32, t *strip, n, vectors, tail int) {
	cols := (vectors-1)*vectorWidth() + tail
	for i := range t.cols {
		copy(w[i*n:i*n+cols], near.b[i*cols:])
	}
}

func newStrip(s *Sparse, n int) strip {
	return strip{
		ptr: &s.Ptr[0], idx: unsafe.SliceData(s.Idx), val: unsafe.SliceData(s.Val),
		rows: s.Rows(), cols: s.Cols, stride: 4 * n, wStride: 4 * n,
		entries: int(s.Ptr[s.Rows()] - s.Ptr[0]),
	}
}

// appendNonzeros makes room for a full row and a vector more, which the kernels
// write whole, and appends the row's nonzeros.
func (s *Sparse) appendNonzeros(x []float32) {
	if active == generic {
		appendNonzerosGeneric(s, x)
		return
	}
	n := len(s.Idx)
	if room := n + len(x) + 16; cap(s.Idx) < room || cap(s.Val) < room {
		s.Idx = append(make([]int32, 0, 2*room), s.Idx...)
		s.Val = append(make([]float32, 0, 2*room), s.Val...)
	}
	idx, val := &s.Idx[:n+1][n], &s.Val[:n+1][n]
	var k int
	if active == avx512 {
		k = nonzerosAVX512(idx, val, x)
	} else {
		k = nonzerosAVX2(idx, val, x)
	}
	s.Idx, s.Val = s.Idx[:n+k], s.Val[:n+k]
}

func sumRows(dst, x []float32, m, n int) {
	if active == generic || len(x) == 0 {
		sumRowsGeneric(dst, x, m, n)
		return
	}
	for cut := (strips{n: n, width: vectorWidth()}); ; {
		at, vectors, tail, ok := cut.next(8)
		if !ok {
			return
		}
		d, p := &dst[at], &x[at]
		switch {
		case active == avx512 && vectors == 8:
			sumRows8AVX512(d, p, m, 4*n, tail)
		case active == avx512 && vectors == 4:
			sumRows4AVX512(d, p, m, 4*n, tail)
		case active == avx512 && vectors == 2:
			sumRows2AVX512(d, p, m, 4*n, tail)
		case active == avx512:
			sumRows1AVX512(d, p, m, 4*n, tail)
		case vectors == 8:
			sumRows8AVX2(d, p, m, 4*n, tail)
		case vectors == 4:
			sumRows4AVX2(d, p, m, 4*n, tail)
		case vectors == 2 && tail == 8:
			sumRows2AVX2(d, p, m, 4*n, tail)
		case vectors == 2:
			sumRows2TailAVX2(d, p, m, 4*n, tail)
		case tail == 8:
			sumRows1AVX2(d, p, m, 4*n, tail)
		default:
			sumRows1TailAVX2(d, p, m, 4*n, tail)
		}
	}
}
