package frame

import (
	"slices"

	"github.com/hop-marl/hop/num/f32"
)

// A row in Egof lists each thing three times: by its offset, by its row offset
// and by its column offset. The last two follow from the first. A narrow row
// leaves them out, and Fold adds their weights to those of the offset instead:
// the same sums from half the entries. Unfold does the same for gradients. It
// pays where many rows meet the same weights. In other frames narrow rows are
// rows, and there is nothing to fold.

// AddNarrow is Add for a narrow row.
func (e *Encoder) AddNarrow(s *f32.Sparse, obs, extra []float32) {
	if e.f.scene != nil {
		e.scene(s, obs, extra, true)
		s.EndRow()
		return
	}
	if f := e.f; f.Kind == Board {
		s.AppendNonzeros(obs, 0)
	} else {
		e.ones.Reset(len(obs))
		e.ones.AppendRow(obs)
		e.narrow(s)
	}
	e.Extra(s, extra)
	s.EndRow()
}

// near is how a narrow row lists a number of the observation: under col, plus
// the shift to oneself where around is -1. Oneself is listed under second too,
// and shifts the others by shift.
type near struct {
	col, around   int32
	second, shift int32
	self          bool
}

// number fills the table of narrow rows.
func (f *Frame) number() {
	if f.Kind == Board {
		return
	}
	h, w, others := int32(f.Height), int32(f.Width), int32(f.Planes-1)
	wide := 2*w - 1
	f.near = make([]near, f.Len())
	for i := range f.near {
		n := &f.near[i]
		if i >= len(f.at) {
			n.col = int32(i-len(f.at)) + f.rest
			continue
		}
		if p := f.at[i]; p.c == 0 {
			*n = near{f.row + p.y, 0, f.row + h + p.x, ((h-1-p.y)*wide + w - 1 - p.x) * others, true}
		} else {
			n.col, n.around = (p.y*wide+p.x)*others+p.c-1, -1
		}
	}
}

// narrow appends what ones holds: things by their offset, oneself by row and
// column, and what follows the planes.
func (e *Encoder) narrow(s *f32.Sparse) {
	idx, val, table := e.ones.Idx, e.ones.Val, e.f.near
	shift, selves, last := table[0].shift, 0, 0 // without oneself as if one were in the corner
	for k, i := range idx {
		if n := &table[i]; n.self {
			shift, last = n.shift, k
			selves++
		}
	}
	from := len(s.Idx)
	s.Idx, s.Val = slices.Grow(s.Idx, len(idx)+selves), slices.Grow(s.Val, len(idx)+selves)
	s.Idx, s.Val = s.Idx[:from+len(idx)], append(s.Val, val...)
	to := s.Idx[from:]
	for k, i := range idx {
		n := &table[i]
		to[k] = n.col + shift&n.around
	}
	if selves == 1 { // nearly always
		s.Idx, s.Val = append(s.Idx, table[idx[last]].second), append(s.Val, val[last])
		return
	}
	for k := 0; selves > 0; k++ {
		if n := &table[idx[k]]; n.self {
			s.Idx, s.Val = append(s.Idx, n.second), append(s.Val, val[k])
			selves--
		}
	}
}

// Folds reports whether narrow rows are shorter than rows.
func (f *Frame) Folds() bool { return f.Kind == Egof }

// Fold writes to dst[Cols][n] weights of narrow rows, from those of rows, w. Of
// columns that narrow rows do not have it writes nothing.
func (f *Frame) Fold(dst, w []float32, n int) {
	if !f.Folds() {
		copy(dst, w)
		return
	}
	copy(dst[int(f.row)*n:(int(f.row)+f.Height+f.Width)*n], w[int(f.row)*n:])
	copy(dst[int(f.rest)*n:], w[int(f.rest)*n:])
	size := f.others * n
	f.apart(w, n, func(at int, thing, row, col []float32) {
		to := dst[at : at+size]
		f32.Add(to, row, col)
		f32.Add(to, to, thing)
	})
}

// Unfold turns g[Cols][n], the gradients of weights on narrow rows, into those on
// rows. Those of the columns that narrow rows leave out must be zero before.
func (f *Frame) Unfold(g []float32, n int) {
	f.apart(g, n, func(_ int, thing, row, col []float32) {
		f32.Add(row, row, thing)
		f32.Add(col, col, thing)
	})
}

// apart calls do for every offset with the parts of w[Cols][n] under which a row
// in Egof lists things there: by offset, which begins at at, row offset and column
// offset, each [others][n].
func (f *Frame) apart(w []float32, n int, do func(at int, thing, row, col []float32)) {
	if f.Kind != Egof {
		return
	}
	tall, wide, size := 2*f.Height-1, 2*f.Width-1, f.others*n
	first := (int(f.row) + f.Height + f.Width) * n
	part := func(at int) []float32 { return w[at : at+size : at+size] }
	for dy := range tall {
		for dx := range wide {
			at := (dy*wide + dx) * size
			do(at, part(at), part(first+dy*size), part(first+(tall+dx)*size))
		}
	}
}
