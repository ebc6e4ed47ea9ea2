package game_test

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
)

type colour string

// What is known of a game travels with it, is found by its type, and hides nothing of the game.
func TestWhatIsKnownTravelsWithTheGame(t *testing.T) {
	bare := gametest.New(t, staghunt.New, staghunt.Default())
	g := game.With(game.With(bare, colour("red")), 7)
	if c, ok := game.As[colour](g); !ok || c != "red" {
		t.Errorf("got %q, %v", c, ok)
	}
	if n, ok := game.As[int](g); !ok || n != 7 {
		t.Errorf("got %d, %v", n, ok)
	}
	if own, ok := game.As[*staghunt.Game](g); !ok || own != bare {
		t.Error("the game itself is not found")
	}
	if got, want := game.Label(g), game.Label(bare); got != want {
		t.Errorf("its label is %q, was %q", got, want)
	}
	if _, ok := game.As[float64](g); ok {
		t.Error("something is known that nobody said")
	}
	if game.With(bare) != game.Game(bare) {
		t.Error("a game of which nothing is known is another one")
	}
}
