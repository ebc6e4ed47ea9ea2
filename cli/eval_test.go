package cli

import (
	"encoding/json"
	"testing"

	"hop/lab"
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
		args := []string{"eval", "--game", "staghunt", "--set", "game.size=3", "--set", "game.hares=2", "--set", "game.horizon=4",
			"--team", c.team, "--focal=" + c.focal, "--episodes", "4", "--planner", "plan.sims=5", "--planner", "plan.trees=2", "--json"}
		code, out, errs := hop(t, args...)
		if code != 0 {
			t.Fatalf("%v: exit %d\n%s", args, code, errs)
		}
		var r lab.Evaluation
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if got := r.Lost != nil; got != c.regret {
			t.Errorf("--team %s --focal %s: regret is reported: %v, want %v", c.team, c.focal, got, c.regret)
		}
	}
}
