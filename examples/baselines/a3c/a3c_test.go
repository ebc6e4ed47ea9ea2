package a3c

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/rng"

	"example.org/baselines/windowtest"
)

const (
	features, actions = 6, 3
	gamma             = 0.9
	parts             = 4 // steps of a part, a3c.n
)

// definition is the paper's update in float64: a tanh layer, logits and value, all
// weights in one slice.
type definition struct {
	hidden  int
	w, mean []float64 // weights; mean squares
}

// loss returns the loss of a row; adv is held fixed.
func (d *definition) loss(w []float64, obs []float32, legal []bool, action int32, ret, adv, coef, beta float64) float64 {
	h := make([]float64, d.hidden)
	for j := range h {
		h[j] = w[features*d.hidden+j]
		for i, x := range obs {
			h[j] += float64(x) * w[i*d.hidden+j]
		}
		h[j] = math.Tanh(h[j])
	}
	out := make([]float64, actions+1)
	from := features*d.hidden + d.hidden
	for k := range out {
		out[k] = w[from+d.hidden*(actions+1)+k]
		for j, x := range h {
			out[k] += x * w[from+j*(actions+1)+k]
		}
	}
	z := 0.
	for k := range actions {
		if legal[k] {
			z += math.Exp(out[k])
		}
	}
	entropy := 0.
	for k := range actions {
		if legal[k] {
			entropy -= math.Exp(out[k]) / z * (out[k] - math.Log(z))
		}
	}
	v := out[actions]
	return -(out[action]-math.Log(z))*adv + coef*(ret-v)*(ret-v)/2 - beta*entropy
}

// ret is the return of a row, forwards: rewards up to the end of its part, then the value.
func (d *definition) ret(ro *batch.Rollout, a agent.ID, t, n int) float64 {
	sum, factor := 0., 1.
	for {
		step := ro.Step(a, t, n)
		sum += factor * float64(ro.Reward[step])
		factor *= gamma
		t++
		if ro.End[step] == batch.Exited {
			return sum
		}
		if ro.End[step] == batch.Cut || t%parts == 0 || t == ro.Steps {
			return sum + factor*float64(ro.Value[ro.Slot(a, t, n)])
		}
	}
}

// One window moves the weights as algorithm S3 does: for each part of n steps the gradient at the weights that
// played, by differences of the loss in float64, and a step of RMSProp.
func TestAWindowFollowsTheDefinition(t *testing.T) {
	learner := ppo.Default()
	learner.LR, learner.Gamma, learner.Entropy, learner.ValueCoef, learner.MaxGrad, learner.RewardScale = 0.01, gamma, 0.1, 0.7, 0.3, 1
	c := Default()
	c.A3C.N, c.A3C.Eps = parts, 1e-3
	in := actor.Input{Input: frame.Input{Rest: features}, Actions: actions}
	net := actor.Config{Net: "dense", Frame: "board", Hidden: []int{4}, Act: "tanh"}
	b, err := ppo.New(learner, net, in, []agent.ID{1}, 1, rng.New(3))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Params.W { // away from even policies
		b.Params.W[i] += float32(0.5 * math.Sin(float64(3*i)))
	}
	m := newMind(c.A3C, learner, b)
	d := &definition{hidden: 4}
	for _, part := range b.Params.Parts {
		w, _ := b.Params.At(part.Span)
		for _, x := range w {
			d.w = append(d.w, float64(x))
		}
	}
	d.mean = make([]float64, len(d.w))
	r := rng.New(8).Rand()
	for range 2 {
		win := windowtest.Draw(batch.Shape{Agents: 2, Steps: 10, Envs: 5, ObsLen: features, Actions: actions}, gamma, &r)
		ro := win.Rollout
		played := append([]float64{}, d.w...)
		for lo := 0; lo < ro.Steps; lo += parts {
			loss := func(w []float64) float64 {
				sum, rows := 0., 0
				for t := lo; t < min(lo+parts, ro.Steps); t++ {
					for n := range ro.Envs {
						slot, step := ro.Slot(1, t, n), ro.Step(1, t, n)
						if !ro.Alive[slot] || !ro.Own[step] {
							continue
						}
						ret := d.ret(ro, 1, t, n)
						sum += d.loss(w, ro.ObsAt(slot), ro.LegalAt(slot), ro.Action[step], ret, ret-float64(ro.Value[slot]), 0.7, 0.1)
						rows++
					}
				}
				return sum / float64(rows)
			}
			grad, norm := make([]float64, len(played)), 0.
			for i := range played {
				const h = 1e-5
				w := append([]float64{}, played...)
				w[i] += h
				up := loss(w)
				w[i] -= 2 * h
				grad[i] = (up - loss(w)) / (2 * h)
				norm += grad[i] * grad[i]
			}
			scale := min(1, 0.3/math.Sqrt(norm))
			for i, g := range grad {
				g *= scale
				d.mean[i] = 0.99*d.mean[i] + 0.01*g*g
				d.w[i] -= 0.01 * g / math.Sqrt(d.mean[i]+1e-3)
			}
		}
		if _, err := m.Learn(win); err != nil {
			t.Fatal(err)
		}
	}
	i, far := 0, 0.
	for _, part := range b.Params.Parts {
		w, _ := b.Params.At(part.Span)
		for _, x := range w {
			far = max(far, math.Abs(float64(x)-d.w[i]))
			i++
		}
	}
	if !(far < 2e-5) {
		t.Errorf("after two windows a weight is %.2g from its definition", far)
	}
}
