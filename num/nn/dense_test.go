package nn_test

import (
	"fmt"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

func TestDenseGradients(t *testing.T) {
	for _, act := range []nn.Act{nn.None, nn.ReLU, nn.Tanh} {
		for _, sparse := range []bool{false, true} {
			t.Run(fmt.Sprintf("act %d sparse %v", act, sparse), func(t *testing.T) {
				const m, in, out = 5, 9, 6
				p := &nn.Params{}
				d := p.Dense("d", in, out, act)
				p.Init(rng.New(2))
				copy(p.W[len(p.W)-16:], random(out, "bias"))
				x, dx := random(m*in, "x"), make([]float32, m*in)
				y, dy, c := make([]float32, m*out), make([]float32, m*out), random(m*out, "c")
				var s f32.Sparse
				s.Reset(in)
				for i := range x {
					if sparse && i%3 > 0 {
						x[i] = 0
					}
				}
				for i := range m {
					s.AppendRow(x[i*in : (i+1)*in])
				}
				forward := func() {
					if sparse {
						d.ForwardSparse(p, y, &s)
					} else {
						d.Forward(p, y, x, m)
					}
				}
				model := nntest.Model{
					Params: []*nn.Params{p},
					Inputs: []nntest.Input{input("x", x, dx)},
					Loss:   func() float64 { forward(); return weigh(y, c) },
					Grad: func() {
						forward()
						copy(dy, c)
						d.Backward(p, dx, dy, x, y, m)
					},
					Twin: func(at func(string) []float64) float64 {
						return weigh64(denseTwin(d, at("x"), at("d/w"), at("d/b"), m), c)
					},
				}
				if sparse {
					model.Inputs = nil
					model.Grad = func() {
						forward()
						copy(dy, c)
						d.BackwardSparse(p, dy, &s, y)
					}
					model.Twin = func(at func(string) []float64) float64 {
						return weigh64(denseTwin(d, reference.Wide(x), at("d/w"), at("d/b"), m), c)
					}
				}
				nntest.Check(t, model)
			})
		}
	}
}

// actor is the shape of net that plays: a trunk and two heads on it.
type actor struct {
	p      *nn.Params
	trunk  nn.MLP
	pi, v  nn.Dense
	ws     *nn.MLPWork
	cat    *nn.Categorical
	logits nn.Logits
	value  []float32
	dl, dv []float32
}

func newActor(act nn.Act, rows int, sizes ...int) *actor {
	p := &nn.Params{}
	h := sizes[len(sizes)-1]
	a := &actor{p: p, trunk: p.MLP("trunk", act, sizes...), pi: p.Dense("pi", h, 7, nn.None), v: p.Dense("v", h, 1, nn.None)}
	p.Init(rng.New(3))
	a.ws, a.cat = a.trunk.Work(rows), nn.NewCategorical(7, rows)
	a.logits, a.dl = make(nn.Logits, 7*rows), make([]float32, 7*rows)
	a.value, a.dv = make([]float32, rows), make([]float32, rows)
	return a
}

// run returns cross-entropy plus half of MSE, and goes backward if asked.
func (a *actor) run(p *nn.Params, dx, x []float32, target []int32, ret []float32, rows nn.Rows, back bool) nn.Loss {
	m := rows.N
	a.trunk.Forward(p, a.ws, x, m)
	a.pi.Forward(p, a.logits, a.ws.Y, m)
	a.v.Forward(p, a.value, a.ws.Y, m)
	clear(a.dl)
	clear(a.dv)
	a.cat.Set(a.logits, nil, m)
	l := a.cat.CrossEntropy(a.dl, target, nil, rows)
	half := rows
	half.Scale = 0.5
	k := nn.MSE(a.dv, a.value, ret, 1, half)
	l.Sum += 0.5 * k.Sum
	if back {
		a.pi.Backward(p, a.ws.DY, a.dl, a.ws.Y, a.logits, m)
		a.v.BackwardAdd(p, a.ws.DY, a.dv, a.ws.Y, a.value, m)
		a.trunk.Backward(p, a.ws, dx, x, m)
	}
	return l
}

func classes(n, k int) []int32 {
	c := make([]int32, n)
	for i := range c {
		c[i] = int32(i * 5 % k)
	}
	return c
}

// A composite model goes through the check in one call, without a twin.
func TestActorGradients(t *testing.T) {
	for _, act := range []nn.Act{nn.Tanh, nn.ReLU} {
		const m, in = 24, 20
		a := newActor(act, m, in, 16, 12)
		x, dx := random(m*in, "x"), make([]float32, m*in)
		target, ret := classes(m, 7), random(m, "ret")
		rows := nn.Rows{N: m, Alive: rowsFor(m).Alive}
		nntest.Check(t, nntest.Model{
			Params: []*nn.Params{a.p},
			Inputs: []nntest.Input{input("x", x[:in], dx)},
			Loss:   func() float64 { return a.run(a.p, nil, x, target, ret, rows, false).Mean() },
			Grad:   func() { a.run(a.p, dx, x, target, ret, rows, true) },
		})
	}
}

// A workspace made for many rows serves few: the rows come out the same.
func TestSmallBatchesUseLargeWorkspaces(t *testing.T) {
	const in = 20
	a := newActor(nn.Tanh, 32, in, 16, 12)
	x := random(32*in, "x")
	rows := nn.Rows{N: 32}
	a.run(a.p, nil, x, classes(32, 7), x, rows, false)
	want := append(nn.Logits{}, a.logits[:7*32]...)
	for _, m := range []int{1, 5, 32} {
		for lo := 0; lo+m <= 32; lo += m {
			rows.N = m
			a.run(a.p, nil, x[lo*in:], classes(m, 7), x, rows, false)
			for i, v := range a.logits[:7*m] {
				if v != want[7*lo+i] {
					t.Fatalf("batch of %d from row %d, logit %d: %v, want %v", m, lo, i, v, want[7*lo+i])
				}
			}
		}
	}
}

func TestTrainingStepDoesNotAllocate(t *testing.T) {
	const m, in = 16, 20
	a := newActor(nn.ReLU, m, in, 16, 12)
	x, target, ret := random(m*in, "x"), classes(m, 7), random(m, "ret")
	var s f32.Sparse
	r := rng.New(1).Rand()
	trainer := nn.NewTrainer[*actor, nn.Loss](a.p, nn.TrainerConfig{Clip: 0.5}, nn.Constant(1e-3), []*actor{a})
	var sum nn.Loss
	sparse := func(*nn.Shard[*actor]) nn.Loss {
		a.trunk.BackwardSparse(a.p, a.ws, &s)
		return nn.Loss{}
	}
	step := func() {
		s.Reset(in)
		for i := range m {
			s.AppendRow(x[i*in : (i+1)*in])
		}
		a.run(a.p, nil, x, target, ret, nn.Rows{N: m}, true)
		a.trunk.ForwardSparse(a.p, a.ws, &s)
		trainer.Step(m, &sum, sparse)
		a.cat.Sample(3, &r)
	}
	step()
	if n := testing.AllocsPerRun(10, step); n != 0 {
		t.Errorf("a training step allocates %v times, want 0", n)
	}
}
