package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/check"
)

// distribution is softmax(x) over the actions that a mask allows, and that are numbers;
// nil: all.
func distribution(x []float32, legal []bool) []float64 {
	mask := make([]bool, len(x))
	for k, v := range x {
		mask[k] = (legal == nil || k < len(legal) && legal[k]) && v == v
	}
	return reference.Softmax(x, mask)
}

// legal returns a row's mask, nil if there is none.
func (r *recorded) legal(row int) []bool {
	if r.Legal == nil {
		return nil
	}
	return r.Legal[row*r.Actions : (row+1)*r.Actions]
}

// shares reports whether numbers are a distribution already.
func shares(x []float32) bool {
	sum := 0.
	for _, v := range x {
		if v != v {
			continue
		}
		if v < -1e-6 || v > 1+1e-6 {
			return false
		}
		sum += float64(v)
	}
	return math.Abs(sum-1) < 1e-3
}

// softmax asks whether actions are drawn from what the network puts out: its logits,
// after one softmax. A head whose outputs are probabilities already must not get another.
func (r *recorded) softmax(f *check.Finding) {
	t, drawn := r.Logits, r.Probs.Width == r.Logits.Width
	c, ready, double := countRows(r.Agents), 0, 0 // outputs that are probabilities; rows after two softmaxes
	flat := [2]float64{}                          // sums of the largest probability, drawn from and right
	for i, row := range t.Row {
		x := t.At(i)
		done := shares(x)
		ready += one(done)
		if !drawn {
			c.add(row%r.Count, false)
			continue
		}
		p := r.Probs.At(i)
		support := make([]bool, t.Width) // actions that have some probability: a mask that was not recorded
		for k, v := range p {
			support[k] = v > 0
		}
		softened := func(x []float32) bool {
			return slices.ContainsFunc([][]bool{nil, r.legal(row), support}, func(mask []bool) bool { return nearTo(p, distribution(x, mask)) })
		}
		bad := done && !nearTo(p, reference.Wide(x)) || !done && !softened(x)
		if c.add(row%r.Count, r.played(bad, "probs", row)); !bad {
			continue
		}
		if !done { // what one softmax makes of it
			half := make([]float32, t.Width)
			for k, v := range distribution(x, nil) {
				half[k] = float32(v)
			}
			x = half
		}
		flat[0] += float64(slices.Max(p))
		flat[1] += float64(slices.Max(x))
		double += one(softened(x))
	}
	bad, share := c.counted(f, "Actions are drawn from one softmax of the network's outputs, in %d rows.",
		"rows that are drawn from something else")
	if !drawn {
		f.Says = fmt.Sprintf("The network puts out logits, in %d rows; what actions are drawn from was not recorded.", f.Rows)
		if ready*10 > f.Rows*9 {
			f.Accuse(check.Suspect, 1,
				fmt.Sprintf("The policy's head puts out probabilities: its outputs are from 0 to 1 and add up to 1, in %d of %d "+
					"rows.", ready, f.Rows), "whether they get another softmax: Categorical(probs=...), not logits=; record what actions are drawn "+
					"from, rec.policy(agent, logits, dist)")
		}
		return
	}
	if bad < 5 || share < 0.02 {
		f.Who = nil
		return
	}
	f.Saw(flat[0]/float64(bad), flat[1]/float64(bad), "mean of the largest probability, beside that of one softmax")
	// Outputs that are all alike are the same after one softmax and after two, so what differs decides.
	if double*10 > bad*8 {
		f.Accuse(check.Fault, share,
			fmt.Sprintf("A softmax is applied twice: %s from softmax(softmax(x)) in %d of %d rows, which is flatter than "+
				"the network says.", r.few(f, "draws", "draw"), double, f.Rows),
			"the network's last layer and the distribution: logits go to Categorical(logits=...), probabilities to probs=")
		return
	}
	f.Accuse(check.Suspect, share, fmt.Sprintf("What %s from does not follow from the network's outputs, in %d of %d rows.",
		r.few(f, "draws", "draw"), bad, f.Rows),
		"what stands between them: a temperature, noise, a mask of another step, or another agent's network")
}

// nearTo compares a distribution as it was recorded; what is no number is not compared.
func nearTo(p []float32, q []float64) bool {
	for k := range p {
		if p[k] == p[k] && math.Abs(float64(p[k])-q[k]) > 2e-3 {
			return false
		}
	}
	return true
}

// keepsMasks asks whether forbidden actions get any probability.
func (r *recorded) keepsMasks(f *check.Finding) {
	c, mass := countRows(r.Agents), 0.
	for i, row := range r.Probs.Row {
		legal := r.legal(row)
		if !r.Alive[row] || !slices.Contains(legal, false) {
			continue
		}
		off := 0.
		for k, x := range r.Probs.At(i) {
			if x == x && (k >= len(legal) || !legal[k]) {
				off += float64(x)
			}
		}
		if c.add(row%r.Count, r.played(off > 1e-4, "probs", row)); off > 1e-4 {
			mass += off
		}
	}
	bad, share := c.counted(f, "Forbidden actions have no probability, in %d rows that forbid some.",
		"rows with probability on forbidden actions")
	if f.Rows == 0 {
		f.Says = "No mask forbids anything, so it cannot show whether the policy keeps to masks."
	}
	if bad >= 3 && share > 0.01 {
		f.Accuse(check.Fault, share,
			fmt.Sprintf("The policy gives %.0f %% of its probability to actions that the mask forbids, in %d of %d rows.",
				100*mass/float64(bad), bad, f.Rows), "set the logits of forbidden actions to -inf before the softmax, when acting and when learning")
	}
}

// draws asks whether actions are drawn from what is said to be drawn from: for every
// agent, how often each action is taken against how often it should be, and how likely
// the actions are against how likely they should be.
func (r *recorded) draws(f *check.Finding) {
	k := r.Count
	type sum struct{ got, want, variance float64 }
	each := make([][]sum, k)
	all, impossible, top, rows := make([]sum, k), make([]int, k), make([]int, k), make([]int, k)
	for a := range each {
		each[a] = make([]sum, r.Probs.Width)
	}
	place := make([]int, len(r.Alive))
	for i := range place {
		place[i] = -1
	}
	random := bets{}
	for i, row := range r.Probs.Row {
		place[row] = i
		p, a, act := r.Probs.At(i), row%k, int(r.Action[row])
		if !r.Alive[row] || act < 0 {
			continue
		}
		f.Rows++
		rows[a]++
		entropy, square := 0., 0.
		for j, x := range p {
			if x = max(x, 0); x == x && x > 0 {
				l := math.Log(float64(x))
				entropy += float64(x) * l
				square += float64(x) * l * l
				each[a][j].want += float64(x)
				each[a][j].variance += float64(x) * (1 - float64(x))
			}
		}
		each[a][act].got++
		if p[act] < 1e-6 {
			impossible[a]++
			continue
		}
		if p[act] == slices.Max(p) {
			top[a]++
		}
		random.add(p, r.legal(row), act)
		all[a].got += math.Log(float64(p[act]))
		all[a].want += entropy
		all[a].variance += square - entropy*entropy
	}
	f.Unit = "standard deviations"
	f.Says = fmt.Sprintf("Actions are taken as often as the policy says, in %d rows.", f.Rows)
	var bad []int
	var says string
	for a := range k {
		z := 0.
		for _, s := range append(slices.Clone(each[a]), all[a]) {
			if s.variance > 1 {
				z = max(z, math.Abs(s.got-s.want)/math.Sqrt(s.variance))
			}
		}
		f.Saw(z, 0, "%s: how far actions are from the policy", r.Agents[a])
		switch {
		case impossible[a] > 2 && impossible[a]*100 > rows[a]:
			bad = append(bad, a)
			if says == "" {
				says = fmt.Sprintf("%s takes actions to which its policy gives no probability, %d of %d times.", r.Agents[a], impossible[a], rows[a])
			}
		case z > 6 && top[a] == rows[a]:
			if f.Status == check.Pass {
				f.Who = []int{a}
				f.Accuse(check.Suspect, z, fmt.Sprintf("%s always takes the likeliest action instead of drawing one, %d times.", r.Agents[a], rows[a]),
					"whether this is an evaluation; while learning, draw: dist.sample()")
			}
		case z > 6:
			bad = append(bad, a)
			if says == "" {
				says = fmt.Sprintf("Actions of %s are not drawn from its policy: %.1f standard deviations off over %d rows.", r.Agents[a], z, rows[a])
			}
		}
		f.Effect = max(f.Effect, z)
	}
	share, sure := random.won()
	if len(bad) == 0 && sure {
		f.Who, f.Unit = nil, "share of actions"
		f.Accuse(check.Fault, share, fmt.Sprintf("Actions are not drawn from the policy: as if about %.0f %% of all agents' were taken at "+
			"random, over %d rows.", 100*share, f.Rows), "what replaces an action between the distribution and env.step: an exploration that was "+
			"left in, whose log-probabilities are not those of the network")
		return
	}
	if len(bad) == 0 {
		return
	}
	next := "between the distribution and env.step: the same row, the same agent, the same step"
	if whose := r.whosePolicy(place); r.asStrings(whose) {
		says, next = says+" Names are sorted as strings.", sortedNext
	} else if whose[bad[0]] >= 0 && whose[bad[0]] != bad[0] {
		says += fmt.Sprintf(" They are drawn from %s's.", r.Agents[whose[bad[0]]])
	} else if sure {
		says += fmt.Sprintf(" It is as if about %.0f %% of all agents' actions were taken at random.", 100*share)
	}
	f.Who = bad
	f.Accuse(check.Fault, f.Effect, says+also(len(bad)), next)
}

// bets are what each of a few opinions on how many actions are random has made of a stake of 1, by logarithm: of
// all agents together. If actions are drawn from the policy no bet gains on average, so that all of them together
// come to a million times the stake in one recording of a million, whatever policies and games are.
type bets [5]float64

// randoms is the share of random actions that a bet is on.
func randoms(k int) float64 { return math.Ldexp(1, k-5) }

// add places the bets on an action that was taken: a random one would be any that is allowed.
func (b *bets) add(p []float32, legal []bool, act int) {
	n := 0.
	for k, x := range p {
		n += float64(one(x == x && (legal == nil || k < len(legal) && legal[k])))
	}
	if n == 0 || legal != nil && (act >= len(legal) || !legal[act]) {
		return
	}
	for k := range b {
		b[k] += math.Log1p(randoms(k) * (1/(n*float64(p[act])) - 1))
	}
}

// won returns the share whose bet gained most, and whether all together gained what chance does not.
func (b *bets) won() (share float64, sure bool) {
	all, best := 0., 0
	for k, x := range b {
		all += math.Exp(min(x, 700)) / float64(len(b))
		if x > b[best] {
			best = k
		}
	}
	return randoms(best), all > 1e6
}

// whosePolicy returns under whose policy each agent's actions are likeliest, by more than chance
// gives, at steps at which both are there; -1 where there are too few.
func (r *recorded) whosePolicy(place []int) []int {
	k := r.Count
	whose := make([]int, k)
	for a := range k {
		whose[a] = -1
		best, own := math.Inf(-1), math.Inf(-1)
		for b := range k {
			sum, n := 0., 0
			for t := range r.Steps {
				me, from := t*k+a, t*k+b
				if !r.Alive[me] || r.Action[me] < 0 || place[from] < 0 {
					continue
				}
				n++
				sum += math.Log(max(float64(r.Probs.At(place[from])[r.Action[me]]), 1e-6))
			}
			if n >= 20 && sum/float64(n) > best+1e-9 {
				best, whose[a] = sum/float64(n), b
			}
			if a == b && n > 0 {
				own = sum / float64(n)
			}
		}
		if best < own+0.05 { // nobody's explains them better than the agent's own
			whose[a] = a
		}
	}
	return whose
}

// oldLogprobs asks whether the log-probabilities that PPO's ratio divides by are those of
// the time of acting.
func (r *recorded) oldLogprobs(f *check.Finding) {
	place, slips := r.drawnAt(), []string{"They are probabilities, not their logarithms.", "They are of another action.",
		"They are logits, not normalised."}
	positive, asked, agrees, who := 0, countRows(r.Agents), make([]int, len(slips)), make([]int, r.Count)
	for k := range r.Batches {
		b := &r.Batches[k]
		me := b.Agents[0]
		for i, x := range b.Col["logprobs"] {
			f.Rows++
			positive += one(x > 1e-4)
			who[me] += one(x > 1e-4)
			row := b.Row[i]
			at, known := place[max(row, 0)]
			if !known || row < 0 || !b.Sure[i] || !r.Owns(b, row) || r.Action[row] < 0 {
				continue
			}
			p, act := r.Probs.At(at), r.Action[row]
			want := math.Log(float64(p[act]))
			bad := !(math.Abs(x-want) <= 2e-3*max(1, math.Abs(want)))
			if asked.add(me, r.learnt(bad, b, "logprobs", i)); !bad {
				continue
			}
			who[me]++
			agrees[0] += one(math.Abs(x-float64(p[act])) < 1e-4)
			another := func(j int) bool { return j != int(act) && p[j] > 0 && math.Abs(x-math.Log(float64(p[j]))) < 2e-3 }
			agrees[1] += one(slices.ContainsFunc(places(len(p)), another))
			agrees[2] += one(r.Logits.Width > 0 && math.Abs(x-float64(r.Logits.At(at)[act])) < 1e-3)
		}
	}
	for a, n := range who {
		if n > 0 {
			f.Who = append(f.Who, a)
			f.Saw(float64(n), 0, "%s: log-probabilities that are others", r.Agents[a])
		}
	}
	bad, total := sum(asked.bad), sum(asked.rows)
	f.Unit = "share of rows"
	f.Says = fmt.Sprintf("Old log-probabilities are those of the time of acting, in %d rows.", total)
	if total == 0 {
		f.Says = fmt.Sprintf("Old log-probabilities are below 0, in %d rows; record the policy (rec.policy) to compare them.", f.Rows)
	}
	share, says := float64(bad)/float64(max(total, 1)), ""
	switch {
	case share > 0.02 && bad > 4:
		says = fmt.Sprintf("%.0f %% of the old log-probabilities are not those of the time of acting.", 100*share)
		if k := slices.IndexFunc(agrees, func(n int) bool { return n*10 > bad*8 }); k >= 0 {
			says += " " + slips[k]
		}
	case positive > 2 && positive*50 > f.Rows:
		share = float64(positive) / float64(f.Rows)
		says = fmt.Sprintf("%.0f %% of the old log-probabilities are above 0, which no probability's logarithm is.", 100*share)
	default:
		f.Who = nil
		return
	}
	f.Accuse(check.Fault, share, says, "what is stored beside the action: dist.log_prob(action) of the distribution that it was drawn from")
}

// drawnAt returns where what was drawn from at a row is recorded.
func (r *recorded) drawnAt() map[int]int {
	place := map[int]int{}
	for i, row := range r.Probs.Row {
		if r.Probs.Width > 0 {
			place[row] = i
		}
	}
	return place
}

// newLogprobs asks whether the network, before its first step, gives the rows that it
// learns from the probabilities that they were played with: the ratio is 1 then.
func (r *recorded) newLogprobs(f *check.Finding) {
	c, far := countRows(r.Agents), 0. // how far logarithms of ratios are from 0
	for k := range r.Batches {
		b := &r.Batches[k]
		old := b.Col["logprobs"]
		for i, x := range b.Col["new_logprobs"] {
			if old == nil {
				break
			}
			bad := !(math.Abs(x-old[i]) <= 5e-3*max(1, math.Abs(old[i])))
			if c.add(b.Agents[0], r.learnt(bad, b, "new_logprobs", i)); bad {
				far += min(math.Abs(x-old[i]), 20)
			}
		}
	}
	total, share := c.counted(f, "Before the first step the ratio is 1, in %d rows.", "share of rows whose ratio is not 1")
	for i, a := range f.Who {
		f.Evidence[i].Value /= float64(c.rows[a])
	}
	if share <= 0.02 {
		f.Who = nil
		return
	}
	f.Accuse(check.Fault, share, fmt.Sprintf("Before the first step the ratio is not 1 in %.0f %% of the rows of %s; there it is off by a "+
		"factor of %.3g on average.", 100*share, check.Few(r.titles(f.Who)), math.Exp(far/float64(total))),
		"what differs between acting and learning: masks at learning, what observations are normalised by, the state of a memory, dropout; "+
			"then the order of rows and actions, and whose network it is")
}
