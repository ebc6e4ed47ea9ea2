package lab

import (
	"math"

	"hop/eval"
	"hop/report"
	"hop/stats"
)

// sum adds up the samples of a cell. Intervals are over seeds, or, of a single
// seed, over lives.
func (c *adapting) sum(out *report.Adapted, m *meeting, all []*livedSeed) {
	var score, best, random, norm, regret, first stats.Acc
	var curve, value, action, belief, step []stats.Acc
	for _, s := range all {
		score.Add(s.Score)
		best.Add(s.Best)
		random.Add(s.Random)
		norm.Add(s.Normalised)
		regret.Add(s.Regret)
		first.Merge(s.res.First)
		curve = mergeAll(curve, s.res.Curve)
		for _, e := range s.res.Episodes {
			if v, ok := s.value[[2]int{e.Life, e.Index}]; ok {
				for len(value) <= e.Index {
					value = append(value, stats.Acc{})
				}
				value[e.Index].Add(v)
			}
		}
		for _, r := range s.reads {
			if r != nil {
				x, y := r.ByEpisode()
				action, belief, step = mergeAll(action, x), mergeAll(belief, y), mergeAll(step, r.ByStep())
			}
		}
	}
	out.Score, out.BestResponse, out.Random, out.Regret, out.First = score.Mean(), best.Mean(), random.Mean(), regret.Mean(), first.Mean()
	out.Normalised, out.BestName = 1-out.Regret/(out.BestResponse-out.Random), m.bestBy
	over := score
	if len(all) == 1 {
		over = all[0].res.Score
	}
	out.SE, out.CI = over.SE(), finite(over.CI(0.95), out.Score)
	if out.SE != out.SE || math.IsInf(out.SE, 0) {
		out.SE = 0
	}
	if len(all) > 1 {
		out.NormalisedCI, out.RegretCI = finite(norm.CI(0.95), out.Normalised), finite(regret.CI(0.95), out.Regret)
	} else {
		span := out.BestResponse - out.Random
		out.RegretCI = c.regretCI(all[0], out)
		out.NormalisedCI = stats.Interval{1 - out.RegretCI[1]/span, 1 - out.RegretCI[0]/span}
	}
	lives := c.Lives * len(all)
	out.Episodes = meansOf(curve, lives/2)
	out.Action, out.Belief, out.BeliefStep = meansOf(action, 1), meansOf(belief, 1), meansOf(step, lives/2)
	if n := len(out.Episodes); len(out.Action) > n {
		out.Action = out.Action[:n]
	}
	if n := len(out.Episodes); len(out.Belief) > n {
		out.Belief = out.Belief[:n]
	}
	if m.next != nil && m.exact {
		out.Best = meansOf(value, 1)
		back := c.back(curve, value)
		out.Back = &back
	}
}

// regretCI is the interval of a single seed's regret, over its lives: paired with
// the starts where they were solved.
func (c *adapting) regretCI(s *livedSeed, out *report.Adapted) stats.Interval {
	if s.value == nil {
		return stats.Interval{out.BestResponse - out.CI[1], out.BestResponse - out.CI[0]}
	}
	over, _ := c.overLives(s, func(e eval.Lived) bool { return e.Last })
	return finite(over.CI(0.95), out.Regret)
}

// overLives returns each life's mean of what was lost and of what the best response
// is worth, over those episodes that count and whose starts were solved.
func (c *adapting) overLives(s *livedSeed, counts func(eval.Lived) bool) (lost, worth stats.Acc) {
	losses, values := make([]stats.Acc, c.Lives), make([]stats.Acc, c.Lives)
	for _, e := range s.res.Episodes {
		if v, ok := s.value[[2]int{e.Life, e.Index}]; ok && counts(e) {
			losses[e.Life].Add(v - e.Return)
			values[e.Life].Add(v)
		}
	}
	for i := range losses {
		if losses[i].N() > 0 {
			lost.Add(losses[i].Mean())
			worth.Add(values[i].Mean())
		}
	}
	return lost, worth
}

// back returns how many episodes after the change the mean return over three
// episodes is at least 90 % of the best response's on the same starts; -1: never
// within what was solved.
func (c *adapting) back(curve, value []stats.Acc) int {
	const run = 3
	for k := c.AtEpisode; k+run <= min(len(curve), len(value), c.AtEpisode+24); k++ {
		var got, best float64
		for i := k; i < k+run; i++ {
			got += curve[i].Mean()
			best += value[i].Mean()
		}
		if got >= 0.9*best {
			return k - c.AtEpisode
		}
	}
	return -1
}

// finite replaces an interval of a single number by that number.
func finite(ci stats.Interval, mean float64) stats.Interval {
	for _, x := range ci {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return stats.Interval{mean, mean}
		}
	}
	return ci
}

func mergeAll(dst, src []stats.Acc) []stats.Acc {
	for i, x := range src {
		if i == len(dst) {
			dst = append(dst, stats.Acc{})
		}
		dst[i].Merge(x)
	}
	return dst
}

// meansOf returns the means for as long as so many numbers are behind them.
func meansOf(list []stats.Acc, least int) []float64 {
	var out []float64
	for _, x := range list {
		if x.N() < max(least, 0) {
			break
		}
		out = append(out, x.Mean())
	}
	return out
}
