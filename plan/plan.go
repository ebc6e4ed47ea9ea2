// Package plan searches over one's own actions against sampled co-players.
//
// It knows neither networks nor games. Dynamics plays steps, Others draws what
// co-players do, Prior evaluates leaves; states live with the Dynamics and are
// named by slots. Any number of co-players move at the same time as oneself and
// only one's own reward is planned for, so a game may be of any kind.
//
// Nodes are flat arrays that are reused; nothing is allocated after New. Trees
// advance in groups, all of a group together, so that networks are asked about
// many leaves at once. Every tree draws from its own stream and answers to equal
// questions are equal, so results do not depend on groups, caches or workers. The
// trees of a large search are cut into parts that run side by side (parts.go).
package plan

import (
	"errors"
	"math"
	"time"
	"unsafe"

	"hop/field"
	"hop/internal/cores"
	"hop/rng"
)

// MaxActions bounds the number of own actions, so that masks fit into a word.
const MaxActions = 32

// Dynamics holds states in slots and plays steps from one slot into another:
// the real rules, or a learnt model of them.
type Dynamics interface {
	// Root puts the state that a tree plans from into a slot, and returns a bit
	// for each legal action, none if there is nothing to decide, and a key.
	Root(tree, slot int32) (legal uint32, key uint64)
	// Expand plays the leaves' actions from their From slots into their To
	// slots and writes the rest of each Leaf. others holds the co-players'
	// actions, [len(leaves)][J]; rs is indexed by Leaf.Tree.
	Expand(leaves []Leaf, others []int32, rs []rng.Rand)
}

// Leaf is one step to play.
type Leaf struct {
	Tree     int32
	From, To int32
	Action   int32

	Reward float32 // own
	Over   bool    // nothing is left to decide: one has left, or the episode ended
	Legal  uint32  // bit k: action k is legal in the new state
	Key    uint64  // equal for states that go on alike; 0 if not known
}

// Query names a state for Others and Prior.
type Query struct {
	Tree, Slot int32
	Key        uint64
	Legal      uint32
	Depth      int32  // steps from the root
	Seed       uint64 // with Resample "depth" the tree's own number, else 0; see Common
	End        bool   // nothing is searched below it: of a Prior's answer only the value is read
}

// Others models the co-players: bots, a learnt model, or anything uniform.
type Others interface {
	// Goals draws what the co-players of a tree are after: once a tree, or with
	// Config.Hashed once a simulation.
	Goals(tree int32, r *rng.Rand)
	// Draw draws one action for each co-player, given the tree's goals, and
	// writes them to dst, [len(qs)][J]. Who has left plays -1. rs is indexed by
	// Query.Tree; drawing one number for each co-player, needed or not, keeps
	// random numbers common where they are meant to be.
	Draw(dst []int32, qs []Query, rs []rng.Rand)
}

// Prior evaluates states before they have been searched.
type Prior interface {
	// Eval writes logits, [len(qs)][A], and values. Logits of illegal actions
	// are not read, nor any where Query.End.
	Eval(logits, value []float32, qs []Query)
}

// Config chooses the search. See Default and Paper.
type Config struct {
	Kind      string  `yaml:"kind" doc:"tree search; one-step look-ahead over trees draws of the co-players; or none: the network's own policy" oneof:"tree|onestep|none"`
	Trees     int     `yaml:"trees" doc:"trees a decision, each with goals drawn anew; their values are averaged" range:"1..1024"`
	Sims      int     `yaml:"sims" doc:"simulations a tree; 0 plays the prior" range:"0..1000000" when:"tree"`
	Hashed    bool    `yaml:"hashed" doc:"draw goals and co-players anew in every simulation, in one tree whose equal states are one node" when:"tree"`
	Resample  string  `yaml:"resample" doc:"co-players' actions are drawn anew for each child, once for each node, once at the root and for each child below, or with random numbers that all nodes of a tree at one depth have in common; when hashed always anew" oneof:"child|node|root|depth" when:"tree"`
	Depth     int     `yaml:"depth" doc:"longest line searched; 1 is one-step look-ahead; 0: no limit" unit:"steps" range:"0..10000" when:"tree"`
	C         float64 `yaml:"c" doc:"weight of exploration" range:"0.."`
	CBase     float64 `yaml:"c_base" doc:"c grows by ln((N + base + 1) / base), as in MuZero; 0: it does not" range:"0.."`
	Norm      string  `yaml:"norm" doc:"Q as it is, scaled to 0..1 over a node's actions (mctx), or over the tree (MuZero)" oneof:"none|node|tree"`
	PlusOne   bool    `yaml:"plus_one" doc:"Q is W/(1+n), as in HOP, not W/n"`
	Unvisited string  `yaml:"unvisited" doc:"Q of an action not yet tried: 0, the node's value, or the lowest of its Q" oneof:"zero|node|min"`
	VisitAll  bool    `yaml:"visit_all" doc:"try every action of a node once before any twice"`
	Discount  float64 `yaml:"discount" doc:"of rewards, per step" range:"0..1"`
	NoiseEps  float64 `yaml:"noise_eps" doc:"share of Dirichlet noise in the root's prior, and only there" range:"0..1"`
	NoiseA    float64 `yaml:"noise_alpha" doc:"the noise's concentration" range:"0<.."`
	Act       string  `yaml:"act" doc:"the policy: all on the highest Q; all on the highest log prior + beta Q; mixed: prior times exp(beta Q), normalised; all on the most visits; in proportion to visits; or softmax(beta Q)" oneof:"q|prior|mixed|most|visits|softmax"`
	Beta      float64 `yaml:"beta" doc:"of the softmax, and of Q beside the prior" range:"0.."`
}

// Default returns what measured best in stag hunt (docs/planning.md): every
// action once, Q scaled over the tree so that rewards have no unit, and the
// highest mean Q over the trees.
func Default() Config {
	return Config{
		Kind: "tree", Trees: 20, Sims: 50, Resample: "depth", C: 1, Norm: "tree", Unvisited: "node", VisitAll: true,
		Discount: 0.99, NoiseA: 0.03, Act: "q", Beta: 2,
	}
}

// Paper returns HOP's published settings for stag hunt.
func Paper() Config {
	return Config{
		Kind: "tree", Trees: 5, Sims: 200, Resample: "child", C: 1, Norm: "none", PlusOne: true, Unvisited: "zero",
		Discount: 0.95, NoiseA: 0.03, Act: "softmax", Beta: 2,
	}
}

// Resolve returns the settings that the kind comes to in a game with so many
// actions. One-step look-ahead is the mean over draws of the co-players of reward
// and discounted value after each of them.
func (c Config) Resolve(actions int) Config {
	switch c.Kind {
	case "onestep":
		c.Depth, c.Sims, c.Resample, c.Hashed = 1, actions, "node", false
	case "none":
		c.Sims, c.Trees = 0, 1
	}
	return c
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	return errors.Join(field.Check(c))
}

// Sure reports that the policy is all on one action.
func (c Config) Sure() bool {
	return c.Sims > 0 && c.Kind != "none" && c.Act != "visits" && c.Act != "softmax" && c.Act != "mixed"
}

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

// Bytes returns what New takes of the memory for the same arguments, and how many slots
// it then asks of a Dynamics.
func (c Config) Bytes(actions, others, envs, group int) (bytes, slots float64) {
	c = c.Resolve(actions)
	group = min(group, envs*c.Trees)
	row := (actions + 7) &^ 7
	slots = float64(group) * float64(c.Sims+2)
	bytes = slots * float64(unsafe.Sizeof(node{})+uintptr(row)*unsafe.Sizeof(edge{}))
	deep := c.Sims + 1
	if c.Hashed {
		deep = 1024
		size := 64.
		for size < 16*float64(c.Sims+2) {
			size *= 2
		}
		bytes += float64(group) * size * float64(unsafe.Sizeof(entry{}))
	}
	if c.Depth > 0 {
		deep = min(deep, c.Depth)
	}
	bytes += float64(group) * (float64(deep)*float64(unsafe.Sizeof(hop{})) + 4*float64(row))
	if c.Resample == "depth" && !c.Hashed {
		bytes += float64(envs) * float64(c.Trees) * float64(unsafe.Sizeof(rng.Rand{}))
	}
	if c.Resample != "child" && !c.Hashed {
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
		return nil, errors.New("plan: 1 to 32 actions, at least one env and a group of at least one tree are needed")
	}
	f := &Forest{Config: c, Actions: actions, Others: others, Envs: envs, group: min(group, envs*c.Trees)}
	f.norm = map[string]uint8{"none": normNone, "node": normNode, "tree": normTree}[c.Norm]
	f.untried = map[string]uint8{"zero": untriedZero, "node": untriedNode, "min": untriedMin}[c.Unvisited]
	f.plain = f.norm == normTree && !c.PlusOne
	f.stride = c.Sims + 2
	f.row = (actions + 7) &^ 7
	f.deep = c.Sims + 1
	if c.Hashed {
		f.deep = 1024
		size := 64
		for size < 16*f.stride {
			size *= 2
		}
		f.table = make([]entry, f.group*size)
	}
	if c.Depth > 0 {
		f.deep = min(f.deep, c.Depth)
	}
	f.Policy, f.Q = make([]float32, envs*actions), make([]float32, envs*actions)
	f.Visits, f.Value, f.Prior = make([]int32, envs*actions), make([]float32, envs), make([]float32, envs*actions)
	slots := f.Slots()
	f.nodes, f.edges = make([]node, slots), make([]edge, slots*f.row)
	f.first, f.path = make([]float32, f.group*f.row), make([]hop, f.group*f.deep)
	f.buffers = f.newBuffers(0)
	if c.Resample != "child" && !c.Hashed { // with common numbers they would be drawn the same again
		f.kept = make([]int32, slots*others)
		f.keepAll, f.keepRoot = c.Resample != "root", true
	}
	f.inv, f.bonus, f.tried = make([]float32, max(c.Sims+3, MaxActions+1)), make([]float32, c.Sims+3), make([]int32, envs*actions)
	for n := 1; n < len(f.inv); n++ {
		f.inv[n] = 1 / float32(n)
	}
	for n := range f.bonus {
		w := float32(c.C)
		if c.CBase > 0 {
			w += float32(math.Log((float64(n) + c.CBase + 1) / c.CBase))
		}
		f.bonus[n] = w * float32(math.Sqrt(float64(n)))
	}
	return f, nil
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

// softmax writes the distribution of scaled logits over the legal actions.
func softmax(dst, logits []float32, legal uint32, scale float32) {
	top := float32(math.Inf(-1))
	for k, x := range logits {
		if legal>>k&1 != 0 {
			top = max(top, x*scale)
		}
	}
	sum := 0. // in double, so that it is the same in any order
	for k, x := range logits {
		dst[k] = 0
		if legal>>k&1 != 0 {
			dst[k] = float32(math.Exp(float64(x*scale - top)))
			sum += float64(dst[k])
		}
	}
	if sum > 0 {
		inv := float32(1 / sum)
		for k := range logits {
			dst[k] *= inv
		}
	}
}
