package moa

import (
	"slices"

	"github.com/hop-marl/hop/num/nn"
)

// lanes lays sequences of different lengths into a rectangle of steps and lanes,
// one after the other in a lane, so that little of it is empty.
type lanes struct {
	nn.Seq
	row  []int32 // [T][N] the row that lies here; -1: none
	of   []int32 // [T][N] whose it is: index into the sequences packed
	lane []int32 // [sequences] where each lies
	from []int32 // [sequences] its first step

	order []int32
	full  []int32 // [N] steps taken
}

// pack lays out the sequences part of rows: the longest first, each into the
// first lane with room. The longest one sets T.
func (l *lanes) pack(rows *Rows, part []int32) {
	size := func(i int32) int32 { return rows.Seqs[part[i]].Hi - rows.Seqs[part[i]].Lo }
	l.order, l.full = l.order[:0], l.full[:0]
	l.T = 0
	for i := range part {
		l.order = append(l.order, int32(i))
		l.T = max(l.T, int(size(int32(i))))
	}
	slices.SortStableFunc(l.order, func(a, b int32) int { return int(size(b) - size(a)) })
	l.lane, l.from = slices.Grow(l.lane[:0], len(part))[:len(part)], slices.Grow(l.from[:0], len(part))[:len(part)]
	for _, i := range l.order {
		n := slices.IndexFunc(l.full, func(full int32) bool { return full+size(i) <= int32(l.T) })
		if n < 0 {
			n = len(l.full)
			l.full = append(l.full, 0)
		}
		l.lane[i], l.from[i] = int32(n), l.full[n]
		l.full[n] += size(i)
	}
	l.N = len(l.full)
	all := l.T * l.N
	l.row, l.of = slices.Grow(l.row[:0], all)[:all], slices.Grow(l.of[:0], all)[:all]
	l.Alive, l.Reset = slices.Grow(l.Alive[:0], all)[:all], slices.Grow(l.Reset[:0], all)[:all]
	for at := range all {
		l.row[at], l.Alive[at], l.Reset[at] = -1, false, false
	}
	for i, s := range part {
		for t := range size(int32(i)) {
			at := l.at(i, int(t))
			l.row[at], l.of[at] = rows.Seqs[s].Lo+t, int32(i)
			l.Alive[at], l.Reset[at] = true, t == 0
		}
	}
}

// at returns the place of step t of the i-th sequence.
func (l *lanes) at(i, t int) int { return (int(l.from[i])+t)*l.N + int(l.lane[i]) }
