//go:build amd64 || arm64

package f32

func roundUp(n, width int) int { return (n + width - 1) / width * width }

// pack lays b out in the order in which mulPacked and sparseAffine read it.
func (p *Packed) pack(b []float32) {
	switch {
	case active == generic:
		p.copy(b)
	case p.lies == inStrips:
		p.packStrips(b)
	default:
		p.packPanels(b)
		p.lies = inPanels
	}
}

func (p *Packed) packPanels(b []float32) {
	width := 2 * vectorWidth()
	p.resize(p.k * roundUp(p.n, width))
	at := 0
	for j0 := 0; j0 < p.n; j0 += blockN {
		nb := min(blockN, p.n-j0)
		for p0 := 0; p0 < p.k; p0 += blockK {
			kb := min(blockK, p.k-p0)
			if p.lies == byColumns {
				packTransposed(p.b[at:], b[j0*p.k+p0:], kb, nb, p.k)
			} else {
				pack(p.b[at:], b[p0*p.n+j0:], kb, nb, p.n)
			}
			at += kb * roundUp(nb, width)
		}
	}
}

// Rows that lie a large power of two apart fall into few sets of the first-level
// cache. Side by side a strip of four vectors fits there.
const nearVectors = 4

func (p *Packed) packStrips(b []float32) {
	p.resize(len(b))
	for cut := (strips{n: p.n, width: vectorWidth()}); ; {
		at, vectors, tail, ok := cut.next(nearVectors)
		if !ok {
			return
		}
		fetch(p.b[at*p.k:], b[at:], p.k, p.n, columns(vectors, tail))
	}
}

// columns returns the columns of a strip.
func columns(vectors, tail int) int { return (vectors-1)*vectorWidth() + tail }

// fetch copies cols columns of w[rows][n], side by side.
func fetch(dst, w []float32, rows, n, cols int) {
	for i := range rows {
		copy(dst[i*cols:(i+1)*cols], w[i*n:])
	}
}

// mul is MulPacked and AffinePacked.
func (p *Packed) mul(dst, a, bias []float32, m int, from start) {
	if p.lies != inPanels {
		p.mulCopy(dst, a, bias, m, from)
		return
	}
	if m > 0 {
		t := tile{a: &a[0], k: p.k, aRow: 4 * p.k, aStep: 4, from: from}
		mulPacked(&t, dst, p.b, bias, m, p.n, None, inPanels)
	}
}
