package cvae

import (
	"math"
	"testing"
)

// A sequence of four states of one dimension, the second of them the row whose goal is asked.
// The normal of a mixture has its mean, and the mean of its squares less the mean's square.
func TestAGoalOfSeveralStatesIsTheirMixture(t *testing.T) {
	mu, logvar := []float32{9, 1, 2, 5}, []float32{0, 0, float32(math.Log(0.5)), float32(math.Log(2))}
	value := func(row int) float32 { return float32(row) }
	for _, c := range []struct {
		how        Selector
		row, ahead int
		mean, vari float64
	}{
		{Set, 1, 5, 3.5, (0.5+4+2+25)/2 - 3.5*3.5},
		{Set, 1, 1, 2, 0.5},
		{Trajectory, 1, 1, (2 + 0.8*5) / 1.8, (4.5+0.8*27)/1.8 - math.Pow((2+0.8*5)/1.8, 2)},
		{Trajectory, 3, 5, 5, 2}, // its last state is its own goal
		{Optimistic, 1, 5, 5, 2},
		{Conservative, 1, 5, 2, 0.5},
	} {
		var m, v [1]float32
		c.how.Goal(m[:], v[:], c.row, 4, c.ahead, value, mu, logvar)
		if got := math.Exp(float64(v[0])); math.Abs(float64(m[0])-c.mean) > 1e-5 || math.Abs(got-c.vari) > 1e-5 {
			t.Errorf("%s of row %d: mean %v and variance %v, want %v and %v", c.how, c.row, m[0], got, c.mean, c.vari)
		}
	}
}
