package actor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var in = actor.Input{Input: frame.Input{Height: 3, Width: 4, Planes: 4, Rest: 5, Extra: 2}, Actions: 3}

// row draws a plausible observation: oneself somewhere, things around, numbers after.
func row(r *rng.Rand) (obs, goal []float32) {
	obs, goal = make([]float32, in.Len()), make([]float32, in.Extra)
	obs[r.IntN(12)*4] = 1
	for range 4 {
		obs[r.IntN(12)*4+1+r.IntN(3)] = 1
	}
	for i := range in.Rest {
		obs[48+i] = float32(r.IntN(2)) * r.Float32()
	}
	for i := range goal {
		goal[i] = float32(r.Norm())
	}
	return obs, goal
}

// Every net is its definition, heads and frame included, and so are its gradients.
func TestGradients(t *testing.T) {
	for _, c := range []actor.Config{
		{Net: "dense", Frame: "board", Hidden: []int{7, 6}, Act: "tanh"},
		{Net: "dense", Frame: "ego", Hidden: []int{7}, Act: "tanh"},
		{Net: "dense", Frame: "egof", Hidden: []int{7, 6}, Act: "tanh"},
		{Net: "dense", Frame: "egof", Hidden: []int{7, 6}, Act: "tanh", Separate: true},
	} {
		name := c.Frame
		if c.Separate {
			name += " separate"
		}
		t.Run(name, func(t *testing.T) {
			m, p, err := actor.New(c, in, rng.New(1))
			must(t, err)
			ws := m.Work(5)
			r := rng.New(2).Rand()
			twin := reference.Actor{Net: c.Net, Frame: c.Frame, Act: c.Act, Hidden: c.Hidden, Separate: c.Separate,
				Actions: in.Actions, Input: in.Input}
			x := &reference.Mat{Rows: 5}
			for range x.Rows {
				obs, goal := row(&r)
				ws.Add(obs, goal)
				x.V = append(x.V, twin.Row(obs, goal)...)
			}
			x.Cols = len(x.V) / x.Rows
			model := loss(ws, p, func() { ws.Forward(p) }, func() { ws.Backward(p) })
			model.Twin = func(at func(string) []float64) float64 {
				net := reference.Net{}
				for _, part := range p.Parts {
					w, cols := at(part.Name), part.Shape[len(part.Shape)-1]
					net[part.Name] = &reference.Mat{Rows: len(w) / cols, Cols: cols, V: w}
				}
				logits, value := twin.Forward(&reference.Tape{}, net, x)
				return weighed(logits.V, value.V)
			}
			nntest.Check(t, model)
		})
	}
}

func TestGradientsOfTheLSTM(t *testing.T) {
	m, p, err := actor.New(actor.Config{Net: "dense", Frame: "egof", Hidden: []int{6}, Act: "tanh", LSTM: 5}, in, rng.New(1))
	must(t, err)
	const steps, n = 4, 3
	ws := m.Work(steps * n)
	r := rng.New(2).Rand()
	for range steps * n {
		ws.Add(row(&r))
	}
	seq := nn.Seq{T: steps, N: n, Reset: make([]bool, steps*n), Alive: make([]bool, steps*n)}
	for i := range seq.Alive {
		seq.Alive[i] = i != 4
	}
	seq.Reset[2*n+1] = true
	h0, c0 := make([]float32, n*5), make([]float32, n*5)
	for i := range h0 {
		h0[i], c0[i] = float32(r.Norm())/2, float32(r.Norm())/2
	}
	nntest.Check(t, loss(ws, p, func() { ws.ForwardSeq(p, seq, h0, c0) }, func() { ws.BackwardSeq(p, seq) }))
}

func loss(ws *actor.Work, p *nn.Params, forward, backward func()) nntest.Model {
	return lossOf(ws, p, in.Actions, forward, backward)
}

// lossOf weights every logit and value differently, so that no gradient can hide.
func lossOf(ws *actor.Work, p *nn.Params, actions int, forward, backward func()) nntest.Model {
	rows := ws.X.Rows()
	return nntest.Model{
		Params: []*nn.Params{p},
		Loss: func() float64 {
			forward()
			return weighed(reference.Wide(ws.Logits[:rows*actions]), reference.Wide(ws.Value[:rows]))
		},
		Grad: func() {
			forward()
			ws.ZeroGrad()
			for i := range rows * actions {
				ws.DLogits[i] = weight(i) * (1 + 2*ws.Logits[i])
			}
			for i := range rows {
				ws.DValue[i] = weight(i + 3)
			}
			backward()
		},
	}
}

func weight(i int) float32 { return float32(i%7) - 2.5 }

// weighed is the loss of outputs.
func weighed(logits, value []float64) (sum float64) {
	for i, x := range logits {
		sum += float64(weight(i)) * x * (1 + x)
	}
	for i, v := range value {
		sum += float64(weight(i+3)) * v
	}
	return sum
}

// The conv net's layers are checked in nn; here that the planes and the rest
// reach it, which a wrong offset would break.
func TestConvSeesEveryNumber(t *testing.T) {
	c := actor.Config{Net: "conv", Frame: "board", Act: "relu"}
	m, p, err := actor.New(c, in, rng.New(1))
	must(t, err)
	ws := m.Work(2)
	r := rng.New(3).Rand()
	obs, goal := row(&r)
	value := func(obs, goal []float32) []float32 {
		ws.Reset()
		ws.Add(obs, goal)
		ws.Forward(p)
		return slices.Clone(ws.Logits[:in.Actions])
	}
	base := value(obs, goal)
	for i := range obs {
		changed := slices.Clone(obs)
		changed[i] = 1 - changed[i]
		if slices.Equal(value(changed, goal), base) {
			t.Errorf("number %d of the observation changes nothing", i)
		}
	}
	for i := range goal {
		changed := slices.Clone(goal)
		changed[i]++
		if slices.Equal(value(obs, changed), base) {
			t.Errorf("number %d of the goal changes nothing", i)
		}
	}
	ws.Reset()
	ws.Add(obs, goal)
	ws.Forward(p)
	ws.ZeroGrad()
	ws.DLogits[0], ws.DValue[0] = 1, 1
	ws.Backward(p)
	for _, part := range p.Parts {
		if _, g := p.At(part.Span); f32.SumSquares(g) == 0 {
			t.Errorf("no gradient reaches %s", part.Name)
		}
	}
}

func TestRowsDoNotDependOnTheirBatch(t *testing.T) {
	m, p, err := actor.New(actor.Default(), in, rng.New(1))
	must(t, err)
	r := rng.New(5).Rand()
	big, one := m.Work(37), m.Work(1)
	var rows [][2][]float32
	for range 37 {
		o, g := row(&r)
		rows = append(rows, [2][]float32{o, g})
		big.Add(o, g)
	}
	big.Forward(p)
	for i, x := range rows {
		one.Reset()
		one.Add(x[0], x[1])
		one.Forward(p)
		if !slices.Equal(one.Logits, big.Logits[i*3:(i+1)*3]) || one.Value[0] != big.Value[i] {
			t.Errorf("row %d is %v %v alone and %v %v in a batch", i, one.Logits, one.Value, big.Logits[i*3:(i+1)*3], big.Value[i])
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	m, p, err := actor.New(actor.Default(), in, rng.New(1))
	must(t, err)
	ws := m.Work(8)
	r := rng.New(5).Rand()
	obs, goal := row(&r)
	step := func() {
		ws.Reset()
		for range 8 {
			ws.Add(obs, goal)
		}
		ws.Forward(p)
		ws.ZeroGrad()
		ws.Backward(p)
	}
	if n := testing.AllocsPerRun(10, step); n != 0 {
		t.Errorf("a step allocates %v times, want 0", n)
	}
}

func TestConfigFaultsAreAllNamed(t *testing.T) {
	err := actor.Config{Net: "conv", Frame: "ego", Act: "sigmoid", LSTM: 9}.Validate()
	for _, want := range []string{"frame", "act", "lstm"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if _, _, err := actor.New(actor.Default(), actor.Input{Input: frame.Input{Rest: 4}, Actions: 2}, rng.New(1)); err == nil {
		t.Error("an ego frame without planes was accepted")
	}
}
