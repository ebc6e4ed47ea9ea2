package bandit

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// The regret keeps to UCB1's bound, also where the ways were chosen to be hard to tell apart.
func TestRegretKeepsToItsBound(t *testing.T) {
	for _, pays := range [][]float64{{.9, .1}, {.5, .45, .4}, {.1, .2, .3, .4}, {.6, .6, .5}} {
		best := 0.
		for _, p := range pays {
			best = max(best, p)
		}
		const n, lives = 2000, 40
		regret := 0.
		for life := range lives {
			r := rng.New(7).Child("life", life).Rand()
			c := New(len(pays), 1)
			for range n {
				k := c.Pick()
				regret += (best - pays[k]) / lives
				x := 0.
				if r.Float64() < pays[k] {
					x = 1
				}
				c.Earned(k, x)
			}
		}
		bound := 0.
		for _, p := range pays {
			if gap := best - p; gap > 0 {
				bound += 8*math.Log(n)/gap + (1+math.Pi*math.Pi/3)*gap
			}
		}
		if regret > bound || regret < 1 {
			t.Errorf("ways that pay %v: regret %.1f after %d, the bound is %.1f", pays, regret, n, bound)
		}
	}
}
