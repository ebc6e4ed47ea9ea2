package card

import (
	"fmt"
	"runtime"
	"sort"
	"strings"
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

func (c *Card) benchmark(b *testing.B, rows, networks int) {
	net := actor.Default()
	net.Net, net.Frame = "conv", frame.Board
	in := actor.Input{Input: frame.Input{Height: 8, Width: 8, Planes: 6, Rest: 40}, Actions: 6}
	cfg := ppo.Default()
	cfg.Minibatch, cfg.Epochs = rows, 1
	window := ppo.Passes{X: &f32.Sparse{}, LR: 1e-3, Entropy: .01}
	window.X.Reset(in.Len())
	for i := range rows {
		for k := range 20 {
			window.X.AppendEntry(int32((i*7+k*19)%in.Len()), 1)
		}
		window.X.EndRow()
		window.Action, window.Orders = append(window.Action, int32(i%in.Actions)), append(window.Orders, int32(i))
		window.Legal = append(window.Legal, true, true, true, true, true, true)
	}
	zeros := make([]float32, rows)
	window.LogProb, window.Value, window.Adv, window.Ret = zeros, zeros, zeros, zeros
	var orders []*order
	var s *shape
	var all []ppo.Held
	defer func() { runtime.KeepAlive(all) }()
	for i := range networks {
		m, p, err := actor.New(net, in, rng.New(uint64(i)))
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
		if _, err := one.Learn(window); err != nil {
			b.Fatal(err)
		}
		s, all = one.(*held).shape, append(all, one)
		orders = append(orders, &order{of: s, by: one.(*held).memory})
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
	if err := c.ask(&order{do: func(d *device) error { return s.time(d, networks, took) }}); err != nil {
		b.Fatal(err)
	}
	var list []string
	for name, t := range took {
		list = append(list, fmt.Sprintf("%s %.0f", name, float64(t.Nanoseconds())/1000))
	}
	sort.Strings(list)
	b.Log("microseconds: ", strings.Join(list, ", "))
}

// time measures every launch of a step.
func (s *shape) time(d *device, networks int, took map[string]time.Duration) error {
	const often = 50
	for i := range s.launches {
		l := &s.launches[i]
		l.call.Step, l.call.Arena, l.call.Rows = 0, d.slots, d.slots+8*most
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
