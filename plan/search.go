package plan

import (
	"math"
	"math/bits"

	"hop/internal/cores"
	"hop/rng"
)

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
		panic("plan: Search needs one stream for each tree of each decision")
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
			f.harvest(i)
		}
		f.lap(&f.Spent.Backup)
	}
	f.decide(len(rs) / f.Trees)
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
	f.evaluate(f.asked.Prior)
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
	for f.round(f.asked.Dynamics, f.asked.Prior, f.asked.Others, f.rs) {
	}
}

// round brings every active lane to one state that must be played or evaluated,
// plays and evaluates them all at once, and backs up. It reports whether any lane
// is still active.
func (f *Forest) round(d Dynamics, p Prior, o Others, rs []rng.Rand) bool {
	f.want, f.owner = f.want[:0], f.owner[:0]
	still := f.active[:0]
	for _, i := range f.active {
		l := &f.lane[i]
		if f.descend(int(i), l, o, rs) {
			still = append(still, i)
			f.want = append(f.want, Leaf{Tree: l.tree, From: l.at, To: i*int32(f.stride) + l.used, Action: l.action})
			f.owner = append(f.owner, i)
		}
	}
	f.active = still
	f.lap(&f.Spent.Select)
	if len(still) == 0 {
		return false
	}
	f.draw(o, rs)
	f.lap(&f.Spent.Others)
	if f.Hashed {
		f.follow()
		f.lap(&f.Spent.Select)
	}
	if len(f.want) == 0 {
		return true
	}
	d.Expand(f.want, f.acts, rs)
	f.lap(&f.Spent.Dynamics)
	f.Count.Steps += int64(len(f.want))
	f.qs, f.who = f.qs[:0], f.who[:0]
	for row := range f.want {
		leaf := &f.want[row]
		i := int(f.owner[row])
		if f.Hashed {
			f.enter(i, row, leaf)
		} else {
			f.edges[int(leaf.From)*f.row+int(leaf.Action)].child = leaf.To
			if f.joint != nil {
				copy(f.drawnAt(leaf.To), f.acts[row*f.Others:(row+1)*f.Others])
			}
			f.grow(i, leaf)
		}
	}
	f.lap(&f.Spent.Backup)
	f.evaluate(p)
	for row, i := range f.who {
		f.backup(int(i), &f.lane[i], f.value[row])
	}
	f.lap(&f.Spent.Backup)
	return true
}

// grow moves the cursor of lane i into a new node, to be evaluated unless it is an
// end.
func (f *Forest) grow(i int, leaf *Leaf) {
	l := &f.lane[i]
	f.push(i, l, leaf.From, leaf.Action, leaf.Reward, leaf.To)
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

// enter is grow where equal states are one node.
func (f *Forest) enter(i, row int, leaf *Leaf) {
	l := &f.lane[i]
	if leaf.Over {
		leaf.Key = 1 // one node stands for every end
	}
	known := f.find(i, mix(leaf.Key))
	if known == nil {
		f.insert(i, f.edgeKey(leaf, row), leaf.To, leaf.Reward)
		f.insert(i, mix(leaf.Key), leaf.To, 0)
		f.grow(i, leaf)
		return
	}
	f.insert(i, f.edgeKey(leaf, row), known.slot, leaf.Reward)
	f.push(i, l, leaf.From, leaf.Action, leaf.Reward, known.slot)
	if leaf.Over {
		f.backup(i, l, 0)
	}
}

// descend walks down from the cursor until a step must be played, finishing
// simulations that end at what is known. It reports false once none is left.
func (f *Forest) descend(i int, l *lane, o Others, rs []rng.Rand) bool {
	for l.sims > 0 {
		n := &f.nodes[l.at]
		if int(l.steps) == f.deep {
			f.backup(i, l, n.mean)
			continue
		}
		if f.Hashed {
			if l.steps == 0 && int(l.sims) < f.Sims {
				o.Goals(l.tree, &rs[l.tree])
			}
			l.action, _ = f.pick(l, n)
			return true
		}
		a, child := f.pick(l, n)
		if child < 0 {
			l.action = a
			return true
		}
		c := &f.nodes[child]
		f.push(i, l, l.at, a, c.reward, child)
		if c.over {
			f.backup(i, l, 0)
		}
	}
	return false
}

// push moves the cursor along a step.
func (f *Forest) push(i int, l *lane, from, action int32, reward float32, to int32) {
	f.path[i*f.deep+int(l.steps)] = hop{from, action, reward}
	l.steps++
	l.at = to
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

// pick returns the action to try at a node, and the child that it leads to: with
// VisitAll the untried one of the highest prior, else the largest
// Q + c P sqrt(N) / (1 + n). Of equals the first is taken.
func (f *Forest) pick(l *lane, n *node) (action, child int32) {
	edges := f.edges[int(l.at)*f.row : (int(l.at)+1)*f.row]
	if f.VisitAll && n.fresh != 0 {
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
		return int32(k), edges[k].child
	}
	if f.plain && n.fresh == 0 {
		k := f.largest(l, n.legal, edges, f.bonus[n.visits])
		return int32(k), edges[k].child
	}
	if n.shut {
		f.open(n, edges)
	}
	lo, scale, untried := float32(0), float32(1), float32(0)
	switch f.norm {
	case normNode:
		lo = n.mean
		hi := n.mean
		for set := n.legal &^ n.fresh; set != 0; set &= set - 1 {
			q := edges[bits.TrailingZeros32(set)].q
			lo, hi = min(lo, q), max(hi, q)
		}
		scale = 1 / max(hi-lo, 1e-8)
	case normTree:
		lo, scale = l.lo, l.scale
	}
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
	return int32(at), edges[at].child
}

// largest is pick where every action has been tried and Q is scaled over the
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

// draw draws the co-players' actions for the steps that are wanted.
func (f *Forest) draw(o Others, rs []rng.Rand) {
	f.qs, f.who = f.qs[:0], f.who[:0]
	for row := range f.want {
		leaf := &f.want[row]
		n := &f.nodes[leaf.From]
		l := &f.lane[f.owner[row]]
		if n.drawn && f.keeps(l.steps) {
			copy(f.acts[row*f.Others:(row+1)*f.Others], f.kept[int(leaf.From)*f.Others:])
			continue
		}
		f.qs = append(f.qs, Query{leaf.Tree, leaf.From, n.key, n.legal, l.steps, l.seed, false})
		f.who = append(f.who, int32(row))
		if f.common != nil {
			f.common[l.tree] = Common(l.seed, l.steps)
		}
	}
	if len(f.qs) == 0 {
		return
	}
	if f.common != nil {
		rs = f.common
	}
	if len(f.qs) == len(f.want) {
		o.Draw(f.acts[:len(f.qs)*f.Others], f.qs, rs)
	} else {
		o.Draw(f.drawn[:len(f.qs)*f.Others], f.qs, rs)
		for i, row := range f.who {
			copy(f.acts[int(row)*f.Others:(int(row)+1)*f.Others], f.drawn[i*f.Others:])
		}
	}
	if !f.keepRoot {
		return
	}
	for i, row := range f.who {
		if slot := f.qs[i].Slot; f.keeps(f.qs[i].Depth) {
			copy(f.kept[int(slot)*f.Others:(int(slot)+1)*f.Others], f.acts[int(row)*f.Others:])
			f.nodes[slot].drawn = true
		}
	}
}

// keeps reports whether the joint action of a node at a depth is drawn once and
// kept.
func (f *Forest) keeps(depth int32) bool { return f.keepAll || f.keepRoot && depth == 0 }

// evaluate asks the prior about f.qs and makes nodes of them, shut ones.
func (f *Forest) evaluate(p Prior) {
	rows := len(f.qs)
	if rows == 0 {
		return
	}
	p.Eval(f.logits[:rows*f.Actions], f.value[:rows], f.qs)
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

// open makes a node's edges when it is first gone through: most nodes never are.
// All zero logits, as scripts give, are worth a way of their own: no exponentials.
func (f *Forest) open(n *node, edges []edge) {
	n.shut = false
	if n.flat {
		each := f.inv[bits.OnesCount32(n.legal)]
		for k := range edges {
			edges[k] = edge{p: each * float32(n.legal>>k&1), child: -1}
		}
		return
	}
	for k := range edges {
		f.prior[k] = edges[k].p
	}
	softmax(f.prior, f.prior, n.legal, 1)
	for k := range edges {
		edges[k] = edge{p: f.prior[k], child: -1}
	}
}

// rootPrior keeps the prior of lane i's root and mixes noise into it.
func (f *Forest) rootPrior(i int, l *lane, r *rng.Rand) {
	edges := f.edges[int(l.at)*f.row : (int(l.at)+1)*f.row]
	f.open(&f.nodes[l.at], edges)
	for k := range f.Actions {
		f.first[i*f.row+k] = edges[k].p
	}
	if f.NoiseEps == 0 {
		return
	}
	sum := 0.
	for set := f.nodes[l.at].legal; set != 0; set &= set - 1 {
		k := bits.TrailingZeros32(set)
		f.prior[k] = float32(gamma(f.NoiseA, r))
		sum += float64(f.prior[k])
	}
	if sum == 0 {
		return
	}
	f.nodes[l.at].flat = false
	eps := float32(f.NoiseEps)
	for set := f.nodes[l.at].legal; set != 0; set &= set - 1 {
		k := bits.TrailingZeros32(set)
		edges[k].p = (1-eps)*edges[k].p + eps*float32(float64(f.prior[k])/sum)
	}
}
