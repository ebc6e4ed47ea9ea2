package check

import (
	"testing"

	"github.com/hop-marl/hop/search"
)

// Every decision of a search whose policy is all on one action is held against its rule, those after the last one it made aside.
func TestChosenActions(t *testing.T) {
	cfg := search.Default()
	cfg.Act, cfg.Beta = "prior", 5
	f, err := search.New(cfg, 3, 1, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	copy(f.Prior, []float32{0.5, 0.3, 0.2, 0.6, 0.4, 0})
	copy(f.Q, []float32{0, 0.5, 0, 0.2, 0, 9})
	copy(f.Visits, []int32{3, 3, 3, 4, 3, 2}) // of the second one was tried that the prior gives no chance
	for _, c := range []struct {
		policy []float32
		bad    int
	}{
		{[]float32{0, 1, 0, 0, 1, 0}, 0},
		{[]float32{1, 0, 0, 1, 0, 0}, 1}, // Q counts once
	} {
		copy(f.Policy, c.policy)
		var l Decisions
		l.Chose(2, f, 2)
		if q := l.q[choosesBest]; q.asked != 1 || q.bad != c.bad {
			t.Errorf("%v: %d of %d are wrong, want %d of 1: %s", c.policy, q.bad, q.asked, c.bad, q.says)
		}
	}
}
