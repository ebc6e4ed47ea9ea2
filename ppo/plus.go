package ppo

import (
	"hop/agent"
	"hop/batch"
)

// Plus is what is added to what a window alone would teach a brain of one agent.
// Both are [T][N]; nil adds nothing. Rows at which the agent's own policy did not
// act are not read.
type Plus struct {
	Reward []float32 // added to the shaped rewards, before returns are formed
	Adv    []float32 // added to the advantages, before they are normalised
}

// LearnPlus is Learn with something added. The brain must have one agent and no
// LSTM.
func (b *Brain) LearnPlus(ro *batch.Rollout, shape Shape, share float64, plus Plus) ([]agent.Stat, error) {
	if len(b.Agents) != 1 || b.Model.LSTM > 0 {
		panic("ppo: only a brain of one agent without an LSTM can learn with something added")
	}
	norm := b.cfg.NormAdv
	b.cfg.NormAdv = false
	b.gather(ro, shape)
	b.cfg.NormAdv = norm
	n := len(b.rows.steps)
	if n == 0 {
		return nil, nil
	}
	if plus.Reward != nil {
		b.pay(ro, plus.Reward)
	}
	if plus.Adv != nil {
		for i, at := range b.rows.src {
			b.rows.adv[i] += plus.Adv[at]
		}
	}
	if norm {
		normalise(b.rows.adv)
	}
	b.RowsSeen += n
	b.Updates++
	lr := at(b.cfg.LR, b.cfg.LREnd, share)
	total, err := b.passes(lr, at(b.cfg.Entropy, b.cfg.EntropyEnd, share))
	if err != nil {
		return nil, err
	}
	return b.report(total, lr), nil
}

// pay forms advantages and returns anew with more reward.
func (b *Brain) pay(ro *batch.Rollout, more []float32) {
	a := b.Agents[0]
	for i := range b.rewards {
		b.rewards[i] += more[i]
	}
	Advantages(b.adv, b.ret, ro, a, b.rewards, float32(b.cfg.Gamma), float32(b.cfg.Lambda))
	for i, at := range b.rows.src {
		b.rows.adv[i], b.rows.ret[i] = b.adv[at], b.ret[at]
	}
}
