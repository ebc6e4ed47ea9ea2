package onnx

import (
	"github.com/hop-marl/hop/game/frame"
)

// far is the distance of what cannot be reached, larger than any that can.
const far = 1 << 20

// board is a board to walk on.
type board struct {
	*Graph
	height, width, cells int
	open                 Value // [batch][1][cells] 1 where one can go; "": everywhere
}

// next returns 1 at [from][to] for cells to that are one step away: in direction d of up, down,
// left and right, or in any if d is -1.
func (b *board) next(d int) Value {
	list := make([]float32, b.cells*b.cells)
	for cell := range b.cells {
		y, x := cell/b.width, cell%b.width
		for k, to := range [4][2]int{{y - 1, x}, {y + 1, x}, {y, x - 1}, {y, x + 1}} {
			if (d < 0 || d == k) && to[0] >= 0 && to[1] >= 0 && to[0] < b.height && to[1] < b.width {
				list[cell*b.cells+to[0]*b.width+to[1]] = 1
			}
		}
	}
	return b.floats(list, b.cells, b.cells)
}

// enter returns which of the cells [batch][n][cells] can be entered.
func (b *board) enter(x Value) Value {
	if b.open == "" {
		return x
	}
	return b.mul(x, b.open)
}

// beside returns the cells up, down, left and right of one [batch][1][cells], each in a row of
// its own that is zero where it cannot be entered: [batch][4][cells].
func (b *board) beside(at Value) Value {
	var list []Value
	for d := range 4 {
		list = append(list, b.matMul(at, b.next(d)))
	}
	return b.enter(b.do("Concat", list, one("axis", 1)))
}

// measure returns how many steps each cell is from the nearest of those marked in a row of
// from [batch][n][cells], far where no steps lead there. A distance is the number of steps
// after which a cell has not been reached yet.
func (b *board) measure(from Value) Value {
	next := b.next(-1)
	reached := from
	dist := b.sub(b.number(1), reached)
	for range b.cells - 1 {
		step := b.enter(b.do("Min", []Value{b.matMul(reached, next), b.number(1)}))
		reached = b.do("Max", []Value{reached, step})
		dist = b.add(dist, b.sub(b.number(1), reached))
	}
	return b.add(dist, b.mul(b.sub(b.number(1), reached), b.number(far)))
}

// moves returns which of the moves up, down, left and right lead nearer to the cells marked in
// to [batch][n][cells]: [batch][n][4]. dist are the distances from oneself [batch][1][cells] and
// near those from the cells beside [batch][4][cells].
func (b *board) moves(to, dist, near Value) Value {
	flip := func(v Value) Value { return b.do("Transpose", []Value{v}, many("perm", 0, 2, 1)) }
	return b.above(b.matMul(to, flip(dist)), b.matMul(to, flip(near)))
}

// distances returns the columns of a scene's walking distances: for each plane of things those
// to the things nearest to oneself, then those to the one nearest to each co-player.
func (e *encoding) distances(obs, planes Value) []Value {
	s := e.sense
	b := &board{Graph: e.Graph, height: e.Height, width: e.Width, cells: e.cells}
	if s.Block >= s.Seats && s.Block > 0 {
		b.open = e.reshape(e.sub(e.number(1), e.nonzero(e.plane(planes, s.Block))), 1, int64(e.cells))
	}
	span, others := e.Height+e.Width, s.Seats-1
	var at []Value // [batch][cells] of everyone, zero for those who are not on the board
	for p := range max(1, s.Seats) {
		at = append(at, e.hot(e.sub(e.last(e.plane(planes, p)), e.number(1)), e.cells))
	}
	here := e.reshape(e.sum(at[0], 1), 1) // [batch][1] 1: one is on the board, else nothing is said
	self := e.reshape(at[0], 1, int64(e.cells))
	beside := b.beside(self)
	var rows []Value
	for _, v := range at {
		rows = append(rows, e.reshape(v, 1, int64(e.cells)))
	}
	dist := b.measure(e.do("Concat", append(rows, beside), one("axis", 1)))
	part := func(lo, hi int) Value {
		return e.do("Slice", []Value{dist, e.ints(int64(lo)), e.ints(int64(hi)), e.ints(1)})
	}
	own, near := part(0, 1), part(len(at), len(at)+4)
	var theirs, there Value // of the co-players: [batch][others][cells], [batch][others][1]
	if others > 0 {
		theirs = part(1, len(at))
		there = e.do("Concat", rows[1:], one("axis", 1))
		there = e.reshape(e.sum(there, 2), int64(others), 1)
	}
	// steps returns distances [batch][n] as one-hots [batch][n][span], the last for all beyond.
	steps := func(d Value, n int) Value {
		list := count(span)
		for i := range list {
			list[i]--
		}
		d = e.reshape(e.do("Min", []Value{d, e.number(float32(span - 1))}), int64(n), 1)
		return e.asFloat(e.do("Equal", []Value{d, e.floats(list, 1, 1, span)}))
	}
	// reads returns dist [batch][n][cells] at the cells marked in to [batch][n or 1][cells].
	reads := func(dist, to Value) Value { return e.sum(e.mul(dist, to), 2) }
	left := Value("")
	if s.TimeAt >= 0 && s.Horizon > 0 {
		gone := e.columns(obs, s.TimeAt, s.TimeAt+1)
		left = e.add(e.mul(e.sub(e.number(1), gone), e.number(float32(s.Horizon))), e.number(0.5))
		left = e.do("Floor", []Value{left})
	}
	var parts []Value
	for _, p := range s.Things(e.Planes) {
		things := e.reshape(e.nonzero(e.plane(planes, p)), 1, int64(e.cells))
		none := e.mul(e.sub(e.number(1), things), e.number(2*far))
		key := e.add(own, none)
		for range frame.Nearest {
			to := e.smallest(key)
			exists := e.mul(reads(things, to), here) // [batch][1]
			d := reads(own, to)
			add := func(x Value, n int) { parts = append(parts, e.mul(e.reshape(x, int64(n)), exists)) }
			add(steps(d, 1), span)
			if others > 0 {
				x, n := e.counted(e.mul(steps(reads(theirs, to), others), there), span)
				add(x, n)
			}
			add(b.moves(to, own, near), 4)
			if left != "" {
				rest := e.do("Max", []Value{e.sub(left, d), e.number(0)})
				add(steps(rest, 1), span)
			} else {
				add(e.mul(steps(d, 1), e.number(0)), span)
			}
			key = e.add(key, e.mul(to, e.number(4*far)))
		}
		if others == 0 {
			continue
		}
		// The thing nearest to each co-player, of equals the one nearest to oneself.
		size := e.number(float32(e.cells))
		order := e.add(e.mul(e.do("Min", []Value{theirs, size}), e.number(float32(e.cells+1))), e.do("Min", []Value{own, size}))
		to := e.smallest(e.add(order, none)) // [batch][others][cells]
		exists := e.mul(e.largest(things, 2), e.reshape(here, 1, 1))
		about := e.concat(steps(reads(theirs, to), others), steps(reads(own, to), others), b.moves(to, own, near))
		x, _ := e.counted(e.mul(e.mul(about, there), exists), 2*span+4)
		parts = append(parts, x)
	}
	return parts
}

// counted adds up numbers [batch][co-players][n], or leaves them as they are in a frame with an
// order, and returns them flat, and how many they are.
func (e *encoding) counted(x Value, n int) (Value, int) {
	if e.sense.Unordered {
		return e.sum(x, 1), n
	}
	n *= e.sense.Seats - 1
	return e.reshape(x, int64(n)), n
}

// smallest marks the smallest entry of each row [batch][n][cells], the first of equals.
func (e *encoding) smallest(key Value) Value {
	at := e.do("ArgMin", []Value{key}, one("axis", 2), one("keepdims", 1))
	list := make([]int64, e.cells)
	for i := range list {
		list[i] = int64(i)
	}
	return e.asFloat(e.do("Equal", []Value{at, e.table(list, 1, 1, e.cells)}))
}

// nearer returns, for planes of things, which moves lead to the nearest thing of each, around
// what the planes in blocks show: [batch][things*4], as a model of others reads it.
func (e *encoding) nearer(planes Value, things, blocks []int) Value {
	b := &board{Graph: e.Graph, height: e.Height, width: e.Width, cells: e.cells}
	for _, p := range blocks {
		free := e.reshape(e.sub(e.number(1), e.nonzero(e.plane(planes, p))), 1, int64(e.cells))
		if b.open != "" {
			free = e.mul(b.open, free)
		}
		b.open = free
	}
	at := e.hot(e.sub(e.last(e.plane(planes, 0)), e.number(1)), e.cells)
	self := e.reshape(at, 1, int64(e.cells))
	beside := b.beside(self)
	var rows []Value
	for _, p := range things {
		rows = append(rows, e.reshape(e.nonzero(e.plane(planes, p)), 1, int64(e.cells)))
	}
	dist := b.measure(e.do("Concat", rows, one("axis", 1)))
	flip := e.do("Transpose", []Value{self}, many("perm", 0, 2, 1))
	here := e.matMul(dist, flip) // [batch][things][1]
	by := e.do("Transpose", []Value{beside}, many("perm", 0, 2, 1))
	shut := e.mul(e.sub(e.number(1), e.sum(beside, 2)), e.number(2*far)) // [batch][4]
	there := e.add(e.matMul(dist, by), e.reshape(shut, 1, 4))
	return e.reshape(e.above(here, there), int64(4*len(things)))
}
