package diag

import (
	"fmt"
	"math"
	"slices"

	"hop/rng"
	"hop/stats"
)

// Limits of chance. A healthy subject is called suspect by one test in 2000 and
// at fault by one in a million.
const (
	SuspectP = 5e-4
	FaultP   = 1e-6
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
	names := make([]string, k)
	for a := range names {
		names[a] = fmt.Sprintf("agent %d", a)
	}
	f.Earnings(returns, names, fmt.Sprintf("mean return over %d seeds", len(returns)))
	p, _ := Trend(returns)
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

// Trend is Page's test both ways: do rows fall, or rise, with their index? It
// returns the p-value, and whether it is exact.
func Trend(rows [][]float64) (p float64, exact bool) {
	back := make([][]float64, len(rows))
	for i, row := range rows {
		back[i] = slices.Clone(row)
		slices.Reverse(back[i])
	}
	r := rng.New(1).Child("order").Rand()
	a, b := stats.TrendTest(rows, 2000, &r), stats.TrendTest(back, 2000, &r)
	return min(1, 2*min(a.P, b.P)), a.Exact
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
