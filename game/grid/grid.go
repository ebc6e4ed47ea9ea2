// Package grid holds what games on a board share: cells, walls, moves, distances,
// the layout of observations, and positions as text.
//
// A cell is a number, y*Width+x. The four moves are 0 up, 1 down, 2 left,
// 3 right. Tables are rebuilt by Link when the walls change and are read-only
// between, so a step looks everything up and allocates nothing.
package grid

import (
	"slices"
	"strconv"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// The moves, and the action that every game on a board has after them.
const (
	Up = iota
	Down
	Left
	Right
	Stay
)

// moveNames are the names of actions 0 to 4.
var moveNames = []string{"up", "down", "left", "right", "stay"}

// Layout is the observation of a game on a square board: planes of the agents,
// ego-first, then more planes, the mask, the time and the last joint action.
func Layout(size, agents, actions int, more ...string) game.Layout {
	planes := append([]string{"self"}, Numbered("other", agents)[1:]...)
	return game.Layout{Height: size, Width: size, Planes: append(planes, more...), Legal: actions, Time: 1, Last: agents}
}

// Pool returns the layout with one plane that counts the co-players, in place of one for each, and
// without the last joint action.
func Pool(l game.Layout) game.Layout {
	l.Planes = append([]string{"self", "others"}, l.Planes[l.Last:]...)
	l.Last, l.Pooled = 0, true
	return l
}

// Numbered returns the name with each of the numbers from 0 to below n.
func Numbered(name string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = name + strconv.Itoa(i)
	}
	return out
}

// Actions returns the names of the moves and Stay, and more.
func Actions(more ...string) []string { return append(slices.Clone(moveNames), more...) }

// SeatsOn appends the seats that are on a cell.
func SeatsOn(seats []game.Seat, pos []int16, c int16) []game.Seat {
	for s, p := range pos {
		if p == c {
			seats = append(seats, game.Seat(s))
		}
	}
	return seats
}

// None is no cell: beyond a wall, or where a seat that has left stands.
const None = int16(-1)

// Far is a distance that no path has.
const Far = int16(1<<15 - 1)

// Board is a grid of cells, some of them blocked. Make one with New.
type Board struct {
	H, W    int
	Blocked []bool     // [H*W] the caller may write it, then Link
	Next    [][4]int16 // [H*W] the cell that each move leads to, or None
	Moves   []uint8    // [H*W] bit k: move k is open
	Blocks  []int16    // the blocked cells, in order
	queue   []int16
	wraps   bool // the edges meet
}

// New returns an open board.
func New(h, w int) *Board { return newBoard(h, w, false) }

// Torus returns an open board whose edges meet: who leaves on one side comes in on the other.
func Torus(h, w int) *Board { return newBoard(h, w, true) }

func newBoard(h, w int, wraps bool) *Board {
	b := &Board{
		H: h, W: w, wraps: wraps,
		Blocked: make([]bool, h*w), Next: make([][4]int16, h*w), Moves: make([]uint8, h*w),
		Blocks: make([]int16, 0, h*w), queue: make([]int16, 0, h*w),
	}
	b.Link()
	return b
}

// Cells returns the number of cells.
func (b *Board) Cells() int { return b.H * b.W }

// Link rebuilds the tables from Blocked.
func (b *Board) Link() {
	b.Blocks = b.Blocks[:0]
	c := int16(0)
	for y := range b.H {
		for x := range b.W {
			next := [4]int16{None, None, None, None}
			b.Moves[c] = 0
			if b.Blocked[c] {
				b.Blocks = append(b.Blocks, c)
			} else {
				b.open(&next, c, Up, y-1, x)
				b.open(&next, c, Down, y+1, x)
				b.open(&next, c, Left, y, x-1)
				b.open(&next, c, Right, y, x+1)
			}
			b.Next[c] = next
			c++
		}
	}
}

// open lets a move lead from cell c to row y and column x, if nothing is in its way.
func (b *Board) open(next *[4]int16, c int16, move, y, x int) {
	if b.wraps {
		y, x = (y+b.H)%b.H, (x+b.W)%b.W
	}
	if to := y*b.W + x; y >= 0 && y < b.H && x >= 0 && x < b.W && !b.Blocked[to] {
		next[move] = int16(to)
		b.Moves[c] |= 1 << move
	}
}

// CopyFrom makes b equal to src, a board of the same size.
func (b *Board) CopyFrom(src *Board) {
	copy(b.Blocked, src.Blocked)
	copy(b.Next, src.Next)
	copy(b.Moves, src.Moves)
	b.Blocks = append(b.Blocks[:0], src.Blocks...)
}

// LegalMoves writes which of the moves and Stay are open at a cell to dst[0:5].
func (b *Board) LegalMoves(c int16, dst []bool) {
	m := b.Moves[c]
	_ = dst[4]
	dst[Up] = m&1 != 0
	dst[Down] = m&2 != 0
	dst[Left] = m&4 != 0
	dst[Right] = m&8 != 0
	dst[Stay] = true
}

// Open reports whether an action is Stay, or a move that is open at a cell.
func (b *Board) Open(c int16, a int32) bool {
	return a == Stay || a >= 0 && a < Stay && b.Moves[c]>>a&1 != 0
}

// After returns where an action leads from a cell: to itself if it is no open move.
func (b *Board) After(cell int16, action int) int16 {
	if action < Stay {
		if to := b.Next[cell][action]; to != None {
			return to
		}
	}
	return cell
}

// Manhattan returns how many moves one cell is from another on an open board.
func (b *Board) Manhattan(from, to int16) int16 {
	w := int16(b.W)
	dy, dx := from/w-to/w, from%w-to%w
	dy, dx = max(dy, -dy), max(dx, -dx)
	if b.wraps {
		dy, dx = min(dy, int16(b.H)-dy), min(dx, w-dx)
	}
	return dy + dx
}

// Steer marks the moves from one cell that bring one nearer to another, as Manhattan counts.
func (b *Board) Steer(from, to int16, mask *game.Mask) {
	w := int16(b.W)
	dy, dx := to/w-from/w, to%w-from%w
	mask[Up] = mask[Up] || dy < 0
	mask[Down] = mask[Down] || dy > 0
	mask[Left] = mask[Left] || dx < 0
	mask[Right] = mask[Right] || dx > 0
}

// Walk makes all moves at once, and keeps everybody's action as the last one.
func (b *Board) Walk(pos []int16, last []int8, acts []int32) {
	for s, a := range acts {
		last[s] = int8(a)
		if a >= 0 && a < Stay {
			pos[s] = b.Next[pos[s]][a]
		}
	}
}

// Distances writes to dst the number of moves from every cell to the target,
// Far where there is no path. It uses a queue of the board's own.
func (b *Board) Distances(dst []int16, target int16) {
	for i := range dst {
		dst[i] = Far
	}
	dst[target] = 0
	q := append(b.queue[:0], target)
	for i := 0; i < len(q); i++ {
		c := q[i]
		for _, to := range b.Next[c] {
			if to != None && dst[to] == Far {
				dst[to] = dst[c] + 1
				q = append(q, to)
			}
		}
	}
}

// Connected reports whether all open cells can reach each other.
func (b *Board) Connected(scratch []int16) bool {
	for c, blocked := range b.Blocked {
		if blocked {
			continue
		}
		b.Distances(scratch, int16(c))
		for d, blocked := range b.Blocked {
			if !blocked && scratch[d] == Far {
				return false
			}
		}
		return true
	}
	return false
}

// shapes are the pieces that blocks are made of, as (y, x) offsets: straight 3,
// corner 3, straight 4, and S or L 4. Turning and flipping is done when drawing.
var shapes = [][][2]int{
	{{0, 0}, {0, 1}, {0, 2}},
	{{0, 0}, {0, 1}, {1, 0}},
	{{0, 0}, {0, 1}, {0, 2}, {0, 3}},
	{{0, 0}, {0, 1}, {1, 1}, {1, 2}},
	{{0, 0}, {0, 1}, {0, 2}, {1, 2}},
}

// DrawBlocks draws block pieces: each of the four kinds equally likely, in any
// of its eight orientations, anywhere it fits inside the board. A piece that
// would overlap an earlier one is dropped. Everything is drawn again until the
// open cells are connected and at least free of them are left; after 1,000
// failures the board stays open. It links the board.
func (b *Board) DrawBlocks(pieces, free int, scratch []int16, r *rng.Rand) {
	for range 1000 {
		clear(b.Blocked)
		for range pieces {
			b.drawPiece(r)
		}
		b.Link()
		if b.Cells()-len(b.Blocks) >= free && b.Connected(scratch) {
			return
		}
	}
	clear(b.Blocked)
	b.Link()
}

func (b *Board) drawPiece(r *rng.Rand) {
	kind := r.IntN(4)
	if kind == 3 {
		kind += r.IntN(2)
	}
	turn := r.IntN(8)
	shape := shapes[kind]
	var cells [4][2]int
	var lo, hi [2]int
	for i, p := range shape {
		y, x := p[0], p[1]
		if turn&1 != 0 {
			y, x = x, y
		}
		if turn&2 != 0 {
			y = -y
		}
		if turn&4 != 0 {
			x = -x
		}
		cells[i] = [2]int{y, x}
		lo = [2]int{min(lo[0], y), min(lo[1], x)}
		hi = [2]int{max(hi[0], y), max(hi[1], x)}
	}
	rows, cols := b.H-(hi[0]-lo[0]), b.W-(hi[1]-lo[1])
	if rows <= 0 || cols <= 0 {
		return
	}
	y0, x0 := r.IntN(rows)-lo[0], r.IntN(cols)-lo[1]
	for i := range shape {
		if b.Blocked[(y0+cells[i][0])*b.W+x0+cells[i][1]] {
			return
		}
	}
	for i := range shape {
		b.Blocked[(y0+cells[i][0])*b.W+x0+cells[i][1]] = true
	}
}
