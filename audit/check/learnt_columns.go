package check

import (
	"fmt"
	"math"
	"slices"

	"hop/audit/record"
	"hop/check"
)

// variant is something that a column may hold instead of what it should.
type variant struct {
	says   string
	value  func(b *record.Batch, i, row int) float64 // NaN: it cannot be said of this row
	status check.Status
}

// compare asks whether a column holds what it should: the first variant. If it does
// not, the one that agrees best, where it differs from the first, gives the reason.
// It returns the share of rows that are wrong and the variant, nil if none agrees; good is
// said of so many rows if none is.
func (r *recorded) compare(f *check.Finding, name, good string, skip func(row int) bool, vs []variant) (wrong float64, best *variant) {
	c := countRows(r.Agents)
	agrees, differs := make([]int, len(vs)), make([]int, len(vs))
	same := func(x, y float64) bool { return math.Abs(x-y) <= 1e-4*max(math.Abs(x), math.Abs(y), 1e-2) }
	r.Each(func(b *record.Batch, i, row int) {
		if b.Col[name] == nil || !r.Owns(b, row) || skip(row) {
			return
		}
		x, should := b.Col[name][i], vs[0].value(b, i, row)
		c.add(row%r.Count, !same(x, should))
		for k, v := range vs[1:] {
			if y := v.value(b, i, row); !math.IsNaN(y) && !same(y, should) {
				differs[k+1]++
				if same(x, y) {
					agrees[k+1]++
				}
			}
		}
	})
	bad, wrong := c.counted(f, good, "rows whose "+name+" are others")
	top := 0.9
	for k := 1; k < len(vs); k++ {
		// A variant explains as much as it agrees with where it says something else.
		if share := float64(agrees[k]) / float64(max(differs[k], 1)); differs[k] >= 3 && share > top && 2*agrees[k] >= bad {
			best, top = &vs[k], share
		}
	}
	return wrong, best
}

// learntActions asks whether the actions that are learnt from are those that were played.
func (r *recorded) learntActions(f *check.Finding) {
	if !r.found(f) {
		return
	}
	action := func(row int) float64 {
		if row < 0 || !r.Alive[row] {
			return math.NaN()
		}
		return float64(r.Action[row])
	}
	vs := []variant{{"", func(_ *record.Batch, _, row int) float64 { return action(row) }, 0},
		{"They are those of the step before.", func(_ *record.Batch, _, row int) float64 { return action(r.Before(row)) }, 0},
		{"They are those of the step after.", func(_ *record.Batch, _, row int) float64 { return action(r.After(row)) }, 0}}
	wrong, best := r.compare(f, "actions", "Learnt actions are those that were played, in %d rows.",
		func(row int) bool { return r.Action[row] < 0 }, vs)
	if wrong <= 0.01 {
		return
	}
	says := fmt.Sprintf("%.0f %% of the actions that %s from are not those that were played.", 100*wrong, r.few(f, "learns", "learn"))
	next := "where actions are stored and where they are handed to env.step: by the same name, at the same step"
	if best != nil {
		says += " " + best.says
	} else if whose := r.whoseActions(); r.asStrings(whose) {
		says, next = says+" They are another agent's: names are sorted as strings.", sortedNext
	} else if a := slices.IndexFunc(whose, func(b int) bool { return b >= 0 }); a >= 0 && whose[a] != a {
		says += fmt.Sprintf(" Those of %s are %s's.", r.Agents[a], r.Agents[whose[a]])
	}
	f.Accuse(check.Fault, wrong, says, next)
}

// whoseActions returns whose actions each agent learns from, by what was played at the
// same step; -1 where nobody's fit.
func (r *recorded) whoseActions() []int {
	k := r.Count
	same, of := make([]int, k*k), make([]int, k*k)
	r.Each(func(b *record.Batch, i, row int) {
		if b.Col["actions"] == nil || !r.Owns(b, row) {
			return
		}
		me, t := row%k, row/k
		for a := range k {
			if at := t*k + a; r.Alive[at] {
				of[me*k+a]++
				if float64(r.Action[at]) == b.Col["actions"][i] {
					same[me*k+a]++
				}
			}
		}
	})
	whose := make([]int, k)
	for me := range k {
		whose[me] = -1
		for a := range k {
			if n := of[me*k+a]; n >= 10 && float64(same[me*k+a]) > 0.95*float64(n) {
				whose[me] = a
			}
		}
	}
	return whose
}
