package ppo

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// Device takes the gradient steps of networks in place of the processor, and says what they do: a graphics card.
type Device interface {
	// Name says which one it is: numbers depend on it as they do on the processor's kernels.
	Name() string
	// Hold takes in a network with its optimiser, or says why it cannot.
	Hold(net actor.Stack, p *nn.Params, adam *nn.Adam, cfg Config) (Held, error)
}

// Held is a network on a device. The weights here follow after every window, Adam's moments when
// they are fetched.
type Held interface {
	// Announce says whether a window is being gathered, which others then wait for a moment.
	Announce(coming bool)
	// Learn goes over a window's rows, and returns when it has; many may wait at a time.
	Learn(Passes) (Learnt, error)
	// Question returns memory to ask the network by what to do; nil: for so small a network the processor is faster. What
	// it is hangs on the network alone.
	Question() Question
	// Fetch brings Adam's moments here.
	Fetch() error
	// Put takes weights and moments as they are here.
	Put() error
}

// Question asks a network on a device what to do, about one set of rows after another. It is for one goroutine.
type Question interface {
	// Ask hands over encoded rows, of which there is one at least, and does not wait. They must stay as they are until
	// they are answered.
	Ask(x *f32.Sparse)
	// Answer waits, and returns every row's logits, then its value, which stay until the next Ask. A row's answer does
	// not hang on what else is asked.
	Answer() ([]float32, error)
}

// Passes are a window's encoded rows, and in which order each pass goes over them.
type Passes struct {
	X                        *f32.Sparse
	Action                   []int32
	LogProb, Value, Adv, Ret []float32
	Legal                    []bool  // [rows][Actions]
	Orders                   []int32 // [Epochs][rows]
	LR, Entropy              float64
	Sent                     func() // is called when the device has all this; nil: nobody asks
}

// Learnt is what the gradient steps of a window added up over their rows.
type Learnt struct {
	Policy, Value, Entropy, KL, Norm float64
	Rows, Clipped, Steps             int
	Failed                           bool // the gradient of the step after those is not finite; it is in Params.G
}

// Move lets a device take the gradient steps from now on, and say what players made later do.
func (b *Brain) Move(d Device) error {
	net, err := b.Model.Stack()
	if err == nil && b.cfg.TargetKL > 0 {
		err = errors.New("passes end early (ppo.target_kl)")
	}
	if err == nil {
		b.held, err = d.Hold(net, b.Params, b.trainer.Adam, b.cfg)
	}
	if err != nil {
		return fmt.Errorf("this network cannot learn on %s: %w", d.Name(), err)
	}
	return nil
}

// Announce says that a window is coming, before Learn is called: others on the same device wait for it
// then, to learn beside it.
func (b *Brain) Announce() {
	if b.held != nil {
		b.held.Announce(true)
	}
}

// passesElsewhere is passes on a device.
func (b *Brain) passesElsewhere(lr, ent float64, sent func()) (total passStats, err error) {
	r, n := &b.rows, b.rows.real
	b.order, b.orders = sized(b.order, n), b.orders[:0]
	for range b.cfg.Epochs {
		b.rand.Perm(b.order)
		for _, row := range b.order {
			b.orders = append(b.orders, int32(row))
		}
	}
	out, err := b.held.Learn(Passes{
		X: &b.x, Action: r.action, LogProb: r.logp, Value: r.value, Adv: r.adv, Ret: r.ret, Legal: r.legal,
		Orders: b.orders, LR: lr, Entropy: ent, Sent: sent,
	})
	if err == nil && out.Failed {
		err = fmt.Errorf("step %d: %w", b.trainer.Steps(), b.trainer.Adam.NotFinite())
	}
	b.counts.Steps += out.Steps
	over := func(sum float64) nn.Loss { return nn.Loss{Sum: sum, Weight: float64(out.Rows), Rows: out.Rows} }
	total = passStats{steps: out.Steps, norm: out.Norm}
	total.policy, total.values, total.entropy, total.kl = over(out.Policy), over(out.Value), over(out.Entropy), over(out.KL)
	total.clipped = out.Clipped
	return total, err
}
