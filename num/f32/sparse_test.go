package f32_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/f32"
)

func TestAppendNonzerosNumbersFromItsOffset(t *testing.T) {
	var s f32.Sparse
	s.Reset(50)
	s.AppendEntry(3, 2)
	s.AppendNonzeros([]float32{0, 1, 0, 5}, 10)
	s.AppendNonzeros(nil, 50)
	s.AppendNonzeros(append(make([]float32, 19), 7), 30)
	s.EndRow()
	if !slices.Equal(s.Idx, []int32{3, 11, 13, 49}) || !slices.Equal(s.Val, []float32{2, 1, 5, 7}) || s.Rows() != 1 {
		t.Errorf("got columns %v with %v in %d rows", s.Idx, s.Val, s.Rows())
	}
	defer func() {
		if recover() == nil {
			t.Error("columns beyond the matrix were accepted")
		}
	}()
	s.AppendNonzeros(make([]float32, 2), 49)
}
