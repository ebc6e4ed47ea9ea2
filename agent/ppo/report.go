package ppo

import (
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/nn"
)

// sums are what the losses of some rows add up to.
type sums struct {
	policy, values, entropy, kl nn.Loss
	imagined                    nn.Loss // the values' loss on imagined rows
	clipped                     int
}

// Plus returns both together.
func (s sums) Plus(o sums) sums {
	s.policy, s.values = s.policy.Plus(o.policy), s.values.Plus(o.values)
	s.entropy, s.kl = s.entropy.Plus(o.entropy), s.kl.Plus(o.kl)
	s.imagined = s.imagined.Plus(o.imagined)
	s.clipped += o.clipped
	return s
}

// passStats sums what the gradient steps of a window reported.
type passStats struct {
	sums
	steps int
	norm  float64
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
		{Name: name + "value_loss", Value: total.values.Mean(), N: n},
		{Name: name + "entropy", Value: total.entropy.Mean(), N: n},
		{Name: name + "grad_norm", Value: total.norm / float64(max(total.steps, 1)), N: total.steps},
		{Name: name + "explained", Value: Explained(b.rows.ret[:n], b.rows.value[:n]), N: n},
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
		both := total.imagined.Rows + total.values.Rows
		stats = append(stats,
			agent.Stat{Name: "ppo/value_loss_imagined", Value: total.imagined.Mean(), N: m},
			agent.Stat{Name: "ppo/explained_imagined", Value: Explained(b.rows.ret[n:], b.rows.value[n:]), N: m},
			agent.Stat{Name: "ppo/imagined_share", Value: float64(total.imagined.Rows) / float64(max(both, 1)), N: both})
	}
	return stats
}

// Explained returns how much of the variance of rows' returns their values explain: 1 all
// of it, 0 none, below 0 worse than a constant.
func Explained(ret, value []float32) float64 {
	var mr, me float64
	for i, r := range ret {
		mr += float64(r)
		me += float64(r - value[i])
	}
	mr, me = mr/float64(len(ret)), me/float64(len(ret))
	var vr, ve float64
	for i, r := range ret {
		vr += (float64(r) - mr) * (float64(r) - mr)
		e := float64(r-value[i]) - me
		ve += e * e
	}
	if vr == 0 {
		return 0
	}
	return 1 - ve/vr
}
