package curve

import (
	"math"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// The bands that a mean over runs may have.
const (
	Student   = "student" // Student's 95 % interval of the mean
	Error     = "se"      // a standard error to either side
	Spread    = "minmax"  // from the lowest run to the highest
	Resampled = "boot"    // 95 % of bootstrap resamples (rliable)
	NoBand    = "none"
)

// How says how runs become one line.
type How struct {
	Weight float64 // of the smoothing; 0: none
	Band   string  // "": Student's
	// IQM has the line be the mean of the middle half of the runs (rliable). Student's interval
	// and the standard error are of a mean: in their place it has the bootstrap's.
	IQM bool
	// Bounds are what the metric cannot leave by construction; no band does.
	Bounds *stats.Interval
}

// Kind is the band that is drawn.
func (h How) Kind() string {
	switch {
	case h.Band == "" && !h.IQM:
		return Student
	case h.IQM && h.Band != Spread && h.Band != NoBand:
		return Resampled
	}
	return h.Band
}

// mostDraws is how many draws the bootstraps of one line make, and leastResamples how many
// resamples each of them has at least.
const (
	mostDraws      = 2e7
	leastResamples = 100
)

// centre returns what a line is at a stretch, of its runs' values.
func (h How) centre(xs []float64) float64 {
	if h.IQM {
		return stats.IQM(xs)
	}
	var acc stats.Acc
	for _, x := range xs {
		acc.Add(x)
	}
	return acc.Mean()
}

// band returns the band around the centre of some runs' values; of is how many stretches the
// line has. One run bounds nothing.
func (h How) band(xs []float64, of int, r *rng.Rand) stats.Interval {
	if len(xs) < 2 {
		return stats.Interval{math.Inf(-1), math.Inf(1)}
	}
	var acc stats.Acc
	lo, hi := xs[0], xs[0]
	for _, x := range xs {
		acc.Add(x)
		lo, hi = min(lo, x), max(hi, x)
	}
	var ci stats.Interval
	switch h.Kind() {
	case Spread:
		ci = stats.Interval{lo, hi}
	case Error:
		ci = stats.Interval{acc.Mean() - acc.SE(), acc.Mean() + acc.SE()}
	case Resampled:
		reps := max(leastResamples, min(1000, int(mostDraws/float64(len(xs)*of))))
		ci = stats.Bootstrap(stats.Scores{xs}, func(s stats.Scores) float64 { return h.centre(s[0]) }, reps, 0.95, r)
	default:
		ci = acc.CI(0.95)
	}
	if b := h.Bounds; b != nil {
		ci = ci.Within(*b)
	}
	return ci
}
