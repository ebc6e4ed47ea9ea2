package ppo

import (
	"hop/agent"
	"hop/batch"
	"hop/nn"
)

// Distil takes one window of an agent that searches: the policy is drawn to the
// search's, the value to the discounted return, half and half (HOP; AlphaZero's
// loss). It counts and reports as Learn does. Set Lambda to 1 for returns that
// use values only where a window cuts an episode.
func (b *Brain) Distil(ro *batch.Rollout, shape Shape, share float64) ([]agent.Stat, error) {
	b.gather(ro, shape)
	n := len(b.rows.steps)
	if n == 0 {
		return nil, nil
	}
	b.rows.target = b.rows.target[:0]
	for _, step := range b.rows.steps {
		b.rows.target = append(b.rows.target, ro.TargetAt(int(step))...)
	}
	b.RowsSeen += n
	b.Updates++
	lr := at(b.cfg.LR, b.cfg.LREnd, share)
	var total passStats
	b.order = resize(b.order, n)
	for range b.cfg.Epochs {
		b.rand.Perm(b.order)
		for lo := 0; lo < n; lo += b.cfg.Minibatch {
			pick := b.order[lo:min(lo+b.cfg.Minibatch, n)]
			norm, err := b.descend(len(pick), lr, func(w *shardWork, p *nn.Params, lo, hi int) {
				b.imitate(w, p, pick[lo:hi], len(pick))
			})
			total.count(b.works, norm)
			if err != nil {
				return nil, err
			}
		}
	}
	return []agent.Stat{
		{Name: "search/policy_loss", Value: total.policy.Mean(), N: n},
		{Name: "search/value_loss", Value: total.value.Mean(), N: n},
		{Name: "search/entropy", Value: total.entropy.Mean(), N: n},
		{Name: "search/grad_norm", Value: total.norm / float64(max(total.steps, 1)), N: total.steps},
		{Name: "search/explained", Value: b.explained(0, n), N: n},
		{Name: "search/lr", Value: lr, N: n},
	}, nil
}

// imitate adds the gradients of the picked rows, a part of a minibatch of all.
func (b *Brain) imitate(w *shardWork, p *nn.Params, pick []int, all int) {
	k := b.Model.Actions
	for lo := 0; lo < len(pick); lo += block {
		b.pick(w, pick[lo:min(lo+block, len(pick))])
		m := len(w.pick)
		for i, row := range w.pick {
			copy(w.target[i*k:(i+1)*k], b.rows.target[int(row)*k:])
			w.ret[i] = b.rows.ret[row]
		}
		w.ws.Forward(p)
		w.cat.Set(w.ws.Logits, w.legal, m)
		w.ws.ZeroGrad()
		rows := nn.Rows{N: m, Scale: 0.5, Total: float64(all)}
		w.policy = w.policy.Plus(w.cat.SoftCrossEntropy(w.ws.DLogits, w.target[:m*k], rows))
		w.values = w.values.Plus(nn.MSE(w.ws.DValue, w.ws.Value, w.ret, 1, rows))
		var entropy sum
		for i := range m {
			entropy.add(w.cat.Entropy(i))
		}
		entropy.to(&w.entropy)
		w.ws.Backward(p)
	}
}
