package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/hop-marl/hop/num/rng"
)

// DiffCI returns the mean of x less the mean of y and Welch's interval for it:
// Student's, with variances that may differ and degrees of freedom after
// Satterthwaite (1946). It is infinite with fewer than two values on a side.
func DiffCI(x, y []float64, level float64) (float64, Interval) {
	return DiffOf(accOf(x), accOf(y), level)
}

// DiffOf does the same with values that have been gathered.
func DiffOf(a, b Acc, level float64) (float64, Interval) {
	checkLevel(level)
	d := a.Mean() - b.Mean()
	if a.n < 2 || b.n < 2 {
		return d, Interval{math.Inf(-1), math.Inf(1)}
	}
	va, vb := a.Var()/float64(a.n), b.Var()/float64(b.n)
	if va+vb == 0 {
		return d, Interval{d, d}
	}
	nu := (va + vb) * (va + vb) / (va*va/float64(a.n-1) + vb*vb/float64(b.n-1))
	h := distuv.StudentsT{Sigma: 1, Nu: nu}.Quantile(0.5+level/2) * math.Sqrt(va+vb)
	return d, Interval{d - h, d + h}
}

// RatioCI returns the mean of x over the mean of y, for pairs, and Fieller's interval
// for it (1954): all ratios r for which the mean of x - r y is within Student's
// bounds of 0. It is infinite with fewer than two pairs, and where the mean of y
// cannot be told from 0, since then no ratio can be ruled out.
func RatioCI(x, y []float64, level float64) (float64, Interval) {
	checkLevel(level)
	n := len(x)
	a, b := accOf(x), accOf(y)
	ratio := a.Mean() / b.Mean()
	if n > 1 && b.Mean() != 0 && a.Mean() == 0 && a.Var() == 0 {
		return 0, Interval{}
	}
	if n < 2 || b.Mean() == 0 {
		return ratio, Interval{math.Inf(-1), math.Inf(1)}
	}
	both := 0.
	for i := range x {
		both += (x[i] - a.Mean()) * (y[i] - b.Mean())
	}
	q := tQuantile(0.5+level/2, n-1)
	q *= q / float64(n)
	// The ratios r with A r^2 - 2 B r + C <= 0.
	A, B, C := b.Mean()*b.Mean()-q*b.Var(), a.Mean()*b.Mean()-q*both/float64(n-1), a.Mean()*a.Mean()-q*a.Var()
	if A <= 0 {
		return ratio, Interval{math.Inf(-1), math.Inf(1)}
	}
	h := math.Sqrt(max(0, B*B-A*C)) / A
	return ratio, Interval{B/A - h, B/A + h}
}

// WinCI returns the probability that a random value of x is above a random value
// of y, ties counting half, and Newcombe's interval for it (2006, part 2, method
// 5): all theta within z standard errors of the estimate, the error being that
// of theta,
//
//	theta (1-theta) / (mn) (1 + n* ((1-theta)/(2-theta) + theta/(1+theta))), n* = (m+n)/2 - 1.
//
// Unlike a bootstrap it does not shrink to a point when no value of y is above
// any of x, which with few runs proves little. Without values on a side it is
// [0, 1] around NaN.
func WinCI(x, y []float64, level float64) (float64, Interval) {
	checkLevel(level)
	if len(x) == 0 || len(y) == 0 {
		return math.NaN(), Interval{0, 1}
	}
	p := wins(x, y)
	if math.IsNaN(p) {
		return p, Interval{0, 1}
	}
	z := distuv.UnitNormal.Quantile(0.5 + level/2)
	m, n := float64(len(x)), float64(len(y))
	more := (m+n)/2 - 1
	// beyond says that theta lies outside the interval.
	beyond := func(theta float64) bool {
		v := theta * (1 - theta) / (m * n) * (1 + more*((1-theta)/(2-theta)+theta/(1+theta)))
		return (theta-p)*(theta-p) > z*z*v
	}
	edge := func(out, in float64) float64 { // in is inside, out may be outside
		if !beyond(out) {
			return out
		}
		for range 60 {
			mid := (out + in) / 2
			if beyond(mid) {
				out = mid
			} else {
				in = mid
			}
		}
		return in
	}
	return p, Interval{edge(0, p), edge(1, p)}
}

// wins returns the share of pairs in which x's value is above y's, ties counting
// half (the Mann-Whitney statistic; rliable's probability of improvement).
func wins(x, y []float64) float64 {
	sum := 0.
	for _, u := range x {
		for _, v := range y {
			switch {
			case u > v:
				sum++
			case u == v:
				sum += 0.5
			case !(u < v):
				return math.NaN()
			}
		}
	}
	return sum / float64(len(x)*len(y))
}

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
