package reference

import (
	"slices"

	"hop/batch"
	"hop/rng"
)

// kinds returns whom a co-player may be beside one who acts at random: those of whom a
// response network was told, or the partners of leaves.
func (c HOP) kinds(who []string) []string {
	if len(who) == 0 && c.Leaf != "net" {
		who = c.Partners
	}
	return slices.DeleteFunc(slices.Clone(who), func(name string) bool { return name == "random" })
}

// Prior is what is believed of somebody new: it is of a kind as often as the response
// network met it, or all hypotheses are as likely; it acts at random, the last of them, as
// likely as that, or as is set.
func (g *Goals) Prior() []float64 {
	names, sum, doubt := append(slices.Clone(g.Kinds), "random"), 0., g.Doubt && g.Kind != "none"
	list := slices.Repeat([]float64{1}, g.Hypotheses()+1)
	for k := range list {
		if len(g.met) > 0 && len(g.Kinds) > 0 {
			at := slices.Index(g.who, names[k])
			list[k] = g.met[(at+len(g.who))%len(g.who)] // nobody acts at random: the last one stands for it
		}
		if k < len(list)-1 || doubt && g.DoubtStart < 0 {
			sum += list[k]
		}
	}
	last, rest := len(list)-1, 1.
	if doubt && g.DoubtStart >= 0 {
		rest = 1 - g.DoubtStart
	}
	for k := range list {
		list[k] *= rest / sum
	}
	switch {
	case !doubt:
		return list[:last]
	case g.DoubtStart >= 0:
		list[last] = g.DoubtStart
	}
	return list
}

// kindSlip is how kinds may be drawn wrongly.
type kindSlip int

const (
	_ kindSlip = iota
	kindsFirst
	kindsEven
	kindsLikeliest
	kindsSure
	kindsNone
)

// Goal returns the features of hypothesis k about a co-player that is after code z.
func (g *Goals) Goal(z []float64, k int) []float64 {
	if len(g.Kinds) == 0 {
		return z
	}
	return append(slices.Clone(z), hot(k, len(g.Kinds))...)
}

// drawKinds adds to the codes of labelled steps the kind of their path's agent, one-hot:
// a draw from the posterior given all that it did, which at first has all kinds, and
// acting at random, as equals. Who acted at random has no kind.
func (g *Goals) drawKinds(ro *batch.Rollout, list []Label, paths []int, r *rng.Rand, slip kindSlip) {
	n := len(g.Kinds)
	for p := 0; n > 0 && p+1 < len(paths); p++ {
		path := list[paths[p]:paths[p+1]]
		post, u := g.kindsOf(ro, path, slip), r.Float64()
		sum, kind, sure := 0., len(post)-1, true
		for k, x := range post {
			if sum += x; u < sum && kind == len(post)-1 {
				kind = k
			}
			sure = sure && (u < sum-1e-3 || u > sum+1e-3 || k == len(post)-1)
		}
		if slip == kindsLikeliest {
			kind = slices.Index(post, slices.Max(post))
		}
		for i := range path {
			is := make([]float64, n)
			if kind < n && slip != kindsNone {
				is[kind] = 1
			}
			if path[i].Goal = append(path[i].Goal, is...); !sure && slip != kindsLikeliest {
				path[i].Goal = nil // either is right
			}
		}
	}
}

// kindsOf is the posterior over the kinds of a path's agent, acting at random the last.
func (g *Goals) kindsOf(ro *batch.Rollout, path []Label, slip kindSlip) []float64 {
	n := len(g.Kinds)
	if g.Doubt && slip != kindsSure {
		n++
	}
	post := make([]float64, n)
	for k := range post {
		post[k] = 1 / float64(n)
	}
	if slip == kindsFirst {
		path = path[:1]
	}
	for _, l := range path {
		if slip == kindsEven {
			break
		}
		slot, sum := ro.Slot(l.Agent, l.T, l.Env), 0.
		legal, action := ro.LegalAt(slot), ro.Action[ro.Step(l.Agent, l.T, l.Env)]
		even := 0.
		for _, ok := range legal {
			if ok {
				even++
			}
		}
		for k := range post {
			p := 1 / even
			if k < len(g.Kinds) {
				p = g.Model.Predict(g.Net, ro.ObsAt(slot), legal, g.Model.Reads(l.Other, g.Goal(l.Goal, k)))[action]
			}
			post[k] *= (1-g.smooth)*p + g.smooth/even
			sum += post[k]
		}
		for k := range post {
			post[k] /= sum
		}
	}
	return post
}
