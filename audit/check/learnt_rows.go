package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// whose names whose a batch is.
func (r *recorded) whose(b *record.Batch) string { return check.List(r.titles(b.Agents)) }

// unplayed is how much of what was handed in is nothing that was played; at this share
// and above rows are taken to be changed on their way, so that nothing can be said.
const unplayed = 0.95

// found reports whether rows could be found at all, and says why not.
func (r *recorded) found(f *check.Finding) bool {
	n, missing, sure, other := 0, 0, 0, 0
	for _, b := range r.Batches {
		for i := range b.Row {
			n++
			other += one(b.Kind[i] == record.Other)
			if b.Kind[i] == record.Unseen || b.Kind[i] == record.Other {
				missing++
			} else if b.Sure[i] { // by its number, whatever was made of what it showed
				sure++
			}
		}
	}
	f.Status = check.NotAsked
	repeated, _ := r.repeats()
	switch {
	case n == 0:
		f.Says = needRows
	case float64(sum(repeated.bad)) > 0.2*float64(n):
		f.Says = "Rows of a batch hold the same few observations, so that they cannot be told to be one row or another."
	case float64(other) > unplayed*float64(n): // observations are changed on their way, and indices say what they were
		f.Status = check.Pass
		return true
	case float64(missing) > unplayed*float64(n):
		f.Says = "Observations of batches are none that were played: hand them in as the environment gave them, not normalised or " +
			"otherwise changed, or give indices from rec.here()."
	case float64(sure) < 0.2*float64(n) && float64(missing) < 0.2*float64(n):
		f.Says = needSure
	default:
		f.Status = check.Pass
		return true
	}
	return false
}

// repeats counts learnt rows whose observation an earlier row of their batch holds, of one and the same step of play,
// although they differ in what was done or paid; and how many steps of play such batches hold.
func (r *recorded) repeats() (c *rowCount, steps int) {
	c = countRows(r.Agents)
	for k := range r.Batches {
		b := &r.Batches[k]
		first, bad := map[int]int{}, 0
		for i, row := range b.Row {
			same, known := first[row]
			if row >= 0 && b.Sure[i] && !known {
				first[row] = i
			}
			differs := func(name string) bool { x := b.Col[name]; return x != nil && x[i] != x[same] }
			twice := row >= 0 && b.Sure[i] && known && slices.ContainsFunc([]string{"actions", "rewards", "logprobs"}, differs)
			if twice {
				exit, cut := r.Ends(row)
				twice = !exit && !cut // padding after an exit is another question's
			}
			bad += one(twice)
			c.add(b.Agents[0], r.learnt(twice, b, "obs", i))
		}
		if bad > 0 {
			steps += len(first)
		}
	}
	return c, steps
}

// differ asks whether the rows of a batch are different ones.
func (r *recorded) differ(f *check.Finding) {
	c, steps := r.repeats()
	total, share := c.counted(f, "No row is in a batch twice with another action, reward or probability, in %d rows.",
		"rows that hold another row's observation")
	if total >= 5 && share > 0.2 {
		f.Accuse(check.Fault, share, fmt.Sprintf("%.0f %% of the rows that %s from hold an observation that another row of their batch holds: "+
			"%d rows show %d steps of play.", 100*share, r.few(f, "learns", "learn"), f.Rows, steps),
			"where observations are stored: one array that every step fills anew is many times the last one; copy it")
		return
	}
	f.Who = nil
}

// sorted returns the permutation that sorting names as strings makes: whose place in
// the sorted list each place is given to.
func sorted(names []string) []int {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(names[a], names[b]) })
	return order
}

// asStrings reports whether whose[a], what agent a has of whom, is what sorting the
// names as strings makes of it, either way round. -1 in whose: not known.
func (r *recorded) asStrings(whose []int) bool {
	order := sorted(r.Agents)
	back := make([]int, len(order))
	for i, a := range order {
		back[a] = i
	}
	for _, p := range [][]int{order, back} {
		fits, moved := true, 0
		for a, b := range whose {
			if b < 0 {
				continue
			}
			fits = fits && p[a] == b
			if b != a {
				moved++
			}
		}
		if fits && moved > 1 {
			return true
		}
	}
	return false
}

const sortedNext = "where names become columns: sorted(names) puts agent_10 before agent_2; keep the order of possible_agents"

// ownRows asks whose rows each learner learns from.
func (r *recorded) ownRows(f *check.Finding) {
	if !r.found(f) {
		return
	}
	k := r.Count
	count := make([]int, k*k)  // [learner][whose]
	crowd := make([]int, k)    // rows of others at steps at which somebody had left
	strange := make([]int, k)  // rows of others
	learns := make([]bool, k)  // is a learner by itself
	groups := map[string]int{} // of learners of several agents, rows of others
	r.Each(func(b *record.Batch, i, row int) {
		f.Rows++
		a := row % k
		if len(b.Agents) > 1 {
			if !slices.Contains(b.Agents, a) {
				groups[r.whose(b)]++
			}
			return
		}
		me, t := b.Agents[0], row/k
		learns[me] = true
		r.learnt(a != me, b, "obs", i)
		if count[me*k+a]++; a != me {
			strange[me]++
			if slices.Contains(r.Alive[t*k:(t+1)*k], false) {
				crowd[me]++
			}
		}
	})
	f.Unit = "share of rows"
	var says string
	whose := make([]int, k)
	all, left := 0, 0
	for me := range k {
		whose[me] = -1
		rows := count[me*k : (me+1)*k]
		n := 0
		for _, c := range rows {
			n += c
		}
		best, share := check.Commonest(rows)
		if share > 0.9 {
			whose[me] = best
		}
		off := float64(strange[me]) / float64(max(n, 1))
		if !learns[me] || strange[me] < 5 || off < 0.05 {
			continue
		}
		f.Who = append(f.Who, me)
		f.Effect = max(f.Effect, off)
		all, left = all+strange[me], left+crowd[me]
		f.Saw(off, 0, "%s: share of its rows that are another agent's", r.Agents[me])
		from := slices.Clone(rows)
		from[me] = 0
		b, _ := check.Commonest(from)
		own := fmt.Sprintf("and from %d of its own", rows[me])
		if rows[me] == 0 {
			own = "and from none of its own"
		}
		if says == "" {
			says = fmt.Sprintf("%s learns from %s's rows: %.0f %% of them, %s.", r.Agents[me], r.Agents[b], 100*float64(from[b])/float64(n), own)
		}
	}
	for who, n := range groups {
		if n >= 5 && float64(n) > 0.05*float64(f.Rows) && says == "" {
			says = fmt.Sprintf("%s learn from %d rows of others.", who, n)
			f.Effect = float64(n) / float64(f.Rows)
		}
	}
	f.Says = fmt.Sprintf("Everybody learns from its own rows, %d of them.", f.Rows)
	if says == "" {
		return
	}
	next := "where rows are pushed and where train() picks its agent: index by the agent's own id, never by the first one found"
	switch {
	case r.asStrings(whose):
		says += " Names are sorted as strings."
		next = sortedNext
	case onlyOne(whose, f.Who) >= 0 && len(f.Who) > 1:
		who := check.List(r.titles(f.Who))
		says = fmt.Sprintf("%s learn from %s's rows: %.0f %% of them.", who, r.Agents[onlyOne(whose, f.Who)], 100*f.Effect)
		f.Accuse(check.Fault, f.Effect, says, next)
		return
	case all > 0 && left == all:
		says += " It is so only where somebody has left: columns move up."
		next = "where observations become rows: check.List(obs.values()) has one entry less when an agent has left; look each agent up by name"
	}
	f.Accuse(check.Fault, f.Effect, says+also(len(f.Who)), next)
}

// onlyOne returns whose rows all of these learners have, -1 if there is no such agent.
func onlyOne(whose, who []int) int {
	if len(who) == 0 {
		return -1
	}
	for _, a := range who {
		if whose[a] != whose[who[0]] {
			return -1
		}
	}
	return whose[who[0]]
}

// afterExit asks whether learners learn from rows of agents that have left.
func (r *recorded) afterExit(f *check.Finding) {
	c, empty, last := countRows(r.Agents), 0, 0 // rows of zeros; rows twice in a batch that are an agent's last
	for k := range r.Batches {
		b := &r.Batches[k]
		seen := map[int]bool{}
		for i, row := range b.Row {
			bad := false
			switch {
			case row < 0:
				bad = b.Kind[i] == record.Gone || b.Kind[i] == record.Zeros
				empty += one(b.Kind[i] == record.Zeros)
			case !b.Sure[i]:
			case !r.Alive[row] || r.blank(row):
				bad = true
			case seen[row]:
				exit, cut := r.Ends(row)
				bad = exit || cut
				last += one(bad)
			default:
				seen[row] = true
			}
			c.add(b.Agents[0], r.learnt(bad, b, "obs", i))
		}
	}
	total, share := c.counted(f, "Nobody learns from rows after an exit, in %d rows.", "learnt rows after an exit")
	for i, a := range f.Who {
		f.Evidence[i].Label += fmt.Sprintf(", of %d", c.rows[a])
	}
	if total < 3 || share <= 0.002 {
		return
	}
	how := ""
	next := "keep rows of agents that have left out of the batch: a mask of who is alive, before returns are computed and before the loss"
	switch {
	case r.firstsUnused():
		how = ". They show the last sight of a life, and the first one of the next is never learnt from"
		next = "where an episode begins: the observation that reset() returns is the one to act on and to store"
	case empty*2 > total:
		how = "; they hold nothing but zeros"
	case last*2 > total:
		how = "; they repeat the last row of a life"
	}
	f.Accuse(check.Fault, share, fmt.Sprintf("%s from rows after an exit: %d of %d rows, %.0f %%%s.", r.few(f, "learns", "learn"), total,
		f.Rows, 100*share, how), next)
}

// firstsUnused reports whether first rows of episodes, after the first one of each copy,
// are hardly ever learnt from although others are.
func (r *recorded) firstsUnused() bool {
	used := map[int]bool{}
	r.Each(func(_ *record.Batch, _, row int) { used[row] = true })
	firsts, n := 0, 0
	for _, t := range r.Starts {
		if t == 0 || r.Env != nil && r.Env[t] != r.Env[t-1] {
			continue
		}
		for row := t * r.Count; row < (t+1)*r.Count; row++ {
			if r.Alive[row] {
				if n++; used[row] {
					firsts++
				}
			}
		}
	}
	return n >= 8 && firsts*10 < n
}

// copiesApart asks whether copies of the environment begin unlike each other.
func (r *recorded) copiesApart(f *check.Finding) {
	n := len(r.Obs) / r.Steps
	first := map[int][]int{} // by episode of its copy, the steps that begin it
	last, count := -1, 0
	for _, t := range r.Starts {
		if r.Env[t] != last {
			last, count = r.Env[t], 0
		}
		first[count] = append(first[count], t)
		count++
	}
	f.Unit = "share of pairs"
	see := func(t int) []float32 { return r.Obs[t*n : (t+1)*n] }
	same, vary := 0, false
	for e := range len(first) {
		for i, t := range first[e] {
			vary = vary || !slices.Equal(see(t), see(r.Starts[0]))
			for _, u := range first[e][:i] {
				if f.Rows++; slices.Equal(see(t), see(u)) {
					same++
				}
			}
		}
	}
	share := float64(same) / float64(max(f.Rows, 1))
	f.Says = fmt.Sprintf("Copies of the environment begin unlike each other, in %d pairs of episodes.", f.Rows)
	switch {
	case f.Rows == 0:
		f.Says = needCopies
	case !vary:
		f.Rows = 0
		f.Says = "All episodes start alike, so copies that are seeded alike would not show."
	case same >= 3 && share > 0.5:
		f.Accuse(check.Fault, share, fmt.Sprintf("Copies of the environment begin alike: %d of %d pairs of their episodes have the same first "+
			"observations.", same, f.Rows), "seeds: give every copy its own, such as seed + i")
	case same >= 3 && len(first[0]) > 2 && sameViews(first[0], see):
		f.Accuse(check.Fault, 1, fmt.Sprintf("All %d copies of the environment begin with the same observations.", len(first[0])),
			"seeds: give every copy its own, such as seed + i")
	}
}

// seeds asks whether a copy of the environment is reset with the same seed again and again, and starts alike for it.
func (r *recorded) seeds(f *check.Finding) {
	n := len(r.Obs) / r.Steps
	type reset struct{ env, seed int }
	first, again := map[reset]int{}, 0 // the first step of a seed's first episode
	for _, t := range r.Starts {
		if r.Seed[t] < 0 {
			continue
		}
		f.Rows++
		key := reset{r.Env[t], r.Seed[t]}
		if at, known := first[key]; !known {
			first[key] = t
		} else {
			again += one(slices.Equal(r.Obs[t*n:(t+1)*n], r.Obs[at*n:(at+1)*n]))
		}
	}
	f.Unit, f.Says = "share of episodes", fmt.Sprintf("Episodes do not start alike by a seed that comes again, in %d of them.", f.Rows)
	if share := float64(again) / float64(max(f.Rows, 1)); again >= 8 && 2*again > len(r.Starts) {
		f.Accuse(check.Suspect, share, fmt.Sprintf("%d of %d episodes are reset with a seed that their copy of the environment had before, and "+
			"start as they did then.", again, len(r.Starts)), "seeds: give reset one at the beginning of the run, then none, or a new one every "+
			"time; if one start is meant, all is well")
	}
}

// alike reports whether all steps show the same.
func sameViews(steps []int, see func(t int) []float32) bool {
	for _, t := range steps[1:] {
		if !slices.Equal(see(t), see(steps[0])) {
			return false
		}
	}
	return true
}

// blank reports whether a row and all later ones of the agent's episode are nothing but
// zeros, as those of agents that a wrapper keeps in the game after they died.
func (r *recorded) blank(row int) bool {
	if r.Obs == nil {
		return false
	}
	n := len(r.Obs) / len(r.Alive)
	for row = max(row, 0); row >= 0; row = r.After(row) {
		if r.Reward[row] != 0 || slices.ContainsFunc(r.Obs[row*n:(row+1)*n], func(x float32) bool { return x != 0 }) {
			return false
		}
	}
	// A game that shows nothing to anybody has no such rows.
	return slices.ContainsFunc(r.Obs, func(x float32) bool { return x != 0 })
}

// wasPlayed asks whether learnt rows are rows that were played.
func (r *recorded) wasPlayed(f *check.Finding) {
	if !r.found(f) {
		return
	}
	kinds := [record.Moved + 1]int{}
	for _, b := range r.Batches {
		for _, kind := range b.Kind {
			kinds[kind]++
		}
	}
	changed := float64(kinds[record.Other]) > unplayed*float64(kinds[record.Other]+kinds[record.Played])
	c := countRows(r.Agents)
	for _, b := range r.Batches {
		for i, kind := range b.Kind {
			bad := kind == record.Unseen || kind == record.Other && !changed || kind == record.Moved
			c.add(b.Agents[0], r.learnt(bad, &b, "obs", i))
		}
	}
	good := "All of %d learnt rows were played."
	if changed {
		good = "What %d rows show is not as the environment gave it, normalised perhaps: they are told by their indices alone."
	}
	total, share := c.counted(f, good, "learnt rows that nobody played")
	if changed && kinds[record.Moved] == 0 {
		f.Rows, f.Status, f.Who, f.Evidence = 0, check.NotAsked, nil, nil
		return
	}
	if moved := float64(kinds[record.Moved]) / float64(max(f.Rows, 1)); kinds[record.Moved] >= 5 && moved > 0.01 {
		f.Accuse(check.Fault, moved, fmt.Sprintf("%.0f %% of what %s from is what was seen at other steps than those whose action and reward "+
			"stand beside it.", 100*moved, r.few(f, "learns", "learn")),
			"what lies between the environment and the buffer: a sight that is not brought up to date, a step late, or another's")
		return
	}
	if total >= 5 && share > 0.01 {
		f.Accuse(check.Fault, share, fmt.Sprintf("%.0f %% of what %s from is nothing that was played: observations that nobody had.",
			100*share, r.few(f, "learns", "learn")),
			"the buffer: rows that are written over or never written, and arrays that the environment goes on to write to; copy them")
	}
}

// rowsByAgent asks whether each agent learns from all that it played, as the others do.
func (r *recorded) rowsByAgent(f *check.Finding) {
	if !r.found(f) {
		return
	}
	used := make([]bool, len(r.Alive))
	learner := make([]bool, r.Count)
	for _, b := range r.Batches {
		for _, a := range b.Agents {
			learner[a] = true
		}
		for _, row := range b.Row {
			if row >= 0 {
				used[row] = true
			}
		}
	}
	share, most := make([]float64, r.Count), 0.
	for a := range r.Count {
		n, all := 0, 0
		for row := a; row < len(used); row += r.Count {
			if r.Alive[row] {
				all++
				if used[row] {
					n++
				}
			}
		}
		f.Rows += all
		share[a] = float64(n) / float64(max(all, 1))
		if learner[a] {
			most = max(most, share[a])
			f.Saw(share[a], 1, "%s: share of its rows that somebody learns from", r.Agents[a])
		}
	}
	f.Unit, f.Says = "share of rows", fmt.Sprintf("Agents' rows are used alike, in %d rows.", f.Rows)
	for a := range r.Count {
		if learner[a] && share[a] < 0.7*most {
			f.Who = append(f.Who, a)
			f.Effect = max(f.Effect, most-share[a])
		}
	}
	if len(f.Who) > 0 {
		f.Accuse(check.Suspect, f.Effect, fmt.Sprintf("Of the rows of %s less is learnt from than of the others': %.0f %% against %.0f %%.",
			check.Few(r.titles(f.Who)), 100*share[f.Who[0]], 100*most),
			"what becomes of the rest: an environment or a stretch of time that is left out")
	}
}

// once asks whether rows of one update come again in later ones, although their
// log-probabilities are those of an old policy.
func (r *recorded) once(f *check.Finding) {
	if !r.found(f) {
		return
	}
	first, c := map[[2]int]int{}, countRows(r.Agents) // learner and row: when it was learnt from
	r.Each(func(b *record.Batch, i, row int) {
		if b.Col["logprobs"] == nil {
			return
		}
		key := [2]int{b.Agents[0], row}
		at, known := first[key]
		if !known {
			first[key] = b.At
		}
		c.add(b.Agents[0], r.learnt(known && at != b.At, b, "obs", i))
	})
	if _, share := c.counted(f, "No row is learnt from again after newer ones were played, in %d rows.",
		"rows that were learnt from in an earlier update"); share > 0.02 {
		f.Accuse(check.Suspect, share, fmt.Sprintf("%.0f %% of what %s from was learnt from before, in an earlier update.", 100*share,
			r.few(f, "learns", "learn")), "whether the buffer is emptied after an update: PPO's ratio is of the policy that played")
	}
}
