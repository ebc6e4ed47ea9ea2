package cvae

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// A cloud is what Near draws, from the same stream each time.
func TestACloudIsDrawnAlikeEachTime(t *testing.T) {
	for _, m := range []*Model{{Config: Config{Dim: 4}}, {Config: Config{Dim: 4, Classes: 2}}} {
		var c Cloud
		for _, mu := range [][]float32{{1, 0, 0.25, 0.75}, {0.5, 0.5, 1, 0}} {
			sd, z := []float32{1, 2, 3, 4}, make([]float32, 4)
			c.Draw(m, mu, sd, 0.5)
			r := rng.New(1).Child("words").Rand()
			for i, p := range c.Points {
				if m.Near(z, mu, sd, 0.5, &r); !slices.Equal(p, z) {
					t.Fatalf("%d classes, point %d is %v, want %v", m.Classes, i, p, z)
				}
			}
		}
	}
}
