package check

import (
	"testing"

	"github.com/hop-marl/hop/agent/imagine"
)

// What is said of a model's foresight is the log's fault alone where the model is used as its foresight demands.
func TestForesightThatIsMisreportedAlone(t *testing.T) {
	c := &imagine.Config{Trust: 0.5, Refresh: 2}
	for _, x := range []struct {
		name string
		s    score
		want bool
	}{
		{"used, as it can be", score{computed: true, usable: true, n: 100, asked: 100, right: 60, rounds: 2}, true},
		{"not used though it can be", score{computed: true, usable: true, n: 100, asked: 100, right: 60}, false},
		{"used though it cannot be", score{computed: true, usable: true, n: 100, asked: 100, right: 40, rounds: 2}, false},
		{"either, to rounding", score{computed: true, usable: true, n: 100, asked: 100, right: 49, close: 2, rounds: 2}, true},
		{"of other steps", score{computed: true, usable: true, n: 90, asked: 100, right: 60, rounds: 2}, false},
		{"made anew", score{computed: true, n: 100, asked: 100, right: 60}, true},
		{"not computed again", score{rounds: 2, wanted: 2}, true},
	} {
		if got := x.s.harmless(c); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}
