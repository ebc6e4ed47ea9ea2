// Package card learns on a graphics card in place of the processor (ppo.Device).
//
// Networks that are alike are computed side by side: a launch costs some microseconds whether it
// is for one network or for sixty-four. Whoever has a window packs it, hands it in and waits; one
// goroutine, which owns the card, takes all that wait for networks of one shape and goes
// over them together. Which those are is chance, and reaches no number: a network reads and writes
// its own memory alone.
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

	mu     sync.Mutex
	some   *sync.Cond // of queue
	queue  []*order
	coming map[*held]int // windows that are being gathered, by when they were announced
	begun  int           // announcements
	shapes map[string]*shape
}

// order is something for the card to do.
type order struct {
	of   *shape // of a window, which others of that shape may join; nil: something else
	by   *memory
	from *held
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

// serve does what is ordered, for ever.
func (c *Card) serve(d *device) {
	for {
		orders := c.next()
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

// next waits for an order, and returns it with the windows that can be done beside it.
func (c *Card) next() (orders []*order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 {
		c.some.Wait()
	}
	first := c.queue[0]
	for upto := c.begun; c.awaited(first.of, upto); {
		c.some.Wait()
	}
	rest := c.queue[:0]
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

// awaited reports whether windows of a shape are on their way that were announced by then.
func (c *Card) awaited(s *shape, upto int) bool {
	for h, at := range c.coming {
		if h.shape == s && at <= upto {
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
