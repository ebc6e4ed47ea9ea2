package check

import (
	"fmt"
	"math"

	"hop/audit/record"
	"hop/check"
)

// anyGae reports whether a batch holds all that advantages follow from.
func (r *recorded) anyGae() bool {
	for k := range r.Batches {
		if b := &r.Batches[k]; hasAdvantages(b) {
			return true
		}
	}
	return false
}

// hasAdvantages reports whether a batch holds all that advantages follow from.
func hasAdvantages(b *record.Batch) bool {
	return !math.IsNaN(b.Gamma) && !math.IsNaN(b.Lambda) && b.Col["values"] != nil && b.Col["rewards"] != nil &&
		(b.Col["advantages"] != nil || b.Col["returns"] != nil)
}

// estimate returns a batch's advantages: those handed in, or returns less values where
// those were normalised before.
func estimate(b *record.Batch) []float64 {
	adv, ret, val := b.Col["advantages"], b.Col["returns"], b.Col["values"]
	if ret == nil || adv != nil && !normalised(adv) {
		return adv
	}
	out := make([]float64, len(ret))
	for i := range out {
		out[i] = ret[i] - val[i]
	}
	return out
}

// normalised reports whether numbers have mean 0 and deviation 1.
func normalised(x []float64) bool {
	mean, sd := moments(x)
	return len(x) > 8 && math.Abs(mean) < 1e-3 && math.Abs(sd-1) < 2e-2
}

// moments returns mean and deviation.
func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(sd)
}

// link is a learnt row with what follows it.
type link struct {
	b            *record.Batch
	adv          []float64
	i, next, new int // its place, that of the agent's next step in the episode, and of its next episode's first; -1: none
	row          int
}

// links visits all rows whose advantage can be computed again.
func (r *recorded) links(visit func(l link)) {
	first := make([]int, r.Count) // of each agent, the row with which its next episode begins, going back
	for a := range first {
		first[a] = -1
	}
	begins := make([]int, len(r.Alive))
	for row := len(r.Alive) - 1; row >= 0; row-- {
		a := row % r.Count
		begins[row] = first[a]
		if r.Alive[row] && r.Before(row) < 0 {
			first[a] = row
		}
	}
	for k := range r.Batches {
		b := &r.Batches[k]
		if !hasAdvantages(b) {
			continue
		}
		adv, at := estimate(b), map[int]int{}
		for i, row := range b.Row {
			if row >= 0 && b.Sure[i] {
				at[row] = i
			}
		}
		place := func(row int) int {
			if i, ok := at[row]; ok && row >= 0 {
				return i
			}
			return -1
		}
		for i, row := range b.Row {
			if row >= 0 && b.Sure[i] && r.Alive[row] && at[row] == i {
				visit(link{b, adv, i, place(r.After(row)), place(begins[row]), row})
			}
		}
	}
}

// advantages asks whether each advantage is what generalised advantage estimation
// (Schulman et al. 2016) makes of the reward, the values and the next advantage:
// A = r + gamma V' - V + gamma lambda A', without V' and A' at an exit.
func (r *recorded) advantages(f *check.Finding) {
	if !r.found(f) {
		return
	}
	type slip struct {
		says   string
		value  func(l link, rew, val, adv float64) float64
		agrees int
	}
	v := func(l link, i int) float64 { return l.b.Col["values"][i] }
	within := []slip{
		{says: "The value of the next step is left out.", value: func(l link, rew, val, adv float64) float64 { return rew - val }},
		{says: "They are errors of one step: the next advantage is left out.", value: func(l link, rew, val, adv float64) float64 {
			return rew + l.b.Gamma*v(l, l.next) - val
		}},
		{says: "Nothing is discounted.", value: func(l link, rew, val, adv float64) float64 { return rew + v(l, l.next) - val + adv }},
		{says: "They are discounted by gamma alone: lambda is 1.", value: func(l link, rew, val, adv float64) float64 {
			return rew + l.b.Gamma*v(l, l.next) - val + l.b.Gamma*adv
		}},
		{says: "They are discounted by lambda alone.", value: func(l link, rew, val, adv float64) float64 {
			return rew + l.b.Gamma*v(l, l.next) - val + l.b.Lambda*adv
		}},
		{says: "The value of the next step is not discounted.", value: func(l link, rew, val, adv float64) float64 {
			return rew + v(l, l.next) - val + l.b.Gamma*l.b.Lambda*adv
		}},
		{says: "The reward is that of the next step.", value: func(l link, rew, val, adv float64) float64 {
			return l.b.Col["rewards"][l.next] + l.b.Gamma*v(l, l.next) - val + l.b.Gamma*l.b.Lambda*adv
		}},
		{says: "The own value is not taken off: they are returns.", value: func(l link, rew, val, adv float64) float64 {
			return rew + l.b.Gamma*v(l, l.next) + l.b.Gamma*l.b.Lambda*(adv-v(l, l.next))
		}},
	}
	exits := []slip{
		{says: "They reach into the next episode: the exit does not stop them.", value: func(l link, rew, val, adv float64) float64 {
			if l.new < 0 {
				return math.NaN()
			}
			return rew + l.b.Gamma*v(l, l.new) - val + l.b.Gamma*l.b.Lambda*l.adv[l.new]
		}},
		{says: "The value after the exit counts.", value: func(l link, rew, val, adv float64) float64 {
			if l.new < 0 {
				return math.NaN()
			}
			return rew + l.b.Gamma*v(l, l.new) - val
		}},
	}
	var scale []float64
	r.links(func(l link) { scale = append(scale, l.adv[l.i]) })
	_, sd := moments(scale)
	tolerance := 2e-3*sd + 1e-5
	rows, bad := [3]int{}, [3]int{} // within an episode, at an exit, at a cut
	early, beforeEnd := 0, 0
	firsts, firstBad := 0, 0
	leaks := 0 // cuts after which the next episode's value counts
	who := make([]int, r.Count)
	worst := 0.
	r.links(func(l link) {
		rew, val, got := l.b.Col["rewards"][l.i], v(l, l.i), l.adv[l.i]
		exit, cut := r.Ends(l.row)
		near := func(x float64) bool { return math.Abs(got-x) <= tolerance }
		miss := func(kind int, want float64) bool {
			rows[kind]++
			if near(want) {
				return false
			}
			bad[kind]++
			who[l.row%r.Count]++
			worst = max(worst, math.Abs(got-want))
			return true
		}
		switch {
		case exit:
			if miss(1, rew-val) {
				for k := range exits {
					if near(exits[k].value(l, rew, val, 0)) {
						exits[k].agrees++
					}
				}
			}
		case cut:
			rows[2]++
			if near(rew - val) {
				bad[2]++
			}
			if l.new >= 0 && (near(rew+l.b.Gamma*v(l, l.new)-val) || near(rew+l.b.Gamma*v(l, l.new)-val+l.b.Gamma*l.b.Lambda*l.adv[l.new])) {
				leaks++
			}
		case l.next >= 0:
			adv := l.adv[l.next]
			nextExit, nextCut := r.Ends(l.b.Row[l.next])
			first := r.Before(l.row) < 0
			wrong := miss(0, rew+l.b.Gamma*v(l, l.next)-val+l.b.Gamma*l.b.Lambda*adv)
			if first {
				firsts++
				if wrong {
					firstBad++
				}
			}
			if nextExit || nextCut {
				beforeEnd++
				if wrong && near(rew-val) {
					early++
				}
			}
			if wrong {
				for k := range within {
					if near(within[k].value(l, rew, val, adv)) {
						within[k].agrees++
					}
				}
			}
		}
	})
	f.Rows = rows[0] + rows[1] + rows[2]
	f.Unit = "share of rows"
	f.Saw(float64(bad[0]), 0, "wrong within an episode, of %d", rows[0])
	f.Saw(float64(bad[1]), 0, "wrong at an exit, of %d", rows[1])
	f.Saw(float64(bad[2]), 0, "without the value of what comes next at a cut, of %d", rows[2])
	for a, n := range who {
		if n > 0 {
			f.Who = append(f.Who, a)
		}
	}
	named := func(list []slip, n int) string {
		best := -1
		for k := range list {
			if list[k].agrees*10 >= n*7 && (best < 0 || list[k].agrees > list[best].agrees) {
				best = k
			}
		}
		if best < 0 {
			return ""
		}
		return " " + list[best].says
	}
	next := "where advantages are computed: A = r + gamma V' - V + gamma lambda A', where V' and A' are 0 after the agent's own end"
	off := func(kind int) bool { return bad[kind] >= 3 && float64(bad[kind]) > 0.02*float64(rows[kind]) }
	share := float64(bad[0]+bad[1]) / float64(max(rows[0]+rows[1], 1))
	switch {
	case off(0) && off(1) && firstBad*10 >= bad[0]*8 && firstBad > 2:
		f.Accuse(check.Fault, share,
			fmt.Sprintf("Advantages stop at the first step of an episode and run over the end of the one before, in %d of "+
				"%d: ends are taken a step late.", firstBad, firsts), next)
	case off(0) && early*10 >= bad[0]*8:
		f.Accuse(check.Fault, share, fmt.Sprintf("Advantages stop a step before the end, in %d of %d: ends are taken a step early.", early,
			beforeEnd), next)
	case off(0):
		f.Accuse(check.Fault, share,
			fmt.Sprintf("%d of %d advantages do not follow from rewards, values and the next advantage; they are off by "+
				"up to %.3g.%s", bad[0], rows[0], worst, named(within, bad[0])), next)
	case off(1):
		f.Accuse(check.Fault, share, fmt.Sprintf("%d of %d advantages at an exit are not reward less value.%s", bad[1], rows[1],
			named(exits, bad[1])), next)
	case rows[2] >= 5 && leaks*10 > rows[2]*8:
		f.Accuse(check.Fault, float64(leaks)/float64(rows[2]), fmt.Sprintf("After a cut the value of the next episode counts, in %d of %d.",
			leaks, rows[2]), "take the value of the last observation before the reset")
	case rows[2] >= 5 && bad[2]*10 > rows[2]*8 && r.Horizon == 0:
		f.Accuse(check.Suspect, float64(bad[2])/float64(rows[2]), fmt.Sprintf("A cut is learnt as an exit, in %d of %d: the value of what would "+
			"have come is left out.", bad[2], rows[2]), "add gamma times the value of the last observation where truncations[agent] is set; if "+
			"the limit is a rule of the game and time is observed, say so: Recorder(..., horizon=...)")
	default:
		f.Who = nil
		f.Says = fmt.Sprintf("Advantages follow from rewards, values and ends, in %d rows.", f.Rows)
	}
}

// returns asks whether returns are advantages and values together.
func (r *recorded) returns(f *check.Finding) {
	bad := make([]int, r.Count)
	total := 0
	for k := range r.Batches {
		b := &r.Batches[k]
		adv, ret, val := b.Col["advantages"], b.Col["returns"], b.Col["values"]
		if adv == nil || ret == nil || val == nil || normalised(adv) {
			continue
		}
		_, sd := moments(ret)
		for i := range ret {
			f.Rows++
			if !(math.Abs(adv[i]+val[i]-ret[i]) <= 2e-3*sd+1e-5) {
				bad[b.Agents[0]]++
				total++
			}
		}
	}
	f.Unit, f.Says = "share of rows", fmt.Sprintf("Returns are advantages and values together, in %d rows.", f.Rows)
	if f.Rows == 0 {
		f.Says = "Advantages were normalised before they were handed in, so returns cannot be compared with them."
	}
	for a, n := range bad {
		if n > 0 {
			f.Who = append(f.Who, a)
			f.Saw(float64(n), 0, "%s: returns that are something else", r.Agents[a])
		}
	}
	if share := float64(total) / float64(max(f.Rows, 1)); share > 0.02 {
		f.Accuse(check.Fault, share, fmt.Sprintf("%.0f %% of the returns of %s are not advantages and values together.", 100*share,
			check.Few(r.titles(f.Who))), "what the value learns from: returns = advantages + values, from before anything is normalised")
	}
}

// valuesDiffer asks whether values say anything, and are numbers.
func (r *recorded) valuesDiffer(f *check.Finding) {
	low, high, n := make([]float64, r.Count), make([]float64, r.Count), make([]int, r.Count)
	batches := make([]int, r.Count)
	f.Unit = "rows"
	for k := range r.Batches {
		b := &r.Batches[k]
		if b.Col["values"] == nil {
			continue
		}
		me := b.Agents[0]
		batches[me]++
		for _, name := range []string{"values", "advantages", "returns", "logprobs", "rewards"} {
			for i, x := range b.Col[name] {
				if (math.IsNaN(x) || math.IsInf(x, 0)) && f.Status == check.Pass {
					f.Who = []int{me}
					f.Accuse(check.Fault, 1, fmt.Sprintf("%s of %s holds %v, in row %d of an update.", name, r.Agents[me], x, i),
						"what it is computed from, one step before")
				}
			}
		}
		for _, x := range b.Col["values"] {
			if n[me] == 0 {
				low[me], high[me] = x, x
			}
			low[me], high[me] = min(low[me], x), max(high[me], x)
			n[me]++
			f.Rows++
		}
	}
	if f.Status > check.Pass {
		return
	}
	f.Says = fmt.Sprintf("Values are finite and tell states apart, in %d rows.", f.Rows)
	for a := range r.Count {
		if batches[a] >= 3 && n[a] >= 32 && low[a] == high[a] {
			f.Who = []int{a}
			f.Accuse(check.Fault, 1, fmt.Sprintf("The value of %s is %.4g in all of %d rows.", r.Agents[a], low[a], n[a]),
				"whether the value's head is read, and whether its optimiser holds it")
			return
		}
	}
}
