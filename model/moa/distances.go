package moa

import "hop/frame"

// distances says which moves lead nearer: for each plane of things, which of the four
// moves are on a shortest path, around what cannot be entered, to the nearest of
// them. It is a function of the observation alone; what a dense net would need
// many boards to learn, the shape of detours, it reads off.
type distances struct {
	in     frame.Input
	block  []bool // [Planes] cannot be entered
	things []int  // planes
	shut   []bool // [cells]
	dist   []int32
	queue  []int32
	out    []float32 // [things][4] 1: the move up, down, left or right leads nearer
}

// far is the distance of what cannot be reached.
const far = 1 << 30

// thingsOf returns the planes that are neither agents' nor blocks.
func (in Input) thingsOf() []int {
	var out []int
	for p := in.Seats; p < in.Planes; p++ {
		shut := false
		for _, b := range in.Blocks {
			shut = shut || b == p
		}
		if !shut {
			out = append(out, p)
		}
	}
	return out
}

// HasDistances reports whether there are things on a board that moves may lead to.
func (in Input) HasDistances() bool { return len(in.Moves) == 4 && len(in.thingsOf()) > 0 }

func (m *Model) newDistances() *distances {
	if !m.Distances {
		return nil
	}
	cells := m.Height * m.Width
	w := &distances{
		in: m.Input.Input, block: make([]bool, m.Planes), things: m.thingsOf(),
		shut: make([]bool, cells), dist: make([]int32, cells), queue: make([]int32, 0, cells), out: make([]float32, m.Extra),
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
	c, me := w.in.Planes, -1
	for cell := range w.dist {
		w.shut[cell] = false
		for p, v := range obs[cell*c : (cell+1)*c] {
			if v == 0 {
				continue
			}
			if p == 0 {
				me = cell
			}
			w.shut[cell] = w.shut[cell] || w.block[p]
		}
	}
	if me < 0 {
		return w.out
	}
	for i, p := range w.things {
		w.measure(obs, p)
		for d := range 4 {
			if to := w.step(me, d); to >= 0 && w.dist[to] < w.dist[me] {
				w.out[i*4+d] = 1
			}
		}
	}
	return w.out
}

// measure writes every cell's distance to the nearest thing of plane p.
func (w *distances) measure(obs []float32, p int) {
	w.queue = w.queue[:0]
	for cell := range w.dist {
		if w.dist[cell] = far; obs[cell*w.in.Planes+p] != 0 {
			w.dist[cell] = 0
			w.queue = append(w.queue, int32(cell))
		}
	}
	for i := 0; i < len(w.queue); i++ {
		at := int(w.queue[i])
		for d := range 4 {
			if to := w.step(at, d); to >= 0 && w.dist[to] == far {
				w.dist[to] = w.dist[at] + 1
				w.queue = append(w.queue, int32(to))
			}
		}
	}
}

// step returns the cell that a move up, down, left or right leads to, -1 if it
// cannot be entered.
func (w *distances) step(at, d int) int {
	y, x := at/w.in.Width, at%w.in.Width
	switch d {
	case 0:
		y--
	case 1:
		y++
	case 2:
		x--
	default:
		x++
	}
	if y < 0 || x < 0 || y >= w.in.Height || x >= w.in.Width || w.shut[y*w.in.Width+x] {
		return -1
	}
	return y*w.in.Width + x
}
