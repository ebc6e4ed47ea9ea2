package score

import (
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/card"
)

// The rows are half of each kind: p is what the model says of the second action.
// A model that says .35 of what is half at one step is named there, one that is
// right is not, whatever chance does (chance of an error: below one in 10,000).
func TestActionsThatArePredictedTooSeldomAreNamed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		p      float32 // at step 2
		status check.Status
		says   string
	}{
		{"right", 0.5, check.Pass, "within 0.01"},
		{"too seldom", 0.45, check.Suspect, "at step 2, "},
		{"hardly ever", 0.35, check.Fault, "at step 2, "},
		{"too often", 0.65, check.Fault, "at step 2, "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, d := rng.New(3).Rand(), &drifts{names: []string{"a", "b", "c"}}
			for i := range 20000 {
				p := float32(0.5)
				if i%5 == 2 {
					p = tc.p
				}
				d.add(i/5, i%5, r.IntN(2), nn.Probs{1 - p, p, 0})
			}
			for range 99 {
				d.add(9999, 7, 2, nn.Probs{1, 0, 0}) // too few to tell
			}
			for i := range 500 { // teams of four that do the same: chance moves them by twice as much
				a := min(1, max(0, i-215)) // in 284 of 500: 3 standard errors of teams, 6 of rows
				for range 4 {
					d.add(10000+i, 8, a, nn.Probs{0.5, 0.5, 0})
				}
			}
			k := &card.Card{}
			worst := d.worst()
			worst.check(k, false)
			if c := k.Checks[0]; c.Status != tc.status || !strings.Contains(c.Says, tc.says) {
				t.Errorf("%s: %s; want %s, %q", c.Status, c.Says, tc.status, tc.says)
			}
			if worst != nil && tc.p != 0.5 && math.Abs(math.Abs(worst.Taken-worst.Predicted)-math.Abs(float64(tc.p)-0.5)) > 0.03 {
				t.Errorf("the drift is said to be %+v", worst)
			}
		})
	}
}
