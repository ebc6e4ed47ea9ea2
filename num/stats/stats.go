// Package stats holds statistics that stay honest when there are few runs.
//
// Every interval and test counts its values as independent: episodes when asking
// about one set of agents, seeds when asking about an algorithm (average within
// a run first). Which one to use: a mean over runs, MeanCI; several tasks, or
// outliers, Scores with Bootstrap; a rate, Wilson; do seats differ,
// PermTestMeans; two algorithms with the same seeds, SignFlipTest, with seeds of
// their own, PermTestTwo; is a predicted order systematic, TrendTest.
//
// Everything is a pure function of its arguments and, where it resamples, of
// the stream passed last: same stream, same result. No argument is changed or
// kept. NaN in the data gives NaN out, never a significant result.
package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a low and a high bound. In JSON it is an array of two numbers, or
// of two nulls where the data bound nothing.
type Interval [2]float64

// MarshalJSON writes [low,high]; bounds that are not finite are null.
func (ci Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]Number{Number(ci[0]), Number(ci[1])})
}

// Within returns the part of an interval that lies within bounds.
func (ci Interval) Within(b Interval) Interval {
	return Interval{min(max(ci[0], b[0]), b[1]), max(min(ci[1], b[1]), b[0])}
}

// Text writes it for a table; a dash where it is not known.
func (ci Interval) Text() string {
	if math.IsInf(ci[0], 0) || math.IsNaN(ci[0]) {
		return "–"
	}
	return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1])
}

// UnmarshalJSON reads what MarshalJSON writes; nulls are bounds at infinity.
func (ci *Interval) UnmarshalJSON(b []byte) error {
	var ends [2]Number
	err := json.Unmarshal(b, &ends)
	*ci = Interval{float64(ends[0]), float64(ends[1])}
	for i := range ci {
		if math.IsNaN(ci[i]) {
			ci[i] = math.Inf(2*i - 1)
		}
	}
	return err
}

// Number is a number that may not be known, such as the standard error of a single
// value. In JSON it is null where it is not finite.
type Number float64

// MarshalJSON writes the number, or null.
func (x Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON reads what MarshalJSON writes; null is NaN.
func (x *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*x = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(x))
}

// Acc gathers the mean and variance of a stream of values in one pass
// (Welford 1962). Its zero value is empty and ready; copying it forks it.
type Acc struct {
	n    int
	mean float64
	m2   float64 // sum of squared distances from the mean
}

// Add takes in one value.
func (a *Acc) Add(x float64) {
	a.n++
	d := x - a.mean
	a.mean += d / float64(a.n)
	a.m2 += d * (x - a.mean)
}

// Merge takes in all values that b has seen (Chan, Golub and LeVeque 1979).
// Merging parts in index order gives the same bits for any number of workers.
func (a *Acc) Merge(b Acc) {
	if b.n == 0 {
		return
	}
	if a.n == 0 {
		*a = b
		return
	}
	na, nb := float64(a.n), float64(b.n)
	d := b.mean - a.mean
	a.n += b.n
	a.mean += d * nb / (na + nb)
	a.m2 += b.m2 + d*d*na*nb/(na+nb)
}

// MergeAll adds what is behind each entry of src to the entry of dst, which grows as needed.
func MergeAll(dst, src []Acc) []Acc {
	for i, x := range src {
		if i == len(dst) {
			dst = append(dst, Acc{})
		}
		dst[i].Merge(x)
	}
	return dst
}

// AddAt adds a number to an entry of a list, which grows as needed.
func AddAt(list []Acc, i int, x float64) []Acc {
	for len(list) <= i {
		list = append(list, Acc{})
	}
	list[i].Add(x)
	return list
}

// N returns the number of values.
func (a *Acc) N() int { return a.n }

// Mean returns the mean, NaN without values.
func (a *Acc) Mean() float64 {
	if a.n == 0 {
		return math.NaN()
	}
	return a.mean
}

// Var returns the unbiased variance, NaN with fewer than two values.
func (a *Acc) Var() float64 {
	if a.n < 2 {
		return math.NaN()
	}
	return a.m2 / float64(a.n-1)
}

// SE returns the standard error of the mean, NaN with fewer than two values.
func (a *Acc) SE() float64 { return math.Sqrt(a.Var() / float64(a.n)) }

// CI returns Student's interval for the mean at a level such as 0.95. It is
// exact for normal values, and infinite with fewer than two values: one run
// bounds nothing. It panics if level is not between 0 and 1.
func (a *Acc) CI(level float64) Interval {
	return StudentCI(a.mean, a.SE(), a.n, level)
}

// StudentTail returns the probability that Student's t of df degrees of freedom
// exceeds t.
func StudentTail(t float64, df int) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(df)}.Survival(t)
}

// StudentCI returns Student's interval of a mean of n values, of which only the
// mean and its standard error are known. It is infinite with fewer than two.
func StudentCI(mean, se float64, n int, level float64) Interval {
	checkLevel(level)
	if n < 2 {
		return Interval{math.Inf(-1), math.Inf(1)}
	}
	h := tQuantile(0.5+level/2, n-1) * se
	return Interval{mean - h, mean + h}
}

// tQuantile returns Student's quantile with nu degrees of freedom.
func tQuantile(p float64, nu int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(nu)}.Quantile(p)
}

func checkLevel(level float64) {
	if !(level > 0 && level < 1) {
		panic("stats: a level lies between 0 and 1")
	}
}

// MeanCI returns the mean of xs and its Student interval, as Acc does.
func MeanCI(xs []float64, level float64) (float64, Interval) {
	a := accOf(xs)
	return a.Mean(), a.CI(level)
}

func accOf(xs []float64) Acc {
	var a Acc
	for _, x := range xs {
		a.Add(x)
	}
	return a
}

// Wilson returns Wilson's score interval for a rate of which k of n trials were
// hits. Unlike rate ± 2 SE it stays within 0 and 1 and is right for k = 0.
// Without trials it is [0, 1]. It panics if k is not in 0..n.
func Wilson(k, n int, level float64) Interval {
	checkLevel(level)
	if k < 0 || k > n {
		panic("stats: hits must be between 0 and the number of trials")
	}
	if n == 0 {
		return Interval{0, 1}
	}
	z := distuv.UnitNormal.Quantile(0.5 + level/2)
	p, m := float64(k)/float64(n), float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	h := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	ci := Interval{math.Max(0, mid-h), math.Min(1, mid+h)}
	if k == 0 { // exactly, where rounding leaves 1e-18
		ci[0] = 0
	}
	if k == n {
		ci[1] = 1
	}
	return ci
}

// Quantile returns the q-quantile of xs, 0 <= q <= 1, with linear interpolation
// between order statistics, as numpy does by default. It is NaN without values
// or with a NaN among them.
func Quantile(xs []float64, q float64) float64 { return quantile(sorted(xs), q) }

// Box is the five numbers of a box plot and the count behind them.
type Box struct {
	N                        int
	Min, Q1, Median, Q3, Max float64
}

// BoxOf returns the five numbers of xs, quartiles as in Quantile.
func BoxOf(xs []float64) Box {
	s := sorted(xs)
	return Box{len(xs), quantile(s, 0), quantile(s, 0.25), quantile(s, 0.5), quantile(s, 0.75), quantile(s, 1)}
}

// sorted returns a sorted copy; NaNs come first.
func sorted(xs []float64) []float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	return s
}

// quantile needs s sorted.
func quantile(s []float64, q float64) float64 {
	if !(q >= 0 && q <= 1) {
		panic("stats: a quantile lies between 0 and 1")
	}
	if len(s) == 0 || math.IsNaN(s[0]) {
		return math.NaN()
	}
	at := q * float64(len(s)-1)
	i := int(at)
	if f := at - float64(i); f > 0 && s[i] != s[i+1] { // infinities may be equal
		return s[i] + f*(s[i+1]-s[i])
	}
	return s[i]
}

// IQM returns the interquartile mean of xs: the mean of what is left after
// dropping a quarter of the values, rounded down, at either end. It resists
// outliers as the median does and wastes fewer runs (Agarwal et al. 2021,
// rliable: scipy.stats.trim_mean with 0.25). It is NaN without values or with a
// NaN among them.
func IQM(xs []float64) float64 { return iqm(slices.Clone(xs)) }

// iqm sorts s in place.
func iqm(s []float64) float64 {
	slices.Sort(s)
	if len(s) == 0 || math.IsNaN(s[0]) {
		return math.NaN()
	}
	cut := len(s) / 4
	return mean(s[cut : len(s)-cut])
}

func mean(xs []float64) float64 {
	sum := 0.
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}
