package a3c

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"

	"example.org/baselines/windowtest"
)

const (
	features, actions = 6, 3
	me                = agent.ID(1)
	gamma             = 0.9
	parts             = 4 // steps of a part, a3c.n
	rate, clip, eps   = 0.01, 0.3, 1e-3
	coef, beta        = 0.7, 0.1
)

// returned is the return of a row, forwards: rewards up to the end of its part, then the value.
func returned(ro *batch.Rollout, t, n int) float64 {
	sum, factor := 0., 1.
	for {
		step := ro.Step(me, t, n)
		sum += factor * float64(ro.Reward[step])
		factor *= gamma
		t++
		if ro.End[step] == batch.Exited {
			return sum
		}
		if ro.End[step] == batch.Cut || t%parts == 0 || t == ro.Steps {
			return sum + factor*float64(ro.Value[ro.Slot(me, t, n)])
		}
	}
}

// gradients leaves those of a part's loss at the weights of net in it.
func gradients(a reference.Actor, net reference.Net, ro *batch.Rollout, from int) {
	x := &reference.Mat{}
	var legal []bool
	var action []int32
	var ret, adv []float64
	for t := from; t < min(from+parts, ro.Steps); t++ {
		for n := range ro.Envs {
			slot, step := ro.Slot(me, t, n), ro.Step(me, t, n)
			if !ro.Alive[slot] || !ro.Own[step] {
				continue
			}
			r := returned(ro, t, n)
			x.V, x.Rows = append(x.V, a.Row(ro.ObsAt(slot), nil)...), x.Rows+1
			legal, action = append(legal, ro.LegalAt(slot)...), append(action, ro.Action[step])
			ret, adv = append(ret, r), append(adv, r-float64(ro.Value[slot]))
		}
	}
	x.Cols, x.G = len(x.V)/x.Rows, make([]float64, len(x.V))
	column := func(v []float64) *reference.Mat {
		return &reference.Mat{Rows: x.Rows, Cols: 1, V: v, G: make([]float64, x.Rows)}
	}
	tape := &reference.Tape{}
	logits, value := a.Forward(tape, net, x)
	logp := tape.LogSoftmax(logits, legal)
	policy := tape.Scale(tape.Mul(tape.At(logp, action), column(adv)), -1)
	off := tape.Sub(value, column(ret))
	loss := tape.Sub(tape.Add(policy, tape.Scale(tape.Mul(off, off), coef/2)), tape.Scale(tape.Entropy(logp, legal), beta))
	tape.Backward(tape.Mean(loss, x.Rows))
}

// rmsPropStep moves net along the gradients of played, by the mean squares.
func rmsPropStep(net, played, square reference.Net) {
	norm := 0.
	for _, m := range played {
		for _, g := range m.G {
			norm += g * g
		}
	}
	scale := min(1, clip/math.Sqrt(norm))
	for name, m := range played {
		for i, g := range m.G {
			g *= scale
			s := &square[name].V[i]
			*s = 0.99**s + 0.01*g*g
			net[name].V[i] -= rate * g / math.Sqrt(*s+eps)
		}
		clear(m.G)
	}
}

// One window moves the weights as algorithm S3 does: for each part of n steps the gradient at the weights that
// played and a step of RMSProp, in float64.
func TestAWindowFollowsTheDefinition(t *testing.T) {
	learner := ppo.Default()
	learner.LR, learner.Gamma, learner.Entropy, learner.ValueCoef, learner.MaxGrad, learner.RewardScale = rate, gamma, beta, coef, clip, 1
	c := Default()
	c.A3C.N, c.A3C.Eps = parts, eps
	in := actor.Input{Input: frame.Input{Rest: features}, Actions: actions}
	shape := actor.Config{Net: "dense", Frame: "board", Hidden: []int{4}, Act: "tanh"}
	b, err := ppo.New(learner, shape, in, []agent.ID{me}, 1, rng.New(3))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Params.W { // away from even policies
		b.Params.W[i] += float32(0.5 * math.Sin(float64(3*i)))
	}
	m := newMind(c.A3C, learner, b)
	weights := func() reference.Net {
		var f safetensors.File
		if err := m.Save(&f, ""); err != nil {
			t.Fatal(err)
		}
		net, err := reference.LoadNet(&f, "net/")
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	twin := reference.Actor{Net: shape.Net, Frame: shape.Frame, Act: shape.Act, Hidden: shape.Hidden, Actions: actions, Input: in.Input}
	net := weights()
	square := net.Clone()
	for _, s := range square {
		clear(s.V)
	}
	r := rng.New(8).Rand()
	for range 2 {
		w := windowtest.Draw(batch.Shape{Agents: 2, Steps: 10, Envs: 5, ObsLen: features, Actions: actions}, gamma, &r)
		played := net.Clone()
		for from := 0; from < w.Steps; from += parts {
			gradients(twin, played, w.Rollout, from)
			rmsPropStep(net, played, square)
		}
		if _, err := m.Learn(w); err != nil {
			t.Fatal(err)
		}
	}
	far := 0.
	for name, got := range weights() {
		for i, v := range got.V {
			if d := math.Abs(v - net[name].V[i]); !(d <= far) {
				far = d
			}
		}
	}
	if !(far < 2e-5) {
		t.Errorf("after two windows a weight is %.2g from its definition", far)
	}
}
