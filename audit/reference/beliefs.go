package reference

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Beliefs are one agent's about its co-players in one env, by Bayes' rule
// (docs/hop.md): within an episode prior times likelihood, across episodes
// discounted counts.
type Beliefs struct {
	BeliefSettings
	Random int       // the hypothesis that a co-player acts at random; -1: there is none
	New    []float64 // [hypotheses] what is believed of somebody new

	B [][]float64 // [others][hypotheses]
	C [][]float64 // [others][hypotheses] counts
}

// NewBeliefs returns beliefs about some co-players that are new. Counts begin as if
// half as many episodes as are remembered had been of them.
func (g *Goals) NewBeliefs(c BeliefSettings, others int) *Beliefs {
	b := &Beliefs{BeliefSettings: c, Random: -1, New: g.Prior()}
	if g.Doubt && g.Kind != "none" {
		b.Random = len(b.New) - 1
	}
	for range others {
		n := make([]float64, len(b.New))
		for g, p := range b.New {
			n[g] = p * float64(len(n)) * 0.5 / (1 - c.Decay)
		}
		b.B, b.C = append(b.B, append([]float64(nil), b.New...)), append(b.C, n)
	}
	return b
}

// Load reads the beliefs of env n of some that were saved.
func (b *Beliefs) Load(f *safetensors.File, n, envs int) error {
	all, err := f.Bytes("beliefs")
	if err != nil {
		return err
	}
	size := len(all) / envs
	at := all[n*size+12 : (n+1)*size] // after three sizes: beliefs, then counts
	for _, part := range [][][]float64{b.B, b.C} {
		for _, row := range part {
			for g := range row {
				row[g] = math.Float64frombits(binary.LittleEndian.Uint64(at))
				at = at[8:]
			}
		}
	}
	return nil
}

// Begin begins the belief about co-player j: from what was counted, or as of somebody
// new.
func (b *Beliefs) Begin(j int) {
	p, sum := b.B[j], 0.
	for g := range p {
		if p[g] = b.New[g]; b.Across {
			p[g] = b.C[j][g]
		}
		sum += p[g]
	}
	for g := range p {
		p[g] /= sum
	}
}

// Did takes in that co-player j did an action that is legal for it; likely
// [hypotheses][actions] is what it was expected to do for each, before it did.
func (b *Beliefs) Did(j int, likely []float32, action int32) {
	p := b.B[j]
	k := len(likely) / len(p)
	legal := 0
	for a := range k {
		for g := range p {
			if likely[g*k+a] > 0 {
				legal++
				break
			}
		}
	}
	if !b.Within || action == game.NoAction {
		return
	}
	possible := false // an action that no hypothesis gives any chance says nothing
	for g := range p {
		possible = possible || likely[g*k+int(action)] > 0
	}
	if !possible {
		return
	}
	post, sum, some := make([]float64, len(p)), 0., 0.
	for g := range p {
		l := (1-b.Smooth)*float64(likely[g*k+int(action)]) + b.Smooth/float64(legal)
		post[g] = p[g] * l
		sum += post[g]
		if p[g] > 0 {
			some++
		}
	}
	for g := range p {
		switch {
		case sum > 0:
			p[g] = post[g] / sum
		case p[g] > 0:
			p[g] = 1 / some // nothing is left: what was possible is equally so
		}
	}
}

// Over counts that co-player j pursued a goal to its end: the goal, or the evidence,
// which is what the belief would be had it started from equal weights.
func (b *Beliefs) Over(j, goal int) {
	if !b.Across || b.Count == "goal" && goal == game.NoGoal {
		return
	}
	c, seen, sum := b.C[j], make([]float64, len(b.C[j])), 0.
	if b.Count == "goal" {
		seen[goal], sum = 1, 1
	} else {
		for g := range seen {
			seen[g] = b.B[j][g] / max(c[g], 1e-9)
			sum += seen[g]
		}
	}
	for g := range c {
		c[g] = b.Decay*c[g] + seen[g]/sum
	}
}

// Written is what the own network reads about co-player j: the features of its
// goals, each times its probability, and doubt last.
func (b *Beliefs) Written(posterior []float64, goals [][]float64, width int) []float64 {
	out := make([]float64, width)
	for g, p := range posterior {
		if g == b.Random {
			out[width-1] = p
			continue
		}
		for i, x := range goals[g] {
			out[i] += p * x
		}
	}
	return out
}

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
