package onnx

import (
	"github.com/hop-marl/hop/game/frame"
)

// encoding is a frame as a part of a graph: what it makes of an observation, column by
// column as package frame numbers them.
type encoding struct {
	*Graph
	frame.Input
	sense   frame.Sense
	kind    string
	actions int
	cells   int

	weigh  Value // [batch][co-players][groups] what is said of each, in an unordered frame
	groups int
}

// rows returns an observation and what a model adds to it as rows of a frame; with a frame
// that turns also what each action looks like in the view taken, "" otherwise.
func (g *Graph) rows(kind string, in frame.Input, actions int, sense frame.Sense, obs, extra Value) (x, acts Value) {
	e := &encoding{Graph: g, Input: in, kind: kind, sense: sense, actions: actions, cells: in.Height * in.Width,
		groups: max(0, sense.Seats-1)}
	if kind == frame.Board {
		return g.concat(append([]Value{obs}, e.given(extra)...)...), ""
	}
	if sense.Turn {
		obs, acts = e.turn(obs)
	}
	planes := e.reshape(e.columns(obs, 0, e.cells*e.Planes), int64(e.cells), int64(e.Planes))
	if sense.Unordered {
		e.weights(extra)
	}
	parts := e.around(planes)
	parts = append(parts, e.rest(obs, extra)...)
	if sense.Distances {
		parts = append(parts, e.distances(obs, planes)...)
	}
	return g.concat(parts...), acts
}

// given is a list of extra, of nothing if there is none.
func (e *encoding) given(extra Value) []Value {
	if e.Extra == 0 {
		return nil
	}
	return []Value{extra}
}

// plane returns plane p, [batch][cells].
func (e *encoding) plane(planes Value, p int) Value {
	return e.reshape(e.do("Slice", []Value{planes, e.ints(int64(p)), e.ints(int64(p + 1)), e.ints(2)}), int64(e.cells))
}

// count returns 1, 2, ... n.
func count(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i + 1)
	}
	return list
}

// last returns the number of the last cell that is not 0, from 1; 0: there is none.
func (e *encoding) last(plane Value) Value {
	return e.largest(e.mul(e.nonzero(plane), e.floats(count(e.cells), 1, e.cells)), 1)
}

// hot returns x [batch][1], a whole number from 0, as a one-hot of n numbers.
func (e *encoding) hot(x Value, n int) Value {
	list := count(n)
	for i := range list {
		list[i]--
	}
	return e.asFloat(e.do("Equal", []Value{x, e.floats(list, 1, n)}))
}

// around returns the planes relative to oneself: places around oneself, the own row and
// column, and in Egof row and column offsets apart.
func (e *encoding) around(planes Value) []Value {
	h, w, others := e.Height, e.Width, e.Planes-1
	tall, wide := 2*h-1, 2*w-1
	self := e.plane(planes, 0)
	// Places beyond the board are zeros around it. What is seen around oneself is then a
	// part of that larger board, and where it begins says where one stands.
	large := 3*w - 2
	things := e.do("Slice", []Value{planes, e.ints(1), e.ints(int64(e.Planes)), e.ints(2)})
	board := e.reshape(things, int64(h), int64(w), int64(others))
	b, c := int64(h-1), int64(w-1)
	board = e.do("Pad", []Value{board, e.ints(0, b, c, 0, 0, b, c, 0)})
	board = e.reshape(board, int64((3*h-2)*large), int64(others))
	at := e.asInt(e.largest(e.mul(e.nonzero(self), e.floats(e.starts(large), 1, e.cells)), 1))
	var from []int64
	for y := range tall {
		for x := range wide {
			from = append(from, int64(y*large+x))
		}
	}
	index := e.do("Add", []Value{at, e.table(from, 1, len(from))})
	seen := e.do("GatherND", []Value{board, e.reshape(index, int64(tall*wide), 1)}, one("batch_dims", 1))
	if e.sense.Unordered {
		n := int64(e.sense.Seats - 1)
		axis := e.ints(2)
		players := e.do("Slice", []Value{seen, e.ints(0), e.ints(n), axis})
		grouped := e.matMul(players, e.weigh)
		others += e.groups - int(n)
		if e.Planes > e.sense.Seats {
			grouped = e.concat(grouped, e.do("Slice", []Value{seen, e.ints(n), e.ints(int64(e.Planes - 1)), axis}))
		}
		seen = grouped
	}
	grid := e.reshape(self, int64(h), int64(w))
	parts := []Value{e.reshape(seen, int64(tall*wide*others)), e.sum(grid, 2), e.sum(grid, 1)}
	if e.kind == frame.Egof {
		field := e.reshape(seen, int64(tall), int64(wide), int64(others))
		parts = append(parts, e.reshape(e.sum(field, 2), int64(tall*others)), e.reshape(e.sum(field, 1), int64(wide*others)))
	}
	return parts
}

// starts is, for each cell, where the part of the larger board begins that is seen from
// there. Later cells begin later, so that the last of several counts, and without oneself
// it is the corner.
func (e *encoding) starts(large int) []float32 {
	list := make([]float32, e.cells)
	for cell := range list {
		list[cell] = float32(cell/e.Width*large + cell%e.Width)
	}
	return list
}

// weights says how much each co-player counts in each group.
func (e *encoding) weights(extra Value) {
	n := e.sense.Seats - 1
	said := e.Extra / n
	e.groups = max(1, said)
	if said == 0 {
		ones := make([]float32, n)
		for i := range ones {
			ones[i] = 1
		}
		e.weigh = e.floats(ones, 1, n, 1)
		return
	}
	e.weigh = e.reshape(extra, int64(n), int64(said))
}

// grouped adds up numbers [batch][co-players][n] by groups, or leaves them as they are in a
// frame with an order, and returns them flat.
func (e *encoding) grouped(x Value, n int) Value {
	if !e.sense.Unordered {
		return e.reshape(x, int64((e.sense.Seats-1)*n))
	}
	by := e.do("Transpose", []Value{e.weigh}, many("perm", 0, 2, 1))
	return e.reshape(e.matMul(by, x), int64(e.groups*n))
}

// rest returns what follows the planes, and what is said of the co-players.
func (e *encoding) rest(obs, extra Value) (parts []Value) {
	from, s := e.cells*e.Planes, e.sense
	if !s.Unordered {
		if e.Rest > 0 {
			parts = append(parts, e.columns(obs, from, e.Len()))
		}
		return append(parts, e.given(extra)...)
	}
	end := e.Len()
	if s.LastAt >= 0 {
		end = s.LastAt + e.actions
	}
	if end > from {
		parts = append(parts, e.columns(obs, from, end))
	}
	if s.LastAt >= 0 {
		last := e.reshape(e.columns(obs, end, e.Len()), int64(s.Seats-1), int64(e.actions))
		parts = append(parts, e.grouped(last, e.actions))
	}
	if e.Extra > 0 {
		parts = append(parts, e.sum(e.weigh, 1))
	}
	return parts
}

// turn returns observations in their views, and what the actions look like in them. Of the
// views that put oneself into the eighth it takes the one that, read as a list, is largest,
// the first of equals.
func (e *encoding) turn(obs Value) (seen, acts Value) {
	f := frame.NewScene(e.kind, e.Input, e.actions, e.sense)
	to, looks, tried := f.Views()
	n, length := len(to), e.Len()
	from, may, signs := make([]int64, n*length), make([]float32, (e.cells+1)*n), make([]int64, n*e.actions)
	for t := range to {
		for i, j := range to[t] {
			from[t*length+int(j)] = int64(i)
		}
		for a, k := range looks[t] {
			signs[t*e.actions+a] = int64(k)
		}
	}
	may[0] = 1 // without oneself the board stays as it is
	for cell, list := range tried {
		for _, t := range list {
			may[(cell+1)*n+int(t)] = 1
		}
	}
	planes := e.reshape(e.columns(obs, 0, e.cells*e.Planes), int64(e.cells), int64(e.Planes))
	at := e.reshape(e.asInt(e.last(e.plane(planes, 0))))
	allowed := e.do("Gather", []Value{e.floats(may, e.cells+1, n), at}, one("axis", 0))
	best, view, found := obs, e.mul(e.columns(allowed, 0, 1), e.number(0)), e.columns(allowed, 0, 1)
	for t := 1; t < n; t++ {
		turned := e.do("Gather", []Value{obs, e.table(from[t*length:(t+1)*length], length)}, one("axis", 1))
		diff := e.sub(turned, best)
		first := e.do("ArgMax", []Value{e.nonzero(diff)}, one("axis", 1), one("keepdims", 1))
		larger := e.above(e.do("GatherElements", []Value{diff, first}, one("axis", 1)), e.number(0))
		here := e.columns(allowed, t, t+1)
		take := e.above(e.mul(here, e.add(e.sub(e.number(1), found), larger)), e.number(0))
		yes := e.do("Greater", []Value{take, e.number(0)})
		best = e.do("Where", []Value{yes, turned, best})
		view = e.do("Where", []Value{yes, e.number(float32(t)), view})
		found = e.do("Max", []Value{found, here})
	}
	acts = e.do("Gather", []Value{e.table(signs, n, e.actions), e.reshape(e.asInt(view))}, one("axis", 0))
	return best, acts
}
