package search

import (
	"slices"

	"github.com/hop-marl/hop/num/rng"
)

// Journal is everything that the last search was told and did, for audits. A Forest
// whose Journal is not nil writes it; it costs memory, and changes no number.
type Journal struct {
	Config
	Actions, Others int
	Grown           []Tree // of all decisions, Trees a decision

	// Whom the search asked. Slots hold what it left there, in the trees of its last
	// group.
	Dynamics Dynamics
	Prior    Prior
	Model    Others

	// What it came to, as in Forest, for each decision.
	Policy, Q, Value, Priors []float32
	Visits                   []int32
}

// Tree is what happened in one tree, in order.
type Tree struct {
	Root   int32 // slot
	Legal  uint32
	Key    uint64
	Noised []float32 // [Actions] the root's prior, with noise
	Log    []Entry
}

// What an entry is about.
const (
	Goals  = iota // what the co-players are after was drawn
	Drew          // their actions were drawn
	Played        // a step was played
	Valued        // a state was evaluated
	Backed        // a simulation is over: its return is added along the path
)

// Entry is one thing that happened.
type Entry struct {
	What   int
	Query  Query     // Drew, Valued
	Leaf   Leaf      // Played, as it was answered
	Joint  []int32   // Drew, Played: the co-players' actions; Goals: the names of what was drawn, if there are any
	Rand   rng.Rand  // Goals, Drew, Played: the stream, before
	Logits []float32 // Valued
	Value  float32   // Valued; Backed: what the path's end is worth
	Path   []Taken   // Backed
	At     int32     // Backed: slot at the path's end
}

// Taken is one step of a simulation.
type Taken struct {
	Slot, Action int32
	Reward       float32
}

// begin starts a journal and returns whom a search is to ask instead: they ask the real
// ones and write down what was said.
func (j *Journal) begin(f *Forest, asked Asked, trees int) Asked {
	*j = Journal{
		Config: f.Config, Actions: f.Actions, Others: f.Others, Grown: make([]Tree, trees),
		Dynamics: asked.Dynamics, Prior: asked.Prior, Model: asked.Others,
	}
	return Asked{heard{j}, heard{j}, heard{j}}
}

// end keeps the results.
func (j *Journal) end(f *Forest) {
	n := len(j.Grown) / f.Trees
	k := n * f.Actions
	j.Policy, j.Q, j.Priors = slices.Clone(f.Policy[:k]), slices.Clone(f.Q[:k]), slices.Clone(f.Prior[:k])
	j.Value, j.Visits = slices.Clone(f.Value[:n]), slices.Clone(f.Visits[:k])
}

func (j *Journal) add(tree int32, e Entry) { j.Grown[tree].Log = append(j.Grown[tree].Log, e) }

// noised notes the prior that a root is searched by.
func (j *Journal) noised(f *Forest, l *lane) {
	for _, e := range f.edges[int(l.at)*f.row : int(l.at)*f.row+f.Actions] {
		j.Grown[l.tree].Noised = append(j.Grown[l.tree].Noised, e.p)
	}
}

// backed notes a simulation.
func (j *Journal) backed(l *lane, path []hop, g float32) {
	e := Entry{What: Backed, Value: g, At: l.at}
	for _, h := range path {
		e.Path = append(e.Path, Taken{h.slot, h.action, h.reward})
	}
	j.add(l.tree, e)
}

// heard is whom a search asks where what is said is written down.
type heard struct{ j *Journal }

func (h heard) Root(tree, slot int32) (uint32, uint64) {
	legal, key := h.j.Dynamics.Root(tree, slot)
	t := &h.j.Grown[tree]
	t.Root, t.Legal, t.Key = slot, legal, key
	return legal, key
}

func (h heard) Expand(leaves []Leaf, others []int32, rs []rng.Rand) {
	before := make([]rng.Rand, len(leaves))
	for i, l := range leaves {
		before[i] = rs[l.Tree]
	}
	h.j.Dynamics.Expand(leaves, others, rs)
	n := h.j.Others
	for i, l := range leaves {
		h.j.add(l.Tree, Entry{What: Played, Leaf: l, Joint: slices.Clone(others[i*n : (i+1)*n]), Rand: before[i]})
	}
}

func (h heard) Goals(tree int32, r *rng.Rand) {
	before := *r
	h.j.Model.Goals(tree, r)
	e := Entry{What: Goals, Rand: before}
	if named, ok := h.j.Model.(interface{ Of(tree int32) []int32 }); ok {
		e.Joint = slices.Clone(named.Of(tree))
	}
	h.j.add(tree, e)
}

func (h heard) Draw(dst []int32, qs []Query, rs []rng.Rand) {
	before := make([]rng.Rand, len(qs))
	for i, q := range qs {
		before[i] = rs[q.Tree]
	}
	h.j.Model.Draw(dst, qs, rs)
	n := h.j.Others
	for i, q := range qs {
		h.j.add(q.Tree, Entry{What: Drew, Query: q, Joint: slices.Clone(dst[i*n : (i+1)*n]), Rand: before[i]})
	}
}

func (h heard) Eval(logits, value []float32, qs []Query) {
	h.j.Prior.Eval(logits, value, qs)
	k := h.j.Actions
	for i, q := range qs {
		h.j.add(q.Tree, Entry{What: Valued, Query: q, Logits: slices.Clone(logits[i*k : (i+1)*k]), Value: value[i]})
	}
}
