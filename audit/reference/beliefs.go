package reference

import (
	"encoding/binary"
	"math"

	"hop/game"
	"hop/safetensors"
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
func NewBeliefs(c BeliefSettings, others int, g *Goals) *Beliefs {
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

// LoadBeliefs reads saved beliefs, one for each env, into bs.
func LoadBeliefs(f *safetensors.File, bs []*Beliefs) error {
	all, err := f.Bytes("beliefs")
	if err != nil {
		return err
	}
	size := len(all) / len(bs)
	for n, b := range bs {
		at := all[n*size+12 : (n+1)*size] // after three sizes: beliefs, then counts
		for _, part := range [][][]float64{b.B, b.C} {
			for _, row := range part {
				for g := range row {
					row[g] = math.Float64frombits(binary.LittleEndian.Uint64(at))
					at = at[8:]
				}
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
