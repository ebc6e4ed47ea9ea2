package check

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/learned"
)

// imagined asks the world model itself about every step, and the rules about those
// from the roots.
func (s *searched) imagined() {
	m := s.models.World
	if m == nil {
		return
	}
	n := len(s.others) + 1
	next := world.Next{Obs: [][]float32{make([]float32, s.v.ObsLen)}, Reward: [][]float32{{0}}, End: [][]bool{{false}}}
	for range n {
		next.Legal = append(next.Legal, make([]bool, s.v.Actions))
	}
	ws := m.Work()
	joint := make([]int32, n)
	s.entries(search.Played, 0, leafRows, func(i int, t int32, e *search.Entry) {
		s.took(playsRules, 1)
		s.look.Observe(s.obs, t, e.Leaf.From, 0)
		joint[0] = e.Leaf.Action
		for j, a := range e.Joint {
			joint[s.ego(i, j)+1] = a
		}
		if r := e.Rand; m.Draws() {
			r = learned.Stream(&r)
			ws.Sample(s.models.Steps, &next, s.obs, joint, 1, []*rng.Rand{&r})
		} else {
			ws.Step(s.models.Steps, &next, s.obs, joint, 1)
		}
		over := next.End[0][0] || bitsOf(next.Legal[0]) == 0
		s.look.Observe(s.obs, t, e.Leaf.To, 0)
		at := unlike(s.obs, next.Obs[0])
		switch {
		case e.Leaf.Reward != next.Reward[0][0]:
			s.wrong(playsRules, s.a, "a step pays %v in the tree, the world model says %v", e.Leaf.Reward, next.Reward[0][0])
		case e.Leaf.Over != over:
			s.wrong(playsRules, s.a, "a step is over in the tree: %v, the world model says %v", e.Leaf.Over, over)
		case over:
		case e.Leaf.Legal != bitsOf(next.Legal[0]):
			s.wrong(playsRules, s.a, "a step leads to other legal actions in the tree than the world model says")
		case at >= 0:
			s.wrong(playsRules, s.a, "a step leads to another state in the tree than the world model says (number %d is %v, not %v)", at,
				s.obs[at], next.Obs[0][at])
		}
		s.trueStep(i, int(t), e)
	})
}

// trueStep compares an imagined step from a root with the rules.
func (s *searched) trueStep(i, t int, e *search.Entry) {
	if e.Leaf.From != s.journal.Grown[t].Root || !s.Game.Spec().Deterministic {
		return
	}
	g, joint := s.Game, s.bySeat(i, e)
	from := s.v.State(int(s.envs[i]))
	if game.Check(g, from, joint) != nil {
		return
	}
	st, rewards, r := g.New(), make([]float32, len(joint)), e.Rand
	st.CopyFrom(from)
	st.Step(joint, rewards, &r)
	me, want := s.seat(i, 0), make([]float32, s.v.ObsLen)
	if s.imagine == nil {
		s.imagine = map[agent.ID]*imagines{}
	}
	if s.imagine[s.a] == nil {
		s.imagine[s.a] = &imagines{}
	}
	m := s.imagine[s.a]
	m.steps++
	if st.Observe(me, want); e.Leaf.Reward != rewards[me] || e.Leaf.Over == st.Alive(me) || !e.Leaf.Over && unlike(s.obs, want) >= 0 {
		m.wrong++
	}
}

// imagines counts imagined steps from real states, and those that the rules do not
// make.
type imagines struct{ steps, wrong int }

// enough says whether imagined steps are near the true ones: a model that has learnt
// the rules is wrong in a few of a hundred steps, one that is asked wrongly in most.
func (l *Decisions) enough() {
	for a := range agent.ID(64) {
		m := l.imagine[a]
		if m == nil || m.steps < 50 {
			continue
		}
		l.took(trueEnough, m.steps)
		if 2*m.wrong > m.steps {
			l.wrong(trueEnough, a, "%d of %d imagined steps from real states are not what the rules make",
				m.wrong, m.steps)
		}
	}
}

// rest is what trees are off from their expectation, summed up.
type rest struct {
	trees         int
	sum, variance float64
	span          float64 // the most that one tree can be off
}

// mostJoint bounds the joint actions over which an expectation is taken.
const mostJoint = 150

// expectimax compares the first tree's root with the exact expectation over the
// co-players' actions, where the search looks one step ahead: the sum over the
// actions of reward and discounted value, which one joint action decides.
func (s *searched) expectimax() {
	j := s.journal
	if j.Depth != 1 || j.Resample == "child" || j.Hashed {
		return
	}
	for i := range s.envs {
		lo, _ := s.trees(i)
		tree := &j.Grown[lo]
		probs := s.predicted(i, int32(lo), tree.Root, nil)
		joints, weight := combine(probs)
		if joints == nil {
			continue
		}
		value := map[int32]float64{} // by slot
		var seed uint64
		for at := range tree.Log {
			if e := &tree.Log[at]; e.What == search.Valued {
				value[e.Query.Slot], seed = float64(e.Value), e.Query.Seed
			}
		}
		got, mean, square := 0., 0., 0.
		sums := make([]float64, len(joints))
		rs := make([]rng.Rand, lo+1)
		logits, v := make([]float32, j.Actions), make([]float32, 1)
		for at := range tree.Log {
			e := &tree.Log[at]
			if e.What != search.Played {
				continue
			}
			got += float64(e.Leaf.Reward) + j.Discount*value[e.Leaf.To]
			for c, joint := range joints {
				leaf := []search.Leaf{{Tree: int32(lo), From: tree.Root, To: tree.Root + 1, Action: e.Leaf.Action}}
				rs[lo] = e.Rand
				j.Dynamics.Expand(leaf, joint, rs)
				sums[c] += float64(leaf[0].Reward)
				if !leaf[0].Over {
					j.Prior.Eval(logits, v, []search.Query{{Tree: int32(lo), Slot: tree.Root + 1, Key: leaf[0].Key, Legal: leaf[0].Legal, Depth: 1,
						Seed: seed, End: true}})
					sums[c] += j.Discount * float64(v[0])
				}
			}
		}
		low, high := math.Inf(1), math.Inf(-1)
		for c, x := range sums {
			mean += weight[c] * x
			square += weight[c] * x * x
			low, high = min(low, x), max(high, x)
		}
		if s.odd == nil {
			s.odd = map[int]*rest{}
		}
		o := s.odd[int(s.a)]
		if o == nil {
			o = &rest{}
			s.odd[int(s.a)] = o
		}
		o.trees++
		o.sum += got - mean
		o.variance += max(0, square-mean*mean)
		o.span = max(o.span, high-low, math.Abs(got-mean))
	}
}

// combine returns all joint actions that are at all likely, and their probabilities;
// nil if there are too many, or nothing is left to chance.
func combine(probs [][]float64) (joints [][]int32, weight []float64) {
	joints, weight = [][]int32{nil}, []float64{1}
	for _, p := range probs {
		if p == nil {
			for c := range joints {
				joints[c] = append(joints[c], game.NoAction)
			}
			continue
		}
		var next [][]int32
		var w []float64
		for c, joint := range joints {
			for k, x := range p {
				if x*weight[c] > 1e-5 {
					next, w = append(next, append(append([]int32(nil), joint...), int32(k))), append(w, x*weight[c])
				}
			}
		}
		if joints, weight = next, w; len(joints) > mostJoint {
			return nil, nil
		}
	}
	return joints, weight
}

// expected says of every agent whether its roots are draws around the expectation, by
// Bernstein's inequality at one in a thousand million.
func (l *Decisions) expected() {
	l.enough()
	for a := range 64 {
		o := l.odd[a]
		if o == nil {
			continue
		}
		l.took(meansEnough, o.trees)
		t := math.Abs(o.sum) - 1e-3*float64(o.trees)
		if t > 0 && t*t/2/(o.variance+o.span*t/3) > math.Log(2e9) {
			l.wrong(meansEnough, agent.ID(a), "over %d trees its root's Q are off by %.3f in sum from their expectation over what "+
				"the co-players may do, where chance makes %.3f", o.trees, o.sum, math.Sqrt(o.variance))
		}
	}
}
