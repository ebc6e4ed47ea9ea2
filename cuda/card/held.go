package card

import (
	"unsafe"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/cuda/kernels"
	"github.com/hop-marl/hop/num/nn"
)

// held is a network on the card.
type held struct {
	card   *Card
	shape  *shape
	memory *memory
	p      *nn.Params
	adam   *nn.Adam
}

// join takes the network in.
func (h *held) join() error {
	return h.card.ask(&order{do: func(d *device) error { return h.shape.join(d, h.memory) }})
}

// of returns pinned bytes as numbers.
func of[T int32 | float32 | float64](b []byte) []T {
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(one)))
}

// Announce says whether a window is being gathered.
func (h *held) Announce(coming bool) {
	c := h.card
	c.mu.Lock()
	if coming {
		c.begun++
		c.coming[h] = c.begun
	} else {
		delete(c.coming, h)
	}
	c.mu.Unlock()
	c.some.Signal()
}

// Learn goes over a window's rows on the card, beside the windows of others.
func (h *held) Learn(l ppo.Passes) (ppo.Learnt, error) {
	s, m := h.shape, h.memory
	if err := h.room(len(l.Action), len(l.X.Idx)); err != nil {
		return ppo.Learnt{}, err
	}
	defer s.mu.RUnlock()
	h.pack(&l)
	o := &order{of: s, by: m, from: h, done: make(chan error, 1)}
	h.card.send(o)
	if l.Sent != nil {
		l.Sent()
	}
	if err := <-o.done; err != nil {
		return ppo.Learnt{}, err
	}
	out := h.read()
	copy(h.p.W, of[float32](m.weights))
	h.adam.Took(out.Steps)
	if out.Failed {
		return out, h.move(s.call.Grad, h.p.G, false)
	}
	return out, nil
}

// room makes sure that a window fits, and holds the shape as it is.
func (h *held) room(rows, entries int) error {
	s := h.shape
	for {
		if !s.mu.TryRLock() { // somebody waits for room
			h.Announce(false)
			s.mu.RLock()
		}
		if rows <= s.rows && entries <= s.entries {
			return nil
		}
		s.mu.RUnlock()
		h.Announce(false) // what others have packed is not to wait for this one, which waits for them
		s.mu.Lock()
		err := h.card.ask(&order{do: func(d *device) error { return s.grow(d, rows, entries) }})
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// pack lays a window out as the arena has it.
func (h *held) pack(l *ppo.Passes) {
	s, m, c := h.shape, h.memory, &h.shape.call
	m.rows, m.entries = len(l.Action), len(l.X.Idx)
	ints, floats := of[int32](m.head), of[float32](m.head)
	at := func(place int64) int { return int(place) - s.head.at }
	copy(ints[at(c.Ptr):], l.X.Ptr)
	copy(ints[at(c.Action):], l.Action)
	copy(floats[at(c.LogP):], l.LogProb)
	copy(floats[at(c.Value):], l.Value)
	copy(floats[at(c.Adv):], l.Adv)
	copy(floats[at(c.Ret):], l.Ret)
	legal := m.head[4*at(c.Legal):]
	for i, ok := range l.Legal {
		legal[i] = 0
		if ok {
			legal[i] = 1
		}
	}
	copy(ints[at(c.Order):], l.Orders)
	dials := floats[at(c.Dials):]
	dials[0] = float32(l.Entropy)
	for i := range s.steps(m.rows) {
		c1, c2 := nn.Corrections(h.adam.Steps() + i + 1)
		dials[1+2*i], dials[2+2*i] = float32(l.LR)*c1, c2
	}
	copy(of[int32](m.idx), l.X.Idx)
	copy(of[float32](m.val), l.X.Val)
}

// read returns what a window came to.
func (h *held) read() (out ppo.Learnt) {
	s, m := h.shape, h.memory
	at := func(place int64) []byte { return m.results[4*(int(place)-s.results.at):] }
	out.Steps = s.steps(m.rows)
	if failed := of[int32](at(s.call.Failed))[0]; failed > 0 {
		out.Steps, out.Failed = int(failed)-1, true
	}
	norms, terms := of[float64](at(s.call.Norms)), of[float64](at(s.call.Terms))
	blocks := parts(s.minibatch, kernels.Threads)
	for i := range out.Steps {
		out.Norm += norms[i]
		for b := range blocks {
			t := terms[(i*blocks+b)*kernels.Terms:][:kernels.Terms]
			out.Policy, out.Value, out.Entropy, out.KL = out.Policy+t[0], out.Value+t[1], out.Entropy+t[2], out.KL+t[3]
			out.Clipped, out.Rows = out.Clipped+int(t[4]), out.Rows+int(t[5])
		}
	}
	return out
}

// Fetch brings Adam's moments here.
func (h *held) Fetch() error {
	mean, square := h.adam.Moments()
	h.shape.mu.RLock()
	defer h.shape.mu.RUnlock()
	if err := h.move(h.shape.call.M, mean, false); err != nil {
		return err
	}
	return h.move(h.shape.call.V, square, false)
}

// Put takes weights and moments as they are here.
func (h *held) Put() error {
	mean, square := h.adam.Moments()
	h.shape.mu.RLock()
	defer h.shape.mu.RUnlock()
	for i, x := range [][]float32{h.p.W, mean, square} {
		if err := h.move([]int64{h.shape.call.P, h.shape.call.M, h.shape.call.V}[i], x, true); err != nil {
			return err
		}
	}
	return nil
}

// move copies numbers of every weight from here to the arena, or back.
func (h *held) move(place int64, x []float32, there bool) error {
	m := h.memory
	return h.card.ask(&order{do: func(d *device) error {
		at, pinned := m.at(place), m.weights[:4*len(x)]
		if there {
			copy(of[float32](pinned), x)
			if err := d.Upload(at, pinned); err != nil {
				return err
			}
			return d.Wait()
		}
		if err := d.Download(pinned, at); err != nil {
			return err
		}
		err := d.Wait()
		copy(x, of[float32](pinned))
		return err
	}})
}
