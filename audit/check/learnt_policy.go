package check

import (
	"fmt"
	"math"
	"slices"

	"hop/check"
)

// distribution writes softmax(x) over the actions that a mask allows; nil: all.
func distribution(dst []float64, x []float32, legal []bool) {
	top := math.Inf(-1)
	for k, v := range x {
		if (legal == nil || k < len(legal) && legal[k]) && v == v {
			top = max(top, float64(v))
		}
	}
	sum := 0.
	for k, v := range x {
		dst[k] = 0
		if (legal == nil || k < len(legal) && legal[k]) && v == v {
			dst[k] = math.Exp(float64(v) - top)
			sum += dst[k]
		}
	}
	for k := range dst {
		dst[k] /= sum
	}
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
	t := r.Logits
	want, twice := make([]float64, t.Width), make([]float64, t.Width)
	half := make([]float32, t.Width)
	support := make([]bool, t.Width) // actions that have some probability: a mask that was not recorded
	right, double, none := 0, 0, 0
	ready := 0 // outputs that are probabilities
	who := make([]int, r.Count)
	flat := [2]float64{} // mean of the largest probability, drawn from and right
	near := func(p []float32, q []float64) bool {
		for k := range p {
			if p[k] == p[k] && math.Abs(float64(p[k])-q[k]) > 2e-3 {
				return false
			}
		}
		return true
	}
	for i, row := range t.Row {
		x := t.At(i)
		f.Rows++
		done := shares(x)
		if done {
			ready++
		}
		if r.Probs.Width != t.Width {
			continue
		}
		p := r.Probs.At(i)
		for k, v := range p {
			support[k] = v > 0
		}
		masks := [][]bool{nil, r.legal(row), support}
		if done { // the outputs themselves are the distribution
			for k, v := range x {
				want[k] = float64(v)
			}
			if near(p, want) {
				right++
				continue
			}
		} else {
			if slices.ContainsFunc(masks, func(mask []bool) bool { distribution(want, x, mask); return near(p, want) }) {
				right++
				continue
			}
			distribution(want, x, nil)
			for k, v := range want {
				half[k] = float32(v)
			}
			x = half
		}
		flat[0] += float64(slices.Max(p))
		flat[1] += float64(slices.Max(x))
		if slices.ContainsFunc(masks, func(mask []bool) bool { distribution(twice, x, mask); return near(p, twice) }) {
			double++
		} else {
			none++
		}
		who[row%r.Count]++
	}
	f.Unit, f.Says = "share of rows", fmt.Sprintf("Actions are drawn from one softmax of the network's outputs, in %d rows.", f.Rows)
	if r.Probs.Width != t.Width {
		f.Says = fmt.Sprintf("The network puts out logits, in %d rows; what actions are drawn from was not recorded.", f.Rows)
		if ready*10 > f.Rows*9 {
			f.Accuse(check.Suspect, 1,
				fmt.Sprintf("The policy's head puts out probabilities: its outputs are from 0 to 1 and add up to 1, in %d of %d "+
					"rows.", ready, f.Rows), "whether they get another softmax: Categorical(probs=...), not logits=; record what actions are drawn "+
					"from, rec.policy(agent, logits, dist)")
		}
		return
	}
	for a, n := range who {
		if n > 0 {
			f.Who = append(f.Who, a)
			f.Saw(float64(n), 0, "%s: rows that are drawn from something else", r.Agents[a])
		}
	}
	bad := double + none
	share := float64(bad) / float64(max(f.Rows, 1))
	if bad < 5 || share < 0.02 {
		f.Who = nil
		return
	}
	f.Saw(flat[0]/float64(bad), flat[1]/float64(bad), "mean of the largest probability, beside that of one softmax")
	// Outputs that are all alike are the same after one softmax and after two, so what differs decides.
	if double*10 > bad*8 {
		f.Accuse(check.Fault, share,
			fmt.Sprintf("A softmax is applied twice: %s %s from softmax(softmax(x)) in %d of %d rows, which is flatter than "+
				"the network says.", check.Few(r.titles(f.Who)), check.Verb(len(f.Who), "draws", "draw"), double, f.Rows),
			"the network's last layer and the distribution: logits go to Categorical(logits=...), probabilities to probs=")
		return
	}
	f.Accuse(check.Suspect, share, fmt.Sprintf("What %s %s from does not follow from the network's outputs, in %d of %d rows.",
		check.Few(r.titles(f.Who)), check.Verb(len(f.Who), "draws", "draw"), bad, f.Rows),
		"what stands between them: a temperature, noise, a mask of another step, or another agent's network")
}

// keepsMasks asks whether forbidden actions get any probability.
func (r *recorded) keepsMasks(f *check.Finding) {
	bad, who := 0, make([]int, r.Count)
	mass := 0.
	for i, row := range r.Probs.Row {
		legal, p := r.legal(row), r.Probs.At(i)
		if !r.Alive[row] || !slices.Contains(legal, false) {
			continue
		}
		f.Rows++
		off := 0.
		for k, x := range p {
			if x == x && (k >= len(legal) || !legal[k]) {
				off += float64(x)
			}
		}
		if off > 1e-4 {
			bad++
			mass += off
			who[row%r.Count]++
		}
	}
	f.Unit, f.Says = "share of rows", fmt.Sprintf("Forbidden actions have no probability, in %d rows that forbid some.", f.Rows)
	if f.Rows == 0 {
		f.Says = "No mask forbids anything, so it cannot show whether the policy keeps to masks."
	}
	for a, n := range who {
		if n > 0 {
			f.Who = append(f.Who, a)
			f.Saw(float64(n), 0, "%s: rows with probability on forbidden actions", r.Agents[a])
		}
	}
	if share := float64(bad) / float64(max(f.Rows, 1)); bad >= 3 && share > 0.01 {
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
	if len(bad) == 0 {
		return
	}
	next := "between the distribution and env.step: the same row, the same agent, the same step"
	if whose := r.whosePolicy(place); r.asStrings(whose) {
		says, next = says+" Names are sorted as strings.", sortedNext
	} else if whose[bad[0]] >= 0 && whose[bad[0]] != bad[0] {
		says += fmt.Sprintf(" They are drawn from %s's.", r.Agents[whose[bad[0]]])
	}
	f.Who = bad
	f.Accuse(check.Fault, f.Effect, says+also(len(bad)), next)
}

// whosePolicy returns under whose policy each agent's actions are likeliest, at steps at
// which both are there; -1 where there are too few.
func (r *recorded) whosePolicy(place []int) []int {
	k := r.Count
	whose := make([]int, k)
	for a := range k {
		whose[a] = -1
		best := math.Inf(-1)
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
		}
	}
	return whose
}

// oldLogprobs asks whether the log-probabilities that PPO's ratio divides by are those of
// the time of acting.
func (r *recorded) oldLogprobs(f *check.Finding) {
	place := map[int]int{}
	for i, row := range r.Probs.Row {
		if r.Probs.Width > 0 {
			place[row] = i
		}
	}
	positive, bad, total := 0, 0, 0
	agrees := [3]int{}
	slips := []string{"They are probabilities, not their logarithms.", "They are of another action.", "They are logits, not normalised."}
	who := make([]int, r.Count)
	for k := range r.Batches {
		b := &r.Batches[k]
		for i, x := range b.Col["logprobs"] {
			f.Rows++
			if x > 1e-4 {
				positive++
				who[b.Agents[0]]++
			}
			row := b.Row[i]
			at, known := place[max(row, 0)]
			if !known || row < 0 || !b.Sure[i] || !r.Owns(b, row) || r.Action[row] < 0 {
				continue
			}
			p := r.Probs.At(at)
			act := r.Action[row]
			total++
			if want := math.Log(float64(p[act])); math.Abs(x-want) <= 2e-3*max(1, math.Abs(want)) {
				continue
			}
			bad++
			who[b.Agents[0]]++
			if math.Abs(x-float64(p[act])) < 1e-4 {
				agrees[0]++
			}
			for j, q := range p {
				if j != int(act) && q > 0 && math.Abs(x-math.Log(float64(q))) < 2e-3 {
					agrees[1]++
					break
				}
			}
			if r.Logits.Width > 0 && math.Abs(x-float64(r.Logits.At(at)[act])) < 1e-3 {
				agrees[2]++
			}
		}
	}
	for a, n := range who {
		if n > 0 {
			f.Who = append(f.Who, a)
			f.Saw(float64(n), 0, "%s: log-probabilities that are others", r.Agents[a])
		}
	}
	f.Unit = "share of rows"
	f.Says = fmt.Sprintf("Old log-probabilities are those of the time of acting, in %d rows.", total)
	if total == 0 {
		f.Says = fmt.Sprintf("Old log-probabilities are below 0, in %d rows; record the policy (rec.policy) to compare them.", f.Rows)
	}
	share := float64(bad) / float64(max(total, 1))
	says := ""
	switch {
	case share > 0.02 && bad > 4:
		says = fmt.Sprintf("%.0f %% of the old log-probabilities are not those of the time of acting.", 100*share)
		for k, n := range agrees {
			if n*10 > bad*8 {
				says += " " + slips[k]
				break
			}
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

// newLogprobs asks whether the network, before its first step, gives the rows that it
// learns from the probabilities that they were played with: the ratio is 1 then.
func (r *recorded) newLogprobs(f *check.Finding) {
	bad := make([]int, r.Count)
	rows := make([]int, r.Count)
	total, ratio := 0, 0.
	for k := range r.Batches {
		b := &r.Batches[k]
		old := b.Col["logprobs"]
		if old == nil {
			continue
		}
		for i, x := range b.Col["new_logprobs"] {
			f.Rows++
			rows[b.Agents[0]]++
			if !(math.Abs(x-old[i]) <= 5e-3*max(1, math.Abs(old[i]))) {
				bad[b.Agents[0]]++
				total++
				ratio += math.Exp(min(x-old[i], 20))
			}
		}
	}
	f.Unit, f.Says = "share of rows", fmt.Sprintf("Before the first step the ratio is 1, in %d rows.", f.Rows)
	for a, n := range bad {
		if n > 0 {
			f.Who = append(f.Who, a)
			f.Saw(float64(n)/float64(rows[a]), 0, "%s: share of rows whose ratio is not 1", r.Agents[a])
		}
	}
	if share := float64(total) / float64(max(f.Rows, 1)); share > 0.02 {
		f.Accuse(check.Fault, share, fmt.Sprintf("Before the first step the ratio is not 1 in %.0f %% of the rows of %s; there it is %.3g on "+
			"average.", 100*share, check.Few(r.titles(f.Who)), ratio/float64(total)),
			"what differs between acting and learning: masks, the order of rows and actions, another agent's network, dropout")
		return
	}
	f.Who = nil
}
