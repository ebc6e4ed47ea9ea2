package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// where names the first agent that a network is of, as Finding.Who does.
func (r *recorded) where(nets ...int) []int {
	var out []int
	for _, i := range nets {
		for _, a := range r.Nets[i].Agents {
			if k := slices.Index(r.Agents, a); !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	slices.Sort(out)
	return out
}

// pairs visits networks that should have nothing in common.
func (r *recorded) pairs(visit func(i, j int)) int {
	n := 0
	for i := range r.Nets {
		for j := i + 1; j < len(r.Nets); j++ {
			if r.Nets[i].Apart(&r.Nets[j]) {
				n++
				visit(i, j)
			}
		}
	}
	return n
}

// ownNetworks asks whether a tensor is in two agents' networks.
func (r *recorded) ownNetworks(f *check.Finding) {
	var whole, parts []int // networks that share all, or some
	var names []string
	pairs := r.pairs(func(i, j int) {
		var shared []string
		for _, p := range r.Nets[j].Parameters {
			if slices.ContainsFunc(r.Nets[i].Parameters, func(q record.Parameter) bool { return q.Storage == p.Storage }) {
				shared = append(shared, p.Name)
			}
		}
		if len(shared) == 0 {
			return
		}
		f.Saw(float64(len(shared)), 0, "tensors that %s and %s share", r.Nets[i].Title(), r.Nets[j].Title())
		if len(shared) == len(r.Nets[j].Parameters) {
			whole = append(whole, i, j)
		} else {
			parts, names = append(parts, i, j), shared
		}
	})
	f.Rows, f.Unit = pairs, "pairs of networks"
	switch {
	case pairs == 0:
		f.Says = needOneAgent
	case len(whole) > 0:
		f.Who = r.where(whole...)
		f.Accuse(check.Fault, float64(len(f.Evidence)), fmt.Sprintf("%s share one network: all of its tensors lie in the same memory.",
			check.List(r.titles(f.Who))), "where networks are made: [Network()] * n makes one; if it is meant, call rec.learner once, with "+
			"the list of its agents")
	case len(parts) > 0:
		f.Who = r.where(parts...)
		f.Accuse(check.Suspect, float64(len(f.Evidence)), fmt.Sprintf("%s share some tensors: %s.",
			check.List(r.titles(f.Who)), check.Few(names)),
			"whether it is meant: each optimiser that holds them changes the other agents' policy")
	default:
		f.Says = fmt.Sprintf("No two networks share a tensor, in %d pairs.", pairs)
	}
}

// startApart asks whether networks of different agents began with the same weights.
func (r *recorded) startApart(f *check.Finding) {
	var same []int
	f.Rows = r.pairs(func(i, j int) {
		a, b := r.Nets[i].Parameters, r.Nets[j].Parameters
		drawn := 0
		for k, p := range a {
			if k >= len(b) || p.First != b[k].First || p.Storage == b[k].Storage {
				return
			}
			if p.First != 0 {
				drawn++
			}
		}
		if drawn > 0 && len(a) == len(b) {
			same = append(same, i, j)
			f.Saw(float64(drawn), 0, "tensors that %s and %s began with alike", r.Nets[i].Title(), r.Nets[j].Title())
		}
	})
	f.Unit, f.Says = "pairs of networks", "No two networks began with the same weights."
	if f.Rows == 0 {
		f.Says = needOneAgent
	}
	if len(same) > 0 {
		f.Who = r.where(same...)
		f.Accuse(check.Suspect, float64(len(f.Evidence)), fmt.Sprintf("%s began with the very same weights.", check.List(r.titles(f.Who))),
			"where networks are made: a seed that is set before each of them, or a copy")
	}
}

// held asks whether each network's parameters are in its optimisers, and nobody else's.
func (r *recorded) held(f *check.Finding) {
	var says, next []string
	for i := range r.Nets {
		n := &r.Nets[i]
		var missing, replaced []string
		for _, p := range n.Parameters {
			f.Rows++
			by := p.Held
			for j := range r.Nets { // another optimiser of the same agents may hold it
				m := &r.Nets[j]
				by = by || j != i && !n.Apart(m) && slices.ContainsFunc(m.Parameters,
					func(q record.Parameter) bool { return q.Storage == p.Storage && q.Held })
			}
			if !by && !p.Frozen {
				missing = append(missing, p.Name)
			}
			if p.Replaced {
				replaced = append(replaced, p.Name)
			}
		}
		strange := slices.DeleteFunc(slices.Clone(n.Strange), func(s string) bool {
			who, _, _ := strings.Cut(s, ": ")
			return slices.Contains(n.Agents, who)
		})
		for _, w := range []struct {
			what []string
			says string
			next string
		}{
			{missing, "The optimiser of %s does not hold %s: %d of %d parameters.",
				"where the optimiser is made: hand it network.parameters() after the network is complete; with several optimisers call " +
					"rec.learner for each"},
			{strange, "The optimiser of %s holds what is another agent's, %s: %d of %d parameters.",
				"where optimisers are made: each from its own agent's network"},
			{replaced, "%s has other tensors now in place of %s, which the optimiser still holds: %d of %d parameters.",
				"make the optimiser after the last layer is in its place"},
		} {
			if len(w.what) > 0 {
				f.Saw(float64(len(w.what)), 0, "%s", fmt.Sprintf(w.says, n.Title(), check.Few(w.what), len(w.what), len(n.Parameters)))
				if !slices.Contains(next, w.next) {
					next = append(next, w.next)
				}
				if len(says) == 0 {
					says = append(says, f.Evidence[len(f.Evidence)-1].Label)
				}
				f.Who = append(f.Who, r.where(i)...)
			}
		}
	}
	f.Unit, f.Says = "parameters", fmt.Sprintf("Optimisers hold all of %d parameters, and nothing else.", f.Rows)
	if len(says) > 0 {
		f.Who = unique(f.Who)
		f.Accuse(check.Fault, float64(len(f.Evidence)), says[0]+also(len(f.Who)), next[0])
	}
}

// history collects the watched updates of a network.
func (r *recorded) history(i int) []record.Update {
	var out []record.Update
	for _, u := range r.Updates {
		if u.Net == i {
			out = append(out, u)
		}
	}
	return out
}

// layers asks whether every parameter that is held changes.
func (r *recorded) layers(f *check.Finding) {
	for i := range r.Nets {
		n, us := &r.Nets[i], r.history(i)
		if len(us) < 3 {
			continue
		}
		var still, why []string
		moved := false
		for k, p := range n.Parameters {
			if p.Frozen || !p.Held {
				continue
			}
			f.Rows++
			change, gradient, rate := 0., -1., 0.
			for _, u := range us {
				change, gradient, rate = max(change, u.Change[k]), max(gradient, u.Gradient[k]), max(rate, u.Rate[k])
			}
			if moved = moved || change > 0; change == 0 {
				reason := "its rate is 0"
				switch {
				case gradient < 0:
					reason = "no loss reaches it"
				case gradient == 0:
					reason = "its gradient is 0"
				case rate > 0:
					reason = "its steps are lost"
				}
				still, why = append(still, p.Name), append(why, reason)
				f.Saw(0, 1, "%s, %s: largest change in %d updates; %s", n.Title(), p.Name, len(us), reason)
			}
		}
		if len(still) > 0 && f.Status == check.Pass {
			what := check.Few(still)
			if !moved {
				what = "anything"
			}
			f.Who = append(f.Who, r.where(i)...)
			f.Accuse(check.Fault, float64(len(still)), fmt.Sprintf("Updates of %s never change %s: %s.", n.Title(), what, why[0]),
				"whether the loss reads that part of the network, and whether something between them is detached")
		}
	}
	f.Unit = "parameters"
	if f.Status == check.Pass {
		f.Says = fmt.Sprintf("Every one of %d parameters changes.", f.Rows)
		if f.Rows == 0 {
			f.Says = "Fewer than three updates were watched."
		}
	}
}

// rates asks whether gradients are numbers, and rates above 0 and the same for all.
func (r *recorded) rates(f *check.Finding) {
	f.Unit = "updates"
	zero, steps := make([]int, len(r.Nets)), make([]int, len(r.Nets))
	for _, u := range r.Updates {
		f.Rows++
		n := &r.Nets[u.Net]
		for k, g := range u.Gradient {
			if (math.IsNaN(g) || math.IsInf(g, 0)) && f.Status == check.Pass {
				f.Who = r.where(u.Net)
				f.Accuse(check.Fault, 1, fmt.Sprintf("The gradient of %s in %s is %v at update %d.", n.Title(), n.Parameters[k].Name, g, u.Number),
					"the loss at that update: a logarithm of 0, a division by 0, or a mask that leaves nothing")
			}
		}
		if x := top(u.Rate); !math.IsNaN(x) {
			steps[u.Net]++
			zero[u.Net] += one(x == 0)
		}
	}
	if f.Status > check.Pass {
		return
	}
	f.Says = fmt.Sprintf("Gradients are finite and rates are alike, in %d updates.", f.Rows)
	for i := range r.Nets {
		if 2*zero[i] > steps[i] { // a schedule may end at 0
			f.Who = r.where(i)
			f.Accuse(check.Fault, 1, fmt.Sprintf("The learning rate of %s is 0 in %d of %d updates.", r.Nets[i].Title(), zero[i], steps[i]),
				"the schedule of the rate, and what it counts: it is at its end too early")
			return
		}
	}
	r.unlike(f)
}

// top returns the highest of rates that are known; NaN if none is.
func top(rates []float64) float64 {
	most := math.NaN()
	for _, x := range rates {
		if !(most >= x) && !math.IsNaN(x) {
			most = x
		}
	}
	return most
}

// unlike says whose rate is not that of the others.
func (r *recorded) unlike(f *check.Finding) {
	rates := make([]schedule, len(r.Nets))
	for i := range r.Nets {
		rates[i] = r.schedule(i)
	}
	apart := make([][]int, len(r.Nets)) // of each, networks whose rates differ
	for i := range r.Nets {
		for j := range r.Nets {
			// Like with like: an agent may have one optimiser for its policy and another for its values.
			if i == j || !r.Nets[i].Apart(&r.Nets[j]) || r.Role[r.where(i)[0]] != r.Role[r.where(j)[0]] || !r.Nets[i].Alike(&r.Nets[j]) {
				continue
			}
			if rates[i].differs(rates[j]) {
				apart[i] = append(apart[i], j)
			}
		}
	}
	odd := 0 // the one that differs from most
	for i := range apart {
		if len(apart[i]) > len(apart[odd]) {
			odd = i
		}
	}
	if len(r.Nets) == 0 || len(apart[odd]) == 0 {
		return
	}
	i, j := odd, apart[odd][0]
	f.Who = r.where(i)
	if len(apart[j]) == len(apart[i]) { // which of them is odd cannot be told
		f.Who = r.where(i, j)
	}
	a, b, at := rates[i].widest(rates[j])
	f.Saw(a, b, "rate of %s at update %.0f, beside that of %s", r.Nets[i].Title(), at, r.Nets[j].Title())
	f.Accuse(check.Suspect, a/b, fmt.Sprintf("%s learns at a rate of %.3g, %s at %.3g, at update %.0f.", r.Nets[i].Title(), a,
		r.Nets[j].Title(), b, at), "whether it is meant; a scheduler that is stepped once an agent counts down too fast")
}

// schedule is how a network's rate goes, over what a schedule may count: its steps, steps that were played, and the
// share of its steps. Agents that have fewer rows make fewer steps, and anneal together for all that.
type schedule struct {
	over [3][]float64
	rate []float64
}

func (r *recorded) schedule(i int) (c schedule) {
	last := -1
	for _, u := range r.history(i) {
		x := top(u.Rate)
		if u.At == last && len(c.rate) > 0 && c.rate[len(c.rate)-1] == x || !(x > 0) {
			continue // steps of one update, at one rate
		}
		last = u.At
		c.rate = append(c.rate, x)
		for k, v := range []float64{float64(u.Number), float64(u.At), float64(u.Number) / float64(max(r.Nets[i].Steps, 1))} {
			c.over[k] = append(c.over[k], v)
		}
	}
	return c
}

// near returns the rate at the nearest place, by one of the three measures, that is not after x; NaN if there is none.
func (c schedule) near(k int, x float64) float64 {
	at, known := slices.BinarySearch(c.over[k], x)
	if known {
		return c.rate[at]
	}
	if at == 0 {
		return math.NaN()
	}
	return c.rate[at-1]
}

const rateApart = 0.1 // of the highest rate: by so much a schedule may be ahead where steps are of different sizes

// differs reports whether rates are apart, whatever they are compared over.
func (c schedule) differs(d schedule) bool {
	highest, compared := max(top(c.rate), top(d.rate)), false
	for k := range c.over {
		asked, off := 0, 0
		for i, x := range c.over[k] {
			if y := d.near(k, x); !math.IsNaN(y) {
				asked++
				off += one(math.Abs(c.rate[i]-y) > rateApart*highest)
			}
		}
		if compared = compared || asked > 0; asked > 0 && 20*off <= asked {
			return false
		}
	}
	return compared
}

// widest returns both rates, and the number of the update, where they are furthest apart: of steps that were made at
// once in play, or else of those with the same number.
func (c schedule) widest(d schedule) (a, b, number float64) {
	for _, k := range []int{1, 0} {
		apart := -1.
		for i, x := range c.over[k] {
			if y := d.near(k, x); math.Abs(c.rate[i]-y) > apart {
				a, b, number, apart = c.rate[i], y, c.over[0][i], math.Abs(c.rate[i]-y)
			}
		}
		if apart >= 0 {
			break
		}
	}
	return a, b, number
}

// cleared asks whether gradients are set back between steps.
func (r *recorded) cleared(f *check.Finding) {
	f.Unit = "share of updates"
	for i := range r.Nets {
		n := &r.Nets[i]
		f.Rows += n.Compared
		if n.Compared < 3 || n.Uncleared*10 < n.Compared {
			continue
		}
		share := float64(n.Uncleared) / float64(n.Compared)
		f.Saw(share, 0, "%s: updates whose gradients were added to the last ones", n.Title())
		if f.Who = append(f.Who, r.where(i)...); f.Status == check.Pass {
			f.Accuse(check.Fault, share, fmt.Sprintf("Gradients of %s are never cleared: %d of %d updates add to the gradient of the one before.",
				n.Title(), n.Uncleared, n.Compared), "call optimizer.zero_grad() before every backward()")
		}
	}
	if f.Status == check.Pass {
		f.Says = fmt.Sprintf("Gradients are cleared before each of %d updates.", f.Rows)
	}
}

// updatesByAgent asks whether all agents learn equally often, and until the end.
func (r *recorded) updatesByAgent(f *check.Finding) {
	f.Unit = "updates"
	for _, part := range []string{check.PPO, "moa", "world"} {
		steps, last := map[string]int{}, map[string]int{}
		first, end, most := math.MaxInt, 0, 0
		var names []string
		for _, n := range r.Nets {
			if n.Part != part {
				continue
			}
			for _, a := range n.Agents {
				if !slices.Contains(names, a) {
					names = append(names, a)
				}
				steps[a] += n.Steps
				last[a] = max(last[a], n.LastAt)
				most = max(most, steps[a])
			}
			if n.FirstAt >= 0 {
				first, end = min(first, n.FirstAt), max(end, n.LastAt)
			}
		}
		for _, a := range names {
			f.Rows += steps[a]
			f.Saw(float64(steps[a]), float64(most), "%s: updates (%s)", a, part)
		}
		for _, a := range names {
			switch {
			case f.Status == check.Fault || most == 0:
			case steps[a] == 0:
				f.Who = []int{slices.Index(r.Agents, a)}
				f.Accuse(check.Fault, float64(most), fmt.Sprintf("%s is never updated (%s), others are %d times.", a, part, most),
					"the loop over learners: who is left out, and why")
			case end > first && float64(last[a]-first) < 0.6*float64(end-first):
				f.Who = []int{slices.Index(r.Agents, a)}
				f.Accuse(check.Fault, float64(end-last[a]), fmt.Sprintf("%s is last updated (%s) after %d steps of play, others until %d.",
					a, part, last[a], end), "what stops its updates: a counter that all agents share, or a buffer that is never full again")
			case steps[a]*2 < most && f.Status == check.Pass:
				f.Who = []int{slices.Index(r.Agents, a)}
				f.Accuse(check.Suspect, float64(most-steps[a]), fmt.Sprintf("%s is updated %d times (%s), another agent %d times.", a, steps[a],
					part, most), "whether it has so many fewer rows, or is left out at times")
			}
		}
	}
	if f.Status == check.Pass {
		f.Says = fmt.Sprintf("All agents are updated alike, %d times together.", f.Rows)
		if f.Rows == 0 {
			f.Rows = 1
			f.Accuse(check.Fault, 1, "No optimiser that is watched ever takes a step.", "whether it is the one that learns: hand it to "+
				"rec.learner, and make it once, not anew at every update")
		}
	}
}

// outside asks whether weights change between an optimiser's steps.
func (r *recorded) outside(f *check.Finding) {
	f.Unit = "share of updates"
	for i := range r.Nets {
		changed, seen := 0, 0
		who := ""
		us := r.history(i)
		for k, u := range us {
			if k == 0 || u.Number != us[k-1].Number+1 {
				continue
			}
			seen++
			for p, x := range u.Outside {
				if x > 0 {
					who = r.Nets[i].Parameters[p].Name
					changed++
					break
				}
			}
		}
		f.Rows += seen
		if changed == 0 {
			continue
		}
		share := float64(changed) / float64(seen)
		f.Saw(share, 0, "%s: updates before which weights were changed by something else", r.Nets[i].Title())
		if f.Who = append(f.Who, r.where(i)...); f.Status == check.Pass {
			f.Accuse(check.Suspect, share, fmt.Sprintf("Weights of %s, such as %s, change between the steps of its optimiser, %d of %d times.",
				r.Nets[i].Title(), who, changed, seen), "what else writes them: another agent's optimiser, load_state_dict, a copy")
		}
	}
	if f.Status == check.Pass {
		f.Says = fmt.Sprintf("Weights change by their own optimiser only, seen %d times.", f.Rows)
	}
}
