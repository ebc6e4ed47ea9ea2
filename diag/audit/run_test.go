package audit

import (
	"slices"
	"testing"

	"hop/runlog"
)

// What bots got in the warm-up is not compared between agents.
func TestRecordsAreReadWithoutTheWarmUp(t *testing.T) {
	var rows []runlog.Row
	for w := range 10 {
		for a := range 2 {
			rows = append(rows, runlog.Row{Step: int64(10 * (w + 1)), Name: "return", Agent: a, Value: float64(w + 10*a), N: 1})
		}
	}
	rec := &recorded{}
	rec.take(rows, 90)
	if len(rec.curves[0][1]) != 1 || !slices.Equal(rec.returns[0], []float64{9, 19}) {
		t.Errorf("returns %v of curves %v, want those of the last window, 9 and 19", rec.returns, rec.curves)
	}
	if rec.take(rows, 100); len(rec.returns) != 1 || len(rec.counts) != 2 {
		t.Errorf("a seed that is still in its warm-up has returns %v", rec.returns)
	}
}
