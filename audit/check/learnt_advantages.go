package check

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/check"
)

// anyGae reports whether a batch holds all that advantages follow from, or returns of some steps.
func (r *recorded) anyGae() bool {
	return slices.ContainsFunc(r.Batches, func(b record.Batch) bool { return hasAdvantages(&b) || hasSteps(&b) })
}

// hasAdvantages reports whether a batch holds all that advantages follow from.
func hasAdvantages(b *record.Batch) bool {
	return !math.IsNaN(b.Gamma) && !math.IsNaN(b.Lambda) && b.Col["values"] != nil && b.Col["rewards"] != nil &&
		(b.Col["advantages"] != nil || b.Col["returns"] != nil)
}

// estimate returns a batch's advantages: those handed in, or returns less values where
// those were normalised before.
func estimate(b *record.Batch) []float64 {
	if adv, ret := b.Col["advantages"], b.Col["returns"]; ret != nil && (adv == nil || normalised(adv)) {
		return minus(ret, b.Col["values"])
	}
	return b.Col["advantages"]
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

// tolerance is how far a number may be off what it follows from, by how far numbers are: of a
// recording most of which follows exactly, not much more than most are, and never more than a
// five-hundredth of the deviation sd of such numbers, which rounding does not explain.
func tolerance(off []float64, sd float64) float64 {
	const least = 1e-5 // of the deviation: sums in another order, and float32
	if len(off) == 0 {
		return 2e-3*sd + 1e-5
	}
	slices.Sort(off)
	return min(max(30*off[len(off)/2], least*sd), 2e-3*sd) + 1e-5
}

// digits is how exact the least exact column of those names was recorded, as a share of each
// number: what is kept in half precision has few digits. It is told by the bits that are 0 in all.
func (r *recorded) digits(names ...string) float64 {
	least := 23 // bits behind the point, of float32
	for _, name := range names {
		used := uint64(0)
		for k := range r.Batches {
			for _, x := range r.Batches[k].Col[name] {
				used |= math.Float64bits(x) & (1<<52 - 1)
			}
		}
		if used != 0 { // else powers of 2, or nothing
			least = min(least, max(52-bits.TrailingZeros64(used), 7)) // 7: bfloat16
		}
	}
	return math.Ldexp(2, -least)
}

// link is a learnt row with what follows it.
type link struct {
	b            *record.Batch
	adv          []float64
	i, next, new int // its place, that of the agent's next step in the episode, and of its next episode's first; -1: none
	row          int
}

// step is what its advantage follows from if the batch's row next comes next; -1: nothing.
func (l link) step(next int) reference.AdvantageStep {
	col := l.b.Col
	s := reference.AdvantageStep{Reward: col["rewards"][l.i], Value: col["values"][l.i], Gamma: l.b.Gamma, Lambda: l.b.Lambda}
	if next >= 0 {
		s.NextReward, s.NextValue, s.NextAdv = col["rewards"][next], col["values"][next], l.adv[next]
	}
	return s
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

// Ends of the steps whose advantages are asked about.
const (
	within = iota // an episode
	atExit
	atCut
	endings
)

// advantages asks whether each advantage is what generalised advantage estimation makes of
// the reward, the values and the next advantage, without what follows at an exit.
func (r *recorded) advantages(f *check.Finding) {
	if !r.found(f) {
		return
	}
	if !slices.ContainsFunc(r.Batches, func(b record.Batch) bool { return hasAdvantages(&b) }) {
		r.stepReturns(f)
		return
	}
	a := advantageCount{recorded: r, who: make([]int, r.Count), agrees: make([]int, len(reference.AdvantageSlips))}
	var all, off []float64
	r.links(func(l link) {
		all = append(all, l.adv[l.i])
		if exit, cut := r.Ends(l.row); l.next >= 0 && !exit && !cut {
			off = append(off, math.Abs(l.adv[l.i]-l.step(l.next).Estimate()))
		}
	})
	_, sd := moments(all)
	a.tolerance = tolerance(off, sd)
	a.digits = r.digits("values", "advantages", "returns")
	r.links(a.take)
	a.say(f)
}

// advantageCount is what all advantages came to.
type advantageCount struct {
	*recorded
	tolerance float64 // of any row
	digits    float64 // of what a row is made of, as it was recorded
	rows, bad [endings]int
	who       []int // [A] wrong rows
	worst     float64
	agrees    []int // wrong rows within an episode that agree with each slip

	firsts, firstBad   int // of an episode's first steps
	beforeEnd, early   int // steps before an end, and those that stop there already
	beyond, afterValue int // wrong exits that reach into the next episode, or count its value
	leaks, leakable    int // cuts after which the next episode's value counts, of those whose batch goes on with it
	before             int // cuts after which the value of the step itself counts once more
	lasts              batchEnds
}

// take takes in one row.
func (a *advantageCount) take(l link) {
	s, got := l.step(l.next), l.adv[l.i]
	tolerance := max(a.tolerance, a.digits*(math.Abs(s.Reward)+math.Abs(s.Value)+math.Abs(s.NextValue)+math.Abs(s.NextAdv)+math.Abs(got)))
	near := func(x float64) bool { return math.Abs(got-x) <= tolerance }
	very := func(x float64) bool { return math.Abs(got-x) <= a.tolerance } // also in half precision, where much is near
	miss := func(kind int, want float64) bool {
		if a.rows[kind]++; near(want) {
			return false
		}
		a.bad[kind]++
		a.who[l.row%a.Count]++
		a.learnt(true, l.b, "advantages", l.i)
		a.worst = max(a.worst, math.Abs(got-want))
		return true
	}
	ended, onward := l.step(-1).Estimate(), l.step(l.new)
	value := onward
	value.NextAdv = 0
	switch exit, cut := a.Ends(l.row); {
	case exit:
		if miss(atExit, ended) && l.new >= 0 {
			a.beyond += one(near(onward.Estimate()))
			a.afterValue += one(near(value.Estimate()))
		}
	case cut: // what came next is not recorded, so that only what it must not be can be told
		a.rows[atCut]++
		again := s.Gamma * s.Value
		added := a.added(l) // to the reward, as Stable-Baselines3 does
		a.bad[atCut] += one(very(ended) && added == 0)
		a.leakable += one(l.new >= 0)
		a.leaks += one(l.new >= 0 && (very(value.Estimate()) || very(onward.Estimate())))
		paid := added != 0 && math.Abs(added-again) <= a.tolerance+1e-4*math.Abs(again)
		a.before += one(!a.stays(l.row) && (very(ended+again) || very(ended) && paid))
	case l.next >= 0:
		wrong := miss(within, s.Estimate())
		if a.Before(l.row) < 0 {
			a.firsts++
			a.firstBad += one(wrong)
		}
		if exit, cut := a.Ends(l.b.Row[l.next]); exit || cut {
			a.beforeEnd++
			a.early += one(wrong && near(ended))
		}
		for k, slip := range reference.AdvantageSlips {
			a.agrees[k] += one(wrong && slip.Says != "" && near(slip.Of(s)))
		}
	case a.After(l.row) >= 0 && !a.stays(l.row): // the batch ends here, the episode does not
		a.lasts.take(l.b, batchEnd{got - s.Reward + s.Value, s.Gamma * s.Value, l.row})
	}
}

// added is what was added to the reward that was paid; 0: nothing.
func (a *advantageCount) added(l link) float64 {
	var ratios []float64
	x := l.b.Col["rewards"]
	for i, row := range l.b.Row {
		if row < 0 || !l.b.Sure[i] || a.Reward[row] == 0 {
			continue
		}
		if _, cut := a.Ends(row); !cut {
			ratios = append(ratios, x[i]/float64(a.Reward[row]))
		}
	}
	scale := 1.
	if len(ratios) > 0 {
		slices.Sort(ratios)
		scale = ratios[len(ratios)/2]
	}
	paid := scale * float64(a.Reward[l.row])
	if more := x[l.i] - paid; math.Abs(more) > 0.02*math.Abs(paid)+a.tolerance {
		return more
	}
	return 0
}

// explained is a slip that most of so many wrong rows agree with, in words.
func explained(agrees []int, says func(k int) string, n int) string {
	best := 0
	for k := range agrees {
		if agrees[k] > agrees[best] {
			best = k
		}
	}
	if agrees[best]*10 < n*7 {
		return ""
	}
	return " " + says(best)
}

// say says what was found.
func (a *advantageCount) say(f *check.Finding) {
	rows, bad := a.rows, a.bad
	f.Rows, f.Unit = rows[within]+rows[atExit]+rows[atCut], "share of rows"
	f.Saw(float64(bad[within]), 0, "wrong within an episode, of %d", rows[within])
	f.Saw(float64(bad[atExit]), 0, "wrong at an exit, of %d", rows[atExit])
	f.Saw(float64(bad[atCut]), 0, "without the value of what comes next at a cut, of %d", rows[atCut])
	f.Who = indices(a.who)
	const next = "where advantages are computed: A = r + gamma V' - V + gamma lambda A', where V' and A' are 0 after the agent's own end"
	off := func(kind int) bool { return bad[kind] >= 3 && float64(bad[kind]) > 0.02*float64(rows[kind]) }
	share := float64(bad[within]+bad[atExit]) / float64(max(rows[within]+rows[atExit], 1))
	fault := func(says string, args ...any) { f.Accuse(check.Fault, share, fmt.Sprintf(says, args...), next) }
	switch {
	case off(within) && off(atExit) && a.firstBad*10 >= bad[within]*8 && a.firstBad > 2:
		fault("Advantages stop at the first step of an episode and run over the end of the one before, in %d of %d: ends are taken a step late.",
			a.firstBad, a.firsts)
	case off(within) && a.early*10 >= bad[within]*8:
		fault("Advantages stop a step before the end, in %d of %d: ends are taken a step early.", a.early, a.beforeEnd)
	case off(within):
		fault("%d of %d advantages do not follow from rewards, values and the next advantage; they are off by up to %.3g.%s", bad[within],
			rows[within], a.worst, explained(a.agrees, func(k int) string { return reference.AdvantageSlips[k].Says }, bad[within]))
	case off(atExit):
		fault("%d of %d advantages at an exit are not reward less value.%s", bad[atExit], rows[atExit],
			explained([]int{a.beyond, a.afterValue}, func(k int) string {
				return []string{"They reach into the next episode: the exit does not stop them.", "The value after the exit counts."}[k]
			}, bad[atExit]))
	case a.leakable >= 5 && a.leaks*10 > a.leakable*8:
		f.Accuse(check.Fault, float64(a.leaks)/float64(a.leakable), fmt.Sprintf("After a cut the value of the next episode counts, in %d of %d.",
			a.leaks, a.leakable), "take the value of the last observation before the reset")
	case rows[atCut] >= 5 && a.before*10 > rows[atCut]*8:
		f.Accuse(check.Fault, float64(a.before)/float64(rows[atCut]), fmt.Sprintf("After a cut the value of what was seen before the step "+
			"counts, in %d of %d.", a.before, rows[atCut]), "take the value of the last observation, the one after the step")
	case a.sayEnds(f, a.lasts, a.tolerance):
	case rows[atCut] >= 5 && bad[atCut]*10 > rows[atCut]*8 && a.Horizon == 0:
		f.Accuse(check.Suspect, float64(bad[atCut])/float64(rows[atCut]),
			fmt.Sprintf("A cut is learnt as an exit, in %d of %d: the value of what "+
				"would have come is left out.", bad[atCut], rows[atCut]), "add gamma times the value of the last observation where "+
				"truncations[agent] is set; if the limit is a rule of the game and time is observed, say so: Recorder(..., horizon=...)")
	default:
		f.Who = nil
		f.Says = fmt.Sprintf("Advantages follow from rewards, values and ends, in %d rows.", f.Rows)
	}
}

// returns asks whether returns are advantages and values together.
func (r *recorded) returns(f *check.Finding) {
	c, digits := countRows(r.Agents), r.digits("values", "advantages", "returns")
	for k := range r.Batches {
		b := &r.Batches[k]
		adv, ret, val := b.Col["advantages"], b.Col["returns"], b.Col["values"]
		if adv == nil || ret == nil || val == nil || normalised(adv) {
			continue
		}
		_, sd := moments(ret)
		off := make([]float64, len(ret))
		for i := range ret {
			off[i] = math.Abs(adv[i] + val[i] - ret[i])
		}
		most := tolerance(off, sd)
		for i, x := range off {
			bad := !(x <= max(most, digits*(math.Abs(adv[i])+math.Abs(val[i])+math.Abs(ret[i]))))
			c.add(b.Agents[0], r.learnt(bad, b, "returns", i))
		}
	}
	_, share := c.counted(f, "Returns are advantages and values together, in %d rows.", "returns that are something else")
	if f.Rows == 0 {
		f.Says = "Advantages were normalised before they were handed in, so returns cannot be compared with them."
	}
	if share > 0.02 {
		f.Accuse(check.Fault, share, fmt.Sprintf("%.0f %% of the returns of %s are not advantages and values together.", 100*share,
			check.Few(r.titles(f.Who))), "what the value learns from: returns = advantages + values, from before anything is normalised")
	}
}

// valuesDiffer asks whether values say anything, and are numbers.
func (r *recorded) valuesDiffer(f *check.Finding) {
	values, batches := make([][]float64, r.Count), make([]int, r.Count)
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
		values[me] = append(values[me], b.Col["values"]...)
		f.Rows += len(b.Col["values"])
	}
	if f.Status > check.Pass {
		return
	}
	f.Says = fmt.Sprintf("Values are finite and tell states apart, in %d rows.", f.Rows)
	for a, x := range values {
		if batches[a] >= 3 && len(x) >= 32 && slices.Min(x) == slices.Max(x) {
			f.Who = []int{a}
			f.Accuse(check.Fault, 1, fmt.Sprintf("The value of %s is %.4g in all of %d rows.", r.Agents[a], x[0], len(x)),
				"whether the value's head is read, and whether its optimiser holds it")
			return
		}
	}
}

// relation is how much one column goes with another, over all batches of an agent.
type relation struct {
	sum, batches float64 // of correlations times the root of the rows: standard deviations
	share        float64 // of correlations
	rows         int
}

func (c *relation) add(r float64, n int) {
	if !math.IsNaN(r) && n >= 8 {
		c.sum += r * math.Sqrt(float64(n))
		c.share += r
		c.batches++
		c.rows += n
	}
}

func (c *relation) z() float64    { return c.sum / math.Sqrt(max(c.batches, 1)) }
func (c *relation) mean() float64 { return c.share / max(c.batches, 1) }

// correlation is Pearson's; NaN where a column does not vary.
func correlation(x, y []float64) float64 {
	mx, sx := moments(x)
	my, sy := moments(y)
	if !(sx > 1e-12 && sy > 1e-12) {
		return math.NaN()
	}
	sum := 0.
	for i := range x {
		sum += (x[i] - mx) * (y[i] - my)
	}
	return sum / float64(len(x)) / sx / sy
}

// less returns x without what goes with z: what is left of a straight line through both.
func less(x, z []float64) []float64 {
	mx, sx := moments(x)
	mz, sz := moments(z)
	slope := 0.
	if r := correlation(x, z); !math.IsNaN(r) {
		slope = r * sx / sz
	}
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] - mx - slope*(z[i]-mz)
	}
	return out
}

// minus subtracts.
func minus(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] - y[i]
	}
	return out
}

// effects asks of every agent whether what an update did goes with what it is for.
func (r *recorded) effects(f *check.Finding, columns []string, of func(b *record.Batch) float64, good string,
	bad func(name string, c relation) (check.Status, string), next string) {
	sums := make([]relation, r.Count)
	for k := range r.Batches {
		b := &r.Batches[k]
		whole := true
		for _, c := range columns {
			whole = whole && b.Col[c] != nil
		}
		if whole {
			sums[b.Agents[0]].add(of(b), len(b.Row))
		}
	}
	f.Unit = "correlation"
	for a, c := range sums {
		if c.rows < 200 { // too few to say that there is nothing
			continue
		}
		f.Rows += c.rows
		f.Saw(c.mean(), 1, "%s: mean correlation over %.0f updates", r.Agents[a], c.batches)
		if status, says := bad(r.Agents[a], c); status > f.Status {
			f.Who = []int{a}
			f.Accuse(status, c.mean(), says, next)
		}
	}
	if f.Status == check.Pass {
		f.Says = fmt.Sprintf(good, f.Rows)
		if f.Rows == 0 {
			f.Says = "Fewer than 200 rows of an agent were handed to rec.learnt."
		}
	}
}

// raised asks whether an update raises the probability of what had an advantage: the
// policy gradient does nothing else.
func (r *recorded) raised(f *check.Finding) {
	r.effects(f, []string{"after_logprobs", "logprobs", "advantages"}, func(b *record.Batch) float64 {
		return correlation(b.Col["advantages"], minus(b.Col["after_logprobs"], b.Col["logprobs"]))
	},
		"Updates raise the probability of what had an advantage, in %d rows.",
		func(name string, c relation) (check.Status, string) {
			switch {
			case c.z() < -4:
				return check.Fault, fmt.Sprintf("Updates of %s lower the probability of what had an advantage: a correlation of %.2f over %d rows.",
					name, c.mean(), c.rows)
			case c.z() < 2:
				return check.Suspect, fmt.Sprintf("Updates of %s do not raise the probability of what had an advantage: a correlation of %.2f over "+
					"%d rows.", name, c.mean(), c.rows)
			}
			return check.Pass, ""
		}, "the loss: its sign, and whether rows, actions and advantages of a minibatch are taken by the same indices")
}

// moved asks whether updates change the policy by anything at all, before it is all but sure of what it does.
func (r *recorded) moved(f *check.Finding) {
	f.Unit = "mean of |ratio - 1|"
	updates, most, sum := make([]int, r.Count), make([]float64, r.Count), make([]float64, r.Count)
	for k := range r.Batches {
		b := &r.Batches[k]
		now, old := b.Col["after_logprobs"], b.Col["logprobs"]
		if now == nil || old == nil || len(old) < 8 {
			continue
		}
		if adv := b.Col["advantages"]; adv != nil {
			if _, sd := moments(adv); sd < 1e-6 { // nothing to learn from
				continue
			}
		}
		move, chance := 0., 0.
		for i := range old {
			move += math.Abs(math.Exp(min(now[i]-old[i], 20))-1) / float64(len(old))
			chance += math.Exp(old[i]) / float64(len(old))
		}
		if chance > 0.95 {
			continue
		}
		a := b.Agents[0]
		updates[a]++
		most[a], sum[a] = max(most[a], move), sum[a]+move
		f.Rows += len(old)
	}
	f.Says = fmt.Sprintf("Updates change the probabilities of what was played, in %d rows.", f.Rows)
	for a, n := range updates {
		if n == 0 {
			continue
		}
		f.Saw(sum[a]/float64(n), 0.01, "%s: mean change of the ratio in %d updates", r.Agents[a], n)
		if n >= 6 && most[a] < 1e-4 && f.Status == check.Pass {
			f.Who = []int{a}
			f.Accuse(check.Suspect, most[a], fmt.Sprintf("Updates of %s hardly change what it does: the ratio moves from 1 by %.1g on average, and "+
				"never by more than %.1g, in %d updates.", r.Agents[a], sum[a]/float64(n), most[a], n),
				"the learning rate, for this optimiser: what suits Adam is far too little for SGD; and what loss.backward() is called on")
		}
	}
}

// valued asks whether an update moves values away from returns: of two rows with the same value, the one with
// the higher return gains less, and their error grows by a tenth, or in nearly all updates. That it
// gains no more says nothing: in a short run a network that learns well may do so.
func (r *recorded) valued(f *check.Finding) {
	fell := map[string]float64{}                           // by agent, the sum of squared errors before, and a tenth of it, less that after
	grew, of := make(map[string]int), make(map[string]int) // updates with which it grew, of so many
	for k := range r.Batches {
		b := &r.Batches[k]
		if now, old, ret := b.Col["after_values"], b.Col["values"], b.Col["returns"]; now != nil && old != nil && ret != nil {
			me, before, after := r.Agents[b.Agents[0]], 0., 0.
			for i := range ret {
				before, after = before+(old[i]-ret[i])*(old[i]-ret[i]), after+(now[i]-ret[i])*(now[i]-ret[i])
			}
			fell[me] += 1.1*before - after
			grew[me] += one(after > before)
			of[me]++
		}
	}
	r.effects(f, []string{"after_values", "values", "returns"}, func(b *record.Batch) float64 {
		return correlation(less(b.Col["returns"], b.Col["values"]), less(minus(b.Col["after_values"], b.Col["values"]), b.Col["values"]))
	},
		"Updates bring values closer to returns, in %d rows.",
		func(name string, c relation) (check.Status, string) {
			if (fell[name] <= 0 || of[name] >= 6 && grew[name]*10 > of[name]*9) && c.z() < -4 {
				return check.Fault,
					fmt.Sprintf("Updates of %s move values away from returns: a correlation of %.2f over %d rows.", name, c.mean(), c.rows)
			}
			return check.Pass, ""
		}, "the value's loss: shapes [n] and [n, 1] make a table of all pairs, which teaches the mean; rows and returns by the same indices")
}
