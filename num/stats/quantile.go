package stats

import (
	"math"
	"slices"
)

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
