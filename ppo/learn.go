package ppo

import (
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/f32"
	"hop/mind"
	"hop/model/actor"
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
	b.shards.Cores, b.opt.Cores = u.Cores, u.Cores
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
		r.grow(len(r.steps), b.Model.Actions, u.Search)
		b.encode(first, ro, u, a, lo)
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

// encode fills the rows from first on, which are agent a's and whose advantages begin at lo.
// Workers fill a part each; the parts' rows are then put one after the other.
func (b *Brain) encode(first int, ro *batch.Rollout, u *Update, a agent.ID, lo int) {
	parts, n := len(b.works), len(b.rows.steps)-first
	if u.Cores.Workers() == 1 || parts == 1 || n < minRows*parts {
		b.fill(&b.x, b.works[0].ws, ro, u, a, lo, first, first+n)
		return
	}
	u.Cores.Do(&b.gathering, parts, func(i int) {
		x := &b.parts[i].x
		x.Reset(b.x.Cols)
		b.fill(x, b.works[i].ws, ro, u, a, lo, first+i*n/parts, first+(i+1)*n/parts)
	})
	for i := range b.parts {
		b.x.Append(&b.parts[i].x)
	}
}

// minRows is how many rows a part must have for others to help.
const minRows = 64

// fill fills the rows from from to before to, and appends their encodings to x.
func (b *Brain) fill(x *f32.Sparse, ws *actor.Work, ro *batch.Rollout, u *Update, a agent.ID, lo, from, to int) {
	r, k := &b.rows, b.Model.Actions
	step0, slot0 := ro.Step(a, 0, 0), ro.Slot(a, 0, 0)
	for i := from; i < to; i++ {
		step, slot := int(r.steps[i]), int(r.slots[i])
		at := lo + step - step0
		goal := ro.GoalAt(slot)
		if u.Goal != nil {
			goal = u.Goal[(slot-slot0)*ro.GoalLen:][:ro.GoalLen]
		}
		goal = goal[:min(b.Model.Extra, ro.GoalLen)] // one that reads no goals may learn among those that do
		r.src[i], r.action[i], r.logp[i], r.value[i] = int32(at), ro.Action[step], ro.LogProb[step], ro.Value[slot]
		r.adv[i], r.ret[i] = b.adv[at], b.ret[at]
		copy(r.legal[i*k:(i+1)*k], ro.LegalAt(slot))
		r.begins[i] = b.beginning(goal)
		if u.Search {
			copy(r.target[i*k:(i+1)*k], ro.TargetAt(step))
		}
		ws.EncodeNarrow(x, ro.ObsAt(slot), goal)
	}
}

// grow makes room for n rows, with a search's policy where that is learnt from.
func (r *rows) grow(n, actions int, search bool) {
	r.src, r.action = sized(r.src, n), sized(r.action, n)
	r.logp, r.value, r.adv, r.ret = sized(r.logp, n), sized(r.value, n), sized(r.adv, n), sized(r.ret, n)
	r.legal, r.begins = sized(r.legal, n*actions), sized(r.begins, n)
	if search {
		r.target = sized(r.target, n*actions)
	}
}

// sized returns x with n elements, those of before first.
func sized[S ~[]E, E any](x S, n int) S {
	if n > cap(x) {
		x = slices.Grow(x, n-len(x))
	}
	return x[:n]
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
