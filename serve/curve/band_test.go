package curve

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// Each band is its definition, and none leaves what is possible.
func TestBandsAreTheirDefinitions(t *testing.T) {
	xs := []float64{0, 0.5, 4.5, 5, 5}
	mean, student := stats.MeanCI(xs, 0.95)
	se := math.Sqrt(6.375 / 5) // the sum of squares around 3 is 25.5
	for _, c := range []struct {
		how  How
		want stats.Interval
	}{
		{How{}, student}, {How{Band: Error}, stats.Interval{mean - se, mean + se}}, {How{Band: Spread}, stats.Interval{0, 5}},
		{How{Bounds: &stats.Interval{0, 5}}, stats.Interval{max(student[0], 0), 5}}, {How{IQM: true, Band: Spread}, stats.Interval{0, 5}},
	} {
		r := rng.New(1).Rand()
		got := c.how.band(slices.Clone(xs), 10, &r)
		if math.Abs(got[0]-c.want[0]) > 1e-12 || math.Abs(got[1]-c.want[1]) > 1e-12 {
			t.Errorf("%+v: %v, want %v", c.how, got, c.want)
		}
		if one := c.how.band([]float64{2}, 10, &r); !math.IsInf(one[0], -1) || !math.IsInf(one[1], 1) {
			t.Errorf("%+v: one run has the band %v", c.how, one)
		}
	}
	r := rng.New(1).Rand()
	for _, how := range []How{{Band: Resampled}, {IQM: true}} {
		got, centre := how.band(xs, 10, &r), how.centre(xs)
		if how.Kind() != Resampled || got[0] < 0 || got[0] >= centre || got[1] <= centre || got[1] > 5 {
			t.Errorf("%+v: %v around %v", how, got, centre)
		}
	}
	if c := (How{IQM: true}).centre(xs); math.Abs(c-10./3) > 1e-12 {
		t.Errorf("the mean of the middle three is %v", c)
	}
}
