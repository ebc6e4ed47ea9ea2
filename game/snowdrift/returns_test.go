package snowdrift_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/snowdrift"
)

// The returns that were simulated from the rules before this package was written,
// 1,500 episodes each. Ours must lie within 4 combined standard errors: by chance
// one cell in 16,000 does not, and the seed is fixed. The published cells have two
// decimals, so half a unit of the last is added.
func TestReferenceReturns(t *testing.T) {
	small := snowdrift.Default()
	small.Size, small.Horizon = 4, 15
	big := snowdrift.Default()
	for _, tc := range []struct {
		name string
		c    snowdrift.Config
		team []string
		want float64
	}{
		{"4x4 four nd", small, []string{"nd", "nd", "nd", "nd"}, 30},
		{"4x4 four random", small, []string{"random", "random", "random", "random"}, 14.28},
		{"4x4 nd vs 3 fix", small, []string{"nd", "fix", "fix", "fix"}, 10.99},
		{"4x4 fix vs 3 nd", small, []string{"fix", "nd", "nd", "nd"}, 35.98},
		{"8x8 four nd", big, []string{"nd", "nd", "nd", "nd"}, 30},
		{"8x8 four random", big, []string{"random", "random", "random", "random"}, 11.04},
		{"8x8 nd vs 3 fix", big, []string{"nd", "fix", "fix", "fix"}, 12},
		{"8x8 fix vs 3 nd", big, []string{"fix", "nd", "nd", "nd"}, 36},
	} {
		const episodes = 8000
		scores := gametest.Returns(t, gametest.New(t, snowdrift.New, tc.c), tc.team, episodes, 7)
		got := scores[0]
		if tc.team[0] == tc.team[1] {
			got = scores[len(tc.team)]
		}
		tol := 4*got.SE*math.Sqrt(1+episodes/1500.) + 0.005
		if math.Abs(got.Mean-tc.want) > tol {
			t.Errorf("%s: got %.3f, want %.3f ± %.3f", tc.name, got.Mean, tc.want, tol)
		}
	}
}
