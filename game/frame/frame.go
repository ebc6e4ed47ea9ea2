// Package frame numbers the nonzeros of an observation for a network.
//
// Observations are mostly zeros, so networks read them as lists of nonzeros. A
// frame decides under which column each is listed: as it stands on the board, or
// relative to oneself. It decides what a small network finds easy to tell apart,
// and with it, often, which equilibrium is learnt; it is part of every published
// number. Told what the numbers mean, it can make more of them (Sense): show the
// board turned, co-players without an order, and walking distances. It sees arrays,
// never games.
package frame

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/num/f32"
)

// The frames. Board: planes as they are. Ego: centred on oneself. Egof: ego, and
// row and column offsets apart as well.
const (
	Board = "board"
	Ego   = "ego"
	Egof  = "egof"
)

// Input says in numbers how an observation is laid out: planes
// [Height][Width][Planes], of which plane 0 shows oneself, then Rest other
// numbers. Extra is what a model adds after it, such as a goal.
type Input struct {
	Height, Width, Planes int
	Rest, Extra           int
}

// Len returns the length of an observation, without Extra.
func (in Input) Len() int { return in.Height*in.Width*in.Planes + in.Rest }

// Validate returns what is wrong: an input that no game has. It keeps models from
// trusting what a file says about them.
func (in Input) Validate() error {
	const most = 1 << 20 // numbers
	for _, n := range []int{in.Height, in.Width, in.Planes, in.Rest, in.Extra} {
		if n < 0 || n > most {
			return fmt.Errorf("frame: an input of %+v, want sizes from 0 to %d", in, most)
		}
	}
	area := in.Height * in.Width // at most most*most, which fits
	switch planes := area > 0 && in.Planes > 0; {
	case !planes && (area > 0 || in.Height+in.Width+in.Planes > 0):
		return fmt.Errorf("frame: an input of %+v, want planes of height and width, or none of the three", in)
	case planes && area > most/in.Planes || in.Len()+in.Extra > most:
		return fmt.Errorf("frame: an input of %+v, want at most %d numbers", in, most)
	case in.Len() == 0:
		return fmt.Errorf("frame: an input of %+v holds nothing", in)
	}
	return nil
}

// Frame is a way of numbering. It is read-only after New.
type Frame struct {
	Input
	Kind string
	Cols int // width of a row

	at   []place // [H*W*C] where each number of the planes stands
	near []near  // [Len] how narrow rows list each number
	row  int32   // first column of own row (H), then own column (W), then offsets apart
	rest int32   // first column of what follows the planes

	others int    // columns of each place around oneself
	extra  int32  // first column of what a model adds
	scene  *scene // nil: nothing is made of what is numbered
}

type place struct{ y, x, c int32 }

// New returns the frame of that kind. It panics on an unknown kind, and on a
// frame around oneself for an input without planes.
func New(kind string, in Input) *Frame {
	if kind != Board && kind != Ego && kind != Egof {
		panic("frame: unknown kind")
	}
	if kind != Board && in.Planes == 0 {
		panic("frame: an input without planes has no oneself to be around")
	}
	f := newFrame(kind, in, in.Planes-1)
	f.number()
	return f
}

// newFrame returns a frame with so many columns for each place around oneself.
func newFrame(kind string, in Input, others int) *Frame {
	f := &Frame{Input: in, Kind: kind, others: others}
	planes := in.Height * in.Width * in.Planes
	tall, wide := 2*in.Height-1, 2*in.Width-1
	switch kind {
	case Board:
		f.rest = int32(planes)
	default:
		f.row = int32(tall * wide * others)
		f.rest = f.row + int32(in.Height+in.Width)
		if kind == Egof {
			f.rest += int32((tall + wide) * others)
		}
		f.at = make([]place, planes)
		for i := range f.at {
			cell := i / in.Planes
			f.at[i] = place{int32(cell / in.Width), int32(cell % in.Width), int32(i % in.Planes)}
		}
	}
	f.extra = f.rest + int32(in.Rest)
	f.Cols = int(f.extra) + in.Extra
	return f
}

// Encoder writes rows in a frame. Each goroutine has its own.
type Encoder struct {
	f    *Frame
	ones f32.Sparse // the planes' nonzeros, scratch
	work *sceneWork
}

// Encoder returns a new encoder.
func (f *Frame) Encoder() *Encoder { return &Encoder{f: f, work: f.sceneWork()} }

// Add appends an observation and what the model adds to it as one row.
func (e *Encoder) Add(s *f32.Sparse, obs, extra []float32) {
	if e.f.scene != nil {
		e.scene(s, obs, extra, false)
	} else {
		e.Begin(s, obs)
		e.Extra(s, extra)
	}
	s.EndRow()
}

// Begin appends an observation to the row that is being built.
func (e *Encoder) Begin(s *f32.Sparse, obs []float32) {
	if e.f.Kind == Board {
		s.AppendNonzeros(obs, 0)
		return
	}
	planes := len(e.f.at)
	e.ego(s, obs[:planes])
	s.AppendNonzeros(obs[planes:], e.f.rest)
}

// Extra appends what the model adds to an observation.
func (e *Encoder) Extra(s *f32.Sparse, extra []float32) {
	s.AppendNonzeros(extra, e.f.extra)
}

// ego appends the planes relative to oneself: each thing by its offset, and in
// Egof by its row offset and its column offset once more; oneself by row and
// column, which tells where the walls are.
func (e *Encoder) ego(s *f32.Sparse, planes []float32) {
	f := e.f
	e.ones.Reset(len(planes))
	e.ones.AppendRow(planes)
	var me place
	for _, i := range e.ones.Idx {
		if f.at[i].c == 0 {
			me = f.at[i]
		}
	}
	h, w, others := int32(f.Height), int32(f.Width), int32(f.Planes-1)
	tall, wide := 2*h-1, 2*w-1
	apart := f.row + h + w
	for _, i := range e.ones.Idx {
		p, v := f.at[i], planes[i]
		if p.c == 0 {
			s.AppendEntry(f.row+p.y, v)
			s.AppendEntry(f.row+h+p.x, v)
			continue
		}
		dy, dx := p.y-me.y+h-1, p.x-me.x+w-1
		s.AppendEntry((dy*wide+dx)*others+p.c-1, v)
		if f.Kind == Egof {
			s.AppendEntry(apart+dy*others+p.c-1, v)
			s.AppendEntry(apart+(tall+dx)*others+p.c-1, v)
		}
	}
}

// Layout is how a game lays an observation out, in order: planes, features, the own
// mask, the time and the last joint action. It has the fields of game.Layout, so
// that one converts to the other; models know this one and never games.
type Layout struct {
	Height, Width int
	Planes        []string
	Owned         int  // planes after the agents' that are one for each seat too, or 0
	Pooled        bool `json:",omitzero"` // plane 1 counts the others, in place of a plane for each
	Features      int
	Picture       [3]int `json:",omitzero"` // height, width and channels of a picture that the features begin with
	Legal         int    // number of actions, or 0 if the mask is not observed
	Time          int    // 1, or 0 if time is not observed
	Last          int    // number of seats, or 0 if the last joint action is not observed
}

// Input says in numbers what an observation looks like.
func (l Layout) Input() Input {
	return Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Features + l.Legal + l.Time + l.Last*l.Legal}
}

// Meaning says what the numbers of an observation of a board game stand for, as far as
// models use it. The zero value says nothing.
type Meaning struct {
	Seats   int      // how many play; the first planes are theirs, own first
	Moves   [4]int32 // the actions up, down, left and right; all 0: actions have no direction
	Block   int      // plane of what cannot be entered; 0: none
	LegalAt int      // where the mask [Actions] lies; -1: nowhere
	LastAt  int      // where the last joint action [Seats][Actions] lies, one-hot, own first; -1: nowhere
	TimeAt  int      // where the share of the time that has gone by lies; -1: nowhere
	Horizon int      // steps of which that is a share
}

// Meaning says what the layout's numbers stand for in a game of so many seats and steps.
// Actions called up, down, left and right are moves; nobody enters what the plane block shows.
func (l Layout) Meaning(seats, horizon int, actions []string) Meaning {
	m := Meaning{Seats: seats, LegalAt: -1, LastAt: -1, TimeAt: -1, Horizon: horizon}
	if l.Time > 0 {
		m.TimeAt = l.Height*l.Width*len(l.Planes) + l.Features + l.Legal
	}
	if l.Legal > 0 {
		m.LegalAt = l.Height*l.Width*len(l.Planes) + l.Features
		if l.Last > 0 {
			m.LastAt = m.LegalAt + l.Legal + l.Time
		}
	}
	for d, name := range []string{"up", "down", "left", "right"} {
		if m.Moves[d] = int32(slices.Index(actions, name)); m.Moves[d] < 0 || l.Height == 0 {
			m.Moves = [4]int32{}
			break
		}
	}
	m.Block = max(0, slices.Index(l.Planes, "block"))
	return m
}

// Directed reports whether it is known which actions are moves.
func (m Meaning) Directed() bool { return m.Moves != [4]int32{} }

// Things returns which of so many planes are neither agents' nor blocks.
func (m Meaning) Things(planes int) []int {
	var out []int
	for p := m.Seats; p < planes; p++ {
		if p != m.Block {
			out = append(out, p)
		}
	}
	return out
}

// Validate returns what is wrong: a meaning that an input of so many actions cannot have. It
// keeps models from trusting what a file says about them.
func (m Meaning) Validate(in Input, actions int) error {
	ok := m.Seats >= 0 && m.Seats <= in.Planes && m.Block >= 0 && m.Block < max(1, in.Planes) &&
		m.LegalAt >= -1 && m.LegalAt+actions <= in.Len() && m.LastAt >= -1 && (m.LastAt < 0 || m.LastAt+m.Seats*actions == in.Len()) &&
		m.TimeAt >= -1 && m.TimeAt < in.Len() && m.Horizon >= 0 && m.Horizon <= 1<<20
	for _, a := range m.Moves {
		ok = ok && a >= 0 && int(a) < actions
	}
	if !ok {
		return fmt.Errorf("frame: a meaning of %+v for an input of %+v with %d actions", m, in, actions)
	}
	return nil
}

// A row in Egof lists each thing three times: by its offset, by its row offset
// and by its column offset. The last two follow from the first. A narrow row
// leaves them out, and Fold adds their weights to those of the offset instead:
// the same sums from half the entries. Unfold does the same for gradients. It
// pays where many rows meet the same weights. In other frames narrow rows are
// rows, and there is nothing to fold.

// AddNarrow is Add for a narrow row.
func (e *Encoder) AddNarrow(s *f32.Sparse, obs, extra []float32) {
	if e.f.scene != nil {
		e.scene(s, obs, extra, true)
		s.EndRow()
		return
	}
	if f := e.f; f.Kind == Board {
		s.AppendNonzeros(obs, 0)
	} else {
		e.ones.Reset(len(obs))
		e.ones.AppendRow(obs)
		e.narrow(s)
	}
	e.Extra(s, extra)
	s.EndRow()
}

// near is how a narrow row lists a number of the observation: under col, plus
// the shift to oneself where around is -1. Oneself is listed under second too,
// and shifts the others by shift.
type near struct {
	col, around   int32
	second, shift int32
	self          bool
}

// number fills the table of narrow rows.
func (f *Frame) number() {
	if f.Kind == Board {
		return
	}
	h, w, others := int32(f.Height), int32(f.Width), int32(f.Planes-1)
	wide := 2*w - 1
	f.near = make([]near, f.Len())
	for i := range f.near {
		n := &f.near[i]
		if i >= len(f.at) {
			n.col = int32(i-len(f.at)) + f.rest
			continue
		}
		if p := f.at[i]; p.c == 0 {
			*n = near{f.row + p.y, 0, f.row + h + p.x, ((h-1-p.y)*wide + w - 1 - p.x) * others, true}
		} else {
			n.col, n.around = (p.y*wide+p.x)*others+p.c-1, -1
		}
	}
}

// narrow appends what ones holds: things by their offset, oneself by row and
// column, and what follows the planes.
func (e *Encoder) narrow(s *f32.Sparse) {
	idx, val, table := e.ones.Idx, e.ones.Val, e.f.near
	shift, selves, last := table[0].shift, 0, 0 // without oneself as if one were in the corner
	for k, i := range idx {
		if n := &table[i]; n.self {
			shift, last = n.shift, k
			selves++
		}
	}
	from := len(s.Idx)
	s.Idx, s.Val = slices.Grow(s.Idx, len(idx)+selves), slices.Grow(s.Val, len(idx)+selves)
	s.Idx, s.Val = s.Idx[:from+len(idx)], append(s.Val, val...)
	to := s.Idx[from:]
	for k, i := range idx {
		n := &table[i]
		to[k] = n.col + shift&n.around
	}
	if selves == 1 { // nearly always
		s.Idx, s.Val = append(s.Idx, table[idx[last]].second), append(s.Val, val[last])
		return
	}
	for k := 0; selves > 0; k++ {
		if n := &table[idx[k]]; n.self {
			s.Idx, s.Val = append(s.Idx, n.second), append(s.Val, val[k])
			selves--
		}
	}
}

// Folds reports whether narrow rows are shorter than rows.
func (f *Frame) Folds() bool { return f.Kind == Egof }

// Fold writes to dst[Cols][n] weights of narrow rows, from those of rows, w. Of
// columns that narrow rows do not have it writes nothing. It writes one of several
// parts, which may be written side by side.
func (f *Frame) Fold(dst, w []float32, n, part, parts int) {
	if !f.Folds() {
		if part == 0 {
			copy(dst, w)
		}
		return
	}
	if part == 0 {
		copy(dst[int(f.row)*n:(int(f.row)+f.Height+f.Width)*n], w[int(f.row)*n:])
		copy(dst[int(f.rest)*n:], w[int(f.rest)*n:])
	}
	a := f.apart(n)
	for dy := part * a.tall / parts; dy < (part+1)*a.tall/parts; dy++ {
		for dx := range a.wide {
			to := a.thing(dst, dy, dx)
			f32.Add(to, a.row(w, dy), a.col(w, dx))
			f32.Add(to, to, a.thing(w, dy, dx))
		}
	}
}

// Unfold turns g[Cols][n], the gradients of weights on narrow rows, into those on
// rows. Those of the columns that narrow rows leave out must be zero before. It does
// one of several parts, which may be done side by side.
func (f *Frame) Unfold(g []float32, n, part, parts int) {
	if !f.Folds() {
		return
	}
	a := f.apart(n)
	lines := a.tall + a.wide
	for line := part * lines / parts; line < (part+1)*lines/parts; line++ {
		if dy := line; dy < a.tall {
			for dx := range a.wide {
				f32.Add(a.row(g, dy), a.row(g, dy), a.thing(g, dy, dx))
			}
			continue
		}
		for dx, dy := line-a.tall, 0; dy < a.tall; dy++ {
			f32.Add(a.col(g, dx), a.col(g, dx), a.thing(g, dy, dx))
		}
	}
}

// Apart says how Fold adds up: narrow rows begin with so many columns, those of each offset in turn, wide
// offsets in a line, for so many others. Rows list what is at an offset under its row offset too, from
// column first on, and then under its column offset. 0 columns: narrow rows are rows.
func (f *Frame) Apart() (columns, others, wide, first int) {
	if !f.Folds() {
		return 0, 1, 1, 0
	}
	tall, wide := 2*f.Height-1, 2*f.Width-1
	return tall * wide * f.others, f.others, wide, int(f.row) + f.Height + f.Width
}

// apart says where w[Cols][n] has what a row in Egof lists, each [others][n]: things by
// offset, by row offset and by column offset.
type apart struct{ tall, wide, size, first int }

func (f *Frame) apart(n int) apart {
	return apart{2*f.Height - 1, 2*f.Width - 1, f.others * n, (int(f.row) + f.Height + f.Width) * n}
}

func (a apart) thing(w []float32, dy, dx int) []float32 { return a.part(w, (dy*a.wide+dx)*a.size) }
func (a apart) row(w []float32, dy int) []float32       { return a.part(w, a.first+dy*a.size) }
func (a apart) col(w []float32, dx int) []float32       { return a.part(w, a.first+(a.tall+dx)*a.size) }
func (a apart) part(w []float32, at int) []float32      { return w[at : at+a.size : at+a.size] }
