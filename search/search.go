package search

import (
	"math"
	"math/bits"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// A search of many trees at a time: simulations select, expand and back up until none is left
// (simulate), then the roots are added up and act makes a policy of them.

// Search plans a number of decisions, at most Envs, and writes Policy, Q,
// Visits, Value and Prior for each. rs holds Trees streams for each decision.
func (f *Forest) Search(d Dynamics, p Prior, o Others, rs []rng.Rand) {
	f.alone[0] = Asked{d, p, o}
	f.SearchOn(nil, f.alone[:], rs)
}

// SearchOn is Search by the workers of a pool: the trees are cut into a part for each
// Asked, whose number Parts says. Numbers are the same for any.
func (f *Forest) SearchOn(pool *cores.Pool, asked []Asked, rs []rng.Rand) {
	if len(rs)%f.Trees != 0 || len(rs) > f.Envs*f.Trees {
		panic("search: Search needs one stream for each tree of each decision")
	}
	if f.Journal != nil {
		f.alone[0] = f.Journal.begin(f, asked[0], len(rs))
		asked = f.alone[:]
	}
	clear(f.Q)
	clear(f.Visits)
	clear(f.Value)
	clear(f.Prior)
	clear(f.tried)
	for lo := 0; lo < len(rs); lo += f.group {
		hi := min(lo+f.group, len(rs))
		if len(asked) > 1 {
			f.together(pool, asked, rs, lo, hi)
		} else {
			f.begin(asked[0], rs, lo, hi)
			f.run()
		}
		f.live = hi - lo
		for i := range f.live {
			f.addRoot(i)
		}
		f.lap(&f.Spent.Backup)
	}
	for env := range len(rs) / f.Trees {
		f.act(env)
	}
	if f.Journal != nil {
		f.Journal.end(f)
	}
}

// begin puts the roots of the trees lo to hi into lanes and draws what their co-players
// are after.
func (f *Forest) begin(asked Asked, rs []rng.Rand, lo, hi int) {
	if f.Clock != nil {
		f.mark = f.Clock()
	}
	f.asked, f.rs = asked, rs
	f.gen++
	f.active, f.qs, f.who = f.active[:0], f.qs[:0], f.who[:0]
	for tree := lo; tree < hi; tree++ {
		i := tree - lo
		slot := int32(i * f.stride)
		f.lane[i] = lane{tree: int32(tree), at: slot, used: 1, lo: math.MaxFloat32, hi: -math.MaxFloat32}
		legal, key := asked.Dynamics.Root(int32(tree), slot)
		f.nodes[slot] = node{}
		if legal == 0 {
			continue
		}
		asked.Others.Goals(int32(tree), &rs[tree])
		if f.common != nil {
			f.lane[i].seed = rs[tree].Uint64() | 1
		}
		f.qs = append(f.qs, Query{int32(tree), slot, key, legal, 0, f.lane[i].seed, false})
		f.who = append(f.who, int32(i))
	}
	f.lap(&f.Spent.Dynamics)
}

// run searches the trees that have begun.
func (f *Forest) run() {
	if f.Clock != nil {
		f.mark = f.Clock()
	}
	f.evaluate()
	for row, i := range f.who {
		l := &f.lane[i]
		f.rootPrior(int(i), l, &f.rs[l.tree])
		if f.Journal != nil {
			f.Journal.noised(f, l)
		}
		l.sims = int32(f.Sims)
		if f.Hashed {
			f.insert(int(i), mix(f.qs[row].Key), l.at, 0)
		}
		if l.sims > 0 {
			f.active = append(f.active, i)
		}
	}
	for f.simulate() {
	}
}

// simulate brings every active tree to one state that must be played or evaluated, plays and
// evaluates them all at once, and backs up. It reports whether any tree is still active.
func (f *Forest) simulate() bool {
	if !f.selectLeaves() {
		return false
	}
	f.drawOthers()
	f.lap(&f.Spent.Others)
	if f.Hashed {
		f.follow()
	}
	if len(f.want) == 0 {
		return true
	}
	f.expand()
	f.evaluate()
	for row, i := range f.who {
		f.backup(int(i), &f.lane[i], f.value[row])
	}
	f.lap(&f.Spent.Backup)
	return true
}

// selectLeaves walks down every active tree and lists the steps to play. It reports false once
// there is none.
func (f *Forest) selectLeaves() bool {
	f.want, f.owner = f.want[:0], f.owner[:0]
	still := f.active[:0]
	for _, i := range f.active {
		l := &f.lane[i]
		if f.selectLeaf(int(i), l) {
			still = append(still, i)
			f.want = append(f.want, Leaf{Tree: l.tree, From: l.at, To: i*int32(f.stride) + l.used, Action: l.action})
			f.owner = append(f.owner, i)
		}
	}
	f.active = still
	f.lap(&f.Spent.Select)
	return len(still) > 0
}

// selectLeaf walks down from the cursor until a step must be played, finishing
// simulations that end at what is known. It reports false once none is left.
func (f *Forest) selectLeaf(i int, l *lane) bool {
	for l.sims > 0 {
		n := &f.nodes[l.at]
		if int(l.steps) == f.deep {
			f.backup(i, l, n.mean)
			continue
		}
		if f.Hashed {
			if l.steps == 0 && int(l.sims) < f.Sims {
				f.asked.Others.Goals(l.tree, &f.rs[l.tree])
			}
			l.action, _ = f.selectAction(l, n)
			return true
		}
		a, child := f.selectAction(l, n)
		if child < 0 {
			l.action = a
			return true
		}
		c := &f.nodes[child]
		f.walk(i, l, l.at, a, c.reward, child)
		if c.over {
			f.backup(i, l, 0)
		}
	}
	return false
}

// selectAction returns the action to try at a node, and the child that it leads to: with
// VisitAll the untried one of the highest prior, else the largest
// Q + c P sqrt(N) / (1 + n). Of equals the first is taken.
func (f *Forest) selectAction(l *lane, n *node) (action, child int32) {
	edges := f.edges[int(l.at)*f.row : (int(l.at)+1)*f.row]
	var k int
	switch {
	case f.plain && n.fresh == 0:
		k = f.largest(l, n.legal, edges, f.bonus[n.visits])
	case f.VisitAll && n.fresh != 0:
		k = f.untriedAction(n, edges)
	default:
		k = f.puct(l, n, edges)
	}
	return int32(k), edges[k].child
}

// untriedAction returns the untried action of the highest prior.
func (f *Forest) untriedAction(n *node, edges []edge) int {
	if n.shut {
		f.open(n, edges)
	}
	k := bits.TrailingZeros32(n.fresh)
	if !n.flat {
		for set := n.fresh & (n.fresh - 1); set != 0; set &= set - 1 {
			if o := bits.TrailingZeros32(set); edges[o].p > edges[k].p {
				k = o
			}
		}
	}
	return k
}

// puct returns the action of the largest Q + c P sqrt(N) / (1 + n) (Rosin 2011; Silver et al.
// 2017), with Q scaled as Norm says and that of untried actions as Unvisited does.
func (f *Forest) puct(l *lane, n *node, edges []edge) int {
	if n.shut {
		f.open(n, edges)
	}
	lo, scale := f.scaleOf(l, n, edges)
	untried := float32(0)
	switch f.untried {
	case untriedNode:
		untried = n.mean
	case untriedMin:
		untried = lo
	}
	u := f.bonus[n.visits]
	best, at := float32(math.Inf(-1)), 0
	for set := n.legal; set != 0; set &= set - 1 {
		k := bits.TrailingZeros32(set)
		e := &edges[k]
		q := e.q
		inv := f.inv[e.n+1]
		if e.n == 0 {
			q = untried
		} else if f.PlusOne {
			q *= float32(e.n) * inv
		}
		if s := (q-lo)*scale + u*e.p*inv; s > best {
			best, at = s, k
		}
	}
	return at
}

// scaleOf returns by what Q is scaled at a node: (Q - lo) scale.
func (f *Forest) scaleOf(l *lane, n *node, edges []edge) (lo, scale float32) {
	switch f.norm {
	case normNode:
		lo = n.mean
		hi := n.mean
		for set := n.legal &^ n.fresh; set != 0; set &= set - 1 {
			q := edges[bits.TrailingZeros32(set)].q
			lo, hi = min(lo, q), max(hi, q)
		}
		return lo, 1 / max(hi-lo, 1e-8)
	case normTree:
		return l.lo, l.scale
	}
	return 0, 1
}

// largest is puct where every action has been tried and Q is scaled over the
// tree, as nearly always.
func (f *Forest) largest(l *lane, set uint32, edges []edge, u float32) int {
	lo, scale, inv := l.lo, l.scale, f.inv
	best, at := float32(math.Inf(-1)), 0
	for ; set != 0; set &= set - 1 {
		k := bits.TrailingZeros32(set)
		e := &edges[k]
		if s := (e.q-lo)*scale + u*e.p*inv[e.n+1]; s > best {
			best, at = s, k
		}
	}
	return at
}

// walk moves the cursor along a step.
func (f *Forest) walk(i int, l *lane, from, action int32, reward float32, to int32) {
	f.path[i*f.deep+int(l.steps)] = hop{from, action, reward}
	l.steps++
	l.at = to
}

// expand plays the wanted steps and adds the states that they lead to, to be evaluated.
func (f *Forest) expand() {
	f.asked.Dynamics.Expand(f.want, f.acts, f.rs)
	f.lap(&f.Spent.Dynamics)
	f.Count.Steps += int64(len(f.want))
	f.qs, f.who = f.qs[:0], f.who[:0]
	for row := range f.want {
		leaf, i := &f.want[row], int(f.owner[row])
		if f.Hashed {
			f.addState(i, row, leaf)
			continue
		}
		f.edges[int(leaf.From)*f.row+int(leaf.Action)].child = leaf.To
		if f.joint != nil {
			copy(f.drawnAt(leaf.To), f.acts[row*f.Others:(row+1)*f.Others])
		}
		f.addNode(i, leaf)
	}
	f.lap(&f.Spent.Backup)
}

// addNode moves the cursor of lane i into a new node, to be evaluated unless it is an
// end.
func (f *Forest) addNode(i int, leaf *Leaf) {
	l := &f.lane[i]
	f.walk(i, l, leaf.From, leaf.Action, leaf.Reward, leaf.To)
	l.used++
	n := &f.nodes[leaf.To]
	n.reward, n.over, n.drawn = leaf.Reward, leaf.Over, false
	if leaf.Over {
		n.mean, n.visits = 0, 0
		f.backup(i, l, 0)
		return
	}
	f.qs = append(f.qs, Query{l.tree, leaf.To, leaf.Key, leaf.Legal, l.steps, l.seed, !f.Hashed && int(l.steps) == f.deep})
	f.who = append(f.who, int32(i))
}

// evaluate asks the prior about f.qs and makes nodes of them, shut ones.
func (f *Forest) evaluate() {
	rows := len(f.qs)
	if rows == 0 {
		return
	}
	f.asked.Prior.Eval(f.logits[:rows*f.Actions], f.value[:rows], f.qs)
	f.lap(&f.Spent.Leaf)
	f.Count.Leaves += int64(rows)
	f.Count.Rounds++
	for row := range f.qs {
		q := &f.qs[row]
		n := &f.nodes[q.Slot]
		n.key, n.mean, n.visits, n.legal, n.fresh, n.shut, n.flat = q.Key, f.value[row], 1, q.Legal, q.Legal, true, true
		if q.End {
			continue
		}
		logits := f.logits[row*f.Actions : (row+1)*f.Actions]
		for _, x := range logits {
			if x != 0 {
				n.flat = false
			}
		}
		if !n.flat {
			edges := f.edges[int(q.Slot)*f.row : (int(q.Slot)+1)*f.row]
			for k, x := range logits {
				edges[k].p = x
			}
		}
	}
}

// backup adds a return to every step of the path, and goes back to the root.
func (f *Forest) backup(i int, l *lane, g float32) {
	path := f.path[i*f.deep : i*f.deep+int(l.steps)]
	if f.Journal != nil {
		f.Journal.backed(l, path, g)
	}
	gamma, lo, hi := float32(f.Discount), l.lo, l.hi
	for at := len(path) - 1; at >= 0; at-- {
		h := &path[at]
		g = h.reward + gamma*g
		n := &f.nodes[h.slot]
		e := &f.edges[int(h.slot)*f.row+int(h.action)]
		e.n++
		e.q += (g - e.q) * f.inv[e.n]
		n.fresh &^= 1 << h.action
		n.visits++
		n.mean += (g - n.mean) * f.inv[n.visits]
		if e.q < lo {
			lo = e.q
		}
		if e.q > hi {
			hi = e.q
		}
	}
	if l.lo, l.hi = lo, hi; hi > lo {
		l.scale = 1 / (hi - lo)
	} else {
		l.scale = 0
	}
	l.steps, l.at = 0, int32(i*f.stride)
	l.sims--
	f.Count.Sims++
}

// addRoot adds the root of lane i's tree, which is finished, to its env's results. Trees
// are added in their order, whoever searched them.
func (f *Forest) addRoot(i int) {
	env, slot := int(f.lane[i].tree)/f.Trees, i*f.stride
	n := &f.nodes[slot]
	if n.legal == 0 {
		return
	}
	f.Value[env] += n.mean / float32(f.Trees)
	edges := f.edges[slot*f.row : slot*f.row+f.Actions]
	for k := range f.Actions {
		f.Prior[env*f.Actions+k] += f.first[i*f.row+k] / float32(f.Trees)
		if n.legal>>k&1 == 0 || edges[k].n == 0 {
			continue
		}
		q := edges[k].q
		if f.PlusOne {
			q *= float32(edges[k].n) / float32(1+edges[k].n)
		}
		f.Q[env*f.Actions+k] += q
		f.Visits[env*f.Actions+k] += edges[k].n
		f.tried[env*f.Actions+k]++
	}
}

// act turns a decision's sums over trees into means and a policy.
func (f *Forest) act(env int) {
	lo, hi := env*f.Actions, (env+1)*f.Actions
	q, visits, tried, prior, policy := f.Q[lo:hi], f.Visits[lo:hi], f.tried[lo:hi], f.Prior[lo:hi], f.Policy[lo:hi]
	legal, total := f.means(q, visits, tried, prior)
	if total == 0 {
		copy(policy, prior)
		return
	}
	best := 0
	for k := range q {
		if legal>>k&1 != 0 && f.better(q, prior, visits, k, best) {
			best = k
		}
	}
	clear(policy)
	switch f.Act {
	case "prior":
		policy[f.improved(q, prior, tried, best)] = 1
	case "mixed":
		f.mix(policy, q, prior, tried)
	case "softmax":
		softmax(policy, q, legal, float32(f.Beta))
	case "visits":
		for k := range policy {
			policy[k] = float32(visits[k]) / float32(total)
		}
	default:
		policy[best] = 1
	}
}
