package card

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/cuda/driver"
	"github.com/hop-marl/hop/cuda/kernels"
	"github.com/hop-marl/hop/num/f32"
)

// worth is how many multiply-adds a row must take for the card to answer for it: what takes less the processor has done
// before rows have gone there and back.
const worth = 1 << 18

// acts reports whether the card also says what to do. The first layer does not count, since its rows are mostly zeros.
func (k *kind) acts() bool {
	n := 0
	for _, l := range k.net.Layers[1:] {
		n += l.H * l.W * l.Taps() * l.In * l.Out
	}
	return n > worth
}

// question is rows that somebody asks about. The card's mutex guards taken and awaited.
type question struct {
	held     *held
	x        *f32.Sparse
	taken    int  // rows on their way
	answered int  // rows
	awaited  bool // whoever asked waits
	out      []float32
	err      error
	done     chan struct{}
}

// Question returns memory to ask by; nil: the processor answers sooner.
func (h *held) Question() ppo.Question {
	if !h.shape.acts() {
		return nil
	}
	return &question{held: h, done: make(chan struct{}, 1)}
}

// Ask hands rows in. They are not on their way before somebody waits, so that whoever asks for several agents has one wait.
func (q *question) Ask(x *f32.Sparse) {
	width := q.held.shape.width()
	if n := x.Rows() * width; cap(q.out) < n {
		q.out = make([]float32, n)
	}
	q.x, q.out, q.err = x, q.out[:x.Rows()*width], nil
	q.taken, q.answered, q.awaited = 0, 0, false
	c := q.held.card
	c.mu.Lock()
	c.asked = append(c.asked, q)
	c.mu.Unlock()
}

// Answer waits for what the network says.
func (q *question) Answer() ([]float32, error) {
	c := q.held.card
	c.mu.Lock()
	if q.taken < q.x.Rows() {
		q.awaited = true
		c.awaiting++
	}
	c.mu.Unlock()
	c.some.Signal()
	<-q.done
	return q.out, q.err
}

// share is rows of a question that go into a launch.
type share struct {
	of   *question
	from int
	rows int
}

// answering is what a shape's networks answer by: the questions of a launch, and memory that all of them share.
//
// What is asked lies in one piece: networks' arenas, how many rows each has and how many lie ahead of them, then all rows.
type answering struct {
	by         []*memory // whom it is asked of
	asked, out []byte    // pinned
	askedAt    driver.Address
	outAt      driver.Address
	replies    map[[2]int]driver.Graph // to up to so many networks and rows of each
}

// width is how many numbers an answer has.
func (k *kind) width() int { return k.net.Layers[len(k.net.Layers)-1].Out }

// take takes what is asked of a shape's networks, as many rows of each as go into a launch.
func (c *Card) take(s *shape) {
	rest := c.asked[:0]
	for _, q := range c.asked {
		m := q.held.memory
		if n := min(q.x.Rows()-q.taken, s.minibatch-m.asked); q.held.shape == s && n > 0 && (m.asked > 0 || len(s.by) < most) {
			if m.asked == 0 {
				s.by = append(s.by, m)
			}
			m.shares = append(m.shares, share{q, q.taken, n})
			m.asked += n
			q.taken += n
		}
		if q.taken < q.x.Rows() {
			rest = append(rest, q)
		} else if q.awaited {
			c.awaiting--
		}
	}
	c.asked = rest
}

// answer answers what was taken.
func (s *shape) answer(d *device) {
	err := s.reply(d)
	row := 0
	for _, m := range s.by {
		for _, p := range m.shares {
			q, w := p.of, s.width()
			if err == nil {
				copy(q.out[p.from*w:(p.from+p.rows)*w], of[float32](s.out)[row*w:])
			} else {
				q.err = err
			}
			row += p.rows
			if q.answered += p.rows; q.answered == q.x.Rows() {
				q.done <- struct{}{}
			}
		}
		m.shares, m.asked = m.shares[:0], 0
	}
	s.by = s.by[:0]
}

// reply lets the card compute what was taken. Answers are in the order of networks, then parts.
func (s *shape) reply(d *device) error {
	rows, entries, deep := 0, 0, 0
	for _, m := range s.by {
		rows, deep = rows+m.asked, max(deep, m.asked)
		for _, p := range m.shares {
			entries += int(p.of.x.Ptr[p.from+p.rows] - p.of.x.Ptr[p.from])
		}
	}
	networks := power(len(s.by))
	length := 16*networks + 4*(3+rows+2*entries)
	if err := s.fit(d, length, 4*rows*s.width()); err != nil {
		return err
	}
	s.write(networks, rows, entries)
	if err := d.Upload(s.askedAt, s.asked[:length]); err != nil {
		return err
	}
	g, err := s.answers(d, networks, min(power(max(deep, kernels.Rows)), s.minibatch))
	if err != nil {
		return err
	}
	if err := d.Run(g); err != nil {
		return err
	}
	if err := d.Download(s.out[:4*rows*s.width()], s.outAt); err != nil {
		return err
	}
	return d.Watch()
}

// power is n rounded up to a power of 2.
func power(n int) int { return 1 << bits.Len(uint(n-1)) }

// fit makes sure that what is asked fits, and the answers.
func (s *shape) fit(d *device, asked, out int) error {
	if asked <= len(s.asked) && out <= len(s.out) {
		return nil
	}
	if err := s.forget(d); err != nil {
		return err
	}
	for _, part := range []struct {
		here  *[]byte
		there *driver.Address
		size  int
	}{{&s.asked, &s.askedAt, max(2*asked, 1<<16)}, {&s.out, &s.outAt, max(2*out, 1<<16)}} {
		if part.size <= len(*part.here) {
			continue
		}
		if *part.here != nil {
			if err := d.Unpin(*part.here); err != nil {
				return err
			}
			if err := d.Free(*part.there); err != nil {
				return err
			}
		}
		var err error
		if *part.here, err = d.Pinned(part.size); err != nil {
			return err
		}
		if *part.there, err = d.Alloc(part.size); err != nil {
			return err
		}
	}
	return nil
}

// write lays what was taken out in one piece.
func (s *shape) write(networks, rows, entries int) {
	clear(s.asked[:16*networks])
	numbers, ahead := of[int32](s.asked), 0
	list := numbers[4*networks:]
	ptr, idx, val := list[2:], list[3+rows:], of[float32](s.asked)[4*networks+3+rows+entries:]
	list[0], list[1] = int32(entries), int32(rows)
	row, at := 0, 0
	for z, m := range s.by {
		binary.LittleEndian.PutUint64(s.asked[8*z:], uint64(m.arena))
		numbers[2*networks+z], numbers[3*networks+z] = int32(m.asked), int32(ahead)
		ahead += m.asked
		for _, p := range m.shares {
			x := p.of.x
			lo, hi := int(x.Ptr[p.from]), int(x.Ptr[p.from+p.rows])
			for _, end := range x.Ptr[p.from : p.from+p.rows] {
				ptr[row] = end - int32(lo) + int32(at)
				row++
			}
			copy(idx[at:], x.Idx[lo:hi])
			copy(val[at:], x.Val[lo:hi])
			at += hi - lo
		}
	}
	ptr[row] = int32(at)
}

// answers returns what so many networks launch for up to so many rows each.
func (s *shape) answers(d *device, networks, rows int) (driver.Graph, error) {
	key := [2]int{networks, rows}
	if g, ok := s.replies[key]; ok {
		return g, nil
	}
	g, err := d.Record(func() error {
		for _, l := range s.forward(rows) {
			l.call.Arena, l.call.Rows, l.call.Answers = s.askedAt, s.askedAt+driver.Address(8*networks), s.outAt
			if err := d.Launch(d.kernel[l.kernel], [3]int{l.x, l.y, networks}, unsafe.Pointer(&l.call)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.replies[key] = g
	}
	return g, err
}

// forward returns what is launched for up to so many rows of each network. A row comes out the same
// whatever else is there: who adds up its numbers does so from the first to the last.
func (s *shape) forward(rows int) (list []launch) {
	list = append(list, launch{"asked", parts(rows, kernels.Rows), 1, 1, s.input()})
	last := len(s.layers) - 1
	for i, l := range s.layers[:last] {
		if l.Convolves() {
			list = append(list, launch{"few128", parts(rows*l.H*l.W, 128), parts(l.Out, 32), 1, s.of(i)})
		} else {
			list = append(list, launch{"few32", parts(rows, 32), parts(l.Out, 32), 1, s.of(i)})
		}
	}
	return append(list, launch{"answer", parts(rows, kernels.Rows), 1, 1, s.of(last)})
}
