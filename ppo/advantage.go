package ppo

import (
	"hop/agent"
	"hop/batch"
)

// Advantages writes agent a's generalised advantage estimates (Schulman et al.
// 2016) and returns-to-go, adv and ret, both [T][N]. rewards is [T][N] too, what
// the agent learns from. Rows at which the agent is not alive are zero.
//
//	delta_t = r_t + gamma V_{t+1} - V_t
//	A_t     = delta_t + gamma lambda A_{t+1}
//
// An exit ends both: nothing follows. A cut bootstraps from V_{t+1} and ends
// the sum, because what follows belongs to another window or episode.
func Advantages(adv, ret []float32, ro *batch.Rollout, a agent.ID, rewards []float32, gamma, lambda float32) {
	n := ro.Envs
	for t := ro.Steps - 1; t >= 0; t-- {
		step, slot, next := ro.Step(a, t, 0), ro.Slot(a, t, 0), ro.Slot(a, t+1, 0)
		for e := range n {
			i := t*n + e
			adv[i], ret[i] = 0, 0
			if !ro.Alive[slot+e] {
				continue
			}
			v := ro.Value[slot+e]
			delta := rewards[i] - v
			switch ro.End[step+e] {
			case batch.Going:
				delta += gamma * ro.Value[next+e]
				if t+1 < ro.Steps {
					delta += gamma * lambda * adv[i+n]
				}
			case batch.Cut:
				delta += gamma * ro.Value[next+e]
			}
			adv[i], ret[i] = delta, delta+v
		}
	}
}
