package weaklink_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"

	"example.org/outside/weaklink"
)

// The conformance suite is all that a game needs to be used everywhere.
func TestGame(t *testing.T) {
	for _, c := range []weaklink.Config{weaklink.Default(), {Agents: 5, Levels: 2, Rounds: 3, Cost: 0.2}} {
		g, err := weaklink.New(c)
		if err != nil {
			t.Fatal(err)
		}
		gametest.Run(t, g)
	}
}

// The group's lowest effort pays everybody, and everybody pays for its own.
func TestTheWeakestLinkPays(t *testing.T) {
	g, err := weaklink.New(weaklink.Default())
	if err != nil {
		t.Fatal(err)
	}
	st, rewards := g.New(), make([]float32, 3)
	st.Reset(nil)
	st.Step([]int32{2, 1, 2}, rewards, nil)
	if want := [3]float32{0, 0.5, 0}; [3]float32(rewards) != want {
		t.Errorf("paid %v, want %v", rewards, want)
	}
}

// The second writing of the rules finds nothing wrong with the game, and says what is wrong
// with one whose effort costs something else than the spec says.
func TestTheRulesAreWrittenTwice(t *testing.T) {
	for _, c := range []struct {
		cost float64 // of the game; the spec says 0.5
		want check.Status
	}{{0.5, check.Pass}, {0.25, check.Fault}} {
		cfg := weaklink.Default()
		cfg.Cost = c.cost
		g, err := weaklink.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b, err := rules.Open(g.Spec(), "weaklink", map[string]any{"agents": 3, "levels": 3, "rounds": 10, "cost": 0.5}, weaklink.Rules)
		if err != nil {
			t.Fatal(err)
		}
		b.Play(g, rng.New(1), 200)
		if f := b.Finding(); f.Status != c.want || c.want == check.Fault && !strings.Contains(f.Says, "whose effort is") {
			t.Errorf("a cost of %v: %v, %s", c.cost, f.Status, f.Says)
		}
	}
}
