package check

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/hop-marl/hop/search"
)

// wrong is one way in which a search is not what its definition says.
type wrong struct {
	What string  // a short name
	Says string  // the first case, in words
	By   float64 // how much is wrong there
}

// regrown is what the trees of a journal were found to be.
type regrown struct {
	Trees, Sims, Choices int
	Wrongs               []wrong // in causal order
}

// The kinds of slips, in causal order: where a simulation goes wrong, what comes
// later in the list follows from it.
var slipOrder = []string{"asked", "resampled", "stepped", "valued", "noised", "backed", "chosen", "added", "decided"}

// regrow recomputes every tree of a journal from the formulae of docs/planning.md, in
// float64, following the actions that were tried, and says where the search is not
// what they make it. Drawn actions, steps and evaluations are taken as given.
func regrow(j *search.Journal) regrown {
	s := searching{Journal: j, deep: j.Config.Sims + 1, found: map[string]*wrong{}}
	if j.Hashed {
		s.deep = 1024
	}
	if j.Depth > 0 {
		s.deep = min(s.deep, j.Depth)
	}
	s.out.Trees = len(j.Grown)
	var grown []*tree
	for i := range j.Grown {
		grown = append(grown, s.grow(i, plainly))
	}
	s.seeds()
	s.results(grown)
	for _, what := range slipOrder {
		if f := s.found[what]; f != nil {
			s.out.Wrongs = append(s.out.Wrongs, *f)
		}
	}
	return s.out
}

type searching struct {
	*search.Journal
	deep  int // longest path
	found map[string]*wrong
	quiet bool // a variant is being tried: nothing is noted
	out   regrown
}

func (s *searching) slip(what string, by float64, says string, args ...any) {
	if s.quiet {
		return
	}
	if s.found[what] == nil {
		s.found[what] = &wrong{what, fmt.Sprintf(says, args...), by}
	}
}

// backup is a way to turn a step's reward and what follows into a return.
type backup struct {
	name string
	give func(r, g, gamma float64) float64
	leaf float64 // factor of what a leaf is worth
	last bool    // Q is the last return, not the mean
}

// plainly is the definition.
var plainly = backup{"", func(r, g, gamma float64) float64 { return r + gamma*g }, 1, false}

// slippery are the slips of it that have a name.
var slippery = []backup{
	{"without the discount", func(r, g, _ float64) float64 { return r + g }, 1, false},
	{"without the rewards on the way", func(_, g, gamma float64) float64 { return gamma * g }, 1, false},
	{"with the reward discounted too", func(r, g, gamma float64) float64 { return gamma * (r + g) }, 1, false},
	{"with the sign of what follows turned", func(r, g, gamma float64) float64 { return r - gamma*g }, 1, false},
	{"with the sign of rewards turned", func(r, g, gamma float64) float64 { return gamma*g - r }, 1, false},
	{"without what the leaf is worth", plainly.give, 0, false},
	{"with the sign of the leaf's value turned", plainly.give, -1, false},
	{"with the last return in place of the mean", plainly.give, 1, true},
}

// tree is one tree, recomputed.
type tree struct {
	nodes  map[int32]*node
	root   *node
	lo, hi float64 // lowest and highest Q that any action has had
	sims   int
}

type node struct {
	legal  uint32
	p      []float64 // prior
	n      []int
	q      []float64
	mean   float64
	visits int
	key    uint64
	depth  int32
	joint  []int32 // drawn last
	draws  int     // of the co-players' actions
	played int     // steps played from here
	kids   []kid
}

// kid is where a step leads.
type kid struct {
	action int32
	slot   int32
	reward float64
}

// grow recomputes one tree.
func (s *searching) grow(i int, b backup) *tree {
	in := &s.Grown[i]
	t := &tree{nodes: map[int32]*node{}, lo: math.Inf(1), hi: math.Inf(-1)}
	if in.Legal == 0 {
		return t
	}
	ends := map[int32]bool{}
	var last *search.Entry // the step that was played last, to be evaluated
	goals := 0
	for at := range in.Log {
		e := &in.Log[at]
		switch e.What {
		case search.Goals:
			goals++
		case search.Valued:
			s.value(t, in, i, e, last)
		case search.Drew:
			s.drew(t, i, e)
		case search.Played:
			last = e
			s.played(t, i, e, ends)
		case search.Backed:
			t.sims++
			s.simulate(t, i, e, ends, b)
		}
	}
	if want := 1; !s.Hashed && goals != want || s.Hashed && goals != max(1, s.Config.Sims) {
		s.slip("asked", float64(goals), "goals were drawn %d times in a tree", goals)
	}
	if t.sims != s.Config.Sims {
		s.slip("asked", float64(t.sims), "a tree has %d simulations, the settings say %d", t.sims, s.Config.Sims)
	}
	return t
}

// value takes in an evaluation: a new node.
func (s *searching) value(t *tree, in *search.Tree, i int, e *search.Entry, last *search.Entry) {
	q := e.Query
	depth := int32(0)
	switch {
	case t.root == nil:
		if q.Slot != in.Root || q.Legal != in.Legal || q.Key != in.Key || q.Tree != int32(i) {
			s.slip("asked", 1, "the first state that tree %d evaluates is not its root", i)
		}
	case last == nil || last.Leaf.To != q.Slot || last.Leaf.Key != q.Key || last.Leaf.Legal != q.Legal:
		s.slip("asked", 1, "tree %d evaluates slot %d, but the step before led elsewhere", i, q.Slot)
	default:
		if from := t.nodes[last.Leaf.From]; from != nil {
			depth = from.depth + 1
		}
		if !s.Hashed && q.Depth != depth {
			s.slip("asked", float64(q.Depth-depth), "a state %d steps from the root is evaluated as if it were %d from it", depth, q.Depth)
		}
		if want := !s.Hashed && int(depth) == s.deep; want != q.End {
			s.slip("asked", 1, "a state %d steps from the root is said to be at the end of the search: %v, it is %v", depth, q.End, want)
		}
	}
	n := &node{
		legal: q.Legal, key: q.Key, mean: float64(e.Value), visits: 1, depth: depth,
		n: make([]int, s.Actions), q: make([]float64, s.Actions),
	}
	n.p = softly(e.Logits, q.Legal, 1)
	if math.IsNaN(n.mean) || math.IsInf(n.mean, 0) {
		s.slip("valued", 1, "a state is worth %v", n.mean)
		n.mean = 0
	}
	if t.root == nil {
		t.root = n
		s.noise(in, n)
	}
	t.nodes[q.Slot] = n
}

// noise compares the prior that a root was searched by with the one evaluated.
func (s *searching) noise(in *search.Tree, n *node) {
	if len(in.Noised) != s.Actions {
		return
	}
	sum, eps := 0., s.NoiseEps
	for k, p := range in.Noised {
		d := float64(p) - (1-eps)*n.p[k]
		if sum += d; d < -1e-5 || n.legal>>k&1 == 0 && d > 1e-6 || eps == 0 && math.Abs(d) > 1e-4 {
			s.slip("noised", d, "action %d has a prior of %.4f at the root, the network's %.4f with a share of %.2f noise cannot make that", k,
				p, n.p[k], eps)
		}
		n.p[k] = float64(p)
	}
	if math.Abs(sum-eps) > 1e-3 {
		s.slip("noised", sum-eps, "the root's prior has a share of %.3f noise, the settings say %.3f", sum, eps)
	}
}

// drew takes in a draw of the co-players' actions.
func (s *searching) drew(t *tree, i int, e *search.Entry) {
	n := t.nodes[e.Query.Slot]
	if n == nil {
		s.slip("asked", 1, "tree %d draws the co-players' actions in a state that it does not have", i)
		return
	}
	if e.Query.Legal != n.legal || e.Query.Key != n.key || !s.Hashed && e.Query.Depth != n.depth {
		s.slip("asked", 1, "the co-players' actions are drawn in another state than the one searched from, or at another depth")
	}
	n.draws++
	n.joint = e.Joint
	if n.draws > 1 && s.keeps(n) {
		s.slip("resampled", float64(n.draws), "the co-players' actions at one node were drawn %d times; with resample %s they are drawn once "+
			"and kept", n.draws, s.Resample)
	}
}

// keeps reports whether a node's joint action is drawn once.
func (s *searching) keeps(n *node) bool {
	switch {
	case s.Hashed:
		return false
	case s.Resample == "root":
		return n.depth == 0
	}
	return s.Resample != "child"
}

// played takes in a step.
func (s *searching) played(t *tree, i int, e *search.Entry, ends map[int32]bool) {
	n := t.nodes[e.Leaf.From]
	if n == nil {
		s.slip("asked", 1, "tree %d plays a step from a state that it does not have", i)
		return
	}
	n.played++
	switch {
	case n.draws == 0:
		s.slip("resampled", 1, "a step is played before the co-players' actions were drawn")
	case fmt.Sprint(n.joint) != fmt.Sprint(e.Joint):
		s.slip("resampled", 1, "the co-players play %v in a step for which %v was drawn", e.Joint, n.joint)
	case !s.keeps(n) && !s.Hashed && n.played > n.draws:
		s.slip("resampled", float64(n.played-n.draws), "the co-players' actions are kept at a node %d steps from the root; with resample %s "+
			"they are drawn anew for each child", n.depth, s.Resample)
	}
	if n.legal>>e.Leaf.Action&1 == 0 {
		s.slip("chosen", 1, "action %d is tried where it is not legal", e.Leaf.Action)
	}
	to := e.Leaf.To
	if s.Hashed { // equal states are one node, all ends are one
		for slot, m := range t.nodes {
			if m.key == e.Leaf.Key && !e.Leaf.Over {
				to = slot
			}
		}
		for slot := range ends {
			if e.Leaf.Over {
				to = slot
			}
		}
	}
	if e.Leaf.Over {
		ends[to] = true
	}
	n.kids = append(n.kids, kid{e.Leaf.Action, to, float64(e.Leaf.Reward)})
}

// simulate walks along a simulation's path, asks of every action on it whether it
// had to be tried, and backs up.
func (s *searching) simulate(t *tree, i int, e *search.Entry, ends map[int32]bool, b backup) {
	if !s.quiet {
		s.out.Sims++
	}
	if len(e.Path) == 0 || e.Path[0].Slot != s.Grown[i].Root || len(e.Path) > s.deep {
		s.slip("stepped", 1, "a simulation of tree %d does not start at the root, or is longer than %d steps", i, s.deep)
		return
	}
	rewards := make([]float64, len(e.Path))
	for at, h := range e.Path {
		n := t.nodes[h.Slot]
		if n == nil {
			s.slip("stepped", 1, "a simulation goes through an end, or through a state that was never evaluated")
			return
		}
		s.chosen(t, n, int(h.Action))
		to := e.At
		if at+1 < len(e.Path) {
			to = e.Path[at+1].Slot
		}
		rewards[at] = float64(h.Reward)
		s.led(n, h, to, &rewards[at])
	}
	g := s.worth(t, e, ends) * b.leaf
	for at := len(e.Path) - 1; at >= 0; at-- {
		h := e.Path[at]
		n := t.nodes[h.Slot]
		g = b.give(rewards[at], g, s.Discount)
		n.n[h.Action]++
		n.q[h.Action] += (g - n.q[h.Action]) / float64(n.n[h.Action])
		if b.last {
			n.q[h.Action] = g
		}
		n.visits++
		n.mean += (g - n.mean) / float64(n.visits)
		t.lo, t.hi = min(t.lo, n.q[h.Action]), max(t.hi, n.q[h.Action])
	}
}

// led compares a step of a path with the step that was played, and corrects its
// reward.
func (s *searching) led(n *node, h search.Taken, to int32, reward *float64) {
	var known []kid
	for _, k := range n.kids {
		if k.action == h.Action && (!s.Hashed || k.slot == to) {
			known = append(known, k)
		}
	}
	if len(known) == 0 {
		s.slip("stepped", 1, "a simulation takes action %d to a state that it does not lead to", h.Action)
		return
	}
	for _, k := range known {
		if k.slot == to && k.reward == *reward {
			return
		}
	}
	if known[0].slot != to {
		s.slip("stepped", 1, "after action %d a simulation goes on in another state than the one it led to", h.Action)
		return
	}
	s.slip("stepped", *reward-known[0].reward, "a simulation counts a reward of %.4g for a step that paid %.4g", *reward, known[0].reward)
	*reward = known[0].reward
}

// worth is what the end of a path is worth: nothing beyond an end, what a new state
// was evaluated to, the mean of what was found below one where the longest line ends.
func (s *searching) worth(t *tree, e *search.Entry, ends map[int32]bool) float64 {
	got, want := float64(e.Value), 0.
	n := t.nodes[e.At]
	if n != nil && !ends[e.At] {
		want = n.mean
	}
	if off(got, want) {
		switch {
		case ends[e.At]:
			s.slip("valued", got, "a simulation that reaches an end backs up %.4g from beyond it, where nothing follows", got)
		case n == nil:
			s.slip("valued", got, "a simulation stops in a state that was never evaluated")
		default:
			s.slip("valued", got-want, "a simulation backs up %.4g from a leaf that was evaluated to %.4g", got, want)
		}
	}
	return want
}

// chosen asks whether an action was the one to try: of those untried the one of the
// highest prior, where every action is tried once first; else the one of the largest
// Q + c P sqrt(N) / (1 + n).
func (s *searching) chosen(t *tree, n *node, action int) {
	if s.quiet {
		return
	}
	s.out.Choices++
	if n.legal>>action&1 == 0 {
		s.slip("chosen", 1, "action %d is tried where it is not legal", action)
		return
	}
	if s.VisitAll {
		best := -1
		for set := n.legal; set != 0; set &= set - 1 {
			if k := bits.TrailingZeros32(set); n.n[k] == 0 && (best < 0 || n.p[k] > n.p[best]) {
				best = k
			}
		}
		if best >= 0 {
			switch {
			case n.n[action] > 0:
				s.slip("chosen", 1, "action %d is tried again while action %d of the same node is untried", action, best)
			case n.p[action] < n.p[best]-1e-4:
				s.slip("chosen", n.p[best]-n.p[action], "action %d with a prior of %.4f is tried before action %d with %.4f", action, n.p[action], best,
					n.p[best])
			}
			return
		}
	}
	score, noise, plain := s.scores(t, n)
	best := action
	for set := n.legal; set != 0; set &= set - 1 {
		if k := bits.TrailingZeros32(set); score[k] > score[best] {
			best = k
		}
	}
	d := score[best] - score[action]
	switch {
	case d == 0:
	case !plain || d <= 1e-4*max(1, math.Abs(score[best]))+noise: // too close to tell in float32: taken as played
	default:
		s.slip("chosen", d, "a simulation tries action %d, whose score is %.4f, where action %d has %.4f (%d steps from the root, "+
			"%d visits)", action, score[action], best, score[best], n.depth, n.visits)
	}
}

// scores returns what actions are chosen by, how much of it float32 may lose, and
// whether it says anything at all: Q within rounding of each other, scaled, is noise.
func (s *searching) scores(t *tree, n *node) (score []float64, noise float64, plain bool) {
	lo, scale, largest := 0., 1., math.Abs(n.mean)
	bound := func(a, b float64) {
		span := b - a
		largest = max(math.Abs(a), math.Abs(b))
		lo, scale, plain = a, 1/max(span, 1e-8), span > 1e-5*max(1e-3, largest)
	}
	plain = true
	switch s.Norm {
	case "node":
		a, b := n.mean, n.mean
		for k := range n.q {
			if n.n[k] > 0 {
				a, b = min(a, n.q[k]), max(b, n.q[k])
			}
		}
		bound(a, b)
	case "tree":
		if t.hi < t.lo {
			lo, scale = 0, 0
			break
		}
		bound(t.lo, t.hi)
	}
	untried := 0.
	switch s.Unvisited {
	case "node":
		untried = n.mean
	case "min":
		untried = lo
	}
	c := s.C
	if s.CBase > 0 {
		c += math.Log((float64(n.visits) + s.CBase + 1) / s.CBase)
	}
	score = make([]float64, s.Actions)
	for k := range score {
		q := n.q[k]
		switch {
		case n.n[k] == 0:
			q = untried
		case s.PlusOne:
			q *= float64(n.n[k]) / float64(1+n.n[k])
		}
		largest = max(largest, math.Abs(q))
		score[k] = (q-lo)*scale + c*n.p[k]*math.Sqrt(float64(n.visits))/float64(1+n.n[k])
	}
	return score, 2e-6 * largest * scale, plain
}
