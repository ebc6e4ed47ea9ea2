package reference

import (
	"math"

	"hop/agent"
	"hop/batch"
	"hop/game"
)

// Earned returns what agent a learns from at every step, [T][N]: the reward, with
// the rewards of steps that reach a goal weighted by it, and a share of the team's
// mean. With such a share who has left goes on earning: what the team gets later is
// discounted back to the last step.
func Earned(ro *batch.Rollout, a agent.ID, s Rewards) []float64 {
	out := make([]float64, ro.Steps*ro.Envs)
	paid := func(b agent.ID, t, n int) float64 {
		i := ro.Step(b, t, n)
		if g := int(ro.Reached[i]); s.Goal != nil && g != game.NoGoal {
			return float64(ro.Reward[i]) * s.Goal[g]
		}
		return float64(ro.Reward[i])
	}
	for n := range ro.Envs {
		for t := range ro.Steps {
			out[t*ro.Envs+n] = s.Scale * (1 - s.Prosocial) * paid(a, t, n)
			if s.Prosocial == 0 || !ro.Alive[ro.Slot(a, t, n)] {
				continue
			}
			worth := 1. // the team's reward now, and later ones if this was the agent's last step of the episode
			for u := t; u < ro.Steps; u++ {
				if u > t && (ro.Start[ro.Moment(u, n)] || ro.Alive[ro.Slot(a, u, n)]) {
					break
				}
				for b := range agent.ID(ro.Agents) {
					out[t*ro.Envs+n] += worth * s.Scale * s.Prosocial / float64(ro.Agents) * paid(b, u, n)
				}
				worth *= s.Gamma
			}
		}
	}
	return out
}

// Advantages returns the generalised advantage estimates (Schulman et al. 2016,
// equation 16) and the lambda-returns of agent a, both [T][N], each as the sum that
// defines it; rows at which it is not alive are 0. An exit is worth nothing more; a
// cut is worth the value after it.
func Advantages(ro *batch.Rollout, a agent.ID, earned []float64, gamma, lambda float64) (adv, ret []float64) {
	size := ro.Steps * ro.Envs
	adv, ret = make([]float64, size), make([]float64, size)
	value := func(t, n int) float64 { return float64(ro.Value[ro.Slot(a, t, n)]) }
	for n := range ro.Envs {
		for t := range ro.Steps {
			if !ro.Alive[ro.Slot(a, t, n)] {
				continue
			}
			i, weight := t*ro.Envs+n, 1.
			for u := t; u < ro.Steps; u++ {
				delta := earned[u*ro.Envs+n] - value(u, n)
				end := ro.End[ro.Step(a, u, n)]
				if end != batch.Exited {
					delta += gamma * value(u+1, n)
				}
				adv[i] += weight * delta
				if end != batch.Going {
					break
				}
				weight *= gamma * lambda
			}
			ret[i] = adv[i] + value(t, n)
		}
	}
	return adv, ret
}

// standard scales x to mean 0 and deviation 1.
func standard(x []float64) {
	if len(x) < 2 {
		return
	}
	mean, square := 0., 0.
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		square += (v - mean) * (v - mean) / float64(len(x))
	}
	for i := range x {
		x[i] = (x[i] - mean) / (math.Sqrt(square) + 1e-8)
	}
}

// Explained is how much of the variance of returns the values explained.
func Explained(ret, value []float64) float64 {
	n := float64(len(ret))
	var mr, me, vr, ve float64
	for i, r := range ret {
		mr, me = mr+r/n, me+(r-value[i])/n
	}
	for i, r := range ret {
		vr += (r - mr) * (r - mr)
		ve += (r - value[i] - me) * (r - value[i] - me)
	}
	if vr == 0 {
		return 0
	}
	return 1 - ve/vr
}
