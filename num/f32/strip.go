//go:build amd64 || arm64

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
	pick         *int32 // nil: all rows
	picked       int    // scratch of the kernels: bytes of pick behind them, no pointer, which would end beyond it
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

func sparseAffine(dst []float32, s *Sparse, w, bias []float32, n int, act Act, lies layout) {
	if active == generic || len(dst) == 0 {
		sparseAffineGeneric(dst, s, w, bias, n, act)
		return
	}
	t := newStrip(s, n)
	t.floor = floorOf(act)
	limit := 8
	if lies == inStrips {
		limit = nearVectors
	}
	for cut := (strips{n: n, width: vectorWidth()}); ; {
		at, vectors, tail, ok := cut.next(limit)
		if !ok {
			return
		}
		t.dst, t.tail, t.pick = &dst[at], tail, unsafe.SliceData(s.Pick)
		switch {
		case lies == inStrips:
			t.w, t.wStride = &w[at*s.Cols], 4*columns(vectors, tail)
		case len(w) > 0:
			t.w = &w[at]
		}
		if bias != nil {
			t.bias = &bias[at]
		}
		sparseAffineStrip(&t, vectors)
		if t.bad != 0 {
			panic(badIndex)
		}
	}
}

func sparseTN(dw []float32, s *Sparse, g []float32, n int) {
	if active == generic || len(g) == 0 || len(dw) == 0 {
		sparseTNGeneric(dw, s, g, n)
		return
	}
	t := newStrip(s, n)
	near, limit := nearStrips(s, n)
	for cut := (strips{n: n, width: vectorWidth()}); ; {
		at, vectors, tail, ok := cut.next(limit)
		if !ok || t.bad != 0 {
			break
		}
		t.dst, t.w, t.tail, t.pick = &g[at], &dw[at], tail, unsafe.SliceData(s.Pick)
		cols := columns(vectors, tail)
		if near != nil {
			fetch(near.b[:], dw[at:], s.Cols, n, cols)
			t.w, t.wStride = &near.b[0], 4*cols
		}
		sparseTNStrip(&t, vectors)
		if near != nil {
			for i := range s.Cols {
				copy(dw[i*n+at:i*n+at+cols], near.b[i*cols:])
			}
		}
	}
	if near != nil {
		near.giveBack()
	}
	if t.bad != 0 {
		panic(badIndex)
	}
}

// nearStrips returns the widest strip of sparseTN and, where it pays, a workspace to
// which each strip of dw is brought while the rows of s are added to it.
func nearStrips(s *Sparse, n int) (near *workspace, limit int) {
	if n < 512 || s.Cols*nearVectors*vectorWidth() > len(near.b) {
		return nil, 8
	}
	entries := 0
	for i := range s.Rows() {
		idx, _ := s.Row(i)
		entries += len(idx)
	}
	if entries < 8*s.Cols {
		return nil, 8
	}
	return takeWorkspace(), nearVectors
}

func newStrip(s *Sparse, n int) strip {
	return strip{
		ptr: &s.Ptr[0], idx: unsafe.SliceData(s.Idx), val: unsafe.SliceData(s.Val),
		rows: s.Rows(), cols: s.Cols, stride: 4 * n, wStride: 4 * n,
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
	k := nonzeros(idx, val, x)
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
		sumRowsStrip(&dst[at], &x[at], m, 4*n, vectors, tail)
	}
}
