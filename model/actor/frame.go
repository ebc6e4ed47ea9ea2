package actor

import "hop/f32"

// frame numbers the nonzeros of an observation.
type frame struct {
	in   Input
	kind string
	cols int
	at   []place // [H*W*C] where each number of the planes stands
	row  int32   // first column of own row (H), then own column (W), then offsets apart
	rest int32   // first column of what follows the planes
}

type place struct{ y, x, c int32 }

func newFrame(kind string, in Input) frame {
	f := frame{in: in, kind: kind}
	planes := in.Height * in.Width * in.Planes
	tall, wide, others := 2*in.Height-1, 2*in.Width-1, in.Planes-1
	switch kind {
	case "board":
		f.rest = int32(planes)
	default:
		f.row = int32(tall * wide * others)
		f.rest = f.row + int32(in.Height+in.Width)
		if kind == "egof" {
			f.rest += int32((tall + wide) * others)
		}
		f.at = make([]place, planes)
		for i := range f.at {
			cell := i / in.Planes
			f.at[i] = place{int32(cell / in.Width), int32(cell % in.Width), int32(i % in.Planes)}
		}
	}
	f.cols = int(f.rest) + in.Rest + in.Goal
	return f
}

// add appends one row. ones is scratch memory, returned for the next call.
func (f *frame) add(s *f32.Sparse, obs, goal []float32, ones []int32) []int32 {
	if f.kind == "board" {
		nonzeros(s, obs, 0)
	} else {
		planes := len(f.at)
		ones = f.ego(s, obs[:planes], ones)
		nonzeros(s, obs[planes:], f.rest)
	}
	nonzeros(s, goal, f.rest+int32(f.in.Rest))
	s.EndRow()
	return ones
}

// nonzeros appends the nonzeros of x, numbered from off.
func nonzeros(s *f32.Sparse, x []float32, off int32) {
	for i, v := range x {
		if v != 0 {
			s.AppendEntry(off+int32(i), v)
		}
	}
}

// ego appends the planes relative to oneself: each thing by its offset, and in
// "egof" by its row offset and its column offset once more; oneself by row and
// column, which tells where the walls are.
func (f *frame) ego(s *f32.Sparse, planes []float32, ones []int32) []int32 {
	ones = ones[:0]
	var me place
	for i, v := range planes {
		if v == 0 {
			continue
		}
		ones = append(ones, int32(i))
		if f.at[i].c == 0 {
			me = f.at[i]
		}
	}
	h, w, others := int32(f.in.Height), int32(f.in.Width), int32(f.in.Planes-1)
	tall, wide := 2*h-1, 2*w-1
	apart := f.row + h + w
	for _, i := range ones {
		p, v := f.at[i], planes[i]
		if p.c == 0 {
			s.AppendEntry(f.row+p.y, v)
			s.AppendEntry(f.row+h+p.x, v)
			continue
		}
		dy, dx := p.y-me.y+h-1, p.x-me.x+w-1
		s.AppendEntry((dy*wide+dx)*others+p.c-1, v)
		if f.kind == "egof" {
			s.AppendEntry(apart+dy*others+p.c-1, v)
			s.AppendEntry(apart+(tall+dx)*others+p.c-1, v)
		}
	}
	return ones
}
