package stats_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

var xScores = stats.Scores{{1, 2, 3, 4}, {0.5, 0.1, 0.9, 7}, {10, 12, 11, 13}}

// overTasks is the mean over tasks of their mean over runs.
func overTasks(s stats.Scores) float64 {
	var a stats.Acc
	for _, runs := range s {
		a.Add(meanOf(runs))
	}
	return a.Mean()
}

func TestAggregatesAreRliables(t *testing.T) {
	want(t, "IQM", xScores.IQM(), 4.5)
	taus := []float64{0, 1, 3.5, 11, 13}
	got := make([]float64, len(taus))
	xScores.Profile(got, taus)
	for i, w := range []float64{1, 2. / 3, 0.5, 1. / 6, 0} {
		want(t, fmt.Sprintf("profile at %v", taus[i]), got[i], w)
	}
	if xScores[1][0] != 0.5 {
		t.Errorf("the scores were reordered: %v", xScores)
	}
}

// allResamples calls visit with every way to draw each task's runs anew.
func allResamples(s stats.Scores, visit func(stats.Scores)) {
	draw := make(stats.Scores, len(s))
	for i := range s {
		draw[i] = make([]float64, len(s[i]))
	}
	var fill func(i, j int)
	fill = func(i, j int) {
		switch {
		case i == len(s):
			visit(draw)
		case j == len(s[i]):
			fill(i+1, 0)
		default:
			for _, x := range s[i] {
				draw[i][j] = x
				fill(i, j+1)
			}
		}
	}
	fill(0, 0)
}

// The ends of the interval are quantiles of the true bootstrap distribution,
// all 729 resamples, to 5 standard errors of 20,000 draws.
func TestBootstrapResamplesWithinTasks(t *testing.T) {
	const reps = 20_000
	s := stats.Scores{{1, 2, 4}, {100, 130, 170}}
	for name, f := range map[string]func(stats.Scores) float64{"Mean": overTasks, "IQM": stats.Scores.IQM} {
		var all []float64
		allResamples(s, func(d stats.Scores) { all = append(all, f(d)) })
		for _, level := range []float64{0.5, 0.8, 0.95} {
			r := rng.New(2).Rand()
			got := stats.Bootstrap(s, f, reps, level, &r)
			for side, q := range []float64{0.5 - level/2, 0.5 + level/2} {
				tol := 5 * math.Sqrt(q*(1-q)/reps)
				lo, hi := stats.Quantile(all, max(0, q-tol)), stats.Quantile(all, min(1, q+tol))
				if got[side] < lo || got[side] > hi {
					t.Errorf("%s, level %v, side %d: got %v, want in [%v, %v]", name, level, side, got[side], lo, hi)
				}
			}
		}
	}
}

// numpy's 200,000 draws gave [4.45, 6.50833] for the mean and [2.98333, 6.33333]
// for the IQM; neighbouring atoms of the distributions lie within 0.03.
func TestBootstrapIsRliables(t *testing.T) {
	r := rng.New(3).Rand()
	for _, c := range []struct {
		name string
		f    func(stats.Scores) float64
		want stats.Interval
	}{
		{"Mean", overTasks, stats.Interval{4.45, 6.508333}},
		{"IQM", stats.Scores.IQM, stats.Interval{2.983333, 6.333333}},
	} {
		got := stats.Bootstrap(xScores, c.f, 50_000, 0.95, &r)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 0.03 {
				t.Errorf("%s, side %d: got %v, want %v ± 0.03", c.name, i, got[i], c.want[i])
			}
		}
	}
}

func TestSameStreamGivesSameBootstrap(t *testing.T) {
	r := rng.New(5).Rand()
	fork := r
	a := stats.Bootstrap(xScores, stats.Scores.IQM, 100, 0.9, &r)
	if b := stats.Bootstrap(xScores, stats.Scores.IQM, 100, 0.9, &fork); a != b {
		t.Errorf("got %v and %v from the same stream", a, b)
	}
}

func TestNaNScoresGiveNaN(t *testing.T) {
	bad := stats.Scores{{1, math.NaN(), 3}, {1, 2, 3}}
	r := rng.New(6).Rand()
	profile := []float64{0}
	bad.Profile(profile, []float64{2})
	ci := stats.Bootstrap(bad, stats.Scores.IQM, 100, 0.9, &r)
	for name, got := range map[string]float64{
		"IQM": bad.IQM(), "Profile": profile[0], "low": ci[0], "high": ci[1],
		"no tasks": stats.Scores{}.IQM(),
	} {
		want(t, name, got, math.NaN())
	}
}

// The figures of Bootstrap's comment, to 5 standard errors.
func TestBootstrapCoversAsItsCommentSays(t *testing.T) {
	const n = 2000
	r := rng.New(7).Rand()
	for _, c := range []struct {
		tasks, runs int
		f           func(stats.Scores) float64
		want        float64
	}{
		{1, 5, overTasks, 0.83},
		{1, 10, overTasks, 0.90},
		{5, 5, stats.Scores.IQM, 0.91},
	} {
		s := make(stats.Scores, c.tasks)
		for i := range s {
			s[i] = make([]float64, c.runs)
		}
		rate := coverage(n, 0, func() stats.Interval {
			for i := range s {
				normals(s[i], &r)
			}
			return stats.Bootstrap(s, c.f, 400, 0.95, &r)
		})
		t.Logf("%d tasks, %d runs: coverage %.3f", c.tasks, c.runs, rate)
		within(t, fmt.Sprintf("%d tasks, %d runs", c.tasks, c.runs), rate, c.want, n)
	}
}
