package f32

// The plain kernels round every product before they add it: float32(x*y) keeps
// the compiler from fusing, so that this set gives the same bytes on every CPU.

func mulNNGeneric(dst, a, b, bias []float32, m, k, n int, from start, act Act) {
	for i := range m {
		row := dst[i*n : i*n+n]
		switch from {
		case fromZero:
			clear(row)
		case fromBias:
			copy(row, bias)
		}
		for p, x := range a[i*k : i*k+k] {
			axpyGeneric(row, x, b[p*n:p*n+n])
		}
		if act == ReLU {
			reluGeneric(row)
		}
	}
}

func mulNTGeneric(dst, a, b []float32, m, k, n int, acc bool) {
	for i := range m {
		x := a[i*k : i*k+k]
		for j := range n {
			sum := float32(0)
			if acc {
				sum = dst[i*n+j]
			}
			for p, y := range b[j*k : j*k+k] {
				sum += float32(x[p] * y)
			}
			dst[i*n+j] = sum
		}
	}
}

func mulTNGeneric(dst, a, b []float32, m, k, n int, acc bool) {
	if !acc {
		clear(dst)
	}
	for p := range k {
		row := b[p*n : p*n+n]
		for i, x := range a[p*m : p*m+m] {
			axpyGeneric(dst[i*n:i*n+n], x, row)
		}
	}
}

func reluGeneric(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
}
