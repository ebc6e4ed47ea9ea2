package hop

import (
	"hop/batch"
	"hop/belief"
	"hop/game"
	"hop/model/moa"
)

// hindsight computes how likely hypotheses are given all that a co-player did in a
// trajectory, where at first each, and acting at random, is as likely.
type hindsight struct {
	others    *others
	ws        *moa.Work
	posterior []float64 // [hypotheses]
	obs       []float32 // [steps][hypotheses but doubt][ObsLen]
	read      []float32 // [steps][hypotheses but doubt][GoalLen]
	probs     []float32 // [steps][hypotheses but doubt][K]
	step      []float32 // [hypotheses][K]
}

// hindsight makes room for trajectories of a game, under n hypotheses and doubt.
func (o *others) hindsight(n int) *hindsight {
	s, h := &o.sees.spec, o.shape.hypotheses
	rows, k := s.Horizon*n, len(s.Actions)
	return &hindsight{
		others: o, ws: o.model.Model.Work(rows), posterior: make([]float64, h), obs: make([]float32, 0, rows*s.Obs.Len()),
		read: make([]float32, rows*o.model.Model.GoalLen), probs: make([]float32, rows*k), step: make([]float32, h*k),
	}
}

// of returns the posterior over hypotheses on the co-player of a trajectory, a view:
// features writes those of hypothesis g at the trajectory's step t.
func (h *hindsight) of(ro *batch.Rollout, p trajectory, n int, features func(t, g int) []float32) []float64 {
	o, steps := h.others, p.hi-p.lo
	k, read := len(o.sees.spec.Actions), o.model.Model.GoalLen
	h.obs = h.obs[:0]
	for t := range steps {
		for g := range n {
			h.obs = append(h.obs, o.sees.obs(nil, ro, p.agent, p.lo+t, p.env)...)
			o.read(h.read[(t*n+g)*read:(t*n+g+1)*read], p.other, features(t, g))
		}
	}
	h.ws.Predict(o.model.Params, h.obs, h.read[:steps*n*read], h.probs[:steps*n*k])
	for g := range h.posterior {
		h.posterior[g] = 1 / float64(len(h.posterior))
	}
	for t := range steps {
		legal := o.sees.legal(ro, p.agent, p.lo+t, p.env)
		copy(h.step, h.probs[t*n*k:(t+1)*n*k])
		if d := o.shape.doubt; d >= 0 {
			game.Spread(h.step[d*k:(d+1)*k], legal)
		}
		belief.Bayes(h.posterior, h.step, legal, ro.Action[ro.Step(p.agent, p.lo+t, p.env)], o.smooth)
	}
	return h.posterior
}
