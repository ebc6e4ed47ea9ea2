package weaklink_test

import (
	"testing"

	"hop/game/gametest"

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
