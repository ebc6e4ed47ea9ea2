package diag

import (
	"fmt"
	"math"

	"hop/rng"
	"hop/stats"
)

// Limits of chance. A healthy subject is called suspect by one test in 2000 and
// at fault by one in a million.
const (
	suspectP = 5e-4
	faultP   = 1e-6
)

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
	var first, second [][]float64
	var gap stats.Acc
	mean := make([]stats.Acc, k)
	for _, row := range returns {
		back := make([]float64, k)
		for a, x := range row {
			back[k-1-a] = x
			mean[a].Add(x)
		}
		first, second = append(first, row), append(second, back)
		gap.Add(row[0] - row[k-1])
	}
	r := rng.New(1).Child("order").Rand()
	p := min(1, 2*min(stats.TrendTest(first, 2000, &r).P, stats.TrendTest(second, 2000, &r).P))
	ci := gap.CI(0.95)
	f.Effect, f.Lo, f.Hi = gap.Mean(), ci[0], ci[1]
	if len(returns) < 2 || math.IsNaN(f.Lo) {
		f.Lo, f.Hi = f.Effect, f.Effect
	}
	for a := range mean {
		f.Evidence = append(f.Evidence, Row{fmt.Sprintf("agent %d: mean return over %d seeds", a, len(returns)), mean[a].Mean(), total(mean)})
	}
	f.Says = fmt.Sprintf("Earnings do not follow the agents' numbers: p = %.2g over %d seeds.", p, len(returns))
	if len(returns) < 3 && k < 5 {
		f.Says += " So few seeds could hardly show it."
	}
	if p < 1e-3 {
		f.Verdict = Suspect
		f.Says = fmt.Sprintf("Earnings follow the agents' numbers in seed after seed: p = %.2g over %d seeds. Agents that are "+
			"built alike differ.", p, len(returns))
		f.Next = "the findings below: the first module that differs by agent explains it"
	}
	return f
}

// total returns the mean over agents.
func total(mean []stats.Acc) float64 {
	sum := 0.
	for i := range mean {
		sum += mean[i].Mean() / float64(len(mean))
	}
	return sum
}
