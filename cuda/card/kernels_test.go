package card

import (
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/cuda/driver"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// BenchmarkStep is a gradient step of four convolutional networks on 8x8, and says what each kernel takes of it. It
// needs a card.
func BenchmarkStep(b *testing.B) {
	c, err := Open(driver.Library)
	if err != nil {
		b.Skip(err)
	}
	for _, rows := range []int{256, 512, 4096} {
		for _, networks := range []int{1, 4} {
			b.Run(fmt.Sprintf("rows=%d/networks=%d", rows, networks), func(b *testing.B) { c.benchmark(b, rows, networks) })
		}
	}
}

// read is what the measured networks read: 8x8 cells of six planes, and something else.
var read = actor.Input{Input: frame.Input{Height: 8, Width: 8, Planes: 6, Rest: 40}, Actions: 6}

// some returns some rows as the networks read them.
func some(rows int) *f32.Sparse {
	x := &f32.Sparse{}
	x.Reset(read.Len())
	for i := range rows {
		for k := range 20 {
			x.AppendEntry(int32((i*7+k*19)%read.Len()), 1)
		}
		x.EndRow()
	}
	return x
}

// networks returns some convolutional networks.
func (c *Card) networks(b *testing.B, n, minibatch int) (list []*held) {
	net := actor.Default()
	net.Net, net.Frame = "conv", frame.Board
	cfg := ppo.Default()
	cfg.Minibatch, cfg.Epochs = minibatch, 1
	for i := range n {
		m, p, err := actor.New(net, read, rng.New(uint64(i)))
		if err != nil {
			b.Fatal(err)
		}
		stack, err := m.Stack()
		if err != nil {
			b.Fatal(err)
		}
		one, err := c.Hold(stack, p, nn.NewAdam(p, nn.AdamConfig{}), cfg)
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, one.(*held))
	}
	return list
}

// BenchmarkAnswer is a round trip to four such networks, of which each is asked about so many rows: from asking to having
// the answers, by one worker, or by sixteen that ask about as many rows together. It says what each kernel takes. It
// needs a card.
func BenchmarkAnswer(b *testing.B) {
	c, err := Open(driver.Library)
	if err != nil {
		b.Skip(err)
	}
	all := c.networks(b, 4, 2048)
	defer runtime.KeepAlive(all)
	for _, rows := range []int{2, 8, 32, 128, 512} {
		for _, workers := range []int{1, 16} {
			if rows >= workers || workers == 1 {
				b.Run(fmt.Sprintf("rows=%d/workers=%d", rows, workers), func(b *testing.B) { c.answers(b, all, rows, workers) })
			}
		}
	}
}

func (c *Card) answers(b *testing.B, all []*held, rows, workers int) {
	x := some(rows / workers)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			var asked []ppo.Question
			for _, one := range all {
				asked = append(asked, one.Question())
			}
			for range b.N {
				for _, q := range asked {
					q.Ask(x)
				}
				for _, q := range asked {
					if _, err := q.Answer(); err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	working.Wait()
	b.StopTimer()
	if workers > 1 {
		return
	}
	s, took := all[0].shape, map[string]time.Duration{}
	err := c.ask(&order{do: func(d *device) error {
		launches := s.forward(min(power(max(rows, 8)), s.minibatch))
		for i := range launches { // of the rows that lie there from the last question
			launches[i].call.Arena, launches[i].call.Rows, launches[i].call.Answers = s.askedAt, s.askedAt+driver.Address(8*len(all)), s.outAt
		}
		return s.time(d, launches, len(all), took)
	}})
	if err != nil {
		b.Fatal(err)
	}
	says(b, took)
}

func (c *Card) benchmark(b *testing.B, rows, networks int) {
	window := ppo.Passes{X: some(rows), LR: 1e-3, Entropy: .01}
	for i := range rows {
		window.Action, window.Orders = append(window.Action, int32(i%read.Actions)), append(window.Orders, int32(i))
		window.Legal = append(window.Legal, true, true, true, true, true, true)
	}
	zeros := make([]float32, rows)
	window.LogProb, window.Value, window.Adv, window.Ret = zeros, zeros, zeros, zeros
	all := c.networks(b, networks, rows)
	defer runtime.KeepAlive(all)
	var orders []*order
	s := all[0].shape
	for _, one := range all {
		if _, err := one.Learn(window); err != nil {
			b.Fatal(err)
		}
		orders = append(orders, &order{of: s, by: one.memory})
	}
	err := c.ask(&order{do: func(d *device) error {
		if err := s.learn(d, orders); err != nil {
			return err
		}
		b.ResetTimer()
		for range b.N {
			g, err := s.graph(d, networks, 1)
			if err == nil {
				err = d.Run(g)
			}
			if err != nil {
				return err
			}
		}
		return d.Wait()
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	took := map[string]time.Duration{}
	if err := c.ask(&order{do: func(d *device) error { return s.time(d, s.launches, networks, took) }}); err != nil {
		b.Fatal(err)
	}
	says(b, took)
}

// says logs how long each kernel took.
func says(b *testing.B, took map[string]time.Duration) {
	var list []string
	for name, t := range took {
		list = append(list, fmt.Sprintf("%s %.0f", name, float64(t.Nanoseconds())/1000))
	}
	sort.Strings(list)
	b.Log("microseconds: ", strings.Join(list, ", "))
}

// time measures every launch of a step.
func (s *shape) time(d *device, launches []launch, networks int, took map[string]time.Duration) error {
	const often = 50
	for i := range launches {
		l := &launches[i]
		if l.call.Step = 0; l.call.Arena == 0 {
			l.call.Arena, l.call.Rows = d.slots, d.slots+8*most
		}
		if err := d.Wait(); err != nil {
			return err
		}
		began := time.Now()
		for range often {
			if err := d.Launch(d.kernel[l.kernel], [3]int{l.x, l.y, l.z * networks}, unsafe.Pointer(&l.call)); err != nil {
				return err
			}
		}
		if err := d.Wait(); err != nil {
			return err
		}
		took[fmt.Sprintf("%02d %s %dx%dx%d", i, l.kernel, l.x, l.y, l.z*networks)] = time.Since(began) / often
	}
	return nil
}
