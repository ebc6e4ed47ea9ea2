package audit

import (
	"hop/agent"
	"hop/batch"
	"hop/mind"
)

// explained computes, in float64 and from the definitions, how much of the
// variance of the returns of an agents' own rows their values explained:
// 1 - Var(G - V) / Var(G), G the lambda-return (Schulman et al. 2016, as
// A + V). It is not ok if the returns hardly vary, where rounding decides.
func explained(ro *batch.Rollout, agents []agent.ID, shape mind.Rewards, gamma, lambda float64) (share float64, ok bool) {
	var rets, errs []float64
	for _, a := range agents {
		rewards := learnt(ro, a, shape)
		for n := range ro.Envs {
			next := 0. // the advantage of the step after
			for t := ro.Steps - 1; t >= 0; t-- {
				step, slot := ro.Step(a, t, n), ro.Slot(a, t, n)
				if !ro.Alive[slot] {
					next = 0
					continue
				}
				v := float64(ro.Value[slot])
				after := float64(ro.Value[ro.Slot(a, t+1, n)])
				adv := rewards[t*ro.Envs+n] - v
				switch ro.End[step] {
				case batch.Going:
					adv += gamma*after + gamma*lambda*next
				case batch.Cut:
					adv += gamma * after
				}
				next = adv
				if ro.Own[step] {
					rets, errs = append(rets, adv+v), append(errs, adv)
				}
			}
		}
	}
	all := spread(rets)
	if all < 1e-6*float64(len(rets)) {
		return 0, false
	}
	return 1 - spread(errs)/all, true
}

// learnt returns the rewards [T][N] that an agent learns from: its own, weighted
// by goal, mixed with the team's mean; what the team earns after one has left is
// discounted back to one's last step.
func learnt(ro *batch.Rollout, a agent.ID, s mind.Rewards) []float64 {
	out := make([]float64, ro.Steps*ro.Envs)
	of := func(b agent.ID, t, n int) float64 {
		i := ro.Step(b, t, n)
		r := float64(ro.Reward[i])
		if g := int(ro.Reached[i]); s.Goal != nil && g >= 0 {
			r *= s.Goal[g]
		}
		return r
	}
	for n := range ro.Envs {
		later := 0.
		for t := ro.Steps - 1; t >= 0; t-- {
			if ro.Start[ro.Moment(t+1, n)] {
				later = 0
			}
			team := 0.
			for b := range agent.ID(ro.Agents) {
				team += of(b, t, n) / float64(ro.Agents)
			}
			later = team + s.Gamma*later
			out[t*ro.Envs+n] = s.Scale * (1 - s.Prosocial) * of(a, t, n)
			if ro.Alive[ro.Slot(a, t, n)] {
				out[t*ro.Envs+n] += s.Scale * s.Prosocial * later
				later = 0
			}
		}
	}
	return out
}

// spread returns the sum of squared distances from the mean.
func spread(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	mean, sum := 0., 0.
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum
}
