package ppo

import (
	"hop/f32"
	"hop/nn"
)

// passStats sums what the gradient steps of a window reported.
type passStats struct {
	policy, value, entropy, kl nn.Loss
	imagined                   nn.Loss // value, on imagined rows
	clipped, steps             int
	norm                       float64
}

// count takes what the shards of one gradient step summed up.
func (s *passStats) count(parts []part, norm float64) {
	s.steps++
	s.norm += norm
	for i := range parts {
		w := &parts[i].sums
		s.policy, s.value = s.policy.Plus(w.policy), s.value.Plus(w.values)
		s.entropy, s.kl = s.entropy.Plus(w.entropy), s.kl.Plus(w.kl)
		s.imagined = s.imagined.Plus(w.imagined)
		s.clipped += w.clipped
		*w = sums{}
	}
}

// passes goes over the rows in random minibatches.
func (b *Brain) passes(u *Update, lr, ent float64) (passStats, error) {
	var total passStats
	if b.Model.LSTM > 0 {
		return b.passesSeq(u.Rollout, lr, ent)
	}
	n, m := b.rows.real, len(b.rows.steps)-b.rows.real
	part, ratio := b.cfg.Minibatch, 1.
	if m > 0 {
		ratio = u.Imagined.RealRatio
		part = min(max(int(ratio*float64(b.cfg.Minibatch)+0.5), 1), max(b.cfg.Minibatch-1, 1))
	}
	b.order = resize(b.order, n+m)
	played, imagined := b.order[:n], b.order[n:]
	var mixed []int
	for range b.cfg.Epochs {
		b.rand.Perm(played)
		b.rand.Perm(imagined)
		before, next := total.kl, 0
		for lo := 0; lo < n; lo += part {
			pick := played[lo:min(lo+part, n)]
			if m > 0 { // as many imagined rows as keep the ratio, some twice if there are too few
				mixed = append(mixed[:0], pick...)
				for range (b.cfg.Minibatch - part) * len(pick) / part {
					mixed = append(mixed, n+imagined[next%m])
					next++
				}
				pick = mixed
			}
			norm, err := b.descend(len(pick), lr, func(w *shardWork, p *nn.Params, lo, hi int) {
				if u.Search {
					b.imitate(w, p, pick[lo:hi], len(pick))
				} else {
					b.minibatch(w, p, pick[lo:hi], len(pick), ent)
				}
			})
			total.count(b.parts, norm)
			if err != nil {
				return total, err
			}
		}
		if b.tooFar(total.kl, before) {
			break
		}
	}
	return total, nil
}

// descend takes one gradient step on n rows; add adds the gradients of those from
// lo to before hi to p. It returns the gradient's norm.
func (b *Brain) descend(n int, lr float64, add func(w *shardWork, p *nn.Params, lo, hi int)) (float64, error) {
	b.fold()
	inOrder := b.shards.Cores != nil && b.shards.Cores.Workers() == 1 // then what follows need not wait, and is near
	b.shards.Do(n, func(shard, lo, hi int) {
		w, part := b.take(b.shards.Worker(shard)), &b.parts[shard]
		add(w, b.narrow[shard], lo, hi)
		part.sums, w.sums = w.sums, sums{}
		if b.later {
			w.ws.Keep(part.kept)
			if inOrder {
				b.Model.GradLater(b.Params, part.kept)
				w.ws.Keep(part.kept) // takes its own memory back
			} else {
				part.pick, w.pick = w.pick, part.pick
			}
		}
		b.giveBack(w)
	})
	for shard := 0; b.later && !inOrder && shard < len(b.parts); shard++ {
		if lo, hi := b.shards.Range(n, shard); lo < hi {
			b.Model.GradLater(b.Params, b.parts[shard].kept)
		}
	}
	b.Model.Unfold(b.Params)
	norm, err := b.opt.Step(lr, b.cfg.MaxGrad)
	if err == nil {
		b.counts.Steps++
	}
	return norm, err
}

// fold makes the weights for narrow rows those of now.
func (b *Brain) fold() {
	if b.folded != nil {
		b.Model.Fold(b.folded, b.Params)
	}
}

// tooFar reports whether the policy has moved beyond the target in the last pass.
func (b *Brain) tooFar(now, before nn.Loss) bool {
	rows := now.Weight - before.Weight
	return b.cfg.TargetKL > 0 && rows > 0 && (now.Sum-before.Sum)/rows > b.cfg.TargetKL
}

func resize(x []int, n int) []int {
	if cap(x) < n {
		return make([]int, n)
	}
	return x[:n]
}

// block is how many rows go through the network at a time: few enough for what
// is computed on the way to stay near, and a multiple of the products' 12 rows.
const block = 132

// minibatch adds the gradients of the picked rows, a part of a minibatch of all
// rows.
func (b *Brain) minibatch(w *shardWork, p *nn.Params, pick []int, all int, ent float64) {
	for lo := 0; lo < len(pick); lo += block {
		b.pick(w, pick[lo:min(lo+block, len(pick))])
		w.ws.Forward(p)
		w.cat.Set(w.ws.Logits, w.legal, len(w.pick))
		b.losses(w, all, ent)
		w.ws.Backward(p)
	}
}

// imitate is minibatch for what is learnt from a search.
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

// pick makes these the rows of w.
func (b *Brain) pick(w *shardWork, rows []int) {
	k := b.Model.Actions
	w.pick = w.pick[:0]
	for i, row := range rows {
		w.pick = append(w.pick, int32(row))
		copy(w.legal[i*k:(i+1)*k], b.rows.legal[row*k:(row+1)*k])
	}
	w.ws.Pick(&b.x, w.pick)
}

// losses adds the losses of w's rows to its sums and writes their gradients to
// its workspace: Equation 7 of Schulman et al. 2017 for the policy, a squared
// error for the value, and an entropy bonus. Rows below 0 have none.
func (b *Brain) losses(w *shardWork, all int, ent float64) {
	m, k := len(w.pick), b.Model.Actions
	unit, clip := 1/float32(all), float32(b.cfg.Clip)
	bonus, weight := -float32(ent)*unit, float32(b.cfg.ValueCoef)*unit
	logratio, ratios := w.logratio[:m], w.ratio[:m]
	for i, row := range w.pick {
		logratio[i] = 0
		if row >= 0 {
			logratio[i] = w.cat.LogProb(i, b.rows.action[row]) - b.rows.logp[row]
		}
	}
	f32.Exp(ratios, logratio)
	var policy, values, imagined, entropy, kl sum
	for i, row := range w.pick {
		d := w.ws.DLogits[i*k : (i+1)*k]
		if row < 0 {
			clear(d)
			w.ws.DValue[i] = 0
			continue
		}
		adv, ret, ratio := b.rows.adv[row], b.rows.ret[row], ratios[i]
		held := min(max(ratio, 1-clip), 1+clip)
		loss, dlogp := -ratio*adv, -ratio*adv
		if l := -held * adv; l > loss {
			loss, dlogp = l, 0
		}
		if held != ratio {
			w.clipped++
		}
		entropy.add(w.cat.GradTo(d, i, b.rows.action[row], dlogp*unit, bonus))

		v := w.ws.Value[i]
		e := v - ret
		vloss, dv := e*e, e
		if b.cfg.ClipValue {
			old := b.rows.value[row]
			if c := old + min(max(v-old, -clip), clip) - ret; c*c > vloss {
				vloss, dv = c*c, 0
			}
		}
		w.ws.DValue[i] = weight * dv // of half the square

		policy.add(loss)
		if int(row) < b.rows.real {
			values.add(vloss / 2)
		} else {
			imagined.add(vloss / 2)
		}
		kl.add(ratio - 1 - logratio[i]) // Schulman's low-variance estimate
	}
	policy.to(&w.policy)
	values.to(&w.values)
	imagined.to(&w.imagined)
	entropy.to(&w.entropy)
	kl.to(&w.kl)
}

// sum is a loss of rows that all weigh 1.
type sum struct {
	v float64
	n int
}

func (s *sum) add(v float32) {
	s.v += float64(v)
	s.n++
}

func (s *sum) to(l *nn.Loss) {
	*l = l.Plus(nn.Loss{Sum: s.v, Weight: float64(s.n), Rows: s.n})
}
