package hop

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/belief"
)

// beliefs is what an agent believes of its co-players: a distribution over the hypotheses
// about each, within an episode by Bayes' rule, across episodes by counts.
type beliefs struct {
	cfg     belief.Config
	sees    *visible
	shape   shape
	prior   []float64         // [hypotheses] of somebody new
	goalLen int               // numbers that the own network reads about all co-players; 0: none
	held    []*belief.Beliefs // [N], each of one env: beliefs [others][hypotheses] and counts of the same shape
}

// Remember prepares beliefs about somebody new in envs copies.
func (b *beliefs) Remember(envs int) {
	b.held = nil
	for range envs {
		held := belief.New(b.cfg, 1, len(b.sees.others), b.shape.hypotheses)
		held.Meet(b.prior)
		b.held = append(b.held, held)
	}
}

// At returns what is believed of co-player j of env n, [hypotheses], a view.
func (b *beliefs) At(n, j int) []float64 { return b.held[n].At(0, j) }

// Draw draws a hypothesis about each co-player of env n, dst [others].
func (b *beliefs) Draw(dst []int32, n int, r *rng.Rand) { b.held[n].Draw(dst, 0, r) }

// Update starts an episode's beliefs, or updates them by the last joint action and
// what had been predicted of it, unless the inference says itself what is believed. A
// co-player who has reached a goal and plays on is counted for it, and what it is after
// now is open.
func (b *beliefs) Update(v *rollout.View, envs []int32, x *Inferred, p *predictions) {
	for _, e := range envs {
		n := int(e)
		if x.Belief != nil {
			b.take(n, x)
			continue
		}
		if v.Start[v.Moment(v.T, n)] {
			b.held[n].Start(0)
			p.made[n] = false
		}
		if !p.made[n] {
			continue
		}
		for j := range b.sees.others {
			b.bayes(n, j, p.of(b.sees.at(n, j)), b.sees.lastAction(v, n, j))
			if x.Counts != ByGoal {
				continue
			}
			if goal := b.sees.reached(v, n, j); goal != game.NoGoal {
				b.held[n].Over(0, j, goal)
				b.held[n].Prior(j, b.held[n].At(0, j))
			}
		}
	}
}

// take takes over what the inference believes of the co-players of env n.
func (b *beliefs) take(n int, x *Inferred) {
	for j := range b.sees.others {
		copy(b.At(n, j), x.Belief[b.sees.at(n, j)*b.shape.hypotheses:])
	}
}

// bayes takes in what co-player j of env n did: likely, [hypotheses][K], is what it would
// have done under each hypothesis, and what all rule out was not legal.
func (b *beliefs) bayes(n, j int, likely []float32, action int32) {
	var legal [game.MaxActions]bool
	k := len(b.sees.spec.Actions)
	for i := range k {
		for g := range b.shape.hypotheses {
			legal[i] = legal[i] || likely[g*k+i] > 0
		}
	}
	b.held[n].Update(0, j, likely, legal[:k], action)
}

// Over counts what the co-players of env n, whose episode is over, turned out to be after.
func (b *beliefs) Over(v *rollout.View, n int, x *Inferred) {
	for j := range b.sees.others {
		switch x.Counts {
		case ByGoal:
			b.held[n].Over(0, j, b.sees.ended(v, n, j))
		case ByInference:
			b.held[n].Over(0, j, int(x.Last[b.sees.at(n, j)]))
		}
	}
}

// Write writes what is believed as features where the own network reads them when it
// learns, if the window has a place for it.
func (b *beliefs) Write(v *rollout.View, envs []int32, x *Inferred) {
	if b.goalLen == 0 || v.GoalLen != b.goalLen {
		return
	}
	for _, n := range envs {
		b.write(v.GoalAt(v.SlotOf(int(n))), v, int(n), x)
	}
}

// write writes those of env n: [others][width] by ego-first place, the hypotheses' features
// weighed by the belief, then doubt; zero for those who are not there.
func (b *beliefs) write(dst []float32, v *rollout.View, n int, x *Inferred) {
	clear(dst)
	if len(dst) == 0 {
		return
	}
	width := b.shape.width
	for j, a := range b.sees.others {
		if !b.sees.there(v.Rollout, a, v.T, n) {
			continue
		}
		row := dst[b.sees.place(v.Rollout, a, v.T, n)*width:][:width]
		for g, p := range b.At(n, j) {
			if g == b.shape.doubt {
				if row[width-1] = float32(p); x.Present {
					row[width-1] = 1
				}
				continue
			}
			for i, f := range x.of(b.sees.at(n, j), g) {
				row[i] += float32(p) * f
			}
		}
	}
}
