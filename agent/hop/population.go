package hop

import "slices"

// actsAtRandom is the type of co-player that needs no model: doubt.
const actsAtRandom = "random"

// population is whom a co-player may be.
type population struct {
	names  []string // of all types: bots, members of a zoo, copies of oneself, who acts at random
	types  []int32  // those that a model of others predicts, a hypothesis each: their numbers in names
	random int32    // the number of who stands for doubt: who acts at random, else the last
}

func newPopulation(names []string) population {
	p := population{names: names, types: modelled(names), random: int32(slices.Index(names, actsAtRandom))}
	if p.random < 0 {
		p.random = int32(len(names) - 1)
	}
	return p
}

// modelled returns the numbers of the types that a model of others predicts.
func modelled(names []string) (types []int32) {
	for i, name := range names {
		if name != actsAtRandom {
			types = append(types, int32(i))
		}
	}
	return types
}

// prior returns what is believed of somebody new: that it is of a type as often as
// the response network met it, [types], else that every hypothesis is as likely; and that
// it acts at random as likely as doubt says, unless that is below 0.
func (p population) prior(s shape, met []float64, doubt float64) []float64 {
	prior, sum := make([]float64, s.hypotheses), 0.
	for g := range prior {
		switch {
		case len(met) == 0:
			prior[g] = 1
		case g == s.doubt:
			prior[g] = met[p.random]
		default:
			prior[g] = met[p.types[g]]
		}
		sum += prior[g]
	}
	for g := range prior {
		prior[g] /= sum
	}
	if s.doubt < 0 || doubt < 0 {
		return prior
	}
	rest := 1 - prior[s.doubt]
	for g := range prior {
		prior[g] *= (1 - doubt) / rest
	}
	prior[s.doubt] = doubt
	return prior
}
