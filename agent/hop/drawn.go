package hop

import (
	"math"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// drawn is the co-players of a search: each tree draws what they are after from the
// beliefs, and they act as the model of others says of that.
type drawn struct {
	net       *search.NetOthers // draws actions
	others    *others
	beliefs   *beliefs
	inference Inference
	inferred  *Inferred
	names     *names
	sure      []int32   // [others] hypotheses that are known to hold; nil: none are
	read      []float32 // [trees][others][GoalLen] what the model reads of what was drawn
	near      []bool    // [decisions][others] who is predicted in every state of a tree; nil: all
	partner   []int32   // [trees][others] who stands for it
}

// drawn makes those of a search of so many decisions of so many trees, on a network's
// settings.
func (o *others) drawn(d drawn, net search.NetConfig, envs, trees int) *drawn {
	known := o.shape.width // from where on a goal says whom it is about
	if o.uniform {
		known = o.model.Model.GoalLen
	}
	n := len(o.sees.others)
	most := together(net.Rows*n, &o.sees.spec)
	net.Net = o.model.Answers(most, known)
	d.others, d.read, d.partner = o, make([]float32, envs*trees*n*o.model.Model.GoalLen), make([]int32, envs*trees*n)
	config := search.OthersConfig{NetConfig: net, Others: n, Most: most, Trees: trees, Envs: envs, Vectors: &d}
	if d.near != nil {
		config.Far = d.far
	}
	d.net = search.NewNetOthers(config)
	return &d
}

// begin begins decisions in some envs.
func (d *drawn) begin(envs []int) { d.net.Env = envs }

// forget empties what was kept of a model that has learnt, or of names that are given anew.
func (d *drawn) forget() { d.net.Cache.Clear() }

// Goals draws a hypothesis about each co-player from the beliefs, and what it is
// after if that holds.
func (d *drawn) Goals(tree int32, r *rng.Rand) {
	o := d.others
	env := d.net.Env[d.decision(tree)]
	names := d.Of(tree)
	d.beliefs.Draw(names, env, r)
	copy(names, d.sure)
	for j, g := range names {
		v := d.Vector(tree, j, g)
		if int(g) == o.shape.doubt {
			clear(v) // the model is not asked
			continue
		}
		d.partner[o.sees.at(int(tree), j)] = d.inference.Draw(v[:o.shape.features], env, j, g, r)
		names[j] = d.names.of(o.sees.at(env, j), g, d.inferred.Alike)
		if clear(v[o.shape.features:]); d.inferred.open(o.sees.at(env, j)) { // nor is it of whom nothing is inferred
			o.about(v, j)
		}
	}
}

// far reports whether a tree's co-player, of whom the model is asked, is predicted at the root alone.
func (d *drawn) far(tree int32, j int) bool {
	i, s := d.decision(tree), d.others.sees
	return !d.near[s.at(i, j)] && int(d.Of(tree)[j]) != d.others.shape.doubt && d.inferred.open(s.at(d.net.Env[i], j))
}

// Draw draws the co-players' actions.
func (d *drawn) Draw(dst []int32, qs []search.Query, rs []rng.Rand) { d.net.Draw(dst, qs, rs) }

// Vector returns what the model reads about a tree's co-player, a view.
func (d *drawn) Vector(tree int32, other int, _ int32) []float32 {
	n := d.others.model.Model.GoalLen
	at := d.others.sees.at(int(tree), other) * n
	return d.read[at : at+n]
}

// decision returns which decision a tree is of.
func (d *drawn) decision(tree int32) int { return int(tree) / d.net.Trees }

// Of returns the names of what was drawn for a tree's co-players, [others], a view.
func (d *drawn) Of(tree int32) []int32 { return d.net.Of(tree) }

// of returns the name of what was drawn for a tree's co-player, and who stands for it unless
// that is doubt.
func (d *drawn) of(tree int32, j int) (name, partner int32) {
	return d.Of(tree)[j], d.partner[d.others.sees.at(int(tree), j)]
}

// features returns those of what was drawn for a tree's co-player, a view.
func (d *drawn) features(tree int32, j int) []float32 {
	return d.Vector(tree, j, 0)[:d.others.shape.features]
}

// names gives what trees draw a number that caches know it by, so that answers are
// shared where what was drawn is the same, and nowhere else. Numbers below firstName
// are the hypotheses themselves.
type names struct {
	next int32 // the first of a decision, or of a draw
	each int32 // hypotheses but doubt
}

// firstName leaves room for the hypotheses' own numbers: types are counted in bytes.
const firstName = 256

func newNames(s shape) names {
	if s.doubt >= 0 {
		return names{firstName, int32(s.doubt)}
	}
	return names{firstName, int32(s.hypotheses)}
}

// begin begins a decision. It reports that numbers have started anew, so that caches must
// forget the old ones.
func (n *names) begin(x *Inferred) (anew bool) {
	if x.Alike == ADecision {
		n.next += int32(len(x.Features) / x.features) // a number for each hypothesis on each co-player
	}
	if anew = n.next > math.MaxInt32/2; anew {
		n.next = firstName
	}
	return anew
}

// of names what was drawn for hypothesis g on the co-player at a place of [N][others].
func (n *names) of(at int, g int32, a Alike) int32 {
	switch a {
	case ADecision:
		return n.next + int32(at)*n.each + g
	case NoTwoDraws:
		n.next++
		return n.next - 1
	}
	return g
}

var (
	_ search.Others = (*drawn)(nil)
	_ interface {   // what audits ask for
		Of(tree int32) []int32
		Vector(tree int32, other int, goal int32) []float32
	} = (*drawn)(nil)
)
