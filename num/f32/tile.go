//go:build amd64 || arm64

package f32

import (
	"math"
	"sync"
	"unsafe"
)

// tile is the argument of the product kernels: all rows of a strip of columns.
// Strides are in bytes, so that a and b may lie either way round. The generator
// knows its layout.
type tile struct {
	dst, a, b, bias *float32
	m, k            int
	aRow, aStep     int // a from row to row of dst, and along k
	aTile           int // a from the first row of a tile to that of the next
	bStep           int // b along k
	dstRow          int
	tail            int // elements of the last vector
	from            start
	floor           float32
	segments        int     // k steps come this often, 0 is once
	aJump           int     // a from the end of one segment to the next
	row             uintptr // scratch of the kernels, no pointer: it ends beyond a
	left            int     // scratch
}

// A block of b is packed into panels two vectors wide and kept in the second-level
// cache; a goes by in blocks of rows that fit there too.
const (
	blockK = 256
	blockN = 512
	blockM = 132 // half of a usual batch, a multiple of the kernels' 12 and 6 rows
)

// workspace holds a packed block of b and one of a.
type workspace struct {
	b [blockK * blockN]float32
	a [blockM*blockK + blockM/6*linePad]float32
}

// linePad keeps the panels of a from sharing the cache's sets.
const linePad = 16

// spare holds the workspaces not in use, by processor: what one has written is still in its
// cache, and took half of a product's time to fetch from another's. Only one that no product has
// used for two collections of garbage is freed.
var spare = sync.Pool{New: func() any { return new(workspace) }}

func takeWorkspace() *workspace { return spare.Get().(*workspace) }

func (w *workspace) giveBack() { spare.Put(w) }

func floorOf(act Act) float32 {
	if act == ReLU {
		return 0
	}
	return float32(math.Inf(-1))
}

func mulNN(dst, a, b, bias []float32, m, k, n int, from start, act Act) {
	if active == generic || k == 0 {
		mulNNGeneric(dst, a, b, bias, m, k, n, from, act)
		return
	}
	if m == 0 || n == 0 {
		return
	}
	t := tile{a: &a[0], k: k, aRow: 4 * k, aStep: 4, from: from}
	if packPays(m, k, n) {
		mulPacked(&t, dst, b, bias, m, n, act, byRows)
		return
	}
	t.m, t.dstRow, t.bStep, t.floor = m, 4*n, 4*n, floorOf(act)
	mulStrips(&t, dst, b, bias, n, limitFor(m))
}

func mulTN(dst, a, b []float32, m, k, n int, acc bool) {
	if active == generic || k == 0 {
		mulTNGeneric(dst, a, b, m, k, n, acc)
		return
	}
	if m == 0 || n == 0 {
		return
	}
	t := tile{a: &a[0], k: k, aRow: 4, aStep: 4 * m}
	if acc {
		t.from = fromDst
	}
	if packPays(m, k, n) || m >= 96 && k >= 256 && n > 2*vectorWidth() { // a is packed too
		mulPacked(&t, dst, b, nil, m, n, None, byRows)
		return
	}
	t.m, t.dstRow, t.bStep, t.floor = m, 4*n, 4*n, floorOf(None)
	mulStrips(&t, dst, b, nil, n, limitFor(m))
}

func mulNT(dst, a, b []float32, m, k, n int, acc bool) {
	if active == generic || k == 0 {
		mulNTGeneric(dst, a, b, m, k, n, acc)
		return
	}
	if m == 0 || n == 0 {
		return
	}
	t := tile{a: &a[0], k: k, aRow: 4 * k, aStep: 4}
	if acc {
		t.from = fromDst
	}
	mulPacked(&t, dst, b, nil, m, n, None, byColumns)
}

// packPays says whether packing b costs less than it saves, as measured: with few
// rows, or a b that stays near as it lies, it does not.
func packPays(m, k, n int) bool {
	return m >= 24 && n > 2*vectorWidth() && (m >= 192 || k > 512 || n > 256)
}

// mulStrips runs the kernels over all columns of dst with b as it lies.
func mulStrips(t *tile, dst, b, bias []float32, n, limit int) {
	for cut := (strips{n: n, width: vectorWidth()}); ; {
		at, vectors, tail, ok := cut.next(limit)
		if !ok {
			return
		}
		t.dst, t.b, t.tail, t.aTile = &dst[at], &b[at], tail, tileRows(vectors)*t.aRow
		if bias != nil {
			t.bias = &bias[at]
		}
		mulStrip(t, vectors)
	}
}

// mulPacked runs the kernels over blocks of b laid out in panels.
func mulPacked(t *tile, dst, b, bias []float32, m, n int, act Act, lies layout) {
	w := takeWorkspace()
	width := 2 * vectorWidth()
	k, a, from, aRow, aStep := t.k, t.a, t.from, t.aRow, t.aStep
	t.dstRow, t.bStep = 4*n, 4*width
	packA := aStep > 4 && n >= 8*width
	rows := tileRows(2)
	for j0 := 0; j0 < n; j0 += blockN {
		nb := min(blockN, n-j0)
		for p0 := 0; p0 < k; p0 += blockK {
			kb := min(blockK, k-p0)
			panels := w.b[:]
			switch lies {
			case byRows:
				pack(panels, b[p0*n+j0:], kb, nb, n)
			case byColumns:
				packTransposed(panels, b[j0*k+p0:], kb, nb, k)
			case inPanels:
				panels, b = b, b[kb*roundUp(nb, width):]
			}
			t.k, t.from, t.floor = kb, from, floorOf(None)
			if p0 > 0 {
				t.from = fromDst
			}
			if p0+kb == k {
				t.floor = floorOf(act)
			}
			for i0 := 0; i0 < m; i0 += blockM {
				block := (*float32)(unsafe.Add(unsafe.Pointer(a), i0*aRow+p0*aStep))
				t.a, t.m, t.aRow, t.aStep = block, min(blockM, m-i0), aRow, aStep
				t.aTile = rows * aRow
				if packA {
					pitch := 4 * (rows*kb + linePad)
					packRows(&w.a[0], block, kb, aStep, pitch, t.m/rows, t.m%rows)
					t.a, t.aStep, t.aTile = &w.a[0], 4*rows, pitch
				}
				j := 0
				for ; nb-j > width/2; j += width {
					t.dst, t.b, t.tail = &dst[i0*n+j0+j], &panels[j*kb], min(width, nb-j)-width/2
					if bias != nil {
						t.bias = &bias[j0+j]
					}
					mulStrip(t, 2)
				}
				if j < nb { // one vector: its tiles may have more rows
					t.a, t.aStep, t.aTile = block, aStep, tileRows(1)*aRow
					t.dst, t.b, t.tail = &dst[i0*n+j0+j], &panels[j*kb], nb-j
					if bias != nil {
						t.bias = &bias[j0+j]
					}
					mulStrip(t, 1)
				}
			}
		}
	}
	w.giveBack()
}

// pack copies b[kb][nb], its rows stride apart, into panels [nb/width][kb][width].
// A narrow last panel keeps the width; what lies beyond its columns is never read.
func pack(dst, b []float32, kb, nb, stride int) {
	width := 2 * vectorWidth()
	j := 0
	for ; j+width <= nb; j += width {
		packPanel(&dst[j*kb], &b[j], kb, 4*stride)
	}
	if cols := nb - j; cols > 0 {
		for p := range kb {
			copy(dst[j*kb+p*width:], b[p*stride+j:p*stride+nb])
		}
	}
}

// packTransposed does the same for b[nb][kb].
func packTransposed(dst, b []float32, kb, nb, stride int) {
	lanes := vectorWidth()
	for j := 0; j < nb; j += lanes {
		panel := dst[j/(2*lanes)*2*lanes*kb+j%(2*lanes):]
		if nb-j >= lanes {
			transpose(&panel[0], &b[j*stride], kb, 4*stride)
			continue
		}
		for r := range nb - j {
			for p, v := range b[(j+r)*stride : (j+r)*stride+kb] {
				panel[p*2*lanes+r] = v
			}
		}
	}
}
