package search

import "github.com/hop-marl/hop/num/rng"

// Observer shows the states in slots as networks see them. Place 0 is oneself,
// places 1 to J are the co-players, in the order of Others.
type Observer interface {
	// Observe writes what a place sees.
	Observe(dst []float32, tree, slot int32, place int)
	// Legal returns a bit for each legal action of a place, none if it has left.
	Legal(tree, slot int32, place int) uint32
}

// Net is a network as the search sees it: it takes rows one by one and answers
// them together.
type Net interface {
	// Add adds a row: an observation and, of a model of others, a goal.
	Add(obs, goal []float32)
	// Run answers all rows added since the last call: logits, [rows][A], and
	// values, nil for a model of others.
	Run() (logits, value []float32)
}

// Beliefs draws a goal for each co-player of decision env.
type Beliefs interface {
	Draw(dst []int32, env int, r *rng.Rand)
}

// NetConfig says what a network is asked about.
type NetConfig struct {
	Observer
	Net
	ObsLen  int // of what Observe writes
	Actions int
	Rows    int // most queries at once: the Forest's group
	Log     int // answers kept: 2^Log
}

// NetPrior is a Prior made from a network that acts, with a cache. Clear the
// cache whenever its weights have changed.
type NetPrior struct {
	NetConfig
	// Read returns what the network reads of a query beside the observation, a view,
	// and the key of both; nil: nothing, and the query's own key.
	Read func(q *Query) (goal []float32, key uint64)
	// LogitsOnly says that values are another's: where nothing is searched the
	// network is not asked.
	LogitsOnly bool

	Cache *Cache // [A+1] logits and value
	obs   []float32
	miss  []int32
	keys  []uint64
}

// NewNetPrior returns a prior with an empty cache.
func NewNetPrior(c NetConfig) *NetPrior {
	return &NetPrior{
		NetConfig: c, Cache: NewCache(c.Log, c.Actions+1), obs: make([]float32, c.ObsLen),
		miss: make([]int32, 0, c.Rows), keys: make([]uint64, c.Rows),
	}
}

// Eval asks the network about the states that are not in the cache.
func (p *NetPrior) Eval(logits, value []float32, qs []Query) {
	k := p.Actions
	p.miss = p.miss[:0]
	for i := range qs {
		q := &qs[i]
		if q.End && p.LogitsOnly {
			continue
		}
		goal, key := []float32(nil), q.Key
		if p.Read != nil {
			goal, key = p.Read(q)
		}
		if row := p.Cache.Find(key); row != nil {
			copy(logits[i*k:(i+1)*k], row)
			value[i] = row[k]
			continue
		}
		p.Observe(p.obs, q.Tree, q.Slot, 0)
		p.Add(p.obs, goal)
		p.keys[i] = key
		p.miss = append(p.miss, int32(i))
	}
	if len(p.miss) == 0 {
		return
	}
	ls, vs := p.Run()
	for row, i := range p.miss {
		l := ls[row*k : (row+1)*k]
		copy(logits[int(i)*k:(int(i)+1)*k], l)
		value[i] = vs[row]
		if key := p.keys[i]; key != 0 {
			kept := p.Cache.Put(key)
			copy(kept, l)
			kept[k] = vs[row]
		}
	}
}

// Vectors gives what a network reads for a goal. Where goals are points, goal is
// any number that names the point for as long as the cache lives.
type Vectors interface {
	Vector(tree int32, other int, goal int32) []float32
}

// OthersConfig says whom a NetOthers models.
type OthersConfig struct {
	NetConfig
	Beliefs
	Others  int
	Most    int     // rows that Net takes at a time; 0: as many as there may be
	Trees   int     // a decision
	Envs    int     // most decisions at once
	Vectors Vectors // may be nil: rows have no goal
	// Far reports whether a tree's co-player acts in all its states as the network says at its
	// root, so far as that is legal there; nil: nobody does.
	Far func(tree int32, other int) bool
}

// NetOthers is Others made from a network that predicts, with a cache by state,
// co-player and goal. Clear the cache whenever its weights have changed.
type NetOthers struct {
	OthersConfig
	Env   []int  // [decisions] the env that beliefs are asked about; nil: the same number
	Cache *Cache // [A] probabilities

	goal  []int32 // [trees][others]
	root  []Query // [trees] where there may be somebody far
	obs   []float32
	probs []float32 // [rows][others][A]
	mask  []uint32  // [rows][others]
	miss  []int32
}

// NewNetOthers returns a model with an empty cache.
func NewNetOthers(c OthersConfig) *NetOthers {
	rows := c.Rows * c.Others
	if c.Most == 0 {
		c.Most = rows
	}
	n := &NetOthers{
		OthersConfig: c, Cache: NewCache(c.Log, c.Actions), goal: make([]int32, c.Envs*c.Trees*c.Others),
		obs: make([]float32, c.ObsLen), probs: make([]float32, rows*c.Actions), mask: make([]uint32, rows), miss: make([]int32, 0, c.Most),
	}
	if c.Far != nil {
		n.root = make([]Query, c.Envs*c.Trees)
	}
	return n
}

// Of returns the goals drawn for a tree, a view.
func (n *NetOthers) Of(tree int32) []int32 {
	return n.goal[int(tree)*n.Others : (int(tree)+1)*n.Others]
}

// Goals draws the goals of a tree from the beliefs.
func (n *NetOthers) Goals(tree int32, r *rng.Rand) {
	env := int(tree) / n.Trees
	if n.Env != nil {
		env = n.Env[env]
	}
	n.Beliefs.Draw(n.goal[int(tree)*n.Others:(int(tree)+1)*n.Others], env, r)
}

// Draw asks the network about what is not in the cache and draws from the
// distributions.
func (n *NetOthers) Draw(dst []int32, qs []Query, rs []rng.Rand) {
	n.miss = n.miss[:0]
	for i := range qs {
		q := &qs[i]
		if n.root != nil && q.Depth == 0 {
			n.root[q.Tree] = *q
		}
		for j := range n.Others {
			at := i*n.Others + j
			n.mask[at] = n.Legal(q.Tree, q.Slot, j+1)
			if n.mask[at] == 0 {
				continue
			}
			goal, of := n.goal[int(q.Tree)*n.Others+j], n.asked(q, j)
			if row := n.Cache.Find(n.key(of, j, goal)); row != nil {
				copy(n.probs[at*n.Actions:(at+1)*n.Actions], row)
				continue
			}
			if len(n.miss) == n.Most {
				n.answer(qs)
			}
			n.Observe(n.obs, of.Tree, of.Slot, j+1)
			var v []float32
			if n.Vectors != nil {
				v = n.Vectors.Vector(q.Tree, j, goal)
			}
			n.Add(n.obs, v)
			n.miss = append(n.miss, int32(at))
		}
	}
	n.answer(qs)
	for at := range dst {
		dst[at] = -1
		if n.mask[at] == 0 {
			continue
		}
		q, probs := &qs[at/n.Others], n.probs[at*n.Actions:(at+1)*n.Actions]
		if n.asked(q, at%n.Others) != q {
			within(probs, n.mask[at])
		}
		dst[at] = rng.Pick(probs, rs[q.Tree].Float32())
	}
}

// asked returns in which state the network is asked what a co-player does in q's.
func (n *NetOthers) asked(q *Query, j int) *Query {
	if n.root != nil && q.Depth > 0 && n.Far(q.Tree, j) {
		return &n.root[q.Tree]
	}
	return q
}

// within keeps of a distribution what is in a set: all of it as likely as the rest where it has
// nothing there.
func within(probs []float32, set uint32) {
	sum := float32(0)
	for k, p := range probs {
		if set>>k&1 == 0 {
			probs[k] = 0
		} else {
			sum += p
		}
	}
	if sum == 0 {
		softmax(probs, probs, set, 1)
		return
	}
	for k := range probs {
		probs[k] /= sum
	}
}

// answer runs the network on the rows that were missed and keeps its answers.
func (n *NetOthers) answer(qs []Query) {
	if len(n.miss) == 0 {
		return
	}
	logits, _ := n.Run()
	for row, at := range n.miss {
		probs := n.probs[int(at)*n.Actions : (int(at)+1)*n.Actions]
		q, j, legal := &qs[int(at)/n.Others], int(at)%n.Others, n.mask[at]
		of := n.asked(q, j)
		if of != q {
			legal = n.Legal(of.Tree, of.Slot, j+1)
		}
		softmax(probs, logits[row*n.Actions:(row+1)*n.Actions], legal, 1)
		if key := n.key(of, j, n.goal[int(q.Tree)*n.Others+j]); key != 0 {
			copy(n.Cache.Put(key), probs)
		}
	}
	n.miss = n.miss[:0]
}

// key names a state, a co-player and its goal.
func (n *NetOthers) key(q *Query, j int, goal int32) uint64 {
	if q.Key == 0 {
		return 0
	}
	return mix(q.Key ^ (uint64(j)<<32|uint64(uint32(goal)))*0x9e3779b97f4a7c15)
}

var (
	_ Prior  = (*NetPrior)(nil)
	_ Others = (*NetOthers)(nil)
)

// Cache keeps rows of numbers by key. It has a fixed size and forgets what is
// in the way, so it must only be asked for what can be computed again.
type Cache struct {
	Asked, Found int64
	width        int
	key          []uint64
	rows         []float32 // [len(key)][width]
}

// NewCache returns an empty cache of 2^log rows.
func NewCache(log, width int) *Cache {
	return &Cache{width: width, key: make([]uint64, 1<<log), rows: make([]float32, width<<log)}
}

// Clear forgets everything, as it must when weights have changed.
func (c *Cache) Clear() { clear(c.key) }

// Find returns the row of a key, a view, or nil. Key 0 is never found.
func (c *Cache) Find(key uint64) []float32 {
	c.Asked++
	at := int(mix(key)>>20) & (len(c.key) - 1)
	if key == 0 || c.key[at] != key {
		return nil
	}
	c.Found++
	return c.rows[at*c.width : (at+1)*c.width]
}

// Put returns the row in which to keep what belongs to a key.
func (c *Cache) Put(key uint64) []float32 {
	at := int(mix(key)>>20) & (len(c.key) - 1)
	c.key[at] = key
	return c.rows[at*c.width : (at+1)*c.width]
}
