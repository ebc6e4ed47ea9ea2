package f32

// Sparse is a matrix with few nonzeros per row in CSR form. Row i has the columns
// Idx[Ptr[i]:Ptr[i+1]] with the values at the same places of Val. Our observations
// have 10 to 25 ones among some hundred zeros. The zero value is empty; call Reset
// before the first row. The slices keep their memory over Reset, so building
// allocates only while they still grow.
type Sparse struct {
	Ptr  []int32   // [Rows+1]
	Idx  []int32   // [nonzeros], each below Cols
	Val  []float32 // [nonzeros]
	Cols int
	Pick []int32 // which of these rows count, in which order; nil: all. Only for reading

	// Cuts are the same rows cut by columns, each with the entries of some of the columns, so that several
	// can add to what lies at the columns side by side; empty: they are not cut. See Cut.
	Cuts []Sparse
}

// Reset empties s, and its cuts, and sets its width.
func (s *Sparse) Reset(cols int) {
	if cols < 0 {
		panic("f32: a sparse matrix has a negative size")
	}
	s.Ptr, s.Idx, s.Val, s.Cols, s.Pick = append(s.Ptr[:0], 0), s.Idx[:0], s.Val[:0], cols, nil
	for i := range s.Cuts {
		s.Cuts[i].Reset(cols)
	}
}

// Rows returns the number of finished rows, or of those picked.
func (s *Sparse) Rows() int {
	if s.Pick != nil {
		return len(s.Pick)
	}
	return max(len(s.Ptr)-1, 0)
}

// Row returns the columns and values of row i, as views.
func (s *Sparse) Row(i int) (idx []int32, val []float32) {
	if s.Pick != nil {
		i = int(s.Pick[i])
	}
	lo, hi := s.Ptr[i], s.Ptr[i+1]
	return s.Idx[lo:hi], s.Val[lo:hi]
}

// View sets s to the rows lo to before hi of x, which stay where they are.
func (s *Sparse) View(x *Sparse, lo, hi int) {
	*s = Sparse{Ptr: x.Ptr, Idx: x.Idx, Val: x.Val, Cols: x.Cols, Cuts: x.Cuts}
	if x.Pick != nil {
		s.Pick = x.Pick[lo:hi:hi]
		return
	}
	if lo > 0 || hi < x.Rows() {
		s.Cuts = nil
	}
	s.Ptr, s.Idx, s.Val = x.Ptr[lo:hi+1:hi+1], x.Idx[:x.Ptr[hi]], x.Val[:x.Ptr[hi]]
}

// AppendRow appends the nonzeros of x as one row. It panics if x does not have
// Cols elements.
func (s *Sparse) AppendRow(x []float32) {
	if len(x) != s.Cols {
		panic("f32: row length does not match the sparse matrix")
	}
	s.appendNonzeros(x)
	s.EndRow()
}

// AppendFrom appends row i of x as one row. It panics if x is wider.
func (s *Sparse) AppendFrom(x *Sparse, i int) {
	if x.Cols > s.Cols {
		panic("f32: row length does not match the sparse matrix")
	}
	idx, val := x.Row(i)
	s.Idx, s.Val = append(s.Idx, idx...), append(s.Val, val...)
	s.EndRow()
}

// Append appends all rows of x, but not their cuts. It panics if x is wider.
func (s *Sparse) Append(x *Sparse) {
	if x.Cols > s.Cols || x.Pick != nil {
		panic("f32: rows to append are wider than the sparse matrix, or picked")
	}
	if len(x.Ptr) == 0 {
		return
	}
	off := int32(len(s.Idx)) - x.Ptr[0]
	s.Idx, s.Val = append(s.Idx, x.Idx[x.Ptr[0]:]...), append(s.Val, x.Val[x.Ptr[0]:]...)
	for _, p := range x.Ptr[1:] {
		s.Ptr = append(s.Ptr, p+off)
	}
}

// AppendNonzeros appends the nonzeros of x to the row being built, as columns
// from off on. It panics if they do not fit.
func (s *Sparse) AppendNonzeros(x []float32, off int32) {
	if off < 0 || int(off)+len(x) > s.Cols {
		panic(badIndex)
	}
	n := len(s.Idx)
	s.appendNonzeros(x)
	for i := n; i < len(s.Idx); i++ {
		s.Idx[i] += off
	}
}

// AppendEntry appends one entry to the row being built. Entries of a row count in
// the order they are appended; a column may come twice. It panics if idx is no
// column.
func (s *Sparse) AppendEntry(idx int32, val float32) {
	if idx < 0 || int(idx) >= s.Cols {
		panic(badIndex)
	}
	s.Idx, s.Val = append(s.Idx, idx), append(s.Val, val)
}

// EndRow ends the row that AppendEntry built; without entries the row is zero.
func (s *Sparse) EndRow() { s.Ptr = append(s.Ptr, int32(len(s.Idx))) }

// SparseAffine computes dst[m][n] = act(s[m][Cols] w[Cols][n] + bias[n]): the
// first layer of a net on sparse observations. A nil bias is zero. It panics if a
// length does not match its shape.
func SparseAffine(dst []float32, s *Sparse, w, bias []float32, n int, act Act) {
	if bias != nil && len(bias) != n {
		panic("f32: bias length does not match the columns")
	}
	checkSparse(dst, s, w, n)
	sparseAffine(dst, s, w, bias, n, act, byRows)
}

// SparseTN adds s[m][Cols]ᵀ g[m][n] to dw[Cols][n]: the gradient of the first
// layer's weights. It panics if a length does not match its shape.
func SparseTN(dw []float32, s *Sparse, g []float32, n int) {
	checkSparse(g, s, dw, n)
	sparseTN(dw, s, g, n)
}

const badIndex = "f32: sparse index out of range"

// checkSparse checks the shapes of x[m][n] and w[Cols][n] and the row pointers:
// the fields are open, and the kernels trust them. The kernels check the indices.
func checkSparse(x []float32, s *Sparse, w []float32, n int) {
	if n < 0 || len(s.Ptr) == 0 {
		panic("f32: a sparse matrix was not Reset or has a negative size")
	}
	if len(x) != s.Rows()*n || len(w) != s.Cols*n {
		panic("f32: slice lengths do not match the matrix sizes")
	}
	if len(s.Idx) != len(s.Val) || int(s.Ptr[len(s.Ptr)-1]) != len(s.Idx) {
		panic("f32: a sparse matrix has an unfinished row")
	}
	for _, i := range s.Pick {
		if uint(i) >= uint(len(s.Ptr)-1) {
			panic("f32: a picked row is none of the sparse matrix")
		}
		if lo, hi := s.Ptr[i], s.Ptr[i+1]; lo < 0 || lo > hi || int(hi) > len(s.Idx) {
			panic(fallingRows)
		}
	}
	if s.Pick != nil {
		return
	}
	last := int32(0)
	for _, p := range s.Ptr {
		if p < last {
			panic(fallingRows)
		}
		last = p
	}
}

const fallingRows = "f32: sparse row pointers do not rise"
