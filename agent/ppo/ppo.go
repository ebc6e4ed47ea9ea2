// Package ppo learns by proximal policy optimisation (Schulman et al. 2017).
//
// This file is the algorithm, in the order in which it happens: a window's rewards become
// advantages and returns, minibatches of its rows go through the network, and the clipped
// loss, the value loss and the entropy bonus move the weights.
//
// A Brain is one set of weights with its optimiser; the agents that share it
// give it their rows. It learns only from rows at which its own agents were
// alive. Everything it draws comes from its own stream, and no brain reads what
// another writes, so brains learn side by side in any order with the same
// result.
package ppo

import (
	"iter"
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// Update is what a brain learns from, and how. Its zero value, but for the
// window, is plain PPO on that window.
type Update struct {
	*learner.Window
	// Search draws the policy to the search's and the value to the discounted
	// return, half and half (HOP; AlphaZero's loss), in place of PPO's loss. Set
	// Lambda to 1 for returns that use values only where a window cuts an episode.
	Search bool

	// These are for a brain of one agent without an LSTM; nil: nothing.
	Goal   []float32 // [T+1][N][GoalLen] read in place of the window's Goal
	Reward []float32 // [T][N] added to the shaped rewards, before returns are formed
	Adv    []float32 // [T][N] added to the advantages, before they are normalised
}

// crew returns for how many workers there is to be work where a step is not cut into shards. Minds that
// learn side by side are work enough.
func (u *Update) crew() int {
	if u.Beside > 1 {
		return 1
	}
	return u.Cores.Workers()
}

// Learn takes one window by PPO.
func (b *Brain) Learn(w *learner.Window) ([]agent.Stat, error) { return b.Update(Update{Window: w}) }

// Update takes one window. The statistics carry the number of alive rows behind
// them.
//
// Imagined rows never meet played ones before the loss: returns and advantages of
// a row come from its own rollout alone, advantages are normalised apart, and the
// losses of the values are reported apart: ppo/value_loss is of played rows, and
// ppo/value_loss_imagined of the others.
func (b *Brain) Update(u Update) ([]agent.Stat, error) {
	b.check(&u)
	if b.held != nil {
		defer b.held.Announce(false)
	}
	b.trainer.Share(u.Cores)
	b.trainer.Crew(u.crew())
	b.rows.clear()
	if b.trainer.Waits() { // columns are cut by where the last window had its entries
		b.columns.Set(&b.x, u.crew())
	}
	b.columns.Reset(&b.x, b.Model.Cols())
	b.gather(u.Rollout, &u)
	n := len(b.rows.steps)
	b.rows.real = n
	if n == 0 {
		return nil, nil
	}
	if u.Imagined != nil {
		b.gather(u.Imagined.Rollout, &Update{Window: u.Window})
	}
	if u.Imagined == nil || !u.Imagined.Again {
		b.counts.Rows += n
		b.counts.Updates++
	}
	lr := Anneal(b.cfg.LR, b.cfg.LREnd, u.Share)
	b.trainer.Rate = nn.Constant(lr)
	bonus := Anneal(b.cfg.Entropy, b.cfg.EntropyEnd, u.Share)
	var total passStats
	var err error
	if b.held != nil {
		total, err = b.passesElsewhere(lr, bonus, u.Sent)
	} else {
		total, err = b.passes(&u, bonus)
	}
	if err != nil {
		return nil, err
	}
	return b.report(total, lr, u.Search), nil
}

// gather appends the alive rows of the brain's agents of one rollout, with
// advantages and returns that depend on nothing else.
func (b *Brain) gather(ro *batch.Rollout, u *Update) {
	size, begin := ro.Steps*ro.Envs, len(b.rows.steps)
	all := size * len(b.agents)
	b.rewards, b.adv, b.ret = sized(b.rewards, all), sized(b.adv, all), sized(b.ret, all)
	for k, a := range b.agents {
		lo, hi := k*size, (k+1)*size
		rewards, adv, ret := b.rewards[lo:hi], b.adv[lo:hi], b.ret[lo:hi]
		u.Rewards.Apply(rewards, ro, a)
		for i, more := range u.Reward {
			rewards[i] += more
		}
		if b.trial > 0 {
			b.trialAdvantages(adv, ret, ro, k, rewards)
		} else {
			Advantages(adv, ret, ro, a, rewards, float32(b.cfg.Gamma), float32(b.cfg.Lambda))
		}
		if b.cfg.Align > 0 {
			b.align(adv, ro, u.Rewards, a)
		}
		b.collect(ro, u, a, lo)
	}
	if u.Adv != nil {
		for i, at := range b.rows.src {
			b.rows.adv[i] += u.Adv[at]
		}
	}
	if b.cfg.NormAdv {
		normalise(b.rows.adv[begin:])
	}
}

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

// align makes of agent a's advantages, adv [T][N], those of Advantage Alignment (Duque et al. 2025):
//
//	A*_t = A_t + beta gamma (sum_{k < t} gamma^(t-k) A_k) sum_j A^j_t
//
// over the other agents j, at steps that their own policies played: who does not learn answers to no
// gradient. Sums start at the window where an episode began in an earlier one. With A* for A, PPO's
// loss is the paper's proximal form. Returns stay those of the agent's own rewards.
func (b *Brain) align(adv []float32, ro *batch.Rollout, r learner.Rewards, a agent.ID) {
	size, n := ro.Steps*ro.Envs, ro.Envs
	gamma := float32(b.cfg.Gamma)
	b.theirs, b.scratch = sized(b.theirs, size), sized(b.scratch, 3*size)
	rewards, other, ret := b.scratch[:size], b.scratch[size:2*size], b.scratch[2*size:]
	clear(b.theirs)
	for j := range agent.ID(ro.Agents) {
		if j == a {
			continue
		}
		r.Apply(rewards, ro, j)
		Advantages(other, ret, ro, j, rewards, gamma, float32(b.cfg.Lambda))
		for i, own := range ro.Own[ro.Step(j, 0, 0):][:size] {
			if own {
				b.theirs[i] += other[i]
			}
		}
	}
	for e := range n {
		before := float32(0)
		for t := range ro.Steps {
			if ro.Start[ro.Moment(t, e)] {
				before = 0
			}
			i := t*n + e
			own := adv[i]
			adv[i] += float32(b.cfg.Align) * gamma * before * b.theirs[i]
			before = gamma * (before + own)
		}
	}
}

// normalise scales x to mean 0 and deviation 1.
func normalise(x []float32) {
	if len(x) < 2 {
		return
	}
	mean, m2 := 0., 0.
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		m2 += d * d
	}
	scale := 1 / (math.Sqrt(m2/float64(len(x))) + 1e-8)
	for i, v := range x {
		x[i] = float32((float64(v) - mean) * scale)
	}
}

// passes goes over the rows Epochs times, in random minibatches, each a gradient step, unless
// the policy moves too far.
func (b *Brain) passes(u *Update, ent float64) (total passStats, err error) {
	if b.Model.LSTM > 0 {
		b.cut(u.Rollout)
	}
	for range b.cfg.Epochs {
		before := total.kl
		for pick, all := range b.minibatches(u) {
			norm, err := b.trainer.Step(len(pick), &total.sums, func(s *nn.Shard[*work]) (sum sums) {
				w := s.Work
				b.forward(w, s.Params, u.Rollout, pick[s.Lo:s.Hi])
				if u.Search {
					sum = b.imitate(w, all)
				} else {
					sum = b.losses(w, all, ent)
				}
				b.backward(w, s.Params)
				return sum
			})
			if err != nil {
				return total, err
			}
			b.counts.Steps++
			total.steps++
			total.norm += norm
		}
		if b.tooFar(total.kl, before) {
			break
		}
	}
	return total, nil
}

// tooFar reports whether the policy has moved beyond the target in the last pass.
func (b *Brain) tooFar(now, before nn.Loss) bool {
	rows := now.Weight - before.Weight
	return b.cfg.TargetKL > 0 && rows > 0 && (now.Sum-before.Sum)/rows > b.cfg.TargetKL
}

// minibatches goes once over all rows in random order: which rows, a view, and how many. With
// an LSTM it is sequences that are picked.
func (b *Brain) minibatches(u *Update) iter.Seq2[[]int32, int] {
	if b.Model.LSTM > 0 {
		return b.sequenceBatches
	}
	return func(yield func([]int32, int) bool) {
		n, m := b.rows.real, len(b.rows.steps)-b.rows.real
		part := b.cfg.Minibatch
		if m > 0 {
			part = min(max(int(u.Imagined.RealRatio*float64(b.cfg.Minibatch)+0.5), 1), max(b.cfg.Minibatch-1, 1))
		}
		b.order = sized(b.order, n+m)
		played, imagined := b.order[:n], b.order[n:]
		b.rand.Perm(played)
		b.rand.Perm(imagined)
		next := 0
		for lo := 0; lo < n; lo += part {
			b.pick = b.pick[:0]
			rows := played[lo:min(lo+part, n)]
			for _, row := range rows {
				b.pick = append(b.pick, int32(row))
			}
			// As many imagined rows as keep the ratio, some twice if there are too few.
			for range (b.cfg.Minibatch - part) * len(rows) / part {
				b.pick = append(b.pick, int32(n+imagined[next%m]))
				next++
			}
			if !yield(b.pick, len(b.pick)) {
				return
			}
		}
	}
}

// forward puts the picked rows, or sequences, through the network.
func (b *Brain) forward(w *work, p *nn.Params, ro *batch.Rollout, pick []int32) {
	if b.Model.LSTM > 0 {
		b.unroll(w, ro, pick)
		w.ws.ForwardSeq(p, w.seq, w.h0, w.c0)
	} else {
		k := b.Model.Actions
		for i, row := range pick {
			copy(w.legal[i*k:(i+1)*k], b.rows.legal[int(row)*k:])
		}
		w.rows = pick
		w.ws.Pick(&b.x, pick)
		w.ws.Forward(p)
	}
	w.policy.set(w.ws, p, w.legal, len(w.rows))
}

// backward adds the gradients that the losses left in w to p.G.
func (b *Brain) backward(w *work, p *nn.Params) {
	if b.Model.LSTM > 0 {
		w.ws.BackwardSeq(p, w.seq)
	} else {
		w.ws.Backward(p)
	}
}

// losses writes the gradients of the losses of w's rows to its workspace, of a minibatch of
// all rows, and returns their sums: Equation 7 of Schulman et al. 2017 for the policy, a
// squared error for the value, and an entropy bonus. Rows below 0 have none.
func (b *Brain) losses(w *work, all int, ent float64) (sum sums) {
	m, k := len(w.rows), b.Model.Actions
	unit, clip := 1/float32(all), float32(b.cfg.Clip)
	bonus, weight := -float32(ent)*unit, float32(b.cfg.ValueCoef)*unit
	logratio, ratios := w.logratio[:m], w.ratio[:m]
	for i, row := range w.rows {
		logratio[i] = 0
		if row >= 0 {
			logratio[i] = w.policy.logProb(i, b.rows.action[row], b.rows.vectorAt(row, k)) - b.rows.logp[row]
		}
	}
	f32.Exp(ratios, logratio)
	for i, row := range w.rows {
		d := w.ws.DLogits[i*k : (i+1)*k]
		if row < 0 {
			clear(d)
			w.ws.DValue[i] = 0
			continue
		}
		policy, dlogp, clipped := policyLoss(ratios[i], b.rows.adv[row], clip)
		entropy := w.policy.gradTo(d, i, b.rows.action[row], b.rows.vectorAt(row, k), dlogp*unit, bonus)
		value, dv := b.valueLoss(w.ws.Value[i], b.rows.ret[row], b.rows.value[row], clip)
		w.ws.DValue[i] = weight * dv

		sum.policy.Add(policy)
		sum.entropy.Add(entropy)
		if int(row) < b.rows.real {
			sum.values.Add(value)
		} else {
			sum.imagined.Add(value)
		}
		sum.kl.Add(ratios[i] - 1 - logratio[i]) // Schulman's low-variance estimate
		if clipped {
			sum.clipped++
		}
	}
	w.policy.finish(w.ws)
	return sum
}

// policyLoss returns -min(rho A, clip(rho, 1-c, 1+c) A) and its gradient by the new policy's
// log-probability, and whether the ratio rho was clipped.
func policyLoss(ratio, adv, clip float32) (loss, dlogp float32, clipped bool) {
	held := min(max(ratio, 1-clip), 1+clip)
	loss, dlogp = -ratio*adv, -ratio*adv
	if l := -held * adv; l > loss {
		loss, dlogp = l, 0
	}
	return loss, dlogp, held != ratio
}

// valueLoss returns half the squared error of a value v, and its gradient. With ClipValue it
// is the larger one of that and of v held within clip of the old value.
func (b *Brain) valueLoss(v, ret, old, clip float32) (loss, dv float32) {
	e := v - ret
	loss, dv = e*e, e
	if held := min(max(v-old, -clip), clip); b.cfg.ClipValue && held != v-old { // within it both are the same, but for rounding
		if c := old + held - ret; c*c > loss {
			loss, dv = c*c, 0
		}
	}
	return loss / 2, dv
}

// imitate is losses for what is learnt from a search: cross-entropy to its policy and the
// squared error of the value, half and half.
func (b *Brain) imitate(w *work, all int) (sum sums) {
	m, k := len(w.rows), b.Model.Actions
	for i, row := range w.rows {
		copy(w.target[i*k:(i+1)*k], b.rows.target[int(row)*k:])
		w.ret[i] = b.rows.ret[row]
	}
	w.ws.ZeroGrad()
	rows := nn.Rows{N: m, Scale: 0.5, Total: float64(all)}
	sum.policy = w.policy.cat.SoftCrossEntropy(w.ws.DLogits, w.target[:m*k], rows)
	sum.values = nn.MSE(w.ws.DValue, w.ws.Value, w.ret, 1, rows)
	for i := range m {
		sum.entropy.Add(w.policy.cat.Entropy(i))
	}
	return sum
}
