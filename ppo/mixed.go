package ppo

import (
	"hop/agent"
	"hop/batch"
)

// Mixture says what a window is learnt from besides itself.
type Mixture struct {
	Imagined  *batch.Rollout // of any length and number of envs; of the same agents
	RealRatio float64        // share of played rows in each minibatch, above 0 and below 1
	Again     bool           // the played window has been learnt from before: it is not counted again
}

// LearnMixed is Learn on minibatches of which RealRatio are rows of the window
// and the others imagined ones. A pass sees every played row once, and as many
// imagined ones as that takes: some twice if there are too few.
//
// The two never meet before the loss. Returns and advantages of a row come from
// its own rollout alone, advantages are normalised apart, and the losses of the
// values are reported apart: ppo/value_loss is of played rows, as in Learn, and
// ppo/value_loss_imagined of the others. The brain must have no LSTM.
func (b *Brain) LearnMixed(ro *batch.Rollout, mix Mixture, shape Shape, share float64) ([]agent.Stat, error) {
	if b.Model.LSTM > 0 {
		panic("ppo: an LSTM cannot learn from imagined rows")
	}
	b.gather(ro, shape)
	b.collect(mix.Imagined, shape)
	n, m := b.rows.real, len(b.rows.steps)-b.rows.real
	if n == 0 {
		return nil, nil
	}
	if !mix.Again {
		b.RowsSeen += n
		b.Updates++
	}
	lr := at(b.cfg.LR, b.cfg.LREnd, share)
	ent := at(b.cfg.Entropy, b.cfg.EntropyEnd, share)
	if m == 0 {
		total, err := b.passes(lr, ent)
		return b.report(total, lr), err
	}
	total, err := b.passesMixed(mix.RealRatio, lr, ent)
	if err != nil {
		return nil, err
	}
	return append(b.report(total, lr),
		agent.Stat{Name: "ppo/value_loss_imagined", Value: total.imagined.Mean(), N: m},
		agent.Stat{Name: "ppo/explained_imagined", Value: b.explained(n, n+m), N: m},
		agent.Stat{Name: "ppo/imagined_share", Value: float64(total.imagined.Rows) / float64(max(total.imagined.Rows+total.value.Rows, 1)), N: total.imagined.Rows + total.value.Rows},
	), nil
}

// passesMixed is passes on minibatches of both kinds of rows.
func (b *Brain) passesMixed(ratio, lr, ent float64) (passStats, error) {
	var total passStats
	n, m := b.rows.real, len(b.rows.steps)-b.rows.real
	part := min(max(int(ratio*float64(b.cfg.Minibatch)+0.5), 1), max(b.cfg.Minibatch-1, 1))
	b.order = resize(b.order, n+m)
	played, imagined := b.order[:n], b.order[n:]
	pick := make([]int, 0, b.cfg.Minibatch)
	for range b.cfg.Epochs {
		b.rand.Perm(played)
		b.rand.Perm(imagined)
		before, next := total.kl, 0
		for lo := 0; lo < n; lo += part {
			pick = append(pick[:0], played[lo:min(lo+part, n)]...)
			// A last minibatch that is not full keeps the ratio.
			for range (b.cfg.Minibatch - part) * len(pick) / part {
				pick = append(pick, n+imagined[next%m])
				next++
			}
			if err := b.step(pick, lr, ent, &total); err != nil {
				return total, err
			}
		}
		if b.tooFar(total.kl, before) {
			break
		}
	}
	return total, nil
}
