package check

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/num/stats"
)

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
