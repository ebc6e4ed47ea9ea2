package search

import (
	"errors"
	"math"
	"math/bits"
	"time"
	"unsafe"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// Forest is the memory of a search. Make one with New for each who decides.
// Q, Visits, Value and Policy are views, written by Search.
type Forest struct {
	Config
	Actions, Others int // own actions, number of co-players
	Envs            int // most decisions at once; decision e has trees e*Trees to (e+1)*Trees

	Policy []float32 // [Envs][Actions]
	Q      []float32 // [Envs][Actions] mean over trees; 0 where never tried
	Visits []int32   // [Envs][Actions] sum over trees
	Value  []float32 // [Envs] the root's mean value
	Prior  []float32 // [Envs][Actions] the root's prior, before noise
	Count  Count     // since New

	Journal *Journal // nil: none is written

	Clock func() time.Duration // nil: phases are not timed
	Spent Spent                // since New, where Clock is set
	mark  time.Duration        // when the phase began

	norm, untried     uint8
	plain             bool // Q is W/n, scaled over the tree
	keepAll, keepRoot bool // a node's joint action is drawn once: at all nodes, at the root

	group  int // trees that advance together
	stride int // slots a tree
	row    int // entries a node in the arrays below: Actions, rounded up to 8
	live   int // lanes of the last group

	// By slot, [group][stride].
	nodes []node
	edges []edge  // [slots][row]
	kept  []int32 // [slots][Others] joint actions drawn once a node
	joint []int32 // [slots][Others] with Trace: joint actions on the way into nodes

	first []float32 // [group][row] the roots' priors, before noise
	path  []hop     // [group][depth]
	deep  int       // length of a path
	table []entry
	gen   uint32

	buffers
	asked Asked      // by the trees that are searched
	rs    []rng.Rand // [trees] their streams

	inv   []float32 // 1/n
	bonus []float32 // c sqrt(n) for a node of n visits
	tried []int32   // [Envs][Actions] trees in which the action was tried

	parts  []*Forest  // what is searched side by side: views of the arrays above; nil until Parts is above 1
	job    *cores.Job // of the parts
	search func(part int)
	alone  [1]Asked // of Search
}

// buffers is what a search writes all the time: each part has its own.
type buffers struct {
	lane   []lane
	active []int32 // lanes with simulations left
	want   []Leaf  // steps to play in this round
	acts   []int32 // [group][Others] the joint actions of want
	qs     []Query
	who    []int32 // lanes or rows that qs belong to
	owner  []int32 // lanes that want belongs to
	drawn  []int32 // [group][Others]
	logits []float32
	value  []float32
	prior  []float32  // [row]
	common []rng.Rand // [trees] streams that depend on the depth only
}

// Count says what searches have cost.
type Count struct {
	Sims   int64 // simulations
	Leaves int64 // states evaluated
	Steps  int64 // steps played
	Rounds int64 // batches asked of Prior
}

// Spent says where the time of searches went.
type Spent struct {
	Select   time.Duration // walking down the trees
	Others   time.Duration // drawing goals and the co-players' actions
	Dynamics time.Duration // putting states into slots and playing steps
	Leaf     time.Duration // asking the prior
	Backup   time.Duration // adding returns to the trees, and the results
}

// lap adds the time since the last lap to a phase.
func (f *Forest) lap(phase *time.Duration) {
	if f.Clock != nil {
		now := f.Clock()
		*phase += now - f.mark
		f.mark = now
	}
}

type node struct {
	key    uint64
	mean   float32 // of the values backed up, its own evaluation first
	visits int32   // 1 + those of its actions
	legal  uint32
	fresh  uint32  // legal actions not yet tried
	reward float32 // on the edge into it
	over   bool
	drawn  bool // the co-players' actions at this node are drawn, and kept
	shut   bool // never gone through: see open
	flat   bool // all actions have the same prior
}

type edge struct {
	q     float32
	n     int32
	p     float32 // the logit, while the node is shut
	child int32   // slot, -1 if none
}

// hop is one step of a path.
type hop struct {
	slot, action int32
	reward       float32
}

// lane is a tree that is being searched.
type lane struct {
	tree   int32
	at     int32 // slot of the cursor
	action int32 // chosen there
	used   int32 // slots in use
	steps  int32 // length of the path
	sims   int32 // left to do
	seed   uint64
	stored int32 // entries in the table
	lo, hi float32
	scale  float32 // 1 / (hi - lo), or 0
}

// entry of the table that finds children and equal states when hashed.
type entry struct {
	key   uint64
	gen   uint32
	slot  int32
	prize float32
}

// Config.Norm and Config.Unvisited as numbers.
const (
	normNone = iota
	normNode
	normTree

	untriedZero = 0
	untriedNode = 1
	untriedMin  = 2
)

// Slots returns how many slots a Dynamics must have.
func (f *Forest) Slots() int { return f.group * f.stride }

// Group returns how many trees advance together: the most leaves in a batch.
func (f *Forest) Group() int { return f.group }

// longest returns how many steps a simulation may have.
func (c Config) longest() int {
	n := c.Sims + 1
	if c.Hashed {
		n = 1024
	}
	if c.Depth > 0 {
		n = min(n, c.Depth)
	}
	return n
}

// entries returns how large the table of a tree is that finds equal states: a power of 2.
func (c Config) entries() int {
	if !c.Hashed {
		return 0
	}
	return max(64, 1<<bits.Len(uint(16*(c.Sims+2)-1)))
}

// keeps reports that co-players' actions are drawn once a node, at some nodes at least.
func (c Config) keeps() bool { return c.Resample != "child" && !c.Hashed }

// Bytes returns what New takes of the memory for the same arguments, and how many slots
// it then asks of a Dynamics.
func (c Config) Bytes(actions, others, envs, group int) (bytes, slots float64) {
	c = c.Resolve(actions)
	group = min(group, envs*c.Trees)
	row := (actions + 7) &^ 7
	slots = float64(group) * float64(c.Sims+2)
	bytes = slots * float64(unsafe.Sizeof(node{})+uintptr(row)*unsafe.Sizeof(edge{}))
	bytes += float64(group) * float64(c.entries()) * float64(unsafe.Sizeof(entry{}))
	bytes += float64(group) * (float64(c.longest())*float64(unsafe.Sizeof(hop{})) + 4*float64(row))
	if c.Resample == "depth" && !c.Hashed {
		bytes += float64(envs) * float64(c.Trees) * float64(unsafe.Sizeof(rng.Rand{}))
	}
	if c.keeps() {
		bytes += 4 * slots * float64(others)
	}
	return bytes + 20*float64(envs)*float64(actions), slots
}

// New returns memory for searches of envs decisions at once, of which group
// trees advance together: 1 where Prior and Others are cheap, 64 or more where
// they are networks.
func New(c Config, actions, others, envs, group int) (*Forest, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.Resolve(actions)
	if actions < 1 || actions > MaxActions || others < 0 || envs < 1 || group < 1 {
		return nil, errors.New("search: 1 to 32 actions, at least one env and a group of at least one tree are needed")
	}
	f := &Forest{Config: c, Actions: actions, Others: others, Envs: envs, group: min(group, envs*c.Trees)}
	f.norm = map[string]uint8{"none": normNone, "node": normNode, "tree": normTree}[c.Norm]
	f.untried = map[string]uint8{"zero": untriedZero, "node": untriedNode, "min": untriedMin}[c.Unvisited]
	f.plain = f.norm == normTree && !c.PlusOne
	f.stride, f.row, f.deep = c.Sims+2, (actions+7)&^7, c.longest()
	f.table = make([]entry, f.group*c.entries())
	f.Policy, f.Q = make([]float32, envs*actions), make([]float32, envs*actions)
	f.Visits, f.Value, f.Prior = make([]int32, envs*actions), make([]float32, envs), make([]float32, envs*actions)
	slots := f.Slots()
	f.nodes, f.edges = make([]node, slots), make([]edge, slots*f.row)
	f.first, f.path = make([]float32, f.group*f.row), make([]hop, f.group*f.deep)
	f.buffers = f.newBuffers(0)
	if c.keeps() { // with common numbers they would be drawn the same again
		f.kept = make([]int32, slots*others)
		f.keepAll, f.keepRoot = c.Resample != "root", true
	}
	f.tried = make([]int32, envs*actions)
	f.weights()
	return f, nil
}

// weights fills the tables of 1/n and of the exploration bonus.
func (f *Forest) weights() {
	f.inv, f.bonus = make([]float32, max(f.Sims+3, MaxActions+1)), make([]float32, f.Sims+3)
	for n := 1; n < len(f.inv); n++ {
		f.inv[n] = 1 / float32(n)
	}
	for n := range f.bonus {
		w := float32(f.C)
		if f.CBase > 0 {
			w += float32(math.Log((float64(n) + f.CBase + 1) / f.CBase))
		}
		f.bonus[n] = w * float32(math.Sqrt(float64(n)))
	}
}

// newBuffers returns buffers for a group, that much longer than they need be.
func (f *Forest) newBuffers(spare int) (b buffers) {
	n := f.group + spare
	b.lane, b.active, b.who, b.owner = make([]lane, n), make([]int32, 0, n), make([]int32, 0, n), make([]int32, 0, n)
	b.want, b.qs = make([]Leaf, 0, n), make([]Query, 0, n)
	b.acts, b.drawn = make([]int32, n*f.Others), make([]int32, n*f.Others)
	b.logits, b.value, b.prior = make([]float32, n*f.Actions), make([]float32, n), make([]float32, f.row+spare)
	if f.Resample == "depth" && !f.Hashed {
		b.common = make([]rng.Rand, f.Envs*f.Trees+spare)
	}
	return b
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
