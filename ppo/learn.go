package ppo

import (
	"hop/agent"
	"hop/batch"
	"hop/mind"
)

// Update is what a brain learns from, and how. Its zero value, but for the
// window, is plain PPO on that window.
type Update struct {
	*mind.Window
	// Search draws the policy to the search's and the value to the discounted
	// return, half and half (HOP; AlphaZero's loss), in place of PPO's loss. Set
	// Lambda to 1 for returns that use values only where a window cuts an episode.
	Search bool

	// These are for a brain of one agent without an LSTM; nil: nothing.
	Goal   []float32 // [T+1][N][GoalLen] read in place of the window's Goal
	Reward []float32 // [T][N] added to the shaped rewards, before returns are formed
	Adv    []float32 // [T][N] added to the advantages, before they are normalised
}

// Learn takes one window by PPO.
func (b *Brain) Learn(w *mind.Window) ([]agent.Stat, error) { return b.Update(Update{Window: w}) }

// Update takes one window. The statistics carry the number of alive rows behind
// them.
//
// Imagined rows never meet played ones before the loss: returns and advantages of
// a row come from its own rollout alone, advantages are normalised apart, and the
// losses of the values are reported apart: ppo/value_loss is of played rows, and
// ppo/value_loss_imagined of the others.
func (b *Brain) Update(u Update) ([]agent.Stat, error) {
	if (u.Goal != nil || u.Reward != nil || u.Adv != nil) && (len(b.agents) != 1 || b.Model.LSTM > 0) {
		panic("ppo: only a brain of one agent without an LSTM can learn with something added")
	}
	b.rows.clear()
	b.x.Reset(b.Model.Cols())
	b.gather(u.Rollout, &u)
	n := len(b.rows.steps)
	b.rows.real = n
	if n == 0 {
		return nil, nil
	}
	if u.Imagined != nil {
		if b.Model.LSTM > 0 {
			panic("ppo: an LSTM cannot learn from imagined rows")
		}
		b.gather(u.Imagined.Rollout, &Update{Window: u.Window})
	}
	if u.Imagined == nil || !u.Imagined.Again {
		b.counts.Rows += n
		b.counts.Updates++
	}
	lr := at(b.cfg.LR, b.cfg.LREnd, u.Share)
	total, err := b.passes(&u, lr, at(b.cfg.Entropy, b.cfg.EntropyEnd, u.Share))
	if err != nil {
		return nil, err
	}
	return b.report(total, lr, u.Search), nil
}

// gather appends the alive rows of the brain's agents of one rollout, with
// advantages and returns that depend on nothing else.
func (b *Brain) gather(ro *batch.Rollout, u *Update) {
	size := ro.Steps * ro.Envs
	if all := size * len(b.agents); cap(b.adv) < all {
		b.rewards, b.adv, b.ret = make([]float32, all), make([]float32, all), make([]float32, all)
	}
	b.rewards, b.adv, b.ret = b.rewards[:size*len(b.agents)], b.adv[:size*len(b.agents)], b.ret[:size*len(b.agents)]
	r := &b.rows
	begin := len(r.steps)
	ws := b.works[0].ws
	for k, a := range b.agents {
		lo, hi := k*size, (k+1)*size
		u.Rewards.Apply(b.rewards[lo:hi], ro, a)
		for i, more := range u.Reward {
			b.rewards[i] += more
		}
		if b.trial > 0 {
			b.trialAdvantages(b.adv[lo:hi], b.ret[lo:hi], ro, k, b.rewards[lo:hi])
		} else {
			Advantages(b.adv[lo:hi], b.ret[lo:hi], ro, a, b.rewards[lo:hi], float32(b.cfg.Gamma), float32(b.cfg.Lambda))
		}
		first := len(r.steps)
		r.steps, r.slots = ro.OwnRows(a, r.steps, r.slots)
		step0, slot0 := ro.Step(a, 0, 0), ro.Slot(a, 0, 0)
		for i := first; i < len(r.steps); i++ {
			step, slot := int(r.steps[i]), int(r.slots[i])
			at := lo + step - step0
			goal := ro.GoalAt(slot)[:min(b.Model.Extra, ro.GoalLen)]
			if u.Goal != nil {
				goal = u.Goal[(slot-slot0)*ro.GoalLen:][:ro.GoalLen]
			}
			goal = goal[:min(b.Model.Extra, ro.GoalLen)] // one that reads no goals may learn among those that do
			r.src = append(r.src, int32(at))
			r.action = append(r.action, ro.Action[step])
			r.logp = append(r.logp, ro.LogProb[step])
			r.value = append(r.value, ro.Value[slot])
			r.adv = append(r.adv, b.adv[at])
			r.ret = append(r.ret, b.ret[at])
			r.legal = append(r.legal, ro.LegalAt(slot)...)
			r.begins = append(r.begins, b.beginning(goal))
			if u.Search {
				r.target = append(r.target, ro.TargetAt(step)...)
			}
			ws.EncodeNarrow(&b.x, ro.ObsAt(slot), goal)
		}
	}
	if u.Adv != nil {
		for i, at := range r.src {
			r.adv[i] += u.Adv[at]
		}
	}
	if b.cfg.NormAdv {
		normalise(r.adv[begin:])
	}
}

// clear empties the rows and keeps their memory.
func (r *rows) clear() {
	r.steps, r.slots, r.src = r.steps[:0], r.slots[:0], r.src[:0]
	r.action, r.logp, r.value, r.adv, r.ret = r.action[:0], r.logp[:0], r.value[:0], r.adv[:0], r.ret[:0]
	r.legal, r.target, r.begins = r.legal[:0], r.target[:0], r.begins[:0]
}

// report names what the gradient steps of a window added up.
func (b *Brain) report(total passStats, lr float64, search bool) []agent.Stat {
	n := b.rows.real
	name := "ppo/"
	if search {
		name = "search/"
	}
	stats := []agent.Stat{
		{Name: name + "policy_loss", Value: total.policy.Mean(), N: n},
		{Name: name + "value_loss", Value: total.value.Mean(), N: n},
		{Name: name + "entropy", Value: total.entropy.Mean(), N: n},
		{Name: name + "grad_norm", Value: total.norm / float64(max(total.steps, 1)), N: total.steps},
		{Name: name + "explained", Value: b.explained(0, n), N: n},
		{Name: name + "lr", Value: lr, N: n},
	}
	if search {
		return stats
	}
	stats = append(stats, agent.Stat{Name: "ppo/kl", Value: total.kl.Mean(), N: n})
	if b.cfg.Clip < 1 { // else hardly anything can be
		stats = append(stats, agent.Stat{Name: "ppo/clipped", Value: float64(total.clipped) / float64(max(total.policy.Rows, 1)), N: n})
	}
	if m := len(b.rows.steps) - n; m > 0 {
		both := total.imagined.Rows + total.value.Rows
		stats = append(stats,
			agent.Stat{Name: "ppo/value_loss_imagined", Value: total.imagined.Mean(), N: m},
			agent.Stat{Name: "ppo/explained_imagined", Value: b.explained(n, n+m), N: m},
			agent.Stat{Name: "ppo/imagined_share", Value: float64(total.imagined.Rows) / float64(max(both, 1)), N: both})
	}
	return stats
}
