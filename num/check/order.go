package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// Limits of chance. A healthy subject is called suspect by one test in 2000 and
// at fault by one in a million.
const (
	SuspectP = 5e-4
	FaultP   = 1e-6
)

// ByChance returns what a p-value makes of a difference that should not be.
func ByChance(p float64) Status {
	switch {
	case p < FaultP:
		return Fault
	case p < SuspectP:
		return Suspect
	}
	return Pass
}

// Trend is Page's test both ways: do rows fall, or rise, with their index? P is
// twice the smaller of the two one-sided p-values.
type Trend struct {
	P     float64
	Exact bool // all arrangements were counted, not some drawn
	Falls bool // of the two the likelier
}

// OrderP is the p-value below which earnings are said to follow an order.
const OrderP = 1e-3

// TrendOf tests rows [unit][index].
func TrendOf(rows [][]float64) Trend {
	back := make([][]float64, len(rows))
	for i, row := range rows {
		back[i] = slices.Clone(row)
		slices.Reverse(back[i])
	}
	const reps = 20_000 // where arrangements cannot all be counted
	r := rng.New(1).Child("order").Rand()
	falls, rises := stats.TrendTest(rows, reps, &r), stats.TrendTest(back, reps, &r)
	return Trend{min(1, 2*min(falls.P, rises.P)), falls.Exact, falls.P < rises.P}
}

// Order asks whether agents that are built alike earn alike: returns[seed][agent]
// are mean returns of the last part of each seed's training. Page's test asks
// whether earnings fall, or rise, with the agent's number in seed after seed; its
// p-value is exact. It is a symptom: it names no module.
func Order(returns [][]float64) Finding {
	f := Finding{Step: 0, Check: "earnings by agent", Rows: len(returns), Unit: "return, first agent less last"}
	if len(returns) == 0 || len(returns[0]) < 2 {
		f.Says = "There are not two agents to compare."
		return f
	}
	k := len(returns[0])
	names := make([]string, k)
	for a := range names {
		names[a] = fmt.Sprintf("agent %d", a)
	}
	f.Earnings(returns, names, fmt.Sprintf("mean return over %d seeds", len(returns)))
	p := TrendOf(returns).P
	f.Says = fmt.Sprintf("No order of earnings by the agents' numbers is shown: p = %.2g over %d seeds.", p, len(returns))
	least := 2. // the smallest p-value that so many seeds could give: one order in each, of k!
	for range returns {
		for i := 2; i <= k; i++ {
			least /= float64(i)
		}
	}
	if least >= OrderP {
		f.Status = NotAsked
		f.Says = fmt.Sprintf("Too few seeds to tell whether earnings follow the agents' numbers: over %d no order could reach p < %g.",
			len(returns), OrderP)
	}
	if p < OrderP {
		f.Accuse(Suspect, f.Effect, fmt.Sprintf("Earnings follow the agents' numbers in seed after seed: p = %.2g over %d seeds. Agents "+
			"that are built alike differ.", p, len(returns)), "the findings below: the first module that differs by agent explains it")
	}
	return f
}

// Earnings takes in rows of earnings: their means by column as evidence, and as
// the effect what the first column earns more than the last.
func (f *Finding) Earnings(rows [][]float64, names []string, label string) {
	mean := make([]stats.Acc, len(names))
	var gap stats.Acc
	for _, row := range rows {
		for a, x := range row {
			mean[a].Add(x)
		}
		gap.Add(row[0] - row[len(row)-1])
	}
	all := 0.
	for a := range mean {
		all += mean[a].Mean() / float64(len(mean))
	}
	for a, name := range names {
		f.Saw(mean[a].Mean(), all, "%s: %s", name, label)
	}
	f.Effect = gap.Mean()
	if ci := gap.CI(0.95); len(rows) > 1 && !math.IsNaN(ci[0]) {
		f.Lo, f.Hi = ci[0], ci[1]
	}
}

// Friedman compares columns within rows, by value and by rank, and returns the
// smaller p-value doubled. Given a row's numbers, every order of them is equally
// likely if columns are alike, so the sums D of a column's distance from its row's
// mean have covariance V (I - 1/k), and sum D^2 / V is chi-square with k-1 degrees.
func Friedman(x [][]float64) float64 {
	k := len(x)
	best := 1.
	for _, ranked := range []bool{false, true} {
		d, v := make([]float64, k), 0.
		row := make([]float64, k)
		for i := range x[0] {
			mean := 0.
			for s := range x {
				row[s] = x[s][i]
				if ranked {
					row[s] = 0
					for o := range x {
						switch diff := x[s][i] - x[o][i]; {
						case diff > 1e-6:
							row[s]++
						case diff < -1e-6:
							row[s]--
						}
					}
				}
				mean += row[s] / float64(k)
			}
			for s := range x {
				d[s] += row[s] - mean
				v += (row[s] - mean) * (row[s] - mean) / float64(k-1)
			}
		}
		if v < 1e-9 {
			continue
		}
		q := 0.
		for _, y := range d {
			q += y * y / v
		}
		best = min(best, ChiTail(q, k-1))
	}
	return min(1, 2*best)
}

// ChiTail returns the probability that a chi-square variable of df degrees of
// freedom is at least x (Wilson and Hilferty 1931; good to a few percent in the
// tail, which is all that a bound of 1e-6 needs).
func ChiTail(x float64, df int) float64 {
	if x <= 0 {
		return 1
	}
	k := float64(df)
	z := (math.Cbrt(x/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
	return math.Erfc(z/math.Sqrt2) / 2
}

// Odd asks whether one of several agents that are built alike earns unlike all
// others in seed after seed: returns[seed][agent]. For each agent its distance from
// the others' mean, over the seeds, is held against how the others scatter within
// their seeds; agents that find different roles in one seed scatter, a broken one
// does not. The p-value is that of Student's t, for as many agents as were asked.
// It is a symptom: it names no module.
func Odd(returns [][]float64) Finding {
	f := Finding{Step: 0, Check: "one agent unlike the others", Rows: len(returns), Unit: "return, that agent less the others"}
	if len(returns) < 2 || len(returns[0]) < 3 {
		f.Status = NotAsked
		f.Says = "It takes three agents and two seeds to tell one from the others."
		return f
	}
	seeds, agents := len(returns), len(returns[0])
	best, who, gap := 1., 0, 0.
	for a := range agents {
		var gaps []float64
		scatter := 0.
		for _, row := range returns {
			mean := 0.
			for b, v := range row {
				if b != a {
					mean += v / float64(agents-1)
				}
			}
			for b, v := range row {
				if b != a {
					scatter += (v - mean) * (v - mean)
				}
			}
			gaps = append(gaps, row[a]-mean)
		}
		mean, own := 0., 0.
		for _, g := range gaps {
			mean += g / float64(seeds)
		}
		for _, g := range gaps {
			own += (g - mean) * (g - mean)
		}
		// Under equality a gap has the variance of an agent times 1 + 1/(agents-1);
		// both sums estimate it.
		df := seeds*(agents-2) + seeds - 1
		variance := (scatter + own*float64(agents-1)/float64(agents)) / float64(df)
		unit := math.Sqrt(variance * float64(agents) / float64(agents-1) / float64(seeds))
		if t := math.Abs(mean) / max(unit, 1e-12); unit > 0 {
			if p := stats.StudentTail(t, df) * 2 * float64(agents); p < best {
				best, who, gap = p, a, mean
			}
		}
	}
	f.Effect = gap
	f.Says = fmt.Sprintf("No agent stands apart from the others in seed after seed: p = %.2g over %d seeds.", min(best, 1), seeds)
	for a := range agents {
		mean := 0.
		for _, row := range returns {
			mean += row[a] / float64(seeds)
		}
		f.Saw(mean, mean, "agent %d: mean return over %d seeds", a, seeds)
	}
	if s := ByChance(best); s > Pass {
		more := "less"
		if gap > 0 {
			more = "more"
		}
		f.Who = []int{who}
		f.Accuse(s, gap, fmt.Sprintf("Agent %d earns %.2g %s than the others, in seed after seed: p = %.1g over %d seeds.",
			who, math.Abs(gap), more, best, seeds), "the findings below that name this agent; what is done for it alone")
	}
	return f
}
