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

// mulNTGeneric computes four columns at a time, each a chain of its own.
func mulNTGeneric(dst, a, b []float32, m, k, n int, acc bool) {
	if !acc {
		clear(dst)
	}
	for i := range m {
		x, row := a[i*k:i*k+k], dst[i*n:i*n+n]
		j := 0
		for ; j+4 <= n; j += 4 {
			y0, y1, y2, y3 := b[j*k:][:len(x)], b[(j+1)*k:][:len(x)], b[(j+2)*k:][:len(x)], b[(j+3)*k:][:len(x)]
			s0, s1, s2, s3 := row[j], row[j+1], row[j+2], row[j+3]
			for p, v := range x {
				s0 += float32(v * y0[p])
				s1 += float32(v * y1[p])
				s2 += float32(v * y2[p])
				s3 += float32(v * y3[p])
			}
			row[j], row[j+1], row[j+2], row[j+3] = s0, s1, s2, s3
		}
		for ; j < n; j++ {
			y, s := b[j*k:][:len(x)], row[j]
			for p, v := range x {
				s += float32(v * y[p])
			}
			row[j] = s
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
