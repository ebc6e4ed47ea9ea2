package check

import (
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/rng"
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

// One agent that learns nothing is told from the others with three seeds; agents
// that find roles, another in each seed, are not, nor are equals in 1999 of 2000.
func TestOddAgentIsFound(t *testing.T) {
	if f := Odd([][]float64{{1.1, 1.05, 0, 1.08}, {1.0, 1.12, 0.01, 1.07}, {1.08, 1.1, 0, 1.02}}); f.Status != Fault ||
		f.Agent() != 2 || !strings.Contains(f.Says, "Agent 2 earns 1.1 less") {
		t.Errorf("got %+v", f)
	}
	if f := Odd([][]float64{{1.1, 0.2, 1.3, 1.08}, {0.1, 1.12, 1.4, 1.07}, {1.08, 1.1, 0, 1.02}}); f.Status != Pass {
		t.Errorf("roles: got %+v", f)
	}
	r := rng.New(3).Rand()
	said := 0
	for range 4000 {
		rows := make([][]float64, 3)
		for s := range rows {
			rows[s] = make([]float64, 4)
			base := r.Norm()
			for a := range rows[s] {
				rows[s][a] = base + 0.1*r.Norm()
			}
		}
		if Odd(rows).Status > Pass {
			said++
		}
	}
	if said > 8 {
		t.Errorf("%d of 4000 healthy subjects are called suspect, want about 2 or fewer", said)
	}
}
