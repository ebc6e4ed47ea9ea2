package card

import (
	"encoding/binary"
	"slices"
	"sync"
	"unsafe"

	"github.com/hop-marl/hop/cuda/driver"
	"github.com/hop-marl/hop/cuda/kernels"
	"github.com/hop-marl/hop/model/actor"
)

// kind is what networks have in common that are computed side by side.
type kind struct {
	net               actor.Stack
	weights           int // with the gaps between them
	minibatch, epochs int
	clip              float64
	clipValue         bool
	worth, eps, most  float64
}

// shape is where the memory of such networks lies, and what is launched for a gradient step.
//
// An arena holds weights, moments and gradients, what layers compute on the way, and a window's
// rows, for which there is room for so many; when a window has more, all arenas of the shape grow.
type shape struct {
	kind
	mu      sync.RWMutex // read: some are in use; written: arenas grow
	rows    int          // room
	entries int          // room for nonzeros
	members []*memory    // the card's goroutine alone uses it

	call     kernels.Call // all of the places
	layers   []layer
	fixed    int // numbers of an arena that do not depend on the rows
	head     part
	results  part
	all      int
	launches []launch
	beside   int                     // networks that may go side by side
	graphs   map[[2]int]driver.Graph // of so many networks and steps
	answering
}

// layer is where a layer's numbers lie.
type layer struct {
	actor.Layer
	x, y, dy, g, gb int64
	padded          int // numbers from one cell of its input to the next
	ldx, ldy        int
	splits          int
}

// part is some of an arena, in numbers.
type part struct{ at, len int }

// launch is a kernel over a grid.
type launch struct {
	kernel  string
	x, y, z int // z: for each network
	call    kernels.Call
}

// memory is that of one network.
type memory struct {
	arena          driver.Address
	weights        []byte // pinned: the weights that came back
	head, idx, val []byte // pinned: rows, laid out as in the arena
	results        []byte // pinned
	rows, entries  int    // of the window

	shares []share // of questions, of the launch that comes next
	asked  int     // rows of these
}

// at returns where a place of its arena is on the card.
func (m *memory) at(place int64) driver.Address { return m.arena + driver.Address(4*place) }

func newShape(k kind) *shape {
	s := &shape{kind: k, graphs: map[[2]int]driver.Graph{}, answering: answering{replies: map[[2]int]driver.Graph{}}}
	s.place()
	return s
}

// up rounds n up to a multiple of 4 numbers: what is read 16 bytes at a time begins there.
func up(n int) int { return (n + 3) &^ 3 }

// parts returns into how many parts of so many numbers n is cut.
func parts(n, of int) int { return (n + of - 1) / of }

const (
	busy    = 528   // blocks that keep a large card busy
	deepest = 65535 // blocks of a grid's third side
)

// place lays an arena out for the room that there is.
func (s *shape) place() {
	at := 0
	take := func(n int) int64 {
		from := at
		at += up(n)
		return int64(from)
	}
	c, w, mb := &s.call, s.weights, s.minibatch
	*c = kernels.Call{
		Minibatch: int32(mb), Epochs: int32(s.epochs), Splits: 1, Clip: float32(s.clip), Worth: float32(s.worth), Eps: float32(s.eps),
		Most: float32(s.most), Weights: int32(w), Blocks: int32(parts(w, kernels.Threads)), Flat: int32(s.net.Flat),
		Channels: int32(s.net.Channels),
		Apart:    int32(s.net.Apart.Columns), Others: int32(s.net.Apart.Others), Broad: int32(s.net.Apart.Wide), First: int32(s.net.Apart.First),
	}
	if s.clipValue {
		c.ClipValue = 1
	}
	c.P, c.M, c.V, c.Grad, c.Squares = take(w), take(w), take(w), take(w), take(2*int(c.Blocks))
	s.placeLayers(take)
	s.fixed = at

	k := s.net.Layers[len(s.net.Layers)-1].Out - 1
	s.head.at = at
	c.Ptr, c.Action, c.LogP, c.Value = take(s.rows+1), take(s.rows), take(s.rows), take(s.rows)
	c.Adv, c.Ret, c.Legal = take(s.rows), take(s.rows), take(parts(s.rows*k, 4))
	c.Order, c.Dials = take(s.epochs*s.rows), take(1+2*s.steps(s.rows))
	s.head.len = at - s.head.at
	c.Idx, c.Val = take(s.entries), take(s.entries)
	s.results.at = at
	c.Failed, c.Norms, c.Terms = take(1), take(2*s.steps(s.rows)), take(2*kernels.Terms*s.steps(s.rows)*parts(mb, kernels.Threads))
	s.results.len = at - s.results.at
	s.all = at
	s.launches = s.step()
}

// steps returns how many gradient steps a window of so many rows takes.
func (s *shape) steps(rows int) int { return s.epochs * parts(rows, s.minibatch) }

// placeLayers places what layers compute on the way.
func (s *shape) placeLayers(take func(n int) int64) {
	mb, net := s.minibatch, s.net
	s.layers, s.beside = nil, most
	padded := up(net.Channels)
	ld := up(net.Flat / net.Channels * padded)
	x := take(mb * ld)
	for i, l := range net.Layers {
		q := layer{Layer: l, x: x, padded: padded, ldx: ld, ldy: up(l.H * l.W * l.Out)}
		padded = l.Out
		if joins := l.Convolves() && !net.Layers[i+1].Convolves(); joins {
			q.ldy = up(net.Layers[i+1].In) // where the rest joins
			padded = q.ldy
		}
		tiles := parts(l.Taps()*l.In, 64) * parts(l.Out, 64)
		q.splits = max(1, min(parts(busy, tiles), parts(mb*l.H*l.W, 64), mb, max(64, parts(mb*l.H*l.W, 1024))))
		s.beside = min(s.beside, deepest/q.splits)
		q.y, q.dy = take(mb*q.ldy), take(mb*q.ldy)
		q.g, q.gb = take(q.splits*l.Weights.Len), take(q.splits*l.Bias.Len)
		x, ld = q.y, q.ldy
		s.layers = append(s.layers, q)
		s.call.Span[2*i] = kernels.Part{At: int32(l.Weights.Off), Len: int32(l.Weights.Len), Splits: int32(q.splits), Part: q.g}
		s.call.Span[2*i+1] = kernels.Part{At: int32(l.Bias.Off), Len: int32(l.Bias.Len), Splits: int32(q.splits), Part: q.gb}
	}
	s.call.Spans = int32(2 * len(s.layers))
}

// step returns what is launched for a gradient step, in its order.
func (s *shape) step() (list []launch) {
	mb := s.minibatch
	add := func(kernel string, x, y, splits int, c kernels.Call) {
		c.Splits = int32(splits)
		list = append(list, launch{kernel, x, y, splits, c})
	}
	product := func(kernel string, m, n, splits int, c kernels.Call) {
		switch {
		case n >= 64 || kernel != "gradient" && c.Taps == 1:
			add(kernel+"64", parts(m, 64), parts(n, 64), splits, c)
		case kernel == "gradient":
			add(kernel+"32", parts(m, 128), parts(n, 32), splits, c)
		default:
			add(kernel+"32", parts(m, 256), parts(n, 32), splits, c)
		}
	}
	add("spread", parts(mb, kernels.Rows), 1, 1, s.input())
	for i := range s.layers {
		l := &s.layers[i]
		product("forward", mb*l.H*l.W, l.Out, 1, s.of(i))
	}
	add("loss", parts(mb, kernels.Threads), 1, 1, s.of(len(s.layers)-1))
	for i := len(s.layers) - 1; i >= 0; i-- {
		l := &s.layers[i]
		c := s.of(i)
		if i > 0 {
			product("backward", mb*l.H*l.W, l.In, 1, c)
		}
		product("gradient", int(c.Taps)*up(l.In)+1, l.Out, l.splits, c)
	}
	add("fold", int(s.call.Blocks), 1, 1, s.call)
	add("adam", parts(s.weights, kernels.Span), 1, 1, s.call)
	return list
}

// input returns the call of what lays rows out for the first layer.
func (s *shape) input() kernels.Call {
	c, first := s.call, &s.layers[0]
	c.X, c.LdX, c.Padded = first.x, int32(first.ldx), int32(first.padded)
	for _, l := range s.layers {
		if s.net.Rest > 0 && !l.Convolves() {
			before := l.In - s.net.Rest
			c.Rest, c.LdRest, c.Tail = l.x+int64(before), int32(l.ldx), int32(s.net.Rest)
			break
		}
	}
	return c
}

// of returns the call of a layer.
func (s *shape) of(i int) kernels.Call {
	c, l := s.call, &s.layers[i]
	c.X, c.Y, c.DY, c.G, c.GB = l.x, l.y, l.dy, l.g, l.gb
	c.W, c.B = c.P+int64(l.Weights.Off), c.P+int64(l.Bias.Off)
	c.In, c.Out, c.Padded, c.LdX, c.LdY = int32(l.In), int32(l.Out), int32(l.padded), int32(l.ldx), int32(l.ldy)
	c.H, c.Wide, c.Taps, c.Act = int32(l.H), int32(l.W), int32(l.Taps()), int32(l.Act)
	if i > 0 {
		c.DX, c.Before = s.layers[i-1].dy, int32(s.layers[i-1].Act)
	}
	return c
}

// join gives a network memory, and leave takes it back.
func (s *shape) join(d *device, m *memory) error {
	s.members = append(s.members, m)
	return s.reserve(d, m, 0)
}

func (s *shape) leave(d *device, m *memory) error {
	s.members = slices.DeleteFunc(s.members, func(o *memory) bool { return o == m })
	return m.free(d)
}

func (m *memory) free(d *device) error {
	for _, b := range [][]byte{m.weights, m.head, m.idx, m.val, m.results} {
		if err := d.Unpin(b); err != nil {
			return err
		}
	}
	return d.Free(m.arena)
}

// grow makes room for a window of so many rows with so many nonzeros, and some more.
func (s *shape) grow(d *device, rows, entries int) error {
	more := func(n, room int) int {
		if n <= room {
			return room
		}
		return n + n/4
	}
	s.rows, s.entries = more(rows, s.rows), more(entries, s.entries)
	s.place()
	if err := s.forget(d); err != nil {
		return err
	}
	for _, m := range s.members {
		if err := s.reserve(d, m, s.fixed); err != nil {
			return err
		}
	}
	return nil
}

// reserve makes a network's memory as large as the shape says, and keeps so many of its numbers.
func (s *shape) reserve(d *device, m *memory, keep int) error {
	old := *m
	var err error
	if m.arena, err = d.Alloc(4 * s.all); err != nil {
		return err
	}
	for _, p := range []struct {
		b *[]byte
		n int
	}{{&m.weights, s.weights}, {&m.head, s.head.len}, {&m.idx, s.entries}, {&m.val, s.entries}, {&m.results, s.results.len}} {
		if *p.b, err = d.Pinned(4 * max(p.n, 4)); err != nil {
			return err
		}
	}
	if old.arena == 0 {
		return nil
	}
	if err := d.Copy(m.arena, old.arena, 4*keep); err != nil {
		return err
	}
	if err := d.Wait(); err != nil {
		return err
	}
	return old.free(d)
}

// learn goes over the windows of some networks side by side.
func (s *shape) learn(d *device, orders []*order) error {
	steps, rows := 0, 0
	for z, o := range orders {
		m := o.by
		binary.LittleEndian.PutUint64(d.host[8*z:], uint64(m.arena))
		binary.LittleEndian.PutUint32(d.host[8*most+4*z:], uint32(m.rows))
		steps, rows = max(steps, s.steps(m.rows)), max(rows, m.rows)
		for _, err := range []error{
			d.Upload(m.at(int64(s.head.at)), m.head),
			d.Upload(m.at(s.call.Idx), m.idx[:4*max(m.entries, 1)]),
			d.Upload(m.at(s.call.Val), m.val[:4*max(m.entries, 1)]),
			d.Zero(m.at(s.call.Failed), 4),
		} {
			if err != nil {
				return err
			}
		}
	}
	if err := d.Upload(d.slots, d.host); err != nil {
		return err
	}
	g, err := s.graph(d, len(orders), steps)
	if err != nil {
		return err
	}
	if err := d.Run(g); err != nil {
		return err
	}
	for _, o := range orders {
		m := o.by
		if err := d.Download(m.weights, m.at(s.call.P)); err != nil {
			return err
		}
		if err := d.Download(m.results, m.at(int64(s.results.at))); err != nil {
			return err
		}
	}
	return d.Wait()
}

// mostGraphs is how many graphs are kept.
const mostGraphs = 100

// graph returns what so many networks launch for so many steps.
func (s *shape) graph(d *device, networks, steps int) (driver.Graph, error) {
	key := [2]int{networks, steps}
	if g, ok := s.graphs[key]; ok {
		return g, nil
	}
	if len(s.graphs) >= mostGraphs {
		if err := s.forget(d); err != nil {
			return 0, err
		}
	}
	g, err := d.Record(func() error {
		for step := range steps {
			for i := range s.launches {
				l := &s.launches[i]
				l.call.Step, l.call.Arena, l.call.Rows = int32(step), d.slots, d.slots+8*most
				if err := d.Launch(d.kernel[l.kernel], [3]int{l.x, l.y, l.z * networks}, unsafe.Pointer(&l.call)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		s.graphs[key] = g
	}
	return g, err
}

// forget gives the graphs' memory back.
func (s *shape) forget(d *device) error {
	for _, graphs := range []map[[2]int]driver.Graph{s.graphs, s.replies} {
		for _, g := range graphs {
			if err := d.Forget(g); err != nil {
				return err
			}
		}
		clear(graphs)
	}
	return nil
}
