package plot

import (
	"math"
	"testing"

	"gonum.org/v1/plot/vg"
)

// No two ticks of an axis read the same, however close its numbers are; names may.
func TestTicksDiffer(t *testing.T) {
	for _, a := range []Axis{Round(10.00001, 10.00004, 4), Round(-10.00004, -10.00001, 4), Round(0, 3, 5),
		{At: []float64{10_001, 10_002, 10_003}}, {At: []float64{10_001, 10_002}, Label: Short}, {At: []float64{0.001, 0.002}, Label: Percent}} {
		read := map[string]bool{}
		for _, tick := range a.Ticks(a.Min, a.Max) {
			if read[tick.Label] {
				t.Errorf("%v: two ticks read %s", a.At, tick.Label)
			}
			read[tick.Label] = true
		}
	}
	if got := Names([]string{"ns", "ns"}).Ticks(0, 1)[1].Label; got != "ns" {
		t.Errorf("a name is written %s", got)
	}
}

// Seeds with equal results are as many dots as there are seeds, near their row.
func TestEqualSeedsAreSeveralDots(t *testing.T) {
	at := []vg.Length{50, 50, 50, 120, 121}
	up := apart(at)
	for i := range at {
		for k := range i {
			if d := math.Hypot(float64(at[i]-at[k]), float64(up[i]-up[k])); d < 1.4*radius {
				t.Errorf("dots %d and %d are %.1f apart: %v", k, i, d, up)
			}
		}
		if math.Abs(float64(up[i])) > 11 {
			t.Errorf("dot %d has left its row: %v", i, up[i])
		}
	}
	if up[0] != 0 || up[3] != 0 {
		t.Errorf("dots that nobody hides are moved: %v", up)
	}
}
