package card_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/cuda/card"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// acting are networks that a card answers for.
var acting = map[string]actor.Config{
	"dense": {Net: "dense", Frame: "board", Hidden: []int{90, 510, 515}, Act: "relu"},
	"tanh":  {Net: "dense", Frame: "board", Hidden: []int{64, 4096}, Act: "tanh"},
	"apart": {Net: "dense", Frame: "egof", Hidden: []int{512, 515}, Act: "relu"},
	"conv":  {Net: "conv", Frame: "board", Hidden: []int{1}, Act: "relu"},
}

// board is what they read: planes of 5 by 4 cells, and something else.
var board = actor.Input{Input: frame.Input{Height: 5, Width: 4, Planes: 6, Rest: 7}, Actions: 6}

// ask is a network on a card, and here.
type ask struct {
	ppo.Held
	model *actor.Model
	p     *nn.Params
	work  *actor.Work
}

func newAsk(t *testing.T, d ppo.Device, net actor.Config, seed uint64) *ask {
	t.Helper()
	m, p, err := actor.New(net, board, rng.New(seed))
	if err != nil {
		t.Fatal(err)
	}
	r := rng.New(seed).Child("moved").Rand()
	for i := range p.W { // biases are 0 at first
		p.W[i] += float32(r.Float64()-0.5) / 20
	}
	stack, err := m.Stack()
	if err != nil {
		t.Fatal(err)
	}
	cfg := ppo.Default()
	cfg.Epochs, cfg.Minibatch = 1, 13 // rows of a network that go into a launch
	held, err := d.Hold(stack, p, nn.NewAdam(p, nn.AdamConfig{}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &ask{held, m, p, m.Work(100)}
}

// rows returns some boards as the network reads them.
func (a *ask) rows(n int, seed uint64) *f32.Sparse {
	a.work.Reset()
	r := rng.New(seed).Rand()
	obs := make([]float32, board.Len())
	for range n {
		for i := range obs {
			obs[i] = 0
			if r.IntN(8) == 0 {
				obs[i] = float32(r.Float64())
			}
		}
		clear(obs[:5*4])
		obs[r.IntN(5*4)] = 1 // where oneself is
		a.work.Encode(&a.work.X, obs, nil)
	}
	x := &f32.Sparse{}
	x.Reset(a.work.X.Cols)
	x.Append(&a.work.X)
	return x
}

// some are so many rows of x, from one on.
func some(x *f32.Sparse, from, n int) *f32.Sparse {
	y := &f32.Sparse{}
	y.Reset(x.Cols)
	for i := range n {
		y.AppendFrom(x, from+i)
	}
	return y
}

// answer asks and waits.
func (a *ask) answer(t *testing.T, x *f32.Sparse) []float32 {
	t.Helper()
	q := a.Question()
	q.Ask(x)
	out, err := q.Answer()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(out)
}

func TestTheCardSaysWhatTheProcessorSays(t *testing.T) {
	d := device(t)
	for name, net := range acting {
		t.Run(name, func(t *testing.T) {
			a, k := newAsk(t, d, net, 1), board.Actions
			a.rows(40, 2)
			a.work.Forward(a.model.View(a.p).Update())
			got := a.answer(t, &a.work.X)
			logits, values := make([]float32, 0, 40*k), make([]float32, 0, 40)
			for i := range 40 {
				logits, values = append(logits, got[i*(k+1):][:k]...), append(values, got[i*(k+1)+k])
			}
			if off := far(logits, a.work.Logits[:40*k]); !(off < 1e-4) {
				t.Errorf("logits are off by %.2g of their length", off)
			}
			if off := far(values, a.work.Value[:40]); !(off < 1e-4) {
				t.Errorf("values are off by %.2g of their length", off)
			}
		})
	}
}

// TestAnAnswerHangsOnItsRowAlone asks about rows one by one, in groups, and beside those of other networks.
func TestAnAnswerHangsOnItsRowAlone(t *testing.T) {
	d := device(t)
	for name, net := range acting {
		t.Run(name, func(t *testing.T) {
			const n = 16
			var all []*ask
			var x []*f32.Sparse
			var want [][]float32
			for i := range 2 {
				a := newAsk(t, d, net, uint64(i))
				all, x = append(all, a), append(x, a.rows(n, 7+uint64(i)))
				want = append(want, nil)
				for row := range n {
					want[i] = append(want[i], a.answer(t, some(x[i], row, 1))...)
				}
			}
			for range 2 {
				var together sync.WaitGroup
				for i, a := range all {
					for _, part := range [][2]int{{0, 2}, {2, 9}, {11, 5}} {
						together.Go(func() {
							q := a.Question()
							q.Ask(some(x[i], part[0], part[1]))
							got, err := q.Answer()
							if w := board.Actions + 1; err != nil || !same(got, want[i][part[0]*w:][:part[1]*w]) {
								t.Errorf("network %d: rows %d and on are answered otherwise beside others, or not (%v)", i, part[0], err)
							}
						})
					}
				}
				together.Wait()
			}
		})
	}
}

func same(x, y []float32) bool {
	return slices.EqualFunc(x, y, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
}

func TestWorkersDoNotCountWhereTheCardActs(t *testing.T) {
	d := device(t)
	sets := append(nets["wide"], "train.steps=40", "train.save=20", "train.standins.share=0.4", "train.standins.who=[past,nh]",
		"train.team=[learn,nh,learn,nh]")
	var want []byte
	for _, workers := range []int{1, 3} {
		loop := buildFor(t, workers, d, sets...)
		if err := run(t, loop, 0); err != nil {
			t.Fatal(err)
		}
		got := saved(t, loop)
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d workers come to other bytes than one", workers)
		}
	}
}

func TestSmallNetworksActOnTheProcessor(t *testing.T) {
	a := newAsk(t, device(t), actor.Default(), 1)
	if a.Question() != nil {
		t.Error("the card acts for two layers of 64")
	}
}

func TestACardThatFailsWhileItActsIsASentence(t *testing.T) {
	c := device(t).(*card.Card)
	for _, workers := range []int{1, 3} {
		loop := buildFor(t, workers, c, append(nets["wide"], "actor.hidden=[512,514]")...)
		mend := c.Break()
		err := run(t, loop, 0)
		mend()
		if err == nil || !strings.Contains(err.Error(), "the device cannot say what to do: cuLaunchKernel") {
			t.Errorf("%d workers: got %v", workers, err)
		}
	}
}

func TestAskingDoesNotAllocate(t *testing.T) {
	a := newAsk(t, device(t), acting["conv"], 1)
	x, q := a.rows(5, 3), a.Question()
	once := func() {
		q.Ask(x)
		if _, err := q.Answer(); err != nil {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(20, once); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestQuestionsDoNotWaitForWindows asks while one window waits for another to be learnt from beside it.
func TestQuestionsDoNotWaitForWindows(t *testing.T) {
	d := device(t)
	coming, waiting, asking := newAsk(t, d, acting["conv"], 1), newAsk(t, d, acting["conv"], 2), newAsk(t, d, acting["conv"], 3)
	coming.Announce(true)
	learnt := make(chan error)
	go func() {
		window := rows(3)
		window.X, window.Legal = waiting.rows(3, 1), make([]bool, 3*board.Actions)
		for i := range window.Legal {
			window.Legal[i] = true
		}
		_, err := waiting.Learn(window)
		learnt <- err
	}()
	asked := make(chan struct{})
	go func() {
		asking.answer(t, asking.rows(2, 1))
		close(asked)
	}()
	select {
	case <-asked:
	case err := <-learnt:
		t.Fatal("the window did not wait: ", err)
	case <-time.After(20 * time.Second):
		t.Error("a question waits for windows")
	}
	coming.Announce(false)
	if err := <-learnt; err != nil {
		t.Error(err)
	}
}
