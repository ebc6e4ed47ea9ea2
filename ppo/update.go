package ppo

import (
	"math"

	"hop/nn"
)

// passStats sums what the gradient steps of a window reported.
type passStats struct {
	policy, value, entropy, kl nn.Loss
	imagined                   nn.Loss // value, on imagined rows
	clipped, steps             int
	norm                       float64
}

func (s *passStats) add(w *shardWork) {
	s.policy, s.value = s.policy.Plus(w.policy), s.value.Plus(w.values)
	s.entropy, s.kl = s.entropy.Plus(w.entropy), s.kl.Plus(w.kl)
	s.imagined = s.imagined.Plus(w.imagined)
	s.clipped += w.clipped
}

// passes goes over the rows in random minibatches.
func (b *Brain) passes(lr, ent float64) (passStats, error) {
	var total passStats
	n := len(b.rows.steps)
	b.order = resize(b.order, n)
	for range b.cfg.Epochs {
		b.rand.Perm(b.order)
		before := total.kl
		for lo := 0; lo < n; lo += b.cfg.Minibatch {
			if err := b.step(b.order[lo:min(lo+b.cfg.Minibatch, n)], lr, ent, &total); err != nil {
				return total, err
			}
		}
		if b.tooFar(total.kl, before) {
			break
		}
	}
	return total, nil
}

// step takes one gradient step on the picked rows.
func (b *Brain) step(pick []int, lr, ent float64, total *passStats) error {
	b.shards.Do(len(pick), func(shard, lo, hi int) {
		b.minibatch(&b.works[shard], b.shards.Params[shard], pick[lo:hi], len(pick), ent)
	})
	norm, err := b.opt.Step(lr, b.cfg.MaxGrad)
	if err != nil {
		return err
	}
	b.Steps++
	total.steps++
	total.norm += norm
	for i := range b.works {
		total.add(&b.works[i])
		b.works[i].clear()
	}
	return nil
}

// tooFar reports whether the policy has moved beyond the target in the last pass.
func (b *Brain) tooFar(now, before nn.Loss) bool {
	rows := now.Weight - before.Weight
	return b.cfg.TargetKL > 0 && rows > 0 && (now.Sum-before.Sum)/rows > b.cfg.TargetKL
}

func (w *shardWork) clear() {
	w.policy, w.values, w.entropy, w.kl, w.clipped = nn.Loss{}, nn.Loss{}, nn.Loss{}, nn.Loss{}, 0
	w.imagined = nn.Loss{}
}

func resize(x []int, n int) []int {
	if cap(x) < n {
		return make([]int, n)
	}
	return x[:n]
}

// minibatch adds the gradients of the picked rows, a part of a minibatch of all
// rows.
func (b *Brain) minibatch(w *shardWork, p *nn.Params, pick []int, all int, ent float64) {
	k := b.Model.Actions
	w.ws.Reset()
	for i, row := range pick {
		w.ws.AddFrom(&b.x, int32(row))
		copy(w.legal[i*k:(i+1)*k], b.rows.legal[row*k:(row+1)*k])
	}
	w.ws.Forward(p)
	w.cat.Set(w.ws.Logits, w.legal, len(pick))
	w.ws.ZeroGrad()
	for i, row := range pick {
		b.row(w, i, row, all, ent)
	}
	w.ws.Backward(p)
}

// row adds the losses of one row to w and their gradients to its workspace.
// Equation 7 of Schulman et al. 2017 for the policy, a squared error for the
// value, and an entropy bonus.
func (b *Brain) row(w *shardWork, i, row, all int, ent float64) {
	unit := 1 / float32(all)
	clip := float32(b.cfg.Clip)
	adv, ret, old := b.rows.adv[row], b.rows.ret[row], b.rows.value[row]
	act := b.rows.action[row]
	logratio := w.cat.LogProb(i, act) - b.rows.logp[row]
	ratio := float32(math.Exp(float64(logratio)))
	held := min(max(ratio, 1-clip), 1+clip)
	loss, dlogp := -ratio*adv, -ratio*adv
	if l := -held * adv; l > loss {
		loss, dlogp = l, 0
	}
	h := w.cat.Entropy(i)
	w.cat.Grad(w.ws.DLogits[i*b.Model.Actions:], i, act, dlogp*unit, -float32(ent)*unit)

	v := w.ws.Value[i]
	e := v - ret
	vloss, dv := e*e, e
	if b.cfg.ClipValue {
		moved := min(max(v-old, -clip), clip)
		if c := old + moved - ret; c*c > vloss {
			vloss, dv = c*c, 0
		}
	}
	w.ws.DValue[i] = 2 * 0.5 * float32(b.cfg.ValueCoef) * dv * unit

	if held != ratio {
		w.clipped++
	}
	count(&w.policy, loss)
	if row < b.rows.real {
		count(&w.values, vloss/2)
	} else {
		count(&w.imagined, vloss/2)
	}
	count(&w.entropy, h)
	count(&w.kl, ratio-1-logratio) // Schulman's low-variance estimate
}

func count(l *nn.Loss, v float32) {
	l.Sum += float64(v)
	l.Weight++
	l.Rows++
}
