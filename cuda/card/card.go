// Package card learns and acts on a graphics card in place of the processor (ppo.Device).
//
// Networks that are alike are computed side by side: a launch costs some microseconds whether it
// is for one network or for sixty-four. Whoever has a window packs it, hands it in and waits; one
// goroutine, which owns the card, takes all that wait for networks of one shape and goes
// over them together. Which those are is chance, and reaches no number: a network reads and writes
// its own memory alone. So it is with those who ask what to do: whatever has been asked when the
// card is free is answered in one go, and comes before learning, which takes longer.
package card

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/cuda/driver"
	"github.com/hop-marl/hop/cuda/kernels"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
)

// Card is an open card.
type Card struct {
	name string

	mu       sync.Mutex
	some     *sync.Cond // of what follows
	queue    []*order
	asked    []*question   // of which not all rows are on their way
	awaiting int           // of these somebody waits for the answer
	coming   map[*held]int // windows that are being gathered, by when they were announced
	begun    int           // announcements
	shapes   map[string]*shape
}

// order is something for the card to do.
type order struct {
	of   *shape // of a window, which others of that shape may join; nil: something else
	by   *memory
	from *held
	upto int                   // windows announced by then are waited for; 0: nobody has looked at it yet
	do   func(d *device) error // something else
	done chan error
}

// device is the card as its goroutine has it.
type device struct {
	*driver.Card
	kernel map[string]driver.Kernel
	slots  driver.Address // of the networks of a launch: their arenas, then their rows
	host   []byte         // the same here, pinned
}

// most is how many networks go side by side.
const most = 1024

// Open opens the first card that the driver's library knows.
func Open(library string) (*Card, error) {
	c := &Card{shapes: map[string]*shape{}, coming: map[*held]int{}}
	c.some = sync.NewCond(&c.mu)
	opened := make(chan error)
	go func() {
		runtime.LockOSThread()
		d, err := open(library)
		if err == nil {
			c.name = d.Name
		}
		opened <- err
		if err == nil {
			c.serve(d)
		}
	}()
	if err := <-opened; err != nil {
		return nil, err
	}
	return c, nil
}

func open(library string) (*device, error) {
	ptx, err := kernels.PTX()
	if err != nil {
		return nil, err
	}
	d := &device{kernel: map[string]driver.Kernel{}}
	if d.Card, err = driver.Open(library, ptx); err != nil {
		return nil, err
	}
	for _, name := range kernels.Names {
		if d.kernel[name], err = d.Kernel(name); err != nil {
			return nil, err
		}
	}
	if d.slots, err = d.Alloc(most * slotBytes); err != nil {
		return nil, err
	}
	d.host, err = d.Pinned(most * slotBytes)
	return d, err
}

// slotBytes is what a network takes in slots.
const slotBytes = 8 + 4

// Name returns the card's name.
func (c *Card) Name() string { return c.name }

// serve answers what is asked and does what is ordered, for ever.
func (c *Card) serve(d *device) {
	for {
		asked, orders := c.next()
		if asked != nil {
			asked.answer(d)
			continue
		}
		var err error
		if first := orders[0]; first.of != nil {
			err = first.of.learn(d, orders)
		} else {
			err = first.do(d)
		}
		for _, o := range orders {
			if o.done != nil {
				o.done <- err
			}
		}
	}
}

// next waits for a question, and returns the shape that has taken those of its networks, or for an order, and returns it
// with the windows that can be done beside it.
func (c *Card) next() (asked *shape, orders []*order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.awaiting > 0 {
			s := c.asked[0].held.shape
			c.take(s)
			return s, nil
		}
		if len(c.queue) > 0 && !c.early(c.queue[0]) {
			return nil, c.first()
		}
		c.some.Wait()
	}
}

// first removes the first order from the queue, with the windows that can be done beside it.
func (c *Card) first() (orders []*order) {
	first, rest := c.queue[0], c.queue[:0]
	for i, o := range c.queue {
		if i == 0 || first.of != nil && o.of == first.of && len(orders) < first.of.beside {
			orders = append(orders, o)
		} else {
			rest = append(rest, o)
		}
	}
	c.queue = rest
	return orders
}

// early reports whether windows that an order could be done beside are on their way, of those announced
// before it was looked at.
func (c *Card) early(o *order) bool {
	if o.upto == 0 {
		o.upto = c.begun + 1
	}
	for h, at := range c.coming {
		if h.shape == o.of && at < o.upto {
			return true
		}
	}
	return false
}

// ask has something done, and waits for it.
func (c *Card) ask(o *order) error {
	o.done = make(chan error, 1)
	c.send(o)
	return <-o.done
}

func (c *Card) send(o *order) {
	c.mu.Lock()
	c.queue = append(c.queue, o)
	delete(c.coming, o.from)
	c.mu.Unlock()
	c.some.Signal()
}

// Hold takes in a network.
func (c *Card) Hold(net actor.Stack, p *nn.Params, adam *nn.Adam, cfg ppo.Config) (ppo.Held, error) {
	if len(p.Parts) > kernels.Spans {
		return nil, fmt.Errorf("it has %d arrays of weights, more than %d", len(p.Parts), kernels.Spans)
	}
	like := kind{
		net: net, weights: len(p.W), minibatch: cfg.Minibatch, epochs: cfg.Epochs, clip: cfg.Clip, clipValue: cfg.ClipValue,
		worth: cfg.ValueCoef, eps: adam.Eps(), most: cfg.MaxGrad,
	}
	c.mu.Lock()
	s, ok := c.shapes[fmt.Sprint(like)]
	if !ok {
		s = newShape(like)
		c.shapes[fmt.Sprint(like)] = s
	}
	c.mu.Unlock()
	h := &held{card: c, shape: s, p: p, adam: adam, memory: &memory{}}
	if err := h.join(); err != nil {
		return nil, err
	}
	runtime.AddCleanup(h, func(m *memory) { c.send(&order{do: func(d *device) error { return s.leave(d, m) }}) }, h.memory)
	return h, h.Put()
}
