package grid

import (
	"encoding"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// State is what the states of games on a board are.
type State interface {
	game.State
	game.Permuter
	game.Pictured
	encoding.TextUnmarshaler
}

// MaxSeats bounds the seats of a game on a board: who saw whom is a set of bits.
const MaxSeats = 64

// Players is what every state on a board has of its seats. Games embed it. It refers to arrays of
// the game's number of seats, so that copying a state costs no more than those who play.
type Players struct {
	T    int32    // steps so far
	Done bool     // the episode is over
	Pos  []int16  // [seats] cell, or None once gone
	Last []int8   // [seats] last action, -1 before the first and once gone
	Saw  []uint64 // [seats] bit o: seat o stood in view when the last step was played; nil where all is in view
	rows []int16  // [1 + more][seats] Pos, and what else a game counts for each seat
}

// NewPlayers returns players who are nowhere and have done nothing, of a game with this view and
// so many more numbers for each seat (Row).
func NewPlayers(seats, view, more int) (p Players) {
	p.rows = make([]int16, (1+more)*seats)
	p.Pos, p.Last = p.rows[:seats:seats], make([]int8, seats)
	if view > 0 {
		p.Saw = make([]uint64, seats)
	}
	p.Clear()
	return p
}

// Row returns one of the numbers that a game has for each seat; they are copied with the players.
func (p *Players) Row(i int) []int16 {
	n := len(p.Pos)
	return p.rows[(1+i)*n : (2+i)*n : (2+i)*n]
}

// Clear makes the players nowhere again, at the start; further numbers are 0.
func (p *Players) Clear() {
	p.T, p.Done = 0, false
	clear(p.rows)
	clear(p.Saw)
	for s := range p.Pos {
		p.Pos[s], p.Last[s] = None, -1
	}
}

// Follow makes the players equal to src, players of the same game.
func (p *Players) Follow(src *Players) {
	p.T, p.Done = src.T, src.Done
	copy(p.rows, src.rows)
	copy(p.Last, src.Last)
	copy(p.Saw, src.Saw)
}

// Over reports whether the episode has ended.
func (p *Players) Over() bool { return p.Done }

// Alive reports whether the episode goes on: nobody leaves before its end. Games
// in which seats leave have a method of their own.
func (p *Players) Alive(game.Seat) bool { return !p.Done }

// Time returns the number of steps played.
func (p *Players) Time() int { return int(p.T) }

// Played returns the seat's last action, or game.NoAction.
func (p *Players) Played(s game.Seat) int32 { return int32(p.Last[s]) }

// Place returns the cell of a seat, or None once it has gone.
func (p *Players) Place(s game.Seat) int16 { return p.Pos[s] }

// Doing returns how many on a cell play an action.
func (p *Players) Doing(acts []int32, action int32, c int16) int {
	n := 0
	for s, a := range acts {
		if a == action && p.Pos[s] == c {
			n++
		}
	}
	return n
}

// Relabel takes over what src has of its seats, with seat s moved to perm[s].
func (p *Players) Relabel(src *Players, perm []game.Seat) {
	for s, to := range perm {
		for at := 0; at < len(p.rows); at += len(perm) {
			p.rows[at+int(to)] = src.rows[at+s]
		}
		p.Last[to] = src.Last[s]
		if p.Saw != nil {
			p.Saw[to] = 0
			for o, as := range perm {
				p.Saw[to] |= src.Saw[s] >> o & 1 << as
			}
		}
	}
}

// Show writes the first planes of a board, one for each seat, ego-first, or oneself and a count of
// the others where they are pooled.
func (p *Players) Show(dst []float32, s game.Seat, l *game.Layout) {
	i, n, planes := int(s), len(p.Pos), len(l.Planes)
	if l.Pooled {
		for o, c := range p.Pos {
			switch {
			case c == None:
			case o == i:
				dst[int(c)*planes] = 1
			default:
				dst[int(c)*planes+1]++
			}
		}
		return
	}
	for k := range n {
		if c := p.Pos[i]; c != None {
			dst[int(c)*planes+k] = 1
		}
		if i++; i == n {
			i = 0
		}
	}
}

// Ground is a board that a state owns: its blocks are drawn anew each episode.
type Ground struct {
	*Board
	Scratch []int16   // [cells]
	id      uint64    // equal in two states only if their episodes, and so boards, are
	dist    [][]int16 // [targets][cells] moves to each, once asked for
	mapped  bool      // dist is filled
	rows    [][]int16 // [cells][cells] moves between cells; a row is made when it is asked for
	known   []bool    // [cells] whose rows are those of this board
}

// NewGround returns the ground of a state with so many targets.
func NewGround(size, targets int) Ground {
	g := Ground{Board: New(size, size), Scratch: make([]int16, size*size), dist: make([][]int16, targets)}
	for i := range g.dist {
		g.dist[i] = make([]int16, size*size)
	}
	return g
}

// Draw begins an episode with so many block pieces, which leave free cells.
func (g *Ground) Draw(pieces, free int, r *rng.Rand) {
	if pieces > 0 {
		g.DrawBlocks(pieces, free, g.Scratch, r)
	}
	g.id = r.Uint64() | 1
	g.forget()
}

// Read takes the blocks of a text. No other state is known to share this ground.
func (g *Ground) Read(t *Text) {
	for c, cell := range t.Cells {
		g.Blocked[c] = cell == "#"
	}
	g.Redraw()
}

// Redraw follows what was written to Blocked. No other state is known to share this ground.
func (g *Ground) Redraw() {
	g.Link()
	g.id = 0
	g.forget()
}

// Follow makes the ground equal to src and reports whether that is of another
// episode, so that what else is fixed within one must be copied too.
func (g *Ground) Follow(src *Ground) bool {
	if g.id == src.id && g.id != 0 {
		return false
	}
	g.id = src.id
	g.forget()
	g.CopyFrom(src.Board)
	return true
}

// forget drops what was computed for another board.
func (g *Ground) forget() {
	g.mapped = false
	clear(g.known)
}

// Steps returns how many moves one cell is from another, Far if there is no path. It remembers
// what it was asked for until the board changes.
func (g *Ground) Steps(from, to int16) int16 {
	if g.known == nil {
		g.known, g.rows = make([]bool, g.Cells()), make([][]int16, g.Cells())
	}
	if !g.known[to] {
		if g.rows[to] == nil {
			g.rows[to] = make([]int16, g.Cells())
		}
		g.Distances(g.rows[to], to)
		g.known[to] = true
	}
	return g.rows[to][from]
}

// ID returns a number that two grounds share only if their episodes are one; 0: it has none.
func (g *Ground) ID() uint64 { return g.id }

// FreeCell draws a cell without a block.
func (g *Ground) FreeCell(r *rng.Rand) int16 {
	for {
		if c := r.IntN(g.Cells()); !g.Blocked[c] {
			return int16(c)
		}
	}
}

// Towards marks the moves from a cell along shortest paths to the nearest of the
// targets whose bit is set, and returns how far that is: Far if there is none, or
// no path to it. Distances to the targets are computed once an episode.
func (g *Ground) Towards(cell int16, targets []int16, set uint64, mask *game.Mask) int16 {
	if !g.mapped {
		for i := range g.dist {
			g.Distances(g.dist[i], targets[i])
		}
		g.mapped = true
	}
	best := Far
	for i, d := range g.dist {
		if set>>i&1 != 0 {
			best = min(best, d[cell])
		}
	}
	if best == 0 || best == Far {
		return best
	}
	for k, to := range g.Next[cell] {
		for i, d := range g.dist {
			if to != None && set>>i&1 != 0 && d[to] == best-1 {
				mask[k] = true
				break
			}
		}
	}
	return best
}

// A seat may see no more than the cells around it: those at most view rows and view columns
// away, its own among them (game.Spec.View); 0 is the whole board. What lies beyond is 0 in
// every plane. No plane says which cells are seen, because plane 0 does: it shows where one
// stands, and the radius is the same for all and for good.
//
// Of the others one sees who stands in view, and what those did who stood in view when they
// did it; so the last action of somebody who has just left is seen by those who saw it.

// inView reports whether a cell is in the view from another, on a board of so many columns.
func inView(view, width int, from, c int16) bool {
	w := int16(width)
	dy, dx := from/w-c/w, from%w-c%w
	return max(dy, -dy, dx, -dx) <= int16(view)
}

// Look notes who stands in whose view, before a step is played.
func (p *Players) Look(view, width int) {
	if view == 0 {
		return
	}
	for s, from := range p.Pos {
		p.Saw[s] = 0
		for o, c := range p.Pos {
			if from != None && c != None && inView(view, width, from, c) {
				p.Saw[s] |= 1 << o
			}
		}
	}
}

// Hide makes an observation of the whole board by seat s one of what is in its view: the
// rest is 0. It expects the layout of games on a board: features, if there are any, are one
// for each seat and then one for each plane of things, in their order.
func (p *Players) Hide(l *game.Layout, dst []float32, s game.Seat, view int) {
	if view == 0 {
		return
	}
	n := l.Last
	l.Hide(dst, view, int(p.Pos[s]))
	for k := 1; k < n; k++ {
		if at := l.LastAt() + k*l.Legal; p.Saw[s]>>((int(s)+k)%n)&1 == 0 {
			clear(dst[at : at+l.Legal])
		}
	}
}
