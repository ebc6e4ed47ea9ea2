package moa

import "github.com/hop-marl/hop/game/frame"

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
