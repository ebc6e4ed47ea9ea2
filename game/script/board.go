package script

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// maxSpots bounds the places of one thing that are looked at.
const maxSpots = 64

// Field is a State on a board with things that one can go for.
type Field interface {
	State
	// Place returns the cell of a seat, or grid.None once it has gone.
	Place(s game.Seat) int16
	// Spots writes the cells where there is such a thing for the seat now, and returns how many.
	Spots(thing int, s game.Seat, dst []int16) int
	// Steps returns how many moves one cell is from another; grid.Far: there is no path.
	Steps(from, to int16) int16
	// Next returns where an action leads from a cell: to itself if it is no move.
	Next(cell int16, action int) int16
	// Extent returns the rows and columns of the board.
	Extent() (rows, columns int)
	// Approach marks what brings the seat from where it is to a spot of a thing by a shortest
	// path, and at it what takes the thing; nothing while that is not legal there.
	Approach(thing int, s game.Seat, spot int16, mask *game.Mask) (there bool)
}

// which of several spots.
type which uint8

const (
	nearest which = iota
	farthest
	crowded
	empty
	first
	last
	second
)

var whiches = []string{"nearest", "farthest", "crowded", "empty", "first", "last", "second"}

// choices are the words for which of several things.
func choices() (list []Word) {
	for i, doc := range []string{"the nearest", "the farthest", "the one to which another is nearest",
		"the one from which the others are farthest", "the first as one reads the board",
		"the last as one reads the board", "the second nearest"} {
		w := Word{Name: whiches[i], Kind: Which, Group: Target, Doc: doc}
		if which(i) == nearest {
			w.Group = Base
		}
		list = append(list, w)
	}
	return list
}

func whichNamed(name string) (which, error) {
	for i, n := range whiches {
		if n == name {
			return which(i), nil
		}
	}
	return 0, fmt.Errorf("script: no %q", name)
}

// others returns how near the nearest other is to a cell, grid.Far if nobody else is left.
func (n *now) others(cell int16) int16 {
	best := grid.Far
	for o := range game.Seat(n.p.lang.Seats) {
		if at := n.field.Place(o); o != n.s && at != grid.None {
			best = min(best, n.field.Steps(at, cell))
		}
	}
	return best
}

// around returns how near the nearest other is to a spot, the thing there left out if it is a seat itself.
func (n *now) around(spot int16) int16 {
	best, itself := grid.Far, n.p.lang.Seated
	for o := range game.Seat(n.p.lang.Seats) {
		at := n.field.Place(o)
		switch {
		case o == n.s || at == grid.None:
		case itself && at == spot:
			itself = false
		default:
			best = min(best, n.field.Steps(at, spot))
		}
	}
	return best
}

// rank is what a spot is chosen by: the lowest wins, and all that are as low.
func (n *now) rank(w which, i int, cell int16) int {
	d := int(n.field.Steps(n.field.Place(n.s), cell))
	switch w {
	case farthest:
		return -d
	case crowded:
		return int(n.around(cell))<<8 + d
	case empty:
		return -int(n.around(cell))<<8 + d
	case first:
		return i
	case last:
		return -i
	}
	return d
}

// walk goes to a thing and takes it, or stays there while it cannot; with nothing of the kind
// left it does as other does.
type walk struct {
	thing int
	which which
	keep  bool // goes there and never takes it
	other policy
}

func (a walk) add(n *now, w float32, dst *dist) {
	count := n.field.Spots(a.thing, n.s, n.spots[:])
	spots := n.spots[:count]
	if count == 0 {
		a.other.add(n, w, dst)
		return
	}
	best, next := 1<<30, 1<<30
	for i, c := range spots {
		r := n.rank(a.which, i, c)
		n.ranks[i] = r
		switch {
		case r < best:
			best, next = r, best
		case r > best && r < next:
			next = r
		}
	}
	if a.which == second && next < 1<<30 {
		best = next
	}
	there := false
	n.mask = game.Mask{}
	for i, c := range spots {
		if n.ranks[i] == best && n.field.Approach(a.thing, n.s, c, &n.mask) {
			there = true
		}
	}
	if there && a.keep {
		n.mask = game.Mask{}
	}
	if there && n.mask == (game.Mask{}) {
		n.mask[grid.Stay] = true
	}
	n.spread(&n.mask, w, dst)
}

// pass does what is legal and takes nothing.
type pass struct{ moves bool }

func (a pass) add(n *now, w float32, dst *dist) {
	var mask game.Mask
	mask[grid.Stay] = true
	if a.moves {
		for k := range n.p.lang.Taking {
			mask[k] = true
		}
	}
	n.spread(&mask, w, dst)
}

// pursue goes towards the nearest other, or away from it.
type pursue struct{ away bool }

func (a pursue) add(n *now, w float32, dst *dist) {
	var mask game.Mask
	me := n.field.Place(n.s)
	best := -1 << 20
	for k := range n.p.lang.Taking {
		if !n.legal[k] {
			continue
		}
		to := n.field.Next(me, k)
		d := int(n.others(to))
		if !a.away {
			d = -d
		}
		switch {
		case d > best:
			best, mask = d, game.Mask{}
			fallthrough
		case d == best:
			mask[k] = true
		}
	}
	n.spread(&mask, w, dst)
}

// reside goes to a corner, the nearest, or to the middle of the board, and stays there.
type reside struct{ middle bool }

func (a reside) add(n *now, w float32, dst *dist) {
	var mask game.Mask
	me := n.field.Place(n.s)
	h, wd := n.field.Extent()
	far := func(cell int16) int {
		y, x := int(cell)/wd, int(cell)%wd
		if a.middle {
			return abs(2*y-(h-1)) + abs(2*x-(wd-1))
		}
		return min(y, h-1-y) + min(x, wd-1-x)
	}
	best := far(me)
	mask[grid.Stay] = true
	for k := range grid.Stay {
		if !n.legal[k] {
			continue
		}
		switch d := far(n.field.Next(me, k)); {
		case d < best:
			best, mask = d, game.Mask{}
			fallthrough
		case d == best && !mask[grid.Stay]:
			mask[k] = true
		}
	}
	n.spread(&mask, w, dst)
}

func abs(x int) int { return max(x, -x) }

// waits holds if somebody else stands where such a thing is taken.
type waits struct{ thing int }

func (c waits) holds(n *now) bool {
	count := n.field.Spots(c.thing, n.s, n.spots[:])
	reach := int16(0)
	if n.p.lang.Seated {
		reach = 1
	}
	for _, cell := range n.spots[:count] {
		if n.around(cell) <= reach {
			return true
		}
	}
	return false
}

// nearby holds if somebody else is that near.
type nearby struct{ steps int16 }

func (c nearby) holds(n *now) bool { return n.others(n.field.Place(n.s)) <= c.steps }

// within holds if such a thing is that near.
type within struct {
	thing int
	steps int16
}

func (c within) holds(n *now) bool {
	count := n.field.Spots(c.thing, n.s, n.spots[:])
	me := n.field.Place(n.s)
	for _, cell := range n.spots[:count] {
		if n.field.Steps(me, cell) <= c.steps {
			return true
		}
	}
	return false
}

// few holds if no more than so many others are left.
type few struct{ others int }

func (c few) holds(n *now) bool {
	left := -1
	for o := range game.Seat(n.p.lang.Seats) {
		if n.field.Place(o) != grid.None {
			left++
		}
	}
	return left <= c.others
}

// board are the words of games on a board.
func board() []Word {
	return []Word{
		{Name: "go", Kind: Who, Group: Base, args: []argument{{Thing, ""}, {Which, "nearest"}, {Who, "random"}},
			Doc:  "goes for a thing and takes it, waiting there while it cannot; with none left it does as the third does",
			make: func(_ *maker, v []value) any { return walk{v[0].thing, v[1].which, false, v[2].who} }},
		{Name: "help", Kind: Who, Group: Target, args: []argument{{Thing, ""}, {Who, "random"}},
			Doc:  "joins whoever is nearest to such a thing, and takes it with them",
			make: func(_ *maker, v []value) any { return walk{v[0].thing, crowded, false, v[1].who} }},
		{Name: "tease", Kind: Who, Group: Target, args: []argument{{Thing, ""}, {Which, "nearest"}, {Who, "random"}},
			Doc:  "goes to a thing, stays there and never takes it",
			make: func(_ *maker, v []value) any { return walk{v[0].thing, v[1].which, true, v[2].who} }},
		{Name: "follow", Kind: Who, Group: Target, Doc: "goes where the nearest other is, and takes nothing",
			make: func(*maker, []value) any { return pursue{} }},
		{Name: "flee", Kind: Who, Group: Target, Doc: "goes away from the nearest other, and takes nothing",
			make: func(*maker, []value) any { return pursue{away: true} }},
		{Name: "corner", Kind: Who, Group: Target, Doc: "goes to the nearest corner and stays there",
			make: func(*maker, []value) any { return reside{} }},
		{Name: "middle", Kind: Who, Group: Target, Doc: "goes to the middle of the board and stays there",
			make: func(*maker, []value) any { return reside{middle: true} }},
		{Name: "wander", Kind: Who, Group: Target, Doc: "moves at random and takes nothing",
			make: func(*maker, []value) any { return pass{moves: true} }},
		{Name: "stay", Kind: Who, Group: Target, Doc: "stays where it is",
			make: func(*maker, []value) any { return pass{} }},
		{Name: "waits", Kind: When, Group: Condition, args: []argument{{Thing, ""}}, Doc: "somebody else stands at such a thing",
			make: func(_ *maker, v []value) any { return waits{v[0].thing} }},
		{Name: "close", Kind: When, Group: Condition, args: []argument{{Count, "1"}},
			Doc:  "somebody else is within so many moves",
			make: func(_ *maker, v []value) any { return nearby{int16(v[0].number)} }},
		{Name: "within", Kind: When, Group: Condition, args: []argument{{Thing, ""}, {Count, "2"}},
			Doc:  "such a thing is within so many moves",
			make: func(_ *maker, v []value) any { return within{v[0].thing, int16(v[1].number)} }},
		{Name: "few", Kind: When, Group: Condition, args: []argument{{Count, "1"}}, Doc: "no more than so many others are left",
			make: func(_ *maker, v []value) any { return few{int(v[0].number)} }},
	}
}
