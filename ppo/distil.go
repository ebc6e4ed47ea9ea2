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
	var policy, value, entropy nn.Loss
	norms, steps := 0., 0
	b.order = resize(b.order, n)
	for range b.cfg.Epochs {
		b.rand.Perm(b.order)
		for lo := 0; lo < n; lo += b.cfg.Minibatch {
			pick := b.order[lo:min(lo+b.cfg.Minibatch, n)]
			b.shards.Do(len(pick), func(shard, lo, hi int) {
				b.imitate(&b.works[shard], b.shards.Params[shard], pick[lo:hi], len(pick))
			})
			norm, err := b.opt.Step(lr, b.cfg.MaxGrad)
			if err != nil {
				return nil, err
			}
			b.Steps++
			steps++
			norms += norm
			for i := range b.works {
				w := &b.works[i]
				policy, value, entropy = policy.Plus(w.policy), value.Plus(w.values), entropy.Plus(w.entropy)
				w.clear()
			}
		}
	}
	return []agent.Stat{
		{Name: "search/policy_loss", Value: policy.Mean(), N: n},
		{Name: "search/value_loss", Value: value.Mean(), N: n},
		{Name: "search/entropy", Value: entropy.Mean(), N: n},
		{Name: "search/grad_norm", Value: norms / float64(max(steps, 1)), N: steps},
		{Name: "search/explained", Value: b.explained(0, n), N: n},
		{Name: "search/lr", Value: lr, N: n},
	}, nil
}

// imitate adds the gradients of the picked rows, a part of a minibatch of all.
func (b *Brain) imitate(w *shardWork, p *nn.Params, pick []int, all int) {
	k := b.Model.Actions
	w.ws.Reset()
	for i, row := range pick {
		w.ws.AddFrom(&b.x, int32(row))
		copy(w.legal[i*k:(i+1)*k], b.rows.legal[row*k:(row+1)*k])
		copy(w.target[i*k:(i+1)*k], b.rows.target[row*k:(row+1)*k])
		w.ret[i] = b.rows.ret[row]
	}
	m := len(pick)
	w.ws.Forward(p)
	w.cat.Set(w.ws.Logits, w.legal, m)
	w.ws.ZeroGrad()
	rows := nn.Rows{N: m, Scale: 0.5, Total: float64(all)}
	w.policy = w.cat.SoftCrossEntropy(w.ws.DLogits, w.target[:m*k], rows)
	w.values = nn.MSE(w.ws.DValue, w.ws.Value, w.ret, 1, rows)
	for i := range pick {
		count(&w.entropy, w.cat.Entropy(i))
	}
	w.ws.Backward(p)
}
