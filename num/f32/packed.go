package f32

// Packed is a matrix b[k][n] laid out for many products with it. Its zero value is
// empty; it allocates when it grows. Products of few rows (below about 8) are
// faster with the matrix as it is.
type Packed struct {
	k, n int
	b    []float32
	lies layout
}

// layout says how a matrix b[k][n] lies: as it is, transposed, in panels for the
// products with dense rows, or in strips for those with sparse rows.
type layout int

const (
	byRows layout = iota
	byColumns
	inPanels
	inStrips
)

// Pack takes a copy of b[k][n]. It panics if b has another length.
func (p *Packed) Pack(b []float32, k, n int) { p.set(b, k, n, byRows) }

// PackT takes a copy of b[n][k]ᵀ. It panics if b has another length.
func (p *Packed) PackT(b []float32, k, n int) { p.set(b, k, n, byColumns) }

// PackSparse takes a copy of w[cols][n] for SparseAffinePacked. It panics if w has
// another length.
func (p *Packed) PackSparse(w []float32, cols, n int) { p.set(w, cols, n, inStrips) }

func (p *Packed) set(b []float32, k, n int, lies layout) {
	if k < 1 || n < 1 || len(b) != k*n {
		panic("f32: slice lengths do not match the matrix sizes")
	}
	p.k, p.n, p.lies = k, n, lies
	p.pack(b)
}

// MulPacked computes dst[m][n] = a[m][k] p, or adds it to dst if acc is set: the
// same bytes as MulNN, or after PackT as MulNT. It panics if a length does not
// match its shape.
func MulPacked(dst, a []float32, p *Packed, m int, acc bool) {
	from := fromZero
	if acc {
		from = fromDst
	}
	p.check(dst, a, m)
	p.mul(dst, a, nil, m, from)
}

// AffinePacked computes dst[m][n] = a[m][k] p + bias[n], the same bytes as Affine
// without activation. It panics if a length does not match its shape.
func AffinePacked(dst, a []float32, p *Packed, bias []float32, m int) {
	if len(bias) != p.n {
		panic("f32: bias length does not match the columns")
	}
	p.check(dst, a, m)
	p.mul(dst, a, bias, m, fromBias)
}

// SparseAffinePacked computes dst[m][n] = s p + bias[n] after PackSparse, the same
// bytes as SparseAffine without activation. It panics if a length does not match
// its shape.
func SparseAffinePacked(dst []float32, s *Sparse, p *Packed, bias []float32) {
	if p.lies != inStrips {
		panic("f32: a matrix packed for dense rows meets sparse ones")
	}
	if len(bias) != p.n {
		panic("f32: bias length does not match the columns")
	}
	checkSparse(dst, s, p.b, p.n)
	sparseAffine(dst, s, p.b, bias, p.n, None, inStrips)
}

func (p *Packed) check(dst, a []float32, m int) {
	if p.lies == inStrips {
		panic("f32: a matrix packed for sparse rows meets dense ones")
	}
	if m < 0 || len(dst) != m*p.n || len(a) != m*p.k {
		panic("f32: slice lengths do not match the matrix sizes")
	}
}

func (p *Packed) resize(n int) {
	if cap(p.b) < n {
		p.b = make([]float32, n)
	}
	p.b = p.b[:n]
}

// copy and mulCopy are the plain form: the matrix as it lies.
func (p *Packed) copy(b []float32) {
	p.resize(len(b))
	copy(p.b, b)
}

func (p *Packed) mulCopy(dst, a, bias []float32, m int, from start) {
	if p.lies == byRows {
		mulNNGeneric(dst, a, p.b, bias, m, p.k, p.n, from, None)
		return
	}
	if from == fromBias {
		for i := range m {
			copy(dst[i*p.n:], bias)
		}
	}
	mulNTGeneric(dst, a, p.b, m, p.k, p.n, from != fromZero)
}
