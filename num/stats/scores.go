package stats

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/num/rng"
)

// Scores holds one score per task and run: s[task][run]. Tasks may have
// different numbers of runs, as when a run failed.
type Scores [][]float64 // [task][run]

// IQM returns the interquartile mean over all tasks and runs together
// (rliable's aggregate_iqm). A task with more runs weighs more.
func (s Scores) IQM() float64 { return iqm(slices.Concat(s...)) }

// Profile writes the performance profile at each threshold: the fraction of
// runs that score more, averaged over tasks (rliable's run_score_distribution).
// It panics if dst and taus differ in length.
func (s Scores) Profile(dst, taus []float64) {
	if len(dst) != len(taus) {
		panic("stats: slice lengths do not match")
	}
	for i, tau := range taus {
		dst[i] = s.above(tau)
	}
}

func (s Scores) above(tau float64) float64 {
	var a Acc
	for _, runs := range s {
		n := 0.
		for _, x := range runs {
			switch {
			case math.IsNaN(x):
				return x
			case x > tau:
				n++
			}
		}
		a.Add(n / float64(len(runs)))
	}
	return a.Mean()
}

// Bootstrap returns the percentile interval of f, such as Scores.IQM, under
// stratified resampling: each of reps times, every task's runs are drawn anew
// with replacement (rliable). f must not keep its argument.
//
// With few runs in all it is too narrow. For normal scores of one task a 95%
// interval of the mean covers it in about 83% of experiments with 5 runs and
// 90% with 10, where MeanCI keeps 95%; with 5 runs in each of 5 tasks the IQM's
// covers in about 91%. The tests measure this.
func Bootstrap(s Scores, f func(Scores) float64, reps int, level float64, r *rng.Rand) Interval {
	draw := make(Scores, len(s))
	for i := range s {
		draw[i] = make([]float64, len(s[i]))
	}
	return percentile(reps, level, func() float64 {
		draw.resample(s, r)
		return f(draw)
	})
}

// resample fills s, of the shape of src, with draws from src.
func (s Scores) resample(src Scores, r *rng.Rand) {
	for i, runs := range src {
		for j := range s[i] {
			s[i][j] = runs[r.IntN(len(runs))]
		}
	}
}

// percentile calls draw reps times and returns the central part of the results.
func percentile(reps int, level float64, draw func() float64) Interval {
	checkLevel(level)
	if reps < 1 {
		panic("stats: a bootstrap needs at least one resample")
	}
	xs := make([]float64, reps)
	for i := range xs {
		xs[i] = draw()
	}
	slices.Sort(xs)
	return Interval{quantile(xs, 0.5-level/2), quantile(xs, 0.5+level/2)}
}
