package f32

// Packed is a matrix b[k][n] laid out for many products with it. Its zero value is
// empty; it allocates when it grows. Products of few rows (below about 24) are
// faster with the matrix as it is.
type Packed struct {
	k, n int
	b    []float32
	lies layout
}

// layout says how a matrix b[k][n] lies: as it is, transposed, or in panels.
type layout int

const (
	byRows layout = iota
	byColumns
	inPanels
)

// Pack takes a copy of b[k][n]. It panics if b has another length.
func (p *Packed) Pack(b []float32, k, n int) { p.set(b, k, n, byRows) }

// PackT takes a copy of b[n][k]ᵀ. It panics if b has another length.
func (p *Packed) PackT(b []float32, k, n int) { p.set(b, k, n, byColumns) }

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
	if m < 0 || len(dst) != m*p.n || len(a) != m*p.k {
		panic("f32: slice lengths do not match the matrix sizes")
	}
	if m > 0 {
		p.mul(dst, a, m, acc)
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

func (p *Packed) mulCopy(dst, a []float32, m int, acc bool) {
	if p.lies == byColumns {
		mulNTGeneric(dst, a, p.b, m, p.k, p.n, acc)
		return
	}
	from := fromZero
	if acc {
		from = fromDst
	}
	mulNNGeneric(dst, a, p.b, nil, m, p.k, p.n, from, None)
}
