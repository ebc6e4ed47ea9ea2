package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// batchEnds is what advantages take for the value of what comes after a batch, where the episode
// goes on: of every last row of a batch what it adds to the reward, and its own value, both discounted.
type batchEnds map[*record.Batch][]batchEnd

type batchEnd struct {
	comes, own float64
	row        int
}

func (e *batchEnds) take(b *record.Batch, x batchEnd) {
	if *e == nil {
		*e = batchEnds{}
	}
	(*e)[b] = append((*e)[b], x)
}

// stays reports whether a step leads to what was seen before it, which is then worth the same; so it is taken to be
// where that is not recorded.
func (r *recorded) stays(row int) bool {
	if r.Obs == nil || r.Next == nil {
		return true
	}
	n := len(r.Obs) / len(r.Alive)
	return slices.Equal(r.Obs[row*n:(row+1)*n], r.Next[row*n:(row+1)*n])
}

// meet reports whether steps lead to the same.
func (r *recorded) meet(list []batchEnd) bool {
	n := len(r.Obs) / len(r.Alive)
	for _, x := range list[1:] {
		if !slices.Equal(r.Next[x.row*n:(x.row+1)*n], r.Next[list[0].row*n:(list[0].row+1)*n]) {
			return false
		}
	}
	return true
}

// say accuses if it is none that a value of what comes can be, and reports whether it did.
func (r *recorded) sayEnds(f *check.Finding, e batchEnds, tolerance float64) bool {
	rows, own, none, many, same := 0, 0, 0, 0, 0
	var values []float64
	for _, list := range e {
		var comes, here []float64
		for _, x := range list {
			rows++
			own += one(math.Abs(x.comes-x.own) <= tolerance)
			none += one(math.Abs(x.comes) <= tolerance)
			comes, here = append(comes, x.comes), append(here, x.own)
		}
		values = append(values, here...)
		if span(here) > 10*tolerance && !r.meet(list) {
			many += len(list)
			if span(comes) <= tolerance {
				same += len(list)
			}
		}
	}
	_, sd := moments(values)
	if sd <= 10*tolerance { // all values are one
		return false
	}
	const next = "what follows the last step of a rollout: the value of the observation that step led to, of each environment its own"
	most := func(n, of int) bool { return of >= 6 && n*10 > of*9 }
	switch {
	case most(own, rows):
		f.Accuse(check.Fault, float64(own)/float64(rows), fmt.Sprintf("After the last row of a batch the value of that row counts once more, in "+
			"%d of %d: it should be that of what was seen next.", own, rows), next)
	case most(none, rows):
		f.Accuse(check.Suspect, float64(none)/float64(rows), fmt.Sprintf("The end of a batch is learnt as an exit, in %d of %d: the value of "+
			"what would have come is left out.", none, rows), next)
	case most(same, many):
		f.Accuse(check.Fault, float64(same)/float64(many), fmt.Sprintf("After the last rows of a batch the same value counts for all "+
			"environments, in %d of %d rows.", same, many), next)
	default:
		return false
	}
	return true
}

// span is how far numbers are from each other.
func span(x []float64) float64 { return slices.Max(x) - slices.Min(x) }

// mostSteps is how many steps a return may have that is computed again.
const mostSteps = 16

// hasSteps reports whether a batch holds all that returns of some steps follow from.
func hasSteps(b *record.Batch) bool {
	return !math.IsNaN(b.Gamma) && math.IsNaN(b.Lambda) && b.Col["values"] != nil && b.Col["rewards"] != nil &&
		(b.Col["returns"] != nil || b.Col["advantages"] != nil)
}

// stepSlips are what returns of n steps may be: as they should be first. Each says what it makes of a sum
// with so many rewards, r[0] the first, and the value that follows, 0 after an exit.
var stepSlips = []struct {
	says string
	of   func(r []float64, v, gamma float64) float64
}{
	{"", func(r []float64, v, gamma float64) float64 {
		return series(r, gamma) + math.Pow(gamma, float64(len(r)))*v
	}},
	{"The value after them is discounted like that of the next step.", func(r []float64, v, gamma float64) float64 {
		return series(r, gamma) + gamma*v
	}},
	{"The first reward is discounted already.", func(r []float64, v, gamma float64) float64 {
		return gamma*series(r, gamma) + math.Pow(gamma, float64(len(r)))*v
	}},
	{"Rewards and the value are discounted once too often.", func(r []float64, v, gamma float64) float64 {
		return gamma * (series(r, gamma) + math.Pow(gamma, float64(len(r)))*v)
	}},
	{"The value is discounted once too often.", func(r []float64, v, gamma float64) float64 {
		return series(r, gamma) + math.Pow(gamma, float64(len(r)+1))*v
	}},
	{"Nothing is discounted.", func(r []float64, v, _ float64) float64 { return series(r, 1) + v }},
}

func series(r []float64, gamma float64) (sum float64) {
	for i := len(r) - 1; i >= 0; i-- {
		sum = r[i] + gamma*sum
	}
	return sum
}

// stepReturns asks whether returns are those of some steps: so many discounted rewards, and the value after
// them. Only what a known slip explains is accused; there are other ways to make returns.
func (r *recorded) stepReturns(f *check.Finding) {
	var agrees [mostSteps + 1][]int // by steps and slip
	var asked [mostSteps + 1]int
	for n := range agrees {
		agrees[n] = make([]int, len(stepSlips))
	}
	for k := range r.Batches {
		b := &r.Batches[k]
		if !hasSteps(b) {
			continue
		}
		returns := b.Col["returns"]
		if returns == nil {
			returns = make([]float64, len(b.Row))
			for i := range returns {
				returns[i] = b.Col["advantages"][i] + b.Col["values"][i]
			}
		}
		_, sd := moments(returns)
		tolerance := 1e-4*sd + 1e-5
		at := map[int]int{}
		for i, row := range b.Row {
			if row >= 0 && b.Sure[i] {
				at[row] = i
			}
		}
		for i, row := range b.Row {
			if row < 0 || !b.Sure[i] || at[row] != i {
				continue
			}
			var rewards []float64
			for here, n := row, 1; n <= mostSteps; n++ {
				j, ok := at[here]
				exit, cut := r.Ends(here)
				if !ok || cut {
					break
				}
				rewards = append(rewards, b.Col["rewards"][j])
				next, v := at[r.After(here)], 0.
				if !exit {
					if _, ok := at[r.After(here)]; !ok {
						break
					}
					v = b.Col["values"][next]
				}
				for m := n; m <= mostSteps && (exit || m == n); m++ { // an exit ends all that are longer
					asked[m]++
					for s, slip := range stepSlips {
						agrees[m][s] += one(math.Abs(slip.of(rewards, v, b.Gamma)-returns[i]) <= tolerance)
					}
				}
				if here = r.After(here); exit {
					break
				}
			}
		}
	}
	best, slip := 0, 0
	f.Unit = "share of rows"
	share := func(n, s int) float64 { return float64(agrees[n][s]) / float64(max(asked[n], 1)) }
	for s := range stepSlips {
		for n := 1; n <= mostSteps; n++ {
			if asked[n] >= 50 && share(n, s) > 0.95 && (best == 0 || slip == s && share(n, s) > share(best, slip)) {
				best, slip = n, s
			}
		}
	}
	switch {
	case best == 0:
		f.Says = fmt.Sprintf("Returns are those of no number of steps up to %d, in any way that is known: hand in lam, if they are made with it.",
			mostSteps)
	case slip == 0:
		f.Rows = asked[best]
		f.Says = fmt.Sprintf("Returns are %d discounted rewards and the value after them, in %d rows.", best, f.Rows)
	default:
		f.Rows = asked[best]
		f.Who = slices.Clone(r.Batches[0].Agents)
		f.Accuse(check.Fault, share(best, slip), fmt.Sprintf("Returns of %d steps are wrong, in %d of %d rows. %s", best, agrees[best][slip],
			f.Rows, stepSlips[slip].says), "where returns are summed: r + gamma r' + ... + gamma^n V, where n is how many rewards there are")
	}
}
