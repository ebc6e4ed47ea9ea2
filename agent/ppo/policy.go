package ppo

import (
	"slices"

	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// policy is what the network's outputs stand for: probabilities of actions, or a normal
// distribution (Gaussian policy) where actions are vectors.
type policy struct {
	model  *actor.Model
	cat    *nn.Categorical // nil where actions are vectors
	normal *nn.Normal      // nil where they are not
	legal  []bool          // [rows][Actions] of the last set
}

// newPolicy returns the policies of up to rows rows.
func newPolicy(m *actor.Model, rows int) policy {
	if m.Continuous {
		return policy{model: m, normal: nn.NewNormal(m.Actions)}
	}
	return policy{model: m, cat: nn.NewCategorical(m.Actions, rows)}
}

// set takes the outputs of m rows.
func (p *policy) set(ws *actor.Work, w *nn.Params, legal []bool, m int) {
	p.legal = legal
	if p.normal != nil {
		p.normal.Set(ws.Logits, legal, p.model.LogStd(w), m)
		return
	}
	p.cat.Set(ws.Logits, legal, m)
}

// choose draws row i's action, or takes the likeliest one. One that is a vector is written to
// vector, and is then called by the first of its numbers.
func (p *policy) choose(i int, vector []float32, greedy bool, r *rng.Rand) int32 {
	if p.normal == nil {
		a := p.cat.Sample(i, r)
		if greedy {
			a = p.cat.Mode(i)
		}
		return a
	}
	p.normal.Sample(vector, i, r)
	if greedy {
		p.normal.Mode(vector, i)
	}
	k := p.model.Actions
	return int32(slices.Index(p.legal[i*k:(i+1)*k], true))
}

// logProb returns the logarithm of row i's probability, or density, of an action.
func (p *policy) logProb(i int, action int32, vector []float32) float32 {
	if p.normal != nil {
		return p.normal.LogProb(i, vector)
	}
	return p.cat.LogProb(i, action)
}

// gradTo writes the gradient of row i's outputs to d, of a loss with the derivatives dlogp by
// the action's logProb and dentropy by the entropy, which it returns.
func (p *policy) gradTo(d []float32, i int, action int32, vector []float32, dlogp, dentropy float32) float32 {
	if p.normal != nil {
		return p.normal.GradTo(d, i, vector, dlogp, dentropy)
	}
	return p.cat.GradTo(d, i, action, dlogp, dentropy)
}

// finish hands the gradient of the deviations, which all rows share, to the workspace.
func (p *policy) finish(ws *actor.Work) {
	if p.normal != nil {
		f32.Add(ws.DLogStd, ws.DLogStd, p.normal.DLogStd)
	}
}
