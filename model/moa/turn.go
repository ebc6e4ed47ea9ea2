package moa

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game/frame"
)

// turns are ways of looking at the same step: the board turned and mirrored, and
// the others named in another order. Each is a permutation of the columns of an
// encoded row and of the actions. Someone who hunts the nearest prey does not
// care which way the board lies, so a model may learn from all of them; they
// multiply the data by up to 48 and are free of mistakes only as far as that is
// true of the modelled agent.
type turns struct {
	cols [][]int32 // [turns][Cols]
	acts [][]int32 // [turns][Actions]
}

// CanTurn reports whether observations can be shown turned: they must be planes,
// mask, time and last joint action and nothing else, and the actions must say
// which are moves.
func (in Input) CanTurn() bool {
	return in.Planes > 0 && len(in.Moves) == 4 && in.LastAt >= 0 && in.LegalAt == in.Height*in.Width*in.Planes
}

// newTurns returns all turns that leave the rules of the board as they are. It
// is an error if the input does not say which actions are moves, or holds
// numbers whose meaning under a turn is not known.
func (m *Model) newTurns(augment string) (*turns, error) {
	t := &turns{}
	if augment == "none" || augment == "" {
		return t, nil
	}
	if !m.CanTurn() {
		return nil, fmt.Errorf("moa: augment is %q, but this game's observations cannot be turned: it needs planes, four moves, the mask and "+
			"the last joint action, and no other features; set augment to none", augment)
	}
	orders := [][]int{nil}
	if augment == "all" {
		orders = permutations(m.Seats - 1)
	}
	for flip := range 8 {
		if flip&4 != 0 && m.Height != m.Width {
			continue
		}
		for _, order := range orders {
			t.add(m, flip, order)
		}
	}
	return t, nil
}

// permutations returns all orders of n things up to 3, else their rotations.
func permutations(n int) [][]int {
	if n > 3 {
		var out [][]int
		for shift := range n {
			p := make([]int, n)
			for i := range p {
				p[i] = (i + shift) % n
			}
			out = append(out, p)
		}
		return out
	}
	out := [][]int{nil}
	for i := range n {
		var longer [][]int
		for _, p := range out {
			for at := range i + 1 {
				q := append(append(append([]int{}, p[:at]...), i), p[at:]...)
				longer = append(longer, q)
			}
		}
		out = longer
	}
	return out
}

// add appends the turn that mirrors rows (1), columns (2) and the diagonal (4),
// and puts other i in place order[i].
func (t *turns) add(m *Model, flip int, order []int) {
	h, w, c, k := m.Height, m.Width, m.Planes, m.Actions
	tall, wide := 2*h-1, 2*w-1
	// turn mirrors a place in a field of th by tw.
	turn := func(y, x, th, tw int) (int, int) {
		if flip&1 != 0 {
			y = th - 1 - y
		}
		if flip&2 != 0 {
			x = tw - 1 - x
		}
		if flip&4 != 0 {
			y, x = x, y
		}
		return y, x
	}
	plane := func(p int) int {
		if p >= 1 && p <= len(order) {
			return 1 + order[p-1]
		}
		return p
	}
	acts := make([]int32, k)
	for a := range acts {
		acts[a] = int32(a)
	}
	for d, v := range [4][2]int{{0, 1}, {2, 1}, {1, 0}, {1, 2}} { // up, down, left, right in a field of 3 by 3
		y, x := turn(v[0], v[1], 3, 3)
		for e, u := range [4][2]int{{0, 1}, {2, 1}, {1, 0}, {1, 2}} {
			if u == [2]int{y, x} {
				acts[m.Moves[d]] = m.Moves[e]
			}
		}
	}
	cols := make([]int32, m.frame.Cols)
	rest := m.frame.Cols - m.Rest - m.Extra
	if m.frame.Kind == frame.Board {
		for y := range h {
			for x := range w {
				ty, tx := turn(y, x, h, w)
				for p := range c {
					cols[(y*w+x)*c+p] = int32((ty*w+tx)*c + plane(p))
				}
			}
		}
	} else {
		o := c - 1
		row := tall * wide * o
		apart := row + h + w
		for p := 1; p < c; p++ {
			for y := range tall {
				for x := range wide {
					ty, tx := turn(y, x, tall, wide)
					cols[(y*wide+x)*o+p-1] = int32((ty*wide+tx)*o + plane(p) - 1)
				}
			}
		}
		// axis writes one axis' one-hots: y (0..n-1) and x (n..) from base, each of
		// width per column.
		axis := func(base, ny, nx, per int, to func(p int) int) {
			for p := range per {
				for y := range ny {
					ty, tx := turn(y, 0, ny, nx)
					at := ty
					if flip&4 != 0 {
						at = ny + tx
					}
					cols[base+y*per+p] = int32(base + at*per + to(p))
				}
				for x := range nx {
					ty, tx := turn(0, x, ny, nx)
					at := ny + tx
					if flip&4 != 0 {
						at = ty
					}
					cols[base+(ny+x)*per+p] = int32(base + at*per + to(p))
				}
			}
		}
		axis(row, h, w, 1, func(p int) int { return p })
		if m.frame.Kind == frame.Egof {
			axis(apart, tall, wide, o, func(p int) int { return plane(p+1) - 1 })
		}
	}
	planes := h * w * c
	for i := range m.Rest {
		cols[rest+i] = int32(rest + i)
	}
	for i := range m.Extra { // distances: [things][4 moves]
		to := slices.Index(m.Moves, acts[m.Moves[i%4]])
		cols[rest+m.Rest+i] = int32(rest + m.Rest + i/4*4 + to)
	}
	for a := range k {
		cols[rest+m.LegalAt-planes+a] = int32(rest+m.LegalAt-planes) + acts[a]
		for s := 0; m.LastAt+(s+1)*k <= planes+m.Rest; s++ {
			cols[rest+m.LastAt-planes+s*k+a] = int32(rest+m.LastAt-planes+plane(s)*k) + acts[a]
		}
	}
	t.cols, t.acts = append(t.cols, cols), append(t.acts, acts)
}

// distances says which moves lead nearer: for each plane of things, which of the four
// moves are on a shortest path, around what cannot be entered, to the nearest of
// them. It is a function of the observation alone; what a dense net would need
// many boards to learn, the shape of detours, it reads off.
type distances struct {
	planes int
	block  []bool // [Planes] cannot be entered
	things []int  // planes
	walk   *frame.Walk
	dist   []int32   // [cells]
	at     []int32   // cells of one plane's things
	out    []float32 // [things][4] 1: the move up, down, left or right leads nearer
}

// HasDistances reports whether there are things on a board that moves may lead to.
func (in Input) HasDistances() bool { return len(in.Moves) == 4 && len(in.thingsOf()) > 0 }

// thingsOf returns the planes that are neither agents' nor blocks.
func (in Input) thingsOf() []int {
	m := frame.Meaning{Seats: in.Seats}
	if len(in.Blocks) > 0 {
		m.Block = in.Blocks[0]
	}
	return m.Things(in.Planes)
}

func (m *Model) newDistances() *distances {
	if !m.Distances {
		return nil
	}
	w := &distances{
		planes: m.Planes, block: make([]bool, m.Planes), things: m.thingsOf(), walk: frame.NewWalk(m.Height, m.Width),
		dist: make([]int32, m.Height*m.Width), at: make([]int32, 0, m.Height*m.Width), out: make([]float32, m.Extra),
	}
	for _, p := range m.Blocks {
		w.block[p] = true
	}
	return w
}

// of returns what an observation's extra columns hold, a view; nil without distances.
func (w *distances) of(obs []float32) []float32 {
	if w == nil {
		return nil
	}
	clear(w.out)
	w.walk.Open()
	c, me := w.planes, -1
	for cell := range w.dist {
		for p, v := range obs[cell*c : (cell+1)*c] {
			if v == 0 {
				continue
			}
			if p == 0 {
				me = cell
			}
			if w.block[p] {
				w.walk.Shut(cell)
			}
		}
	}
	if me < 0 {
		return w.out
	}
	for i, p := range w.things {
		w.at = w.at[:0]
		for cell := range w.dist {
			if obs[cell*c+p] != 0 {
				w.at = append(w.at, int32(cell))
			}
		}
		w.walk.Measure(w.dist, w.at...)
		for d := range 4 {
			if to := w.walk.Step(me, d); to >= 0 && w.dist[to] < w.dist[me] {
				w.out[i*4+d] = 1
			}
		}
	}
	return w.out
}
