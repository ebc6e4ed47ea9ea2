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
	Owned         int // planes after the agents' that are one for each seat too, or 0
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
