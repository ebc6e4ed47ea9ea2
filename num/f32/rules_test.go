package f32

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestNothingAllocates(t *testing.T) {
	everySet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		const m, k, n = 200, 300, 70
		a, b, bias := fill(r, make([]float32, m*k)), fill(r, make([]float32, k*n)), fill(r, make([]float32, n))
		dst, row := make([]float32, m*n), make([]float32, k)
		row[3], row[299] = 1, 2
		legal := make([]bool, m*n)
		var s Sparse
		var p Packed
		runs := 10
		if testing.Short() {
			runs = 2
		}
		for name, f := range map[string]func(){
			"MulNN":  func() { MulNN(dst, a, b, m, k, n, false) },
			"MulNT":  func() { MulNT(dst, a, b, m, k, n, false) },
			"MulTN":  func() { MulTN(dst, a, b, m, k, n, true) },
			"Affine": func() { Affine(dst, a, b, bias, m, k, n, ReLU) },
			"packed": func() { p.Pack(b, k, n); MulPacked(dst, a, &p, m, false) },
			"cells":  func() { LSTM(dst[:k], dst[:k], a[:k], b[:4*k], dst[:k], k) },
			"conv": func() {
				Conv3x3(dst[:64*32], a[:100*8], b[:72*32], bias[:32], 8, 8, 8, 32, ReLU)
				Conv3x3Grad(b[:72*32], a[:100*8], dst[:64*32], 8, 8, 8, 32)
			},
			"one": func() { Affine(dst[:n], a[:k], b, bias, 1, k, n, ReLU) },
			"sparse": func() {
				s.Reset(k)
				for range m {
					s.AppendRow(row)
				}
				SparseAffine(dst, &s, b, bias, n, ReLU)
				SparseTN(b, &s, dst, n)
				p.PackSparse(b, k, n)
				SparseAffinePacked(dst, &s, &p, bias)
			},
			"vectors": func() {
				Axpy(dst, 0.1, dst)
				SumRows(bias, dst, m, n)
				Tanh(dst, dst)
				Softmax(dst, dst, m, n)
				MaskedLogSoftmax(dst, dst, legal, m, n)
				Adam(dst, dst, dst, dst, 1, 1, 1, 1, 1, 1, 1, 1)
			},
		} {
			f() // warm up
			if allocs := testing.AllocsPerRun(runs, f); allocs != 0 {
				t.Errorf("%s allocates %v times, want 0", name, allocs)
			}
		}
	})
}

// Several goroutines may multiply at once; each gets what it would get alone.
func TestProductsMayRunAtOnce(t *testing.T) {
	everySet(t, func(t *testing.T) {
		const m, k, n, workers = 200, 250, 70, 8
		rounds := 40
		if active == generic || testing.Short() { // an emulator is slower still
			rounds = 2
		}
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(11, uint64(w)))
				a, b := fill(r, make([]float32, m*k)), fill(r, make([]float32, k*n))
				want := make([]float32, m*n)
				for i := range m { // row by row, without packing
					MulNN(want[i*n:i*n+n], a[i*k:i*k+k], b, 1, k, n, false)
				}
				dst := make([]float32, m*n)
				for range rounds {
					MulNN(dst, a, b, m, k, n, false)
					for i := range dst {
						if dst[i] != want[i] {
							t.Errorf("worker %d: element %d: got %v, want %v", w, i, dst[i], want[i])
							return
						}
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestWrongLengthsPanic(t *testing.T) {
	x := func(n int) []float32 { return make([]float32, n) }
	two := &Sparse{Cols: 3, Ptr: []int32{0, 1, 2}, Idx: []int32{0, 2}, Val: []float32{1, 1}}
	for name, f := range map[string]func(){
		"MulNN dst":             func() { MulNN(x(5), x(6), x(6), 2, 3, 2, false) },
		"MulNT a":               func() { MulNT(x(4), x(5), x(6), 2, 3, 2, false) },
		"MulTN b":               func() { MulTN(x(4), x(6), x(7), 2, 3, 2, false) },
		"negative size":         func() { MulNN(x(1), x(1), x(1), -1, -1, -1, false) },
		"Affine bias":           func() { Affine(x(4), x(6), x(6), x(3), 2, 3, 2, None) },
		"Axpy":                  func() { Axpy(x(3), 1, x(4)) },
		"MulPicked":             func() { MulPicked(new(Sixteen), make([]Sixteen, 3), []uint8{0, 3}) },
		"AddPicked":             func() { AddPicked(new(Sixteen), make([]Sixteen, 3), make([]Sixteen, 2), []uint8{2}) },
		"AdaGradPicked":         func() { AdaGradPicked(nil, nil, new(Sixteen), nil, 1, 1) },
		"Add":                   func() { Add(x(3), x(3), x(2)) },
		"Dot":                   func() { Dot(x(3), x(2)) },
		"SumRows":               func() { SumRows(x(3), x(7), 2, 3) },
		"Tanh":                  func() { Tanh(x(2), x(3)) },
		"ReLUGrad":              func() { ReLUGrad(x(2), x(2), x(3)) },
		"AffinePacked bias":     func() { var p Packed; p.Pack(x(6), 2, 3); AffinePacked(x(3), x(2), &p, x(2), 1) },
		"packed for the other":  func() { var p Packed; p.PackSparse(x(6), 2, 3); MulPacked(x(3), x(2), &p, 1, false) },
		"packed sparse":         func() { var p Packed; p.Pack(x(6), 3, 2); SparseAffinePacked(x(4), two, &p, x(2)) },
		"packed sparse dst":     func() { var p Packed; p.PackSparse(x(6), 3, 2); SparseAffinePacked(x(5), two, &p, x(2)) },
		"LSTM":                  func() { LSTM(x(3), x(3), x(3), x(11), x(3), 3) },
		"LSTMGrad":              func() { LSTMGrad(x(12), x(3), x(3), x(12), x(3), x(2), 3) },
		"Pack":                  func() { new(Packed).Pack(x(5), 2, 3) },
		"MulPacked":             func() { var p Packed; p.Pack(x(6), 2, 3); MulPacked(x(6), x(3), &p, 2, false) },
		"Conv3x3 border":        func() { Conv3x3(x(4), x(4), x(9), nil, 2, 2, 1, 1, None) },
		"Conv3x3 bias":          func() { Conv3x3(x(4), x(16), x(9), x(2), 2, 2, 1, 1, None) },
		"Conv3x3Grad":           func() { Conv3x3Grad(x(8), x(16), x(4), 2, 2, 1, 1) },
		"Softmax":               func() { Softmax(x(6), x(6), 2, 4) },
		"MaskedLogSoftmax mask": func() { MaskedLogSoftmax(x(6), x(6), make([]bool, 5), 2, 3) },
		"Adam":                  func() { Adam(x(2), x(2), x(3), x(2), 0, 0, 0, 0, 0, 0, 0, 0) },
		"sparse row":            func() { var s Sparse; s.Reset(3); s.AppendRow(x(4)) },
		"sparse entry":          func() { var s Sparse; s.Reset(3); s.AppendEntry(3, 1) },
		"sparse negative entry": func() { var s Sparse; s.Reset(3); s.AppendEntry(-1, 1) },
		"sparse not reset":      func() { SparseAffine(nil, new(Sparse), nil, nil, 1, None) },
		"sparse dst":            func() { SparseAffine(x(5), two, x(6), nil, 2, None) },
		"sparse weights":        func() { SparseTN(x(5), two, x(4), 2) },
		"sparse unfinished":     func() { s := *two; s.Ptr = []int32{0, 1, 1}; SparseTN(x(6), &s, x(4), 2) },
		"sparse no such row":    func() { s := *two; s.Pick = []int32{1, 2}; SparseTN(x(6), &s, x(4), 2) },
		"sparse row before":     func() { s := *two; s.Pick = []int32{0, -1}; SparseAffine(x(4), &s, x(6), nil, 2, None) },
		"sparse picked falls":   func() { s := *two; s.Ptr = []int32{1, 0, 2}; s.Pick = []int32{0, 1}; SparseTN(x(6), &s, x(4), 2) },
		"sparse no column":      func() { s := *two; s.Idx = []int32{0, 3}; SparseAffine(x(4), &s, x(6), nil, 2, None) },
		"sparse no column near": func() {
			var s Sparse
			s.Reset(1)
			for range 9 {
				s.AppendRow([]float32{1})
			}
			s.Idx[8] = 1
			SparseTN(x(512), &s, x(9*512), 512)
		},
		"sparse no column TN": func() { s := *two; s.Idx = []int32{-1, 0}; SparseTN(x(6), &s, x(4), 2) },
		"sparse falling":      func() { s := *two; s.Ptr = []int32{0, 3, 2}; SparseTN(x(6), &s, x(4), 2) },
		"sparse starts late":  func() { s := *two; s.Ptr = []int32{-1, 1, 2}; SparseTN(x(6), &s, x(4), 2) },
	} {
		everySet(t, func(t *testing.T) {
			defer func() {
				switch e := recover().(type) {
				case nil:
					t.Errorf("%s: did not panic", name)
				case string:
					if !strings.HasPrefix(e, "f32: ") {
						t.Errorf("%s: panicked with %q, want an f32 message", name, e)
					}
				default:
					t.Errorf("%s: panicked with %v, want an f32 message", name, e)
				}
			}()
			f()
		})
	}
}

func TestSparseRowsOfEntriesAndEmptyRows(t *testing.T) {
	everySet(t, func(t *testing.T) {
		var s Sparse
		s.Reset(4)
		s.AppendEntry(1, 2)
		s.AppendEntry(3, -1)
		s.EndRow()
		s.EndRow()
		s.AppendRow([]float32{0, 0, 0, 5})
		w := []float32{1, 10, 100, 1000}
		got := make([]float32, 3)
		SparseAffine(got, &s, w, []float32{0.5}, 1, None)
		want := []float32{2*10 - 1000 + 0.5, 0.5, 5000.5}
		same(t, "three rows", got, want, 0, 0)
		s.Reset(4)
		if s.Rows() != 0 || len(s.Idx) != 0 {
			t.Errorf("after Reset: %d rows, %d entries, want none", s.Rows(), len(s.Idx))
		}
	})
}

func TestSparseKeepsNaNAndDropsMinusZero(t *testing.T) {
	everySet(t, func(t *testing.T) {
		x := make([]float32, 37)
		x[36], x[5], x[20] = float32(math.NaN()), float32(math.Copysign(0, -1)), 3
		var s Sparse
		s.Reset(len(x))
		s.AppendRow(x)
		if got, want := fmt.Sprint(s.Idx, s.Val), "[20 36] [3 NaN]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestEmptyProductsAreZeroOrBias(t *testing.T) {
	everySet(t, func(t *testing.T) {
		dst := []float32{1, 2, 3, 4, 5, 6}
		MulNN(dst, nil, nil, 2, 0, 3, true)
		same(t, "acc", dst, []float32{1, 2, 3, 4, 5, 6}, 0, 0)
		Affine(dst, nil, nil, []float32{-1, 0, 7}, 2, 0, 3, ReLU)
		same(t, "bias", dst, []float32{0, 0, 7, 0, 0, 7}, 0, 0)
		MulTN(dst, nil, nil, 2, 0, 3, false)
		same(t, "zero", dst, make([]float32, 6), 0, 0)
		MulNT(nil, nil, make([]float32, 12), 0, 4, 3, false)
		MulNN(nil, make([]float32, 12), nil, 3, 4, 0, false)
	})
}

func TestChosenKernels(t *testing.T) {
	for _, c := range []struct {
		want string
		best kernelSet
		set  kernelSet
		err  string
	}{
		{"", avx512, avx512, ""},
		{"", generic, generic, ""},
		{"generic", avx512, generic, ""},
		{"avx2", avx512, avx2, ""},
		{"avx512", avx2, avx2, "cannot run HOP_KERNELS=avx512"},
		{"sse", avx512, avx512, `HOP_KERNELS="sse" is unknown`},
		{"", neon, neon, ""},
		{"neon", neon, neon, ""},
		{"generic", neon, generic, ""},
		{"avx2", neon, neon, "cannot run HOP_KERNELS=avx2"},
		{"neon", avx512, avx512, "cannot run HOP_KERNELS=neon"},
		{"neon", generic, generic, "cannot run HOP_KERNELS=neon"},
	} {
		set, err := choose(c.want, c.best)
		if set != c.set {
			t.Errorf("choose(%q, %v): got %v, want %v", c.want, c.best, set, c.set)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("choose(%q, %v): got error %v, want %q", c.want, c.best, err, c.err)
		}
	}
}

// The environment is read: a child of this test prints what it runs with.
func TestHopKernelsForcesASet(t *testing.T) {
	if os.Getenv("F32_PRINT_KERNELS") != "" {
		fmt.Printf("kernels=%s err=%v\n", Kernels(), KernelsErr())
		return
	}
	for env, want := range map[string]string{
		"generic": "kernels=generic err=<nil>",
		"sse":     `is unknown`,
	} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestHopKernelsForcesASet$")
		cmd.Env = append(os.Environ(), "F32_PRINT_KERNELS=1", "HOP_KERNELS="+env)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulated program cannot start itself")
		}
		if err != nil || !bytes.Contains(out, []byte(want)) {
			t.Errorf("HOP_KERNELS=%s: got %q (%v), want %q", env, out, err, want)
		}
	}
}

func TestPeakLoopCountsItsWork(t *testing.T) {
	everySet(t, func(t *testing.T) {
		if a, b := PeakLoop(10), PeakLoop(30); a <= 0 || b != 3*a {
			t.Errorf("got %v operations for 10 rounds and %v for 30", a, b)
		}
		if got := PeakLoop(0); got != 0 {
			t.Errorf("got %v operations for no rounds", got)
		}
	})
}
