package f32

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// edge is memory that ends where nobody may read.
type edge []byte

func newEdge(t *testing.T) edge {
	const size = 1 << 18
	mem, err := syscall.Mmap(-1, 0, size+os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return mem[:size]
}

// floats returns the last n floats of e, bools its last n bytes.
func (e edge) floats(n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(e[len(e)-4*n:]))), n)
}

func (e edge) bools(n int) []bool {
	return unsafe.Slice((*bool)(unsafe.Pointer(unsafe.SliceData(e[len(e)-n:]))), n)
}

// No kernel reads beyond its slices: each of them ends where a read would be a fault.
func TestNothingIsReadBeyondTheSlices(t *testing.T) {
	var mem [4]edge
	for i := range mem {
		mem[i] = newEdge(t)
	}
	everySet(t, func(t *testing.T) {
		if active == generic {
			return // Go's own bounds hold it
		}
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		where := ""
		defer func() {
			if e := recover(); e != nil {
				t.Errorf("%s: %v", where, e)
			}
		}()
		for n := 1; n < 40; n++ {
			for name, f := range vectorFuncs {
				where = fmt.Sprintf("%s of %d", name, 3*n)
				f(mem[0].floats(3*n), mem[1].floats(3*n), mem[2].floats(3*n), mem[3].floats(3*n))
			}
			where = fmt.Sprintf("MaskedLogSoftmax of %d", n)
			MaskedLogSoftmax(mem[0].floats(2*n), mem[1].floats(2*n), mem[2].bools(2*n), 2, n)
			where = fmt.Sprintf("AppendRow of %d", n)
			var s Sparse
			s.Reset(n)
			clear(mem[1].floats(n))
			mem[1].floats(n)[n-1] = 1
			s.AppendRow(mem[1].floats(n))
			for _, size := range [][2]int{{1, 9}, {2, 5}, {3, 1}, {5, 3}, {7, 8}, {13, 2}, {200, 20}} {
				m, k := size[0], size[1]
				where = fmt.Sprintf("products m=%d k=%d n=%d", m, k, n)
				dst, a, b := mem[0].floats(m*n), mem[1].floats(m*k), mem[2].floats(k*n)
				MulNN(dst, a, b, m, k, n, true)
				MulNT(dst, a, b, m, k, n, false)
				MulTN(dst, a, b, m, k, n, true)
				Affine(dst, a, b, mem[3].floats(n), m, k, n, ReLU)
				var sparse Sparse
				sparse.Reset(k)
				for i := range m {
					sparse.AppendRow(a[i*k : (i+1)*k])
					sparse.AppendEntry(int32(k-1), 1)
				}
				sparse.EndRow()
				rows := mem[0].floats((m + 1) * n)
				SparseAffine(rows, &sparse, b, mem[3].floats(n), n, ReLU)
				SparseTN(b, &sparse, rows, n)
			}
			where = fmt.Sprintf("Conv3x3 into %d", n)
			Conv3x3(mem[0].floats(9*n), mem[1].floats(25*2), mem[2].floats(18*n), mem[3].floats(n), 3, 3, 2, n, None)
			Conv3x3Grad(mem[2].floats(18*n), mem[1].floats(25*2), mem[0].floats(9*n), 3, 3, 2, n)
		}
	})
}
