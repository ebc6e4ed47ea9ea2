package frame

import (
	"slices"

	"github.com/hop-marl/hop/num/f32"
)

// Sense is what a frame around oneself may make of an observation beyond numbering it,
// from what its numbers mean. The zero value makes nothing of it.
type Sense struct {
	Turn      bool // show the board turned and mirrored so that oneself is always in the same eighth of it
	Unordered bool // tell co-players apart by what is said of them (Extra), not by their places
	Distances bool // add how far everyone walks to the nearest things, and which moves lead there
	Meaning
}

// On reports whether anything is made of an observation.
func (s Sense) On() bool { return s.Turn || s.Unordered || s.Distances }

// Of returns the same for a game: with what its numbers mean, if that is of use.
func (s Sense) Of(l Layout, seats, horizon int, actions []string) Sense {
	if s.Meaning = (Meaning{}); s.On() {
		s.Meaning = l.Meaning(seats, horizon, actions)
	}
	return s
}

// Nearest is how many of the things of one plane, the nearest to oneself, distances are of.
const Nearest = 2

// CanTurn reports whether an input can be shown turned: it must be planes, mask, time and last
// joint action and nothing else, and it must be known which actions are moves.
func (m Meaning) CanTurn(in Input) bool {
	return in.Planes > 0 && m.Directed() && m.LastAt >= 0 && m.LegalAt == in.Height*in.Width*in.Planes
}

// HasDistances reports whether there are things on a board that moves may lead to.
func (m Meaning) HasDistances(in Input) bool {
	return m.Directed() && len(m.Things(in.Planes)) > 0
}

// CanForgetOrder reports whether co-players can be told apart by what is said of them: as
// many numbers of each, in the order of their planes.
func (m Meaning) CanForgetOrder(in Input) bool {
	return m.Seats > 1 && in.Planes >= m.Seats && in.Extra%(m.Seats-1) == 0
}

// scene is how a frame numbers what a Sense makes of an observation.
type scene struct {
	Sense
	actions int
	said    int // numbers said of each co-player
	groups  int // columns of a place that show co-players
	things  []int
	span    int   // walking distances from 0 to span-1, the last of them and beyond
	walks   int32 // first column of the distances
	turns   []turn
	views   [][]int8 // [cells] the turns that put oneself from there into the eighth
}

// turn is a way of looking at a board: a permutation of an observation and of the actions.
type turn struct {
	obs  []int32 // [Len] where each number goes
	acts []int32 // [Actions] what each action looks like
}

// NewScene returns a frame around oneself that makes something of what it numbers. It panics
// where Sense's conditions do not hold.
func NewScene(kind string, in Input, actions int, sense Sense) *Frame {
	c := &scene{Sense: sense, actions: actions, groups: max(0, sense.Seats-1), things: sense.Things(in.Planes), span: in.Height + in.Width}
	if kind == Board || sense.Unordered && !sense.CanForgetOrder(in) || sense.Turn && !sense.CanTurn(in) ||
		sense.Distances && !sense.HasDistances(in) {
		panic("frame: an input that has no such scene")
	}
	others, rest, extra := in.Planes-1, in.Rest, in.Extra
	if sense.Unordered {
		c.said = in.Extra / (sense.Seats - 1)
		c.groups = max(1, c.said)
		others += c.groups - (sense.Seats - 1)
		extra = c.said
		if sense.LastAt >= 0 {
			rest += (c.groups - (sense.Seats - 1)) * actions
		}
	}
	f := newFrame(kind, in, others)
	c.walks = f.rest + int32(rest+extra)
	f.Cols = int(c.walks)
	if sense.Distances {
		f.Cols += len(c.things) * c.each()
	}
	f.extra, f.scene = f.rest+int32(rest), c
	if sense.Turn {
		c.look(in)
	}
	return f
}

// walkers is how many columns a distance of co-players has: who forgets their order counts them.
func (c *scene) walkers() int {
	if c.Unordered {
		return 1
	}
	return c.Seats - 1
}

// thing is how many columns the distances to one of the nearest things have: everyone's, the
// moves, and the steps that will be left there.
func (c *scene) thing() int { return (2+c.walkers())*c.span + 4 }

// each is how many columns the distances to the things of one plane have: those to the nearest
// ones and, for each co-player, its own, oneself's and the moves to the one nearest to it.
func (c *scene) each() int { return Nearest*c.thing() + c.walkers()*(2*c.span+4) }

// look fills the tables of turns: bit 0 mirrors rows, bit 1 columns, bit 2 the diagonal.
func (c *scene) look(in Input) {
	h, w := in.Height, in.Width
	for flip := range 8 {
		if flip&4 != 0 && h != w {
			break
		}
		c.turns = append(c.turns, c.turn(in, flip))
	}
	c.views = make([][]int8, h*w)
	for cell := range c.views {
		best := int32(h * w)
		for g, t := range c.turns {
			to := t.obs[cell*in.Planes] / int32(in.Planes)
			if to < best {
				best, c.views[cell] = to, nil
			}
			if to == best {
				c.views[cell] = append(c.views[cell], int8(g))
			}
		}
	}
}

func (c *scene) turn(in Input, flip int) turn {
	place := func(y, x, h, w int) (int, int) { // in a field of h by w
		if flip&1 != 0 {
			y = h - 1 - y
		}
		if flip&2 != 0 {
			x = w - 1 - x
		}
		if flip&4 != 0 {
			y, x = x, y
		}
		return y, x
	}
	t := turn{obs: make([]int32, in.Len()), acts: make([]int32, c.actions)}
	for i := range t.obs {
		t.obs[i] = int32(i)
	}
	for a := range t.acts {
		t.acts[a] = int32(a)
	}
	steps := [4][2]int{{0, 1}, {2, 1}, {1, 0}, {1, 2}} // up, down, left, right in a field of 3 by 3
	for d, v := range steps {
		y, x := place(v[0], v[1], 3, 3)
		t.acts[c.Moves[d]] = c.Moves[slices.Index(steps[:], [2]int{y, x})]
	}
	for y := range in.Height {
		for x := range in.Width {
			ty, tx := place(y, x, in.Height, in.Width)
			for p := range in.Planes {
				t.obs[(y*in.Width+x)*in.Planes+p] = int32((ty*in.Width+tx)*in.Planes + p)
			}
		}
	}
	for a, to := range t.acts {
		t.obs[c.LegalAt+a] = int32(c.LegalAt) + to
		for s := range c.Seats {
			t.obs[c.LastAt+s*c.actions+a] = int32(c.LastAt+s*c.actions) + to
		}
	}
	return t
}

// Turned returns what each action looks like in the view that a row was written in, nil if
// that is what it is: the first entry of such a row is a zero whose column is the turn.
func (f *Frame) Turned(idx []int32) []int32 {
	if !f.Turns() || len(idx) == 0 || idx[0] == 0 {
		return nil
	}
	return f.scene.turns[idx[0]].acts
}

// Turns reports whether rows may be written in a view of their own.
func (f *Frame) Turns() bool { return f.scene != nil && f.scene.Turn }

// Views returns the tables of turned views, for whoever writes a frame down elsewhere: for
// each turn where the numbers of an observation go and what the actions look like, and for
// each cell the turns that are tried for an observation that shows oneself there, in order. It
// panics if rows are not turned.
func (f *Frame) Views() (obs, acts [][]int32, tried [][]int8) {
	for _, t := range f.scene.turns {
		obs, acts = append(obs, t.obs), append(acts, t.acts)
	}
	return obs, acts, f.scene.views
}

// sceneWork is an encoder's memory for scenes.
type sceneWork struct {
	seen [2][]float32 // [Len] observations in some view
	at   []int32      // [Seats] cells, -1: not on the board

	walk   *Walk
	near   [][]int32 // [things] cells of those on one plane
	dist   [][]int32 // [Seats+4][cells] from everyone, then from the cells beside oneself
	beside [4]int    // -1: cannot be entered
}

func (f *Frame) sceneWork() *sceneWork {
	c := f.scene
	if c == nil {
		return nil
	}
	w := &sceneWork{at: make([]int32, max(1, c.Seats))}
	if c.Turn {
		w.seen = [2][]float32{make([]float32, f.Len()), make([]float32, f.Len())}
	}
	if c.Distances {
		w.walk = NewWalk(f.Height, f.Width)
		for range c.things {
			w.near = append(w.near, make([]int32, 0, f.Height*f.Width))
		}
		for range len(w.at) + 4 {
			w.dist = append(w.dist, make([]int32, f.Height*f.Width))
		}
	}
	return w
}

// scene appends a row without ending it: the view, then the planes around oneself, what
// follows them, what is said of the co-players, and the distances.
func (e *Encoder) scene(s *f32.Sparse, obs, extra []float32, narrow bool) {
	f, c, w := e.f, e.f.scene, e.work
	if c.Turn {
		view := 0
		obs, view = e.turn(obs)
		s.AppendEntry(int32(view), 0)
	}
	planes := len(f.at)
	for i := range w.at {
		w.at[i] = -1
	}
	e.ones.Reset(planes)
	e.ones.AppendRow(obs[:planes])
	me := place{}
	for _, i := range e.ones.Idx {
		if p := f.at[i]; int(p.c) < len(w.at) {
			w.at[p.c] = i / int32(f.Planes)
			if p.c == 0 {
				me = p
			}
		}
	}
	h, wide, apart := int32(f.Height), 2*int32(f.Width)-1, f.row+int32(f.Height+f.Width)
	add := func(p place, col int32, v float32) {
		dy, dx, n := p.y-me.y+h-1, p.x-me.x+int32(f.Width)-1, int32(f.others)
		s.AppendEntry((dy*wide+dx)*n+col, v)
		if f.Kind == Egof && !narrow {
			s.AppendEntry(apart+dy*n+col, v)
			s.AppendEntry(apart+(2*h-1+dx)*n+col, v)
		}
	}
	shift := int32(0)
	if c.Unordered {
		shift = int32(c.groups - (c.Seats - 1))
	}
	for k, i := range e.ones.Idx {
		p, v := f.at[i], e.ones.Val[k]
		switch {
		case p.c == 0:
			s.AppendEntry(f.row+p.y, v)
			s.AppendEntry(f.row+h+p.x, v)
		case c.Unordered && int(p.c) < c.Seats:
			for g := range c.groups {
				if x := c.weight(extra, int(p.c), g); x != 0 {
					add(p, int32(g), v*x)
				}
			}
		default:
			add(p, p.c-1+shift, v)
		}
	}
	e.rest(s, obs, extra)
	if c.Distances {
		e.distances(s, obs)
	}
}

// weight returns number g of what is said of co-player p, 1 where nothing ever is.
func (c *scene) weight(extra []float32, p, g int) float32 {
	if c.said == 0 {
		return 1
	}
	if at := (p-1)*c.said + g; at < len(extra) {
		return extra[at]
	}
	return 0
}

// rest appends what follows the planes and what is said of the co-players. Without an order
// their last actions, and they themselves, are added up by what is said of them.
func (e *Encoder) rest(s *f32.Sparse, obs, extra []float32) {
	f, c := e.f, e.f.scene
	planes := len(f.at)
	if !c.Unordered {
		s.AppendNonzeros(obs[planes:], f.rest)
		s.AppendNonzeros(extra, f.extra)
		return
	}
	end := len(obs)
	if c.LastAt >= 0 {
		end = c.LastAt + c.actions
		for p := 1; p < c.Seats; p++ {
			for a, v := range obs[c.LastAt+p*c.actions:][:c.actions] {
				if v == 0 {
					continue
				}
				for g := range c.groups {
					if x := c.weight(extra, p, g); x != 0 {
						s.AppendEntry(f.rest+int32(end-planes+g*c.actions+a), v*x)
					}
				}
			}
		}
	}
	s.AppendNonzeros(obs[planes:end], f.rest)
	for i, v := range extra {
		if v != 0 {
			s.AppendEntry(f.extra+int32(i%c.said), v)
		}
	}
}

// distances appends, for each plane of things, how far everyone walks to those that are nearest to
// oneself, the own moves that lead nearer and how many steps will be left on arrival; then, for
// each co-player, how far it and oneself walk to the one that is nearest to it, and the own moves
// that lead there. Without an order it says how many co-players walk so far, not who they are.
func (e *Encoder) distances(s *f32.Sparse, obs []float32) {
	c, w := e.f.scene, e.work
	if w.at[0] < 0 {
		return
	}
	left := int32(-1) // steps of the episode, if that is known
	if c.TimeAt >= 0 && c.Horizon > 0 {
		left = int32(float32(c.Horizon)*(1-obs[c.TimeAt]) + 0.5)
	}
	w.measure(e)
	for k, cells := range w.near {
		col := c.walks + int32(k*c.each())
		w.sort(cells, 0)
		for _, cell := range cells[:min(Nearest, len(cells))] {
			s.AppendEntry(col+c.steps(w.dist[0][cell]), 1)
			for p := 1; p < c.Seats; p++ {
				if w.at[p] >= 0 {
					c.say(s, p, col+int32(c.span)+c.steps(w.dist[p][cell]), int32(c.span))
				}
			}
			w.moves(cell, func(d int32) { s.AppendEntry(col+int32((1+c.walkers())*c.span)+d, 1) })
			if left >= 0 {
				s.AppendEntry(col+int32((1+c.walkers())*c.span)+4+c.steps(max(0, left-w.dist[0][cell])), 1)
			}
			col += int32(c.thing())
		}
		col = c.walks + int32(k*c.each()+Nearest*c.thing())
		for p := 1; p < c.Seats && len(cells) > 0; p++ {
			if w.at[p] < 0 {
				continue
			}
			cell := cells[0] // the nearest to oneself, of those that are equally near to it
			for _, other := range cells[1:] {
				if w.dist[p][other] < w.dist[p][cell] {
					cell = other
				}
			}
			each := int32(2*c.span + 4)
			c.say(s, p, col+c.steps(w.dist[p][cell]), each)
			c.say(s, p, col+int32(c.span)+c.steps(w.dist[0][cell]), each)
			w.moves(cell, func(d int32) { c.say(s, p, col+int32(2*c.span)+d, each) })
		}
	}
}

// steps returns the column of a distance.
func (c *scene) steps(d int32) int32 { return min(d, int32(c.span-1)) }

// say appends an entry about co-player p; col is the column of the first of them, and each how many
// it has.
func (c *scene) say(s *f32.Sparse, p int, col, each int32) {
	if !c.Unordered {
		col += int32(p-1) * each
	}
	s.AppendEntry(col, 1)
}

// measure finds things and blocks among the planes' nonzeros, and walks from everyone and from
// all cells beside oneself.
func (w *sceneWork) measure(e *Encoder) {
	c := e.f.scene
	w.walk.Open()
	for i := range w.near {
		w.near[i] = w.near[i][:0]
	}
	for _, i := range e.ones.Idx {
		p, cell := int(e.f.at[i].c), i/int32(e.f.Planes)
		if p >= c.Seats && p == c.Block {
			w.walk.Shut(int(cell))
		} else if p >= c.Seats {
			k := slices.Index(c.things, p)
			w.near[k] = append(w.near[k], cell)
		}
	}
	for p, at := range w.at {
		if at >= 0 {
			w.dist[p] = w.walk.From(w.dist[p], at)
		}
	}
	for d := range 4 {
		if w.beside[d] = w.walk.Step(int(w.at[0]), d); w.beside[d] >= 0 {
			at := len(w.at) + d
			w.dist[at] = w.walk.From(w.dist[at], int32(w.beside[d]))
		}
	}
}

// moves calls do for the own moves that lead nearer to a cell.
func (w *sceneWork) moves(cell int32, do func(d int32)) {
	for d, to := range w.beside {
		if to >= 0 && w.dist[len(w.at)+d][cell] < w.dist[0][cell] {
			do(int32(d))
		}
	}
}

// sort orders cells by their distance to agent p; equals stay in the order of the board.
func (w *sceneWork) sort(cells []int32, p int) {
	for i := 1; i < len(cells); i++ {
		for j := i; j > 0 && w.dist[p][cells[j]] < w.dist[p][cells[j-1]]; j-- {
			cells[j], cells[j-1] = cells[j-1], cells[j]
		}
	}
}

// turn returns an observation in its view, and which that is. Of several views that put
// oneself in the same place it takes the one that, read as a list, is largest, so that a
// board and its mirror image are one and the same unless they are each other's.
func (e *Encoder) turn(obs []float32) ([]float32, int) {
	f, c, w := e.f, e.f.scene, e.work
	e.ones.Reset(len(obs))
	e.ones.AppendRow(obs)
	cell := int32(-1)
	for _, i := range e.ones.Idx {
		if int(i) < len(f.at) && f.at[i].c == 0 {
			cell = i / int32(f.Planes)
		}
	}
	if cell < 0 {
		return obs, 0
	}
	view := int(c.views[cell][0])
	e.show(w.seen[0], view)
	for _, g := range c.views[cell][1:] {
		e.show(w.seen[1], int(g))
		if slices.Compare(w.seen[1], w.seen[0]) > 0 {
			w.seen[0], w.seen[1] = w.seen[1], w.seen[0]
			view = int(g)
		}
	}
	return w.seen[0], view
}

// show writes what ones holds in view g.
func (e *Encoder) show(dst []float32, g int) {
	clear(dst)
	to := e.f.scene.turns[g].obs
	for k, i := range e.ones.Idx {
		dst[to[i]] = e.ones.Val[k]
	}
}
