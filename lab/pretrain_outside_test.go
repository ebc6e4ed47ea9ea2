package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/registry"
)

// unknown is a game that the registry does not have.
type unknown struct{ game.Game }

func (g unknown) Spec() game.Spec {
	s := g.Game.Spec()
	s.Name = outside
	return s
}

// Models learn from data of a game that hop does not have, and their cards say what could not be
// asked.
func TestDataOfAGameThatIsNotHereAreLearntFrom(t *testing.T) {
	t.Chdir(t.TempDir())
	var said []string
	l := &Lab{Reg: registry.New(), Version: "test", Watch: func(n News) {
		if n.Kind == Noted {
			said = append(said, n.Text)
		}
	}}
	g, _, err := l.NewGame("staghunt", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dataset.Collect(t.Context(), dataset.Config{Game: unknown{g}, GameSpec: map[string]any{"name": outside, "of": "mine"},
		Mix: []string{"ns", "nh"}, Rows: 800, Seed: 1, Dir: "data"}); err != nil {
		t.Fatal(err)
	}
	moa, err := MOA{Data: "data", Condition: "type", Net: "dense", Epochs: 1, Set: []string{"model.hidden=[8,8]"}, Common: Common{Out: "moa"}}.
		Do(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(moa.LimitError, "does not have") || len(moa.Limits) != 0 {
		t.Errorf("limits of a game that is not here: %v, %q", moa.Limits, moa.LimitError)
	}
	if _, err := (VAE{Data: "data", Loss: "a", Dim: 4, Set: []string{"epochs=1", "model.hidden=[8]"}, Common: Common{Out: "vae"}}).
		Do(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := (CVAE{Data: "data", VAE: "vae", Selector: "optimistic", Gate: -1, Set: []string{"epochs=1", "model.gru=8"},
		Common: Common{Out: "cvae"}}).Do(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	world, err := World{Data: []string{"data"}, Variant: "heads", Probe: 1, Plays: 1, Fault: "none",
		Set: []string{"epochs=1", "model.hidden=[8]"}, Common: Common{Out: "world"}}.Do(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	card, err := os.ReadFile(filepath.Join("world", "card.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hop does not have", "the game is not here to be played"} {
		if !strings.Contains(string(card), want) {
			t.Errorf("the card does not say %q:\n%s", want, card)
		}
	}
	if b, err := json.Marshal(world); err != nil || world.Probe != nil || !strings.Contains(string(b), `"exact"`) {
		t.Errorf("as JSON %s, %v", b, err)
	}
	if len(said) == 0 || !strings.Contains(said[0], "left out") {
		t.Errorf("said %q, want what is left out", said)
	}
}
