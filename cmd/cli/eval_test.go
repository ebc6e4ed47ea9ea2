package cli

import (
	"testing"

	"github.com/hop-marl/hop/lab"
)

// Two co-players at random take the oracle hours on a large board, so the best
// response is left out among them, unless it is asked for.
func TestEvalLeavesOutTheBestResponseAmongTwoAtRandom(t *testing.T) {
	for _, c := range []struct {
		team   string
		focal  string
		regret bool
	}{
		{"plan,ns,nh,ns", "-1", true},
		{"plan,ns,nh,random", "-1", true},
		{"plan,ns,random,random", "-1", false},
		{"random,random,random,plan", "-1", false},
		{"plan,ns,random,random", "0", true},
		{"ns,nh,nh,nh", "-1", false},
	} {
		var r lab.Evaluation
		into(t, &r, "eval", "--game", "staghunt", "--set", "game.size=3", "--set", "game.hares=2", "--set", "game.horizon=4",
			"--team", c.team, "--focal="+c.focal, "--episodes", "4", "--planner", "plan.sims=5", "--planner", "plan.trees=2")
		if got := r.Lost != nil; got != c.regret {
			t.Errorf("--team %s --focal %s: regret is reported: %v, want %v", c.team, c.focal, got, c.regret)
		}
	}
}

// Must-show of the games: the reference table, a fast subset (its own cells
// have a standard error of up to 0.006; the bound is 4 combined).
func TestScriptedTeamsGetTheReferenceReturns(t *testing.T) {
	for _, c := range []struct {
		set, team   string
		focal, mean float64
	}{
		{"game.size=4", "ns,ns,ns,ns", 2.831, 2.831},
		{"game.size=4", "nh,ns,ns,ns", 0.998, 2.926},
		{"game.size=4", "ns,ns,nh,nh", 5.000, 2.975},
		{"game.size=4", "ns,random,random,random", 2.098, 1.525},
		{"game.size=8", "ns,ns,ns,nh", 3.613, 2.959},
		{"game.size=8", "random,random,random,random", 0.258, 0.259},
		{"game.stags=2", "ns,ns,nh,nh", 2.704, 1.827},
	} {
		var got lab.Evaluation
		into(t, &got, "eval", "--set", c.set, "--team", c.team, "--episodes", "10000")
		near := func(what string, x, se, want float64) {
			if bound := 4 * (se + 0.006); x < want-bound || x > want+bound {
				t.Errorf("%s %s: %s %.4f, want %.3f within %.3f", c.set, c.team, what, x, want, bound)
			}
		}
		near("focal", got.Seats[0].Mean, float64(got.Seats[0].SE), c.focal)
		near("mean", got.Mean, float64(got.SE), c.mean)
	}
}

// The same numbers for any number of workers.
func TestEvalDoesNotDependOnWorkers(t *testing.T) {
	var first string
	for _, w := range []string{"1", "2", "5"} {
		_, out, _ := hop(t, "eval", "--team", "switcher,ns,nh,random", "--episodes", "700", "--workers", w, "--json")
		if first == "" {
			first = out
		}
		if out != first {
			t.Errorf("with %s workers:\n%s\nwith 1:\n%s", w, out, first)
		}
	}
}
