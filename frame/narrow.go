package frame

import (
	"slices"

	"hop/f32"
)

// A row in Egof lists each thing three times: by its offset, by its row offset
// and by its column offset. The last two follow from the first. A narrow row
// leaves them out, and Fold adds their weights to those of the offset instead:
// the same sums from half the entries. Unfold does the same for gradients. It
// pays where many rows meet the same weights. In other frames narrow rows are
// rows, and there is nothing to fold.

// AddNarrow is Add for a narrow row.
func (e *Encoder) AddNarrow(s *f32.Sparse, obs, extra []float32) {
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

// narrow appends what ones holds: things by their offset, oneself by row and
// column, and what follows the planes.
func (e *Encoder) narrow(s *f32.Sparse) {
	f, planes := e.f, int32(len(e.f.at))
	idx, val := e.ones.Idx, e.ones.Val
	me := place{}
	for _, i := range idx {
		if i < planes && f.at[i].c == 0 {
			me = f.at[i]
		}
	}
	h, w, others := int32(f.Height), int32(f.Width), int32(f.Planes-1)
	wide := 2*w - 1
	shift := ((h-1-me.y)*wide+w-1-me.x)*others - 1
	s.Idx, s.Val = slices.Grow(s.Idx, 2*len(idx)), slices.Grow(s.Val, 2*len(idx))
	for k, i := range idx {
		switch {
		case i >= planes:
			s.Idx, s.Val = append(s.Idx, i-planes+f.rest), append(s.Val, val[k])
		case f.at[i].c == 0:
			p := f.at[i]
			s.Idx, s.Val = append(s.Idx, f.row+p.y, f.row+h+p.x), append(s.Val, val[k], val[k])
		default:
			p := f.at[i]
			s.Idx, s.Val = append(s.Idx, (p.y*wide+p.x)*others+p.c+shift), append(s.Val, val[k])
		}
	}
}

// Folds reports whether narrow rows are shorter than rows.
func (f *Frame) Folds() bool { return f.Kind == Egof }

// Fold turns w[Cols][n], the weights of rows, into those of narrow rows.
func (f *Frame) Fold(w []float32, n int) {
	f.apart(w, n, func(thing, row, col []float32) {
		f32.Add(thing, thing, row)
		f32.Add(thing, thing, col)
	})
}

// Unfold turns g[Cols][n], the gradients of weights on narrow rows, into those on
// rows. Those of the columns that narrow rows leave out must be zero before.
func (f *Frame) Unfold(g []float32, n int) {
	f.apart(g, n, func(thing, row, col []float32) {
		f32.Add(row, row, thing)
		f32.Add(col, col, thing)
	})
}

// apart calls do for every offset with the parts of w[Cols][n] under which a row
// in Egof lists things there: by offset, row offset and column offset, each
// [Planes-1][n].
func (f *Frame) apart(w []float32, n int, do func(thing, row, col []float32)) {
	if f.Kind != Egof {
		return
	}
	tall, wide, size := 2*f.Height-1, 2*f.Width-1, (f.Planes-1)*n
	first := (int(f.row) + f.Height + f.Width) * n
	part := func(at int) []float32 { return w[at : at+size : at+size] }
	for dy := range tall {
		for dx := range wide {
			do(part((dy*wide+dx)*size), part(first+dy*size), part(first+(tall+dx)*size))
		}
	}
}
