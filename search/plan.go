// Package search searches over one's own actions against sampled co-players.
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
//
// search.go is the search: select, expand, backup, act. forest.go is its memory.
package search

import (
	"errors"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
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

// Asked is whom a search asks. None of them is for two goroutines: where a search is cut
// into parts, each part has its own.
type Asked struct {
	Dynamics Dynamics
	Prior    Prior
	Others   Others
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
	return errors.Join(config.Check(c))
}

// Sure reports that the policy is all on one action.
func (c Config) Sure() bool {
	return c.Sims > 0 && c.Kind != "none" && c.Act != "visits" && c.Act != "softmax" && c.Act != "mixed"
}
