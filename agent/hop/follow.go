package hop

import (
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// follower values states by a future of each (the rollouts of Tesauro and Galperin 1996): everybody plays on on the
// learnt world, oneself by the own network and co-players as the model of others has them, and the network values where
// that leads. Differences that a network cannot tell at one state add up over the steps.
type follower struct {
	steps    int
	discount float32
	rules    learner.Rules
	own      *search.NetPrior
	drawn    *drawn
	slots    int32 // the first of two times as many as there are rows that the search does not use
	rows     int32

	qs     []search.Query
	leaves []search.Leaf
	of     []int32 // [rows] which state it began with
	logits []float32
	value  []float32
	acts   []int32
	rs     []rng.Rand // [trees of all decisions]
	probs  []float32
}

// roomy is a world with slots besides those that a search uses.
type roomy interface{ Spare() (first int32) }

// newFollower returns nil where nothing is followed.
func newFollower(steps int, discount float64, rules learner.Rules, own *search.NetPrior, d *drawn, f *search.Forest) *follower {
	world, ok := rules.(roomy)
	if steps == 0 || !ok {
		return nil
	}
	rows := f.Group()
	return &follower{
		steps: steps, discount: float32(discount), rules: rules, own: own, drawn: d, slots: world.Spare(), rows: int32(rows),
		qs: make([]search.Query, 0, rows), leaves: make([]search.Leaf, rows), of: make([]int32, 0, rows),
		logits: make([]float32, rows*f.Actions), value: make([]float32, rows), acts: make([]int32, rows*f.Others),
		rs: make([]rng.Rand, f.Envs*f.Trees), probs: make([]float32, f.Actions),
	}
}

// Eval replaces the values of states, whose logits are known, by what a future of each is worth. A decision's own state
// keeps its value.
func (f *follower) Eval(logits, value []float32, qs []search.Query) {
	if f == nil {
		return
	}
	k := f.own.Actions
	f.qs, f.of = f.qs[:0], f.of[:0]
	for i, q := range qs {
		if q.Depth == 0 {
			continue
		}
		copy(f.logits[len(f.qs)*k:], logits[i*k:(i+1)*k])
		if q.Seed == 0 {
			q.Seed = q.Key
		}
		q.Key, q.End, value[i] = 0, false, 0
		f.qs, f.of = append(f.qs, q), append(f.of, int32(i))
	}
	weight := float32(1)
	for step := 0; step < f.steps && len(f.qs) > 0; step++ {
		f.play(value, weight, int32(step))
		if weight *= f.discount; len(f.qs) > 0 {
			f.own.Eval(f.logits, f.value, f.qs)
		}
	}
	for row, i := range f.of[:len(f.qs)] {
		value[i] += weight * f.value[row]
	}
}

// play plays one step of every future that goes on, and adds what it earns.
func (f *follower) play(value []float32, weight float32, step int32) {
	k := f.own.Actions
	for row := range f.qs {
		q := &f.qs[row]
		r := search.Common(q.Seed, q.Depth+step)
		f.leaves[row] = search.Leaf{
			Tree: q.Tree, From: q.Slot, To: f.slots + step&1*f.rows + int32(row), Action: f.draw(f.logits[row*k:(row+1)*k], q.Legal, r.Float32()),
		}
		f.rs[q.Tree] = r
	}
	some := f.leaves[:len(f.qs)]
	co := len(f.acts) / int(f.rows)
	f.drawn.Draw(f.acts[:len(some)*co], f.qs, f.rs)
	f.rules.Expand(some, f.acts, f.rs)
	still := 0
	for row, l := range some {
		q, i := f.qs[row], f.of[row]
		if value[i] += weight * l.Reward; !l.Over {
			q.Slot, q.Legal = l.To, l.Legal
			f.qs[still], f.of[still] = q, i
			still++
		}
	}
	f.qs, f.of = f.qs[:still], f.of[:still]
}

// draw draws a legal action from logits.
func (f *follower) draw(logits []float32, legal uint32, u float32) int32 {
	top, sum := math.Inf(-1), 0.
	for k, x := range logits {
		if legal>>k&1 != 0 {
			top = max(top, float64(x))
		}
	}
	for k, x := range logits {
		if f.probs[k] = 0; legal>>k&1 != 0 {
			f.probs[k] = float32(math.Exp(float64(x) - top))
			sum += float64(f.probs[k])
		}
	}
	for k := range f.probs {
		f.probs[k] /= float32(sum)
	}
	return rng.Pick(f.probs, u)
}
