package pr2

import (
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
)

// look computes the policy at all states.
func (m *Mind) look(ro *batch.Rollout) {
	m.pi, m.logpi = resize(m.pi, len(m.states)*m.k), resize(m.logpi, len(m.states)*m.k)
	narrow := m.own.Read()
	for lo := 0; lo < len(m.states); lo += chunk {
		part := m.states[lo:min(lo+chunk, len(m.states))]
		m.own.ws.Reset()
		for i, s := range part {
			m.own.ws.Encode(&m.own.ws.X, ro.ObsAt(int(s.slot)), ro.GoalAt(int(s.slot)))
			copy(m.legal[i*m.k:(i+1)*m.k], ro.LegalAt(int(s.slot)))
		}
		m.own.ws.Forward(narrow)
		m.policy.Set(m.own.ws.Logits, m.legal, len(part))
		copy(m.pi[lo*m.k:], m.policy.P)
		copy(m.logpi[lo*m.k:], m.policy.LogP)
	}
}

// answers puts pairs through the model of answers, which then holds their distributions.
func (m *Mind) answers(ro *batch.Rollout, narrow *nn.Params, part []pair) {
	others := m.seats - 1
	m.rho.ws.Reset()
	for i, p := range part {
		s := m.states[p.state]
		clear(m.extra[:m.k])
		m.extra[p.action] = 1
		m.rho.ws.Encode(&m.rho.ws.X, ro.ObsAt(int(s.slot)), m.extra[:m.k])
		for place := range others {
			legal := m.legal[(i*others+place)*m.k:][:m.k]
			clear(legal)
			if a := m.here[int(p.state)*others+place]; a >= 0 {
				copy(legal, ro.LegalAt(ro.Slot(agent.ID(a), int(s.t), int(s.n))))
			}
		}
	}
	m.rho.ws.Forward(narrow)
	m.answer.Set(m.rho.ws.Logits, m.legal, len(part)*others)
}

// joint adds a row for Q: a state, and what the others do there, by their places.
func (m *Mind) joint(ro *batch.Rollout, s int32, answer []int8) {
	clear(m.extra)
	for place, b := range answer {
		if b >= 0 {
			m.extra[place*m.k+int(b)] = 1
		}
	}
	m.q.ws.Encode(&m.q.ws.X, ro.ObsAt(int(m.states[s].slot)), m.extra)
}

// recurse asks for every legal action how the others would answer it, draws answers, and
// values the joint actions.
func (m *Mind) recurse(ro *batch.Rollout, alpha float32) {
	others, draws := m.seats-1, m.cfg.Samples
	m.drawn = resize(m.drawn, len(m.pairs)*draws*others)
	m.worths = resize(m.worths, len(m.pairs)*draws)
	rho, q := m.rho.Read(), m.q.Read()
	each := chunk / draws
	for lo := 0; lo < len(m.pairs); lo += each {
		part := m.pairs[lo:min(lo+each, len(m.pairs))]
		m.answers(ro, rho, part)
		m.q.ws.Reset()
		for i, p := range part {
			for d := range draws {
				at := (lo+i)*draws + d
				answer, cost := m.drawn[at*others:(at+1)*others], float32(0)
				for place := range answer {
					b := m.answer.Sample(i*others+place, &m.rand)
					if answer[place] = int8(b); b >= 0 {
						cost += m.answer.LogProb(i*others+place, b) + logCount(m.legal[(i*others+place)*m.k:][:m.k])
					}
				}
				m.worths[at] = -alpha * cost
				m.joint(ro, p.state, answer)
			}
			m.compare(ro, p, i)
		}
		m.q.ws.Forward(q)
		for i, p := range part {
			for d := range draws {
				m.worths[(lo+i)*draws+d] += m.q.ws.Logits[(i*draws+d)*m.k+int(p.action)]
			}
		}
	}
}

// compare counts how the assumed answers of pair i compare with what the others did, where the pair was played.
func (m *Mind) compare(ro *batch.Rollout, p pair, i int) {
	s := m.states[p.state]
	if ro.Action[ro.Step(m.me, int(s.t), int(s.n))] != p.action {
		return
	}
	others := m.seats - 1
	for place := range others {
		if a := m.here[int(p.state)*others+place]; a >= 0 {
			b := ro.Action[ro.Step(agent.ID(a), int(s.t), int(s.n))]
			m.sums.others++
			m.sums.ce -= float64(m.answer.LogProb(i*others+place, b))
			if m.answer.Mode(i*others+place) == b {
				m.sums.hits++
			}
		}
	}
}

// logCount returns the logarithm of how many actions are legal.
func logCount(legal []bool) float32 {
	n := 0
	for _, ok := range legal {
		if ok {
			n++
		}
	}
	return float32(math.Log(float64(max(n, 1))))
}

// values averages what each action is worth over the answers, and each state over the policy.
func (m *Mind) values(ro *batch.Rollout, alpha float32) {
	draws := m.cfg.Samples
	m.worth, m.soft = resize(m.worth, len(m.states)*m.k), resize(m.soft, len(m.states))
	clear(m.worth)
	clear(m.soft)
	for i, p := range m.pairs {
		mean := float32(0)
		for _, x := range m.worths[i*draws : (i+1)*draws] {
			mean += x / float32(draws)
		}
		at := int(p.state)*m.k + int(p.action)
		m.worth[at] = mean
		m.soft[p.state] += m.pi[at] * (mean - alpha*(m.logpi[at]+logCount(ro.LegalAt(int(m.states[p.state].slot)))))
	}
}

// targets writes the targets of Q: r + gamma V(s'), of which a share lambda is what really
// followed.
func (m *Mind) targets(w *learner.Window, alpha float32) {
	ro := w.Rollout
	m.rewards = resize(m.rewards, ro.Steps*ro.Envs)
	w.Rewards.Apply(m.rewards, ro, m.me)
	gamma, lambda := float32(m.learner.Gamma), float32(m.cfg.Lambda)
	for i := len(m.rows) - 1; i >= 0; i-- {
		r := &m.rows[i]
		s := m.states[r.state]
		t, n := int(s.t), int(s.n)
		r.target = m.rewards[t*ro.Envs+n]
		if ro.End[r.step] == batch.Exited {
			continue
		}
		value := ro.Value[ro.Slot(m.me, t+1, n)]
		if ro.End[r.step] == batch.Going && t+1 < ro.Steps {
			next := m.at[(t+1)*ro.Envs+n] // which is a row too, of the same number
			bonus := m.logpi[int(next)*m.k+int(ro.Action[m.rows[next].step])] + logCount(ro.LegalAt(int(m.states[next].slot)))
			value += lambda * (m.rows[next].target - alpha*bonus - value)
		}
		r.target += gamma * value
	}
}

// learnQ goes once over the rows: the squared error of Q at the joint actions that were played.
func (m *Mind) learnQ(ro *batch.Rollout) error {
	others := m.seats - 1
	answer := make([]int8, others)
	return m.minibatches(len(m.rows), func(pick []int) error {
		unit := 1 / float32(len(pick))
		_, err := m.q.Step(len(pick), &m.sums, func(s *nn.Shard[*actor.Work]) (sum sums) {
			part, ws := pick[s.Lo:s.Hi], s.Work
			ws.Reset()
			for _, i := range part {
				r := m.rows[i]
				at := m.states[r.state]
				for place := range answer {
					answer[place] = -1
					if a := m.here[int(r.state)*others+place]; a >= 0 {
						answer[place] = int8(ro.Action[ro.Step(agent.ID(a), int(at.t), int(at.n))])
					}
				}
				m.joint(ro, r.state, answer)
			}
			ws.Forward(s.Params)
			ws.ZeroGrad()
			for j, i := range part {
				r := m.rows[i]
				at := j*m.k + int(ro.Action[r.step])
				off := ws.Logits[at] - r.target
				ws.DLogits[at] = off * unit // of half the square
				sum.q += float64(off*off) / 2 / float64(m.learner.Epochs)
			}
			ws.Backward(s.Params)
			return sum
		})
		return err
	})
}

// learnAnswers goes once over the pairs: the divergence of rho from exp(Q / alpha) / Z, whose gradient is
// -E_rho[grad log rho(b) (Q(s, a, b) - alpha log rho(b))], less the mean of the pair's other draws.
func (m *Mind) learnAnswers(ro *batch.Rollout) error {
	others, draws := m.seats-1, m.cfg.Samples
	list := make([]pair, 0, chunk)
	return m.minibatches(len(m.pairs), func(pick []int) error {
		unit := 1 / float32(len(pick)*draws)
		_, err := m.rho.Step(len(pick), &m.sums, func(s *nn.Shard[*actor.Work]) sums {
			part, ws := pick[s.Lo:s.Hi], s.Work
			list = list[:0]
			for _, i := range part {
				list = append(list, m.pairs[i])
			}
			m.answers(ro, s.Params, list)
			ws.ZeroGrad()
			for j, i := range part {
				worths := m.worths[i*draws : (i+1)*draws]
				total := float32(0)
				for _, x := range worths {
					total += x
				}
				for d, x := range worths {
					better := x - (total-x)/float32(draws-1)
					for place, b := range m.drawn[(i*draws+d)*others:][:others] {
						if b >= 0 {
							at := j*others + place
							m.answer.Grad(ws.DLogits[at*m.k:], at, int32(b), -better*unit, 0)
						}
					}
				}
			}
			ws.Backward(s.Params)
			return sums{}
		})
		return err
	})
}

// learnPolicy goes once over the rows: E_pi[alpha log pi(a | s) - Q(s, a)], exactly, and the squared error of the
// network's value to V(s).
func (m *Mind) learnPolicy(ro *batch.Rollout, alpha float32) error {
	return m.minibatches(len(m.rows), func(pick []int) error {
		unit := 1 / float32(len(pick))
		norm, err := m.own.Step(len(pick), &m.sums, func(s *nn.Shard[*actor.Work]) (sum sums) {
			part, ws := pick[s.Lo:s.Hi], s.Work
			ws.Reset()
			for j, i := range part {
				slot := int(m.states[m.rows[i].state].slot)
				ws.Encode(&ws.X, ro.ObsAt(slot), ro.GoalAt(slot))
				copy(m.legal[j*m.k:(j+1)*m.k], ro.LegalAt(slot))
			}
			ws.Forward(s.Params)
			m.policy.Set(ws.Logits, m.legal, len(part))
			for j, i := range part {
				s := int(m.rows[i].state)
				logp, p := m.policy.Row(j)
				worth, mean := m.worth[s*m.k:(s+1)*m.k], float32(0)
				for k, x := range p {
					if m.legal[j*m.k+k] {
						mean += x * (alpha*logp[k] - worth[k])
						sum.entropy -= float64(x*logp[k]) / float64(m.learner.Epochs)
					}
				}
				d := ws.DLogits[j*m.k : (j+1)*m.k]
				for k, x := range p {
					if d[k] = 0; m.legal[j*m.k+k] {
						d[k] = x * (alpha*logp[k] - worth[k] - mean) * unit
					}
				}
				ws.DValue[j] = float32(m.learner.ValueCoef) * (ws.Value[j] - m.soft[s]) * unit
			}
			ws.Backward(s.Params)
			return sum
		})
		m.sums.norm += norm
		m.sums.steps++
		m.counts.Steps++
		return err
	})
}

// minibatches goes once over n things in a random order.
func (m *Mind) minibatches(n int, do func(pick []int) error) error {
	m.order = resize(m.order, n)
	m.rand.Perm(m.order)
	for lo := 0; lo < n; lo += m.learner.Minibatch {
		if err := do(m.order[lo:min(lo+m.learner.Minibatch, n)]); err != nil {
			return err
		}
	}
	return nil
}
