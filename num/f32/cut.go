package f32

import "slices"

// Cutting divides the columns of sparse rows into parts.
type Cutting struct {
	of    []uint8 // [Cols] the part of each column
	parts int
	count []int // [Cols] of entries
}

const (
	maxCuts = 8
	sampled = 16 // of so many rows one is looked at, to see where entries are
)

// Set makes parts of about as many entries in rows such as those of x, at most 8; of fewer than two it
// makes none.
func (c *Cutting) Set(x *Sparse, parts int) {
	if c.parts = min(parts, maxCuts); c.parts < 2 || x.Rows() == 0 {
		c.parts = 0
		return
	}
	c.of, c.count = slices.Grow(c.of[:0], x.Cols)[:x.Cols], slices.Grow(c.count[:0], x.Cols)[:x.Cols]
	clear(c.count)
	all := 0
	for i := 0; i < x.Rows(); i += sampled {
		idx, _ := x.Row(i)
		for _, col := range idx {
			c.count[col]++
		}
		all += len(idx)
	}
	sum := 0
	for col, n := range c.count {
		c.of[col] = uint8(min(sum*c.parts/max(all, 1), c.parts-1))
		sum += n
	}
}

// Reset empties x, sets its width and gives it as many cuts as there are parts.
func (c *Cutting) Reset(x *Sparse, cols int) {
	x.Cuts = slices.Grow(x.Cuts[:0], c.parts)[:c.parts]
	x.Reset(cols)
}

// Cut appends to the cuts of x the rows that they do not have yet.
func (c *Cutting) Cut(x *Sparse) {
	if c.parts == 0 {
		return
	}
	from := x.Cuts[0].Rows()
	entries := x.Idx[x.Ptr[from]:]
	var n [maxCuts]int
	for _, col := range entries {
		n[c.of[col]&(maxCuts-1)]++
	}
	var idx [maxCuts][]int32
	var val [maxCuts][]float32
	for k := range x.Cuts {
		q := &x.Cuts[k]
		q.Idx, q.Val = slices.Grow(q.Idx, n[k]), slices.Grow(q.Val, n[k])
		idx[k], val[k] = q.Idx, q.Val
	}
	for i := from; i < x.Rows(); i++ {
		for e := x.Ptr[i]; e < x.Ptr[i+1]; e++ {
			k := c.of[x.Idx[e]] & (maxCuts - 1)
			idx[k], val[k] = append(idx[k], x.Idx[e]), append(val[k], x.Val[e])
		}
		for k := range x.Cuts {
			x.Cuts[k].Ptr = append(x.Cuts[k].Ptr, int32(len(idx[k])))
		}
	}
	for k := range x.Cuts {
		x.Cuts[k].Idx, x.Cuts[k].Val = idx[k], val[k]
	}
}
