package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// learntRewards asks whether the rewards that are learnt from are those that the
// environment paid, up to a scale.
func (r *recorded) learntRewards(f *check.Finding) {
	if !r.found(f) {
		return
	}
	scale, kept := r.scale()
	reward := func(row int) float64 {
		if row < 0 {
			return math.NaN()
		}
		return scale * float64(r.Reward[row])
	}
	team := func(row int) (sum, alive float64) {
		t := row / r.Count
		for at := t * r.Count; at < (t+1)*r.Count; at++ {
			if r.Alive[at] {
				sum, alive = sum+scale*float64(r.Reward[at]), alive+1
			}
		}
		return sum, alive
	}
	last := r.lastRows()
	arrives := false // a reward is seen on an unpaid row after the one that was paid
	r.Each(func(b *record.Batch, i, row int) {
		if x := b.Col["rewards"]; x != nil && r.Owns(b, row) && last(row) >= 0 {
			arrives = arrives || r.Reward[row] == 0 && x[i] != 0 && math.Abs(x[i]-reward(last(row))) < 1e-4*math.Abs(x[i])
		}
	})
	vs := []variant{
		{"", func(_ *record.Batch, _, row int) float64 { return reward(row) }, check.Fault},
		{"They come a step late.", func(_ *record.Batch, _, row int) float64 {
			if !arrives {
				return math.NaN()
			}
			return reward(r.Before(row))
		}, check.Fault},
		{"They come a step early.", func(_ *record.Batch, _, row int) float64 { return reward(r.After(row)) }, check.Fault},
		{"They are the sum of all agents' rewards.", func(_ *record.Batch, _, row int) float64 { x, _ := team(row); return x }, check.Note},
		{"They are the mean of all agents' rewards.", func(_ *record.Batch, _, row int) float64 {
			x, n := team(row)
			return x / n
		}, check.Note},
		{"They are clipped to -1 and 1.", func(_ *record.Batch, _, row int) float64 {
			return max(-1, min(1, float64(r.Reward[row])))
		}, check.Suspect},
	}
	for a := range r.Count {
		vs = append(vs, variant{fmt.Sprintf("They are %s's.", r.Agents[a]),
			func(_ *record.Batch, _, row int) float64 { return reward(row - row%r.Count + a) }, check.Fault})
	}
	for s := 1; s < r.Count; s++ { // every agent's are those of one that sits so many places further
		says := fmt.Sprintf("They are those of the agent %d places further, for every agent.", s)
		if s == 1 {
			says = "They are the next agent's, for every agent."
		} else if s == r.Count-1 {
			says = "They are those of the agent before, for every agent."
		}
		vs = append(vs, variant{says, func(_ *record.Batch, _, row int) float64 {
			at := row - row%r.Count + (row%r.Count+s)%r.Count
			if !r.Alive[at] {
				return math.NaN()
			}
			return reward(at)
		}, check.Fault})
	}
	vs = append(vs, variant{"Those of the step with which an agent leaves are missing.", func(_ *record.Batch, _, row int) float64 {
		if exit, cut := r.Ends(row); exit || cut {
			return 0
		}
		return reward(row)
	}, check.Fault})
	// At a cut the value of what comes next may be part of the reward.
	wrong, best := r.compare(f, "rewards", fmt.Sprintf("Learnt rewards are those that were paid, times %.4g, in %%d rows.", scale),
		func(row int) bool { _, cut := r.Ends(row); return cut || r.Open[row/r.Count] }, vs)
	// Most rewards may be 0, and then few rows can be wrong: rewards that count are asked.
	if paid := r.paidRows(); wrong*float64(f.Rows) < max(3, 0.02*paid) {
		return
	}
	if best == nil && kept && (r.steady() || r.rises()) {
		f.Says = fmt.Sprintf("Learnt rewards are those that were paid, rescaled as the run goes on or by their size, in %d rows.", f.Rows)
		return
	}
	says := fmt.Sprintf("%.1f %% of the rewards that %s from are not those that were paid for the row.", 100*wrong, r.few(f,
		"learns", "learn"))
	status := check.Fault
	if best != nil {
		says, status = says+" "+best.says, best.status
	}
	f.Accuse(status, wrong, says, "where rewards are stored: that of the step belongs to the row whose action it follows, and to the agent "+
		"that was paid")
}

// paidRows counts the learnt rows that were paid something.
func (r *recorded) paidRows() float64 {
	n := 0.
	r.Each(func(b *record.Batch, _, row int) {
		if b.Col["rewards"] != nil && r.Owns(b, row) && r.Reward[row] != 0 {
			n++
		}
	})
	return n
}

// scale returns what most learnt rewards are multiplied by, and whether all of them keep
// their sign, so that at most their scale changes.
func (r *recorded) scale() (scale float64, kept bool) {
	count := map[float64]int{}
	kept = true
	scale = 1
	r.Each(func(b *record.Batch, i, row int) {
		if b.Col["rewards"] == nil || !r.Owns(b, row) {
			return
		}
		x, paid := b.Col["rewards"][i], float64(r.Reward[row])
		if _, cut := r.Ends(row); cut {
			return
		}
		kept = kept && (x > 0) == (paid > 0) && (x < 0) == (paid < 0)
		if x != 0 && paid != 0 {
			ratio := math.Round(x/paid*1e4) / 1e4
			if count[ratio]++; ratio > 0 && count[ratio] > count[scale] {
				scale = ratio
			}
		}
	})
	// A scale that only some rows have is none: rewards that are a step late meet others by chance.
	n := 0
	for _, c := range count {
		n += c
	}
	if 2*count[scale] <= n {
		scale = 1
	}
	return scale, kept
}

// steady reports whether what rewards are multiplied by hardly changes from one step to the next, as
// that of a running normaliser does; noise does not.
func (r *recorded) steady() bool {
	var jumps []float64
	for k := range r.Batches {
		b := &r.Batches[k]
		x, at := b.Col["rewards"], map[int]float64{}
		for i, row := range b.Row {
			if x == nil || row < 0 || !b.Sure[i] || r.Reward[row] == 0 {
				continue
			}
			if _, cut := r.Ends(row); !cut {
				at[row] = math.Log(x[i] / float64(r.Reward[row]))
			}
		}
		for row, ratio := range at {
			if next, ok := at[r.After(row)]; ok {
				jumps = append(jumps, math.Abs(next-ratio))
			}
		}
	}
	if len(jumps) < 16 {
		return true
	}
	slices.Sort(jumps)
	return jumps[len(jumps)/2] < 0.02
}

// rises reports whether a learnt reward follows from the paid one alone, and rises with it, as a root or a logarithm does.
func (r *recorded) rises() bool {
	var pairs [][2]float64 // paid, learnt
	r.Each(func(b *record.Batch, i, row int) {
		if _, cut := r.Ends(row); b.Col["rewards"] != nil && r.Owns(b, row) && !cut {
			pairs = append(pairs, [2]float64{float64(r.Reward[row]), b.Col["rewards"][i]})
		}
	})
	slices.SortFunc(pairs, func(x, y [2]float64) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) })
	off, highest := 0, math.Inf(-1)
	for i, p := range pairs {
		near := 1e-4 * max(math.Abs(p[1]), 1e-2)
		off += one(p[1] < highest-near || i > 0 && p[0] == pairs[i-1][0] && p[1] > pairs[i-1][1]+near)
		highest = max(highest, p[1])
	}
	return off*100 <= len(pairs)
}

// lastRows returns what gives the agent's row before in the file: a step before, or the
// last one of the episode before.
func (r *recorded) lastRows() func(row int) int {
	before := make([]int, len(r.Alive))
	last := make([]int, r.Count)
	for a := range last {
		last[a] = -1
	}
	for row, alive := range r.Alive {
		before[row] = last[row%r.Count]
		if alive {
			last[row%r.Count] = row
		}
	}
	return func(row int) int { return before[row] }
}

// learntEnds asks whether the ends that are learnt from are the agent's own: of the step,
// or, as CleanRL keeps them, of the step before.
func (r *recorded) learntEnds(f *check.Finding) {
	if !r.found(f) {
		return
	}
	last := r.lastRows()
	flag := func(b bool) float64 { return float64(one(b)) }
	ended := func(row int) float64 {
		if row < 0 {
			return 0
		}
		exit, cut := r.Ends(row)
		return flag(exit || cut)
	}
	forms := []struct {
		says  string
		good  bool
		value func(row int) float64
	}{
		{"of the step", true, ended},
		{"of the step, exits only", true, func(row int) float64 { exit, _ := r.Ends(row); return flag(exit) }},
		{"of the step before", true, func(row int) float64 { return ended(last(row)) }},
		{"of the step before, exits only", true, func(row int) float64 {
			if last(row) < 0 {
				return 0
			}
			exit, _ := r.Ends(last(row))
			return flag(exit)
		}},
		{"They are ends of the whole episode, not of the agent's own part in it.", false,
			func(row int) float64 { t := row / r.Count; return flag(t+1 == r.Steps || r.Start[t+1] != r.Start[t]) }},
		{"They come a step early.", false, func(row int) float64 {
			if next := r.After(row); next >= 0 {
				return ended(next)
			}
			return 0
		}},
		{"They are cuts only.", false, func(row int) float64 { _, cut := r.Ends(row); return flag(cut) }},
		{"No end is marked at all.", false, func(int) float64 { return 0 }},
	}
	right, marked := make([]int, len(forms)), make([]int, len(forms)) // rows that agree; of those marked, so many
	rows := make([]int, len(forms))
	total := 0
	r.Each(func(b *record.Batch, i, row int) {
		if b.Col["dones"] == nil || !r.Owns(b, row) || r.Open[row/r.Count] || last(row) >= 0 && r.Open[last(row)/r.Count] {
			return
		}
		f.Rows++
		x := b.Col["dones"][i]
		total += int(flag(ended(row) == 1))
		for k, form := range forms {
			y := form.value(row)
			if x == y {
				right[k]++
			}
			if y == 1 {
				rows[k]++
				if x == 1 {
					marked[k]++
				}
			}
		}
	})
	if total < 3 {
		f.Rows = 0
		f.Says = "Too few ends were played to compare those that are learnt from."
		return
	}
	f.Unit, f.Says = "share of rows", ""
	best, wrong := -1, 1.
	for k, form := range forms {
		off := 1 - float64(right[k])/float64(max(f.Rows, 1))
		fits := off < 0.01 && float64(marked[k]) >= 0.9*float64(rows[k])
		if fits && form.good && f.Says == "" {
			f.Says = fmt.Sprintf("Learnt ends are those %s, in %d rows.", form.says, f.Rows)
		}
		if form.good {
			wrong = min(wrong, off)
		} else if fits && best < 0 && (rows[k] > 0 || k+1 == len(forms)) { // what there was none of explains nothing
			best = k
		}
		f.Saw(off, 0, "rows that differ from: %s", form.says)
	}
	if f.Says != "" {
		f.Evidence = nil
		return
	}
	says := fmt.Sprintf("The ends that are learnt from are not the agents' own: %.1f %% of rows differ.", 100*wrong)
	if best >= 0 {
		says += " " + forms[best].says
	}
	f.Accuse(check.Fault, wrong, says, "where ends are stored: terminations[agent] or truncations[agent] of the step, by name")
}

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
		c.add(row%r.Count, r.learnt(!same(x, should), b, name, i))
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
