package check

import (
	"math"
	"testing"

	"hop/rng"
)

func TestOrderIsSeenOverSeedsOnly(t *testing.T) {
	r := rng.New(3).Child("order").Rand()
	var falling, level [][]float64
	for range 5 {
		a, b := make([]float64, 4), make([]float64, 4)
		for k := range a {
			a[k] = 2 - 0.1*float64(k) + 0.02*r.Norm()
			b[k] = 2 + 0.1*r.Norm()
		}
		falling, level = append(falling, a), append(level, b)
	}
	f := Order(falling)
	if f.Status != Suspect || f.Module != "" {
		t.Errorf("R0 > R1 > R2 > R3 in 5 seeds: got %v in %q, want a suspect that names no module", f.Status, f.Module)
	}
	if math.Abs(f.Effect-0.3) > 0.05 || !(0.2 < f.Lo && f.Lo < f.Effect && f.Effect < f.Hi && f.Hi < 0.4) {
		t.Errorf("the first earns %.3f (%.3f to %.3f) more than the last, want about 0.3", f.Effect, f.Lo, f.Hi)
	}
	if f := Order(level); f.Status != Pass {
		t.Errorf("level earnings: got %v: %s", f.Status, f.Says)
	}
	for n := 1; n <= 2; n++ { // one seed gives p = 0.083 at best, two 0.0035
		if f := Order(falling[:n]); f.Status != NotAsked {
			t.Errorf("%d seeds cannot show an order, got %v: %s", n, f.Status, f.Says)
		}
	}
}

// ChiTail against values of the tables: 0.05 and 0.001 at 3 and at 9 degrees.
func TestChiTailIsThatOfTheTables(t *testing.T) {
	for _, c := range []struct {
		x    float64
		df   int
		want float64
	}{{7.815, 3, 0.05}, {16.266, 3, 0.001}, {16.919, 9, 0.05}, {27.877, 9, 0.001}} {
		if got := ChiTail(c.x, c.df); math.Abs(got/c.want-1) > 0.15 {
			t.Errorf("chi-square %v at %d degrees: %.5f, want %.5f", c.x, c.df, got, c.want)
		}
	}
}
