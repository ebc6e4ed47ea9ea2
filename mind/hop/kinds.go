package hop

import (
	"hop/batch"
	"hop/belief"
	"hop/game"
	"hop/rng"
)

// actsAtRandom is the member of a population that needs no model: doubt.
const actsAtRandom = "random"

// kinds returns the numbers of those of a population that a model of others
// predicts, a hypothesis each.
func kinds(population []string) []int32 {
	var list []int32
	for i, name := range population {
		if name != actsAtRandom {
			list = append(list, int32(i))
		}
	}
	return list
}

// prior returns what is believed of somebody new: that it is of a kind as often as
// the response network met it, else that every hypothesis is as likely; and that it
// acts at random as likely as is set (Goals.DoubtStart).
func (m *Mind) prior() []float64 {
	prior, rest := make([]float64, m.kinds), 0.
	w, met := m.goals.(*latent)
	met = met && len(w.kinds) > 0 && len(m.models.Met) > 0
	for g := range prior {
		switch {
		case !met:
			prior[g] = 1
		case g == m.random:
			prior[g] = m.models.Met[m.doubtful]
		default:
			prior[g] = m.models.Met[w.kinds[g]]
		}
		rest += prior[g]
	}
	doubt := m.cfg.Goals.DoubtStart
	for g := range prior {
		prior[g] /= rest
	}
	if m.random < 0 || doubt < 0 {
		return prior
	}
	rest = 1 - prior[m.random]
	for g := range prior {
		prior[g] *= (1 - doubt) / rest
	}
	prior[m.random] = doubt
	return prior
}

// write writes the features of goal z of kind g; -1: none.
func (w *latent) write(dst, z []float32, g int) {
	clear(dst)
	copy(dst, z)
	if g >= 0 && len(w.kinds) > 0 {
		dst[w.infer.Dim+g] = 1
	}
}

// labelKinds writes the kind of each trajectory into the features of its steps, which
// hold their z: a draw from the posterior given all that its agent did in it, where
// at first every kind, and acting at random, is as likely. Who acted at random is of
// no kind.
func (w *latent) labelKinds(dst []float32, ro *batch.Rollout, list []trajectory, r *rng.Rand) {
	if len(w.kinds) == 0 {
		return
	}
	m, n, width := w.m, len(w.kinds), w.Features()
	k, read, row := len(m.spec.Actions), m.moa.Model.GoalLen, 0
	posterior, probs := make([]float64, m.kinds), make([]float32, m.spec.Horizon*n*k)
	obs, given := make([]float32, 0, m.spec.Horizon*n*ro.ObsLen), make([]float32, m.spec.Horizon*n*read)
	ws, goal, step := m.moa.Model.Work(m.spec.Horizon*n), make([]float32, width), make([]float32, m.kinds*k)
	for _, p := range list {
		steps := p.hi - p.lo
		obs = obs[:0]
		for t := range steps {
			z := dst[(row+t)*width:][:w.infer.Dim]
			for g := range n {
				obs = append(obs, m.sight.Obs(nil, ro, p.agent, p.lo+t, p.env)...)
				w.write(goal, z, g)
				m.features(given[(t*n+g)*read:(t*n+g+1)*read], p.other, goal)
			}
		}
		ws.Predict(m.moa.Params, obs, given[:steps*n*read], probs[:steps*n*k])
		for g := range posterior {
			posterior[g] = 1 / float64(m.kinds)
		}
		for t := range steps {
			legal := m.sight.Legal(ro, p.agent, p.lo+t, p.env)
			copy(step, probs[t*n*k:(t+1)*n*k])
			if m.random >= 0 {
				game.Spread(step[m.random*k:(m.random+1)*k], legal)
			}
			belief.Bayes(posterior, step, legal, ro.Action[ro.Step(p.agent, p.lo+t, p.env)], m.cfg.Belief.Smooth)
		}
		if kind := int(rng.Pick(posterior, r.Float64())); kind < n {
			for t := range steps {
				dst[(row+t)*width+w.infer.Dim+kind] = 1
			}
		}
		row += steps
	}
}

// weigh turns what z alone leads to into what it leads to for kind g, by how often such
// agents reached each goal. What z leads to was learnt among those who were met, some of
// whom never reach a goal; so it is no more than a hint.
func (w *latent) weigh(list []Word, g int) {
	if len(w.kinds) == 0 || len(w.m.models.Reached) != len(w.kinds)*len(list) {
		return
	}
	sum, reached := 0., w.m.models.Reached[g*len(list):]
	for i := range list {
		list[i].Share = (list[i].Share + 0.1) * (float64(reached[i]) + 1) // who was never seen to may still
		sum += list[i].Share
	}
	for i := range list {
		list[i].Share /= max(sum, 1e-9)
	}
}
