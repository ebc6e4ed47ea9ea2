package check

import (
	"fmt"
	"math"
	"slices"

	"hop/mind"
	"hop/mind/hop"
	"hop/mind/hop/pretrained"
	"hop/plan"
)

// population is whom a co-player may be: those of whom the response network was told, or
// the partners of leaves.
type population struct {
	who    []string
	kinds  []int32 // [hypotheses] with latent goals or contexts: each one's number among them
	random int32   // who of them stands for acting at random
}

func populationOf(m pretrained.Models, c *hop.Config) population {
	p := population{who: m.Population}
	switch {
	case len(p.who) == 0 && c.Leaf.Kind != "net":
		p.who = c.Leaf.Partners
	case len(p.who) == 0 && m.Sequence != nil:
		p.who = m.Sequence.Kinds
	}
	p.random = int32(len(p.who) - 1)
	for i, name := range p.who {
		switch {
		case name == "random":
			p.random = int32(i)
		case c.Goals.OfKinds():
			p.kinds = append(p.kinds, int32(i))
		}
	}
	return p
}

// pointLen returns how many numbers a point, or a context, has.
func (s *searched) pointLen() int {
	if s.models.Sequence != nil {
		return s.models.Sequence.Width
	}
	return s.models.VAE.Width()
}

// kind returns the hypothesis that was drawn for co-player j of a tree, by what the model
// of others is given: the point, then the kind, one-hot; -1 if there is no such kind.
func (s *searched) kind(tree int32, j int) int {
	hot := s.vector.Vector(tree, j, s.named.Of(tree)[j])[s.pointLen():][:len(s.pop.kinds)]
	g := slices.Index(hot, 1)
	for k, x := range hot {
		if k != g && x != 0 {
			return -1
		}
	}
	return g
}

// points draws goals again and again and holds the points against what is inferred: of a
// number's distance from its mean, in standard deviations, neither sum nor sum of squares
// is likely to be off by more than 6.1 of their own.
func (s *searched) points(i int) {
	const draws = 400
	b, ok := s.Player.(mind.Believing)
	if !s.Hop.Goals.OfKinds() || !ok {
		return
	}
	lo, _ := s.trees(i)
	d, classes := s.pointLen(), s.models.VAE != nil && s.models.VAE.Discrete > 0
	sum, square, rows := make([]float64, len(s.others)*d), make([]float64, len(s.others)*d), make([]float64, len(s.others))
	for t := range draws {
		r := stream("points", t)
		s.journal.Model.Goals(int32(lo), &r)
		for j := range s.others {
			name := s.named.Of(int32(lo))[j]
			if int(name) == s.doubt {
				continue
			}
			rows[j]++
			held := b.Believes(int(s.envs[i]), j)
			for k, z := range s.vector.Vector(int32(lo), j, name)[:d] {
				sd := s.Hop.Goals.Spread * float64(held.Spread[k])
				if p := float64(held.Mean[k]); classes { // a class is drawn with its probability
					sd = math.Sqrt(p * (1 - p))
				}
				off := (float64(z) - float64(held.Mean[k])) / max(sd, 1e-9)
				if sd == 0 && math.Abs(float64(z)-float64(held.Mean[k])) < 1e-4 {
					off = 0
				}
				sum[j*d+k] += off
				square[j*d+k] += off * off
			}
		}
	}
	for j, n := range rows {
		s.took(drawsGoals, int(n))
		held := b.Believes(int(s.envs[i]), j)
		for k := range d {
			x, xx := sum[j*d+k], square[j*d+k]-n
			wide := s.Hop.Goals.Spread > 0 && held.Spread[k] > 0 && !classes
			if classes && math.Abs(float64(held.Mean[k])-0.5) > 0.48 {
				continue // too seldom, or too often, to tell by so many draws
			}
			// A sum of squares has a longer tail than a normal one (Laurent and Massart 2000).
			if math.Abs(x) > 6.1*math.Sqrt(n)+1e-2 || wide && (xx > 2*math.Sqrt(n*21)+2*21 || xx < -2*math.Sqrt(n*21)) {
				s.wrong(drawsGoals, s.a, x/max(n, 1), "number %d of the points drawn for agent %d is off from what is inferred by %.2f on the mean "+
					"and %.2f in square, in standard deviations, over %.0f draws", k, s.others[j], x/max(n, 1), square[j*d+k]/max(n, 1), n)
				break
			}
		}
	}
}

// misnamed names the slip by which the response network was told of others than were
// drawn.
func (s *searched) misnamed(i int, tree int32, e *plan.Entry) string {
	if s.q[valuesLeaves].says != "" || s.kept || len(s.pop.kinds) == 0 {
		return ""
	}
	number := func(t int32, j int) int32 { // as it ought to be
		if name := s.named.Of(t)[j]; int(name) == s.doubt {
			return s.pop.random
		}
		if g := s.kind(t, j); g >= 0 {
			return s.pop.kinds[g]
		}
		return -1
	}
	try := func(who func(j int) int32) bool {
		read := make([]int32, len(s.others))
		for j := range read {
			if read[j] = who(j); int(read[j]) >= len(s.pop.who) {
				return false
			}
		}
		l, v := s.reply.at(s.obs, s.botsOf(i, tree, e.Query.Slot, read))
		return is(e, l, v)
	}
	var names []string
	if try(func(int) int32 { return -1 }) {
		names = append(names, "without saying who the others are")
	}
	if try(func(j int) int32 {
		if int(s.named.Of(tree)[j]) == s.doubt {
			return int32(s.doubt)
		}
		return int32(s.kind(tree, j))
	}) {
		names = append(names, "by the numbers of hypotheses, not of the population")
	}
	if try(func(j int) int32 {
		if n := number(tree, j); n != s.pop.random {
			return n
		}
		return int32(len(s.pop.who) - 1)
	}) {
		names = append(names, fmt.Sprintf("with %s for whoever acts at random", s.pop.who[len(s.pop.who)-1]))
	}
	for k, name := range s.pop.who {
		if try(func(int) int32 { return int32(k) }) {
			names = append(names, "as if all were "+name)
		}
		if try(func(j int) int32 {
			if n := number(tree, j); int(n) != k {
				return n
			}
			return s.pop.random
		}) && int32(k) != s.pop.random {
			names = append(names, fmt.Sprintf("with %s told as acting at random", name))
		}
	}
	lo, hi := s.trees(i)
	for t := lo; t < hi && len(names) == 0; t++ {
		if t != int(tree) && try(func(j int) int32 { return number(int32(t), j) }) {
			names = append(names, fmt.Sprintf("by what was drawn for tree %d", t))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": it is what the network says " + names[0]
}
