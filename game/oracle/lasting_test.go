package oracle_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// Against those who remember nothing the long run is an episode, again and again; against those
// who remember it is what can be worked out by hand.
func TestTheLongRun(t *testing.T) {
	g := hunt(t, func(c *staghunt.Config) { c.Stags = 2 })
	for _, c := range []struct {
		vs   string
		want float64
		off  float64
	}{
		{"nh", 1, .001},
		// Who hunts with them is hunted with for ever.
		{"wsls(ns,nh)", 5, .1},
		{"grim(ns,nh,1)", 5, .1},
		{"quits(nh,ns,1)", 5, .1}, // what does not go well for them is given up
		// Two episodes one way, two the other.
		{"rounds(ns,nh,2)", 3, .1},
	} {
		l, err := oracle.NewLasting(t.Context(), g, []string{c.vs, c.vs, c.vs}, 4, 200_000, rng.New(2))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.3f ± %.3f, %d nodes, %d states, %d rounds", c.vs, l.Gain, l.SE, l.Nodes, l.States, l.Rounds)
		if math.Abs(l.Gain-c.want) > c.off {
			t.Errorf("%s: %.3f, want %.3f", c.vs, l.Gain, c.want)
		}
	}
}
