package lab

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
)

// The last fifth of a training is of what the agents played.
func TestLastFifthIsWithoutTheWarmUp(t *testing.T) {
	var rows []runlog.Row
	for w := range 10 {
		step := int64(1000 * (w + 1))
		rows = append(rows, runlog.Row{Step: step, Name: "return/mean", Agent: -1, Value: float64(w), N: 9},
			runlog.Row{Step: step, Name: "ppo/kl", Value: 99, N: 1})
	}
	for warm, want := range map[int]float64{0: 8.5, 7: 8.5, 9: 9, 10: math.NaN()} {
		c := train.Config{Steps: 10_000, Warm: train.Warm{Windows: warm}}
		if got := lastFifth(rows, &c); (got == nil) != math.IsNaN(want) || got != nil && *got != want {
			t.Errorf("after a warm-up of %d windows of 10 the last fifth is %v, want %v", warm, got, want)
		}
	}
}
