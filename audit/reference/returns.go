package reference

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

// Earned returns what agent a learns from at every step, [T][N], by the window's rewards.
func (w *Window) Earned(a agent.ID) []float64 { return earned(w.Rollout, a, w.Rewards) }

// earned returns what agent a learns from at every step, [T][N]: the reward, with
// the rewards of steps that reach a goal weighted by it, and a share of the team's
// mean. With such a share who has left goes on earning: what the team gets later is
// discounted back to the last step.
func earned(ro *batch.Rollout, a agent.ID, s Rewards) []float64 {
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

// AdvantageStep is what an advantage follows from: a step's reward and value, and of the
// next step, 0 after an exit, reward, value and advantage.
type AdvantageStep struct {
	Reward, Value                  float64
	NextReward, NextValue, NextAdv float64
	Gamma, Lambda                  float64
}

// Estimate is generalised advantage estimation (Schulman et al. 2016, equation 16).
func (s AdvantageStep) Estimate() float64 {
	return s.Reward + s.Gamma*s.NextValue - s.Value + s.Gamma*s.Lambda*s.NextAdv
}

// AdvantageSlip is a way to get it wrong: its name, as in "what ... would give", what is
// said of advantages that agree with it ("" where it is only tried on the one or the
// other), and what it makes of a step.
type AdvantageSlip struct {
	Name, Says string
	Of         func(s AdvantageStep) float64
}

// AdvantageSlips are those that are tried, on updates and on recorded advantages alike.
var AdvantageSlips = []AdvantageSlip{
	{"no discount", "The discount is left out: gamma is 1.", func(s AdvantageStep) float64 { s.Gamma = 1; return s.Estimate() }},
	{"", "The value of the next step is left out.", func(s AdvantageStep) float64 { return s.Reward - s.Value }},
	{"", "They are errors of one step: the next advantage is left out.", func(s AdvantageStep) float64 { s.Lambda = 0; return s.Estimate() }},
	{"", "Nothing is discounted.", func(s AdvantageStep) float64 { s.Gamma, s.Lambda = 1, 1; return s.Estimate() }},
	{"lambda 1", "They are discounted by gamma alone: lambda is 1.", func(s AdvantageStep) float64 { s.Lambda = 1; return s.Estimate() }},
	{"lambda 0", "", func(s AdvantageStep) float64 { s.Lambda = 0; return s.Estimate() }},
	{"a lambda without the discount", "They are discounted by lambda alone.", func(s AdvantageStep) float64 {
		s.Lambda /= s.Gamma
		return s.Estimate()
	}},
	{"", "The value of the next step is not discounted.", func(s AdvantageStep) float64 {
		s.NextValue /= s.Gamma
		return s.Estimate()
	}},
	{"", "The reward is that of the next step.", func(s AdvantageStep) float64 { s.Reward = s.NextReward; return s.Estimate() }},
	{"", "The own value is not taken off: they are returns.", func(s AdvantageStep) float64 {
		s.Value, s.NextAdv = 0, s.NextAdv-s.NextValue
		return s.Estimate()
	}},
}

// Advantages returns the advantages and the lambda-returns of agent a, both [T][N]; rows
// at which it is not alive are 0. An exit is worth nothing more; a cut is worth the value
// after it.
func (w *Window) Advantages(a agent.ID, c PPO) (adv, ret []float64) {
	return advantages(w.Rollout, a, w.Earned(a), c.Gamma, c.Lambda, nil)
}

// advantages are those of what was earned. A slip, if not nil, stands for the definition.
func advantages(ro *batch.Rollout, a agent.ID, earned []float64, gamma, lambda float64, slip *AdvantageSlip) (adv, ret []float64) {
	adv, ret = make([]float64, ro.Steps*ro.Envs), make([]float64, ro.Steps*ro.Envs)
	value := func(t, n int) float64 { return float64(ro.Value[ro.Slot(a, t, n)]) }
	for i := len(adv) - 1; i >= 0; i-- {
		t, n := i/ro.Envs, i%ro.Envs
		if !ro.Alive[ro.Slot(a, t, n)] {
			continue
		}
		s := AdvantageStep{Reward: earned[i], Value: value(t, n), Gamma: gamma, Lambda: lambda}
		switch ro.End[ro.Step(a, t, n)] {
		case batch.Cut:
			s.NextValue = value(t+1, n)
		case batch.Going:
			s.NextValue = value(t+1, n)
			if t+1 < ro.Steps {
				s.NextAdv, s.NextReward = adv[i+ro.Envs], earned[i+ro.Envs]
			}
		}
		if adv[i] = s.Estimate(); slip != nil {
			adv[i] = slip.Of(s)
		}
		ret[i] = adv[i] + s.Value
	}
	return adv, ret
}

// Aligned returns the advantages of agent a by Advantage Alignment (Duque et al. 2025), [T][N].
func (w *Window) Aligned(a agent.ID, c PPO) []float64 {
	adv, _ := w.Advantages(a, c)
	return aligned(w.Rollout, a, adv, c, w.Rewards, nil)
}

// aligned adds to each advantage, for every other agent that played by its own policy there, its
// advantage times the discounted sum of one's own of the episode's earlier steps that the window shows.
func aligned(ro *batch.Rollout, a agent.ID, adv []float64, c PPO, rewards Rewards, slip *AdvantageSlip) []float64 {
	out := slices.Clone(adv)
	for j := range agent.ID(ro.Agents) {
		if j == a {
			continue
		}
		theirs, _ := advantages(ro, j, earned(ro, j, rewards), c.Gamma, c.Lambda, slip)
		for i := range out {
			t, n := i/ro.Envs, i%ro.Envs
			if !ro.Own[ro.Step(j, t, n)] {
				continue
			}
			for k := t; k > 0 && !ro.Start[ro.Moment(k, n)]; k-- {
				out[i] += c.Align * c.Gamma * math.Pow(c.Gamma, float64(t-k+1)) * adv[(k-1)*ro.Envs+n] * theirs[i]
			}
		}
	}
	return out
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

// explained is how much of the variance of returns the values explained.
func explained(ret, value []float64) float64 {
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
