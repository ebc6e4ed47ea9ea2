package registry

import (
	"testing"

	"github.com/hop-marl/hop/game/gametest"
)

// No team of bots, random play among them, earns more or less than a game's entry says is possible.
func TestReturnsStayWithinTheirBounds(t *testing.T) {
	reg := New()
	of := 0
	for _, name := range reg.GameNames() {
		g, err := reg.NewGame(name)
		if err != nil {
			t.Fatal(err)
		}
		b, ok := g.Bounds()
		if !ok {
			continue
		}
		of++
		built, err := g.Build()
		if err != nil {
			t.Fatal(err)
		}
		seats := built.Spec().Seats
		for i, bot := range built.Bots() {
			team := make([]string, seats)
			for s := range team {
				team[s] = built.Bots()[(i*s)%len(built.Bots())].Name
			}
			team[0] = bot.Name
			for episode := range 3 {
				for s, score := range gametest.Returns(t, built, team, 1, uint64(episode)) {
					if score.Mean < b[0]-1e-6 || score.Mean > b[1]+1e-6 {
						t.Errorf("%s %v: %v at %d, want one within %v", name, team, score.Mean, s, b)
					}
				}
			}
		}
	}
	if of < 7 {
		t.Errorf("bounds of %d games are known, want 7", of)
	}
}
