package reinforce

import (
	"math"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/train/spec"
)

// Audit is what hop audit must know: updates are held against update.
var Audit = spec.Audit{Whole: func(params any, in reference.Adding) (reference.Net, error) {
	return update(*params.(*Config), in)
}}

// update is what a mind saves after it learnt from a window, by the definition and in float64.
func update(c Config, in reference.Adding) (reference.Net, error) {
	net, err := reference.LoadNet(in.Saved, "")
	if err != nil {
		return nil, err
	}
	w, baseline, ro := net["w"].V, net["baseline"].V, in.Window.Rollout
	for _, a := range in.Agents {
		earned := in.Window.Earned(a)
		for n := range ro.Envs {
			g, known := 0., false
			for t := ro.Steps - 1; t >= 0; t-- {
				step, slot := ro.Step(a, t, n), ro.Slot(a, t, n)
				if ro.End[step] != batch.Going {
					g, known = 0, ro.End[step] == batch.Exited
				}
				if !known || !ro.Alive[slot] || !ro.Own[step] {
					continue
				}
				g = earned[t*ro.Envs+n] + in.PPO.Gamma*g
				ascend(w, ro.ObsAt(slot), ro.LegalAt(slot), int(ro.Action[step]), c.Reinforce.Rate*(g-baseline[0]))
				baseline[0] += 0.001 * (g - baseline[0])
			}
		}
	}
	return net, nil
}

// ascend adds scale times the gradient of log pi(action | obs), where pi is softmax(w obs) over
// the legal actions.
func ascend(w []float64, obs []float32, legal []bool, action int, scale float64) {
	p, sum := make([]float64, len(legal)), 0.
	for k, ok := range legal {
		if !ok {
			continue
		}
		for i, x := range obs {
			p[k] += w[k*len(obs)+i] * float64(x)
		}
		p[k] = math.Exp(p[k])
		sum += p[k]
	}
	for k := range p {
		grad := -p[k] / sum
		if k == action {
			grad++
		}
		for i, x := range obs {
			w[k*len(obs)+i] += scale * grad * float64(x)
		}
	}
}
