package f32

func appendNonzerosGeneric(s *Sparse, x []float32) {
	for i, v := range x {
		if v != 0 {
			s.Idx, s.Val = append(s.Idx, int32(i)), append(s.Val, v)
		}
	}
}

func sparseAffineGeneric(dst []float32, s *Sparse, w, bias []float32, n int, act Act) {
	for i := range s.Rows() {
		row := dst[i*n : i*n+n]
		if bias == nil {
			clear(row)
		} else {
			copy(row, bias)
		}
		idx, val := s.Row(i)
		for e, col := range idx {
			axpyGeneric(row, val[e], rowOf(w, col, s.Cols, n))
		}
		if act == ReLU {
			reluGeneric(row)
		}
	}
}

func sparseTNGeneric(dw []float32, s *Sparse, g []float32, n, lo, hi int) {
	for i := range s.Rows() {
		row := g[i*n+lo : i*n+hi]
		idx, val := s.Row(i)
		for e, col := range idx {
			axpyGeneric(rowOf(dw, col, s.Cols, n)[lo:hi], val[e], row)
		}
	}
}

// rowOf returns row i of w[rows][n].
func rowOf(w []float32, i int32, rows, n int) []float32 {
	if uint32(i) >= uint32(rows) {
		panic(badIndex)
	}
	return w[int(i)*n:][:n]
}
