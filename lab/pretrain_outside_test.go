package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/prepare"
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
	asked := prepare.DefaultMOA()
	asked.Data, asked.Condition, asked.Epochs, asked.Model.Hidden = "data", "type", 1, []int{8, 8}
	moa, err := l.PretrainMOA(t.Context(), asked, Site{Dir: "moa"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(moa.LimitError, "does not have") || len(moa.Limits) != 0 {
		t.Errorf("limits of a game that is not here: %v, %q", moa.Limits, moa.LimitError)
	}
	if _, err := l.PretrainVAE(t.Context(), smallVAE("data", "a", 1, 4, 8), Site{Dir: "vae"}); err != nil {
		t.Fatal(err)
	}
	infer := prepare.DefaultCVAE()
	infer.Data, infer.VAE, infer.Epochs, infer.Model.GRU, infer.Seed = "data", "vae", 1, 8, 0
	if _, err := l.PretrainCVAE(t.Context(), infer, Site{Dir: "cvae"}); err != nil {
		t.Fatal(err)
	}
	rules := prepare.DefaultWorld()
	rules.Data, rules.Probe, rules.Plays, rules.Epochs, rules.Model.Hidden = []prepare.Folder{"data"}, 1, 1, 1, []int{8}
	world, err := l.PretrainWorld(t.Context(), rules, Site{Dir: "world"})
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
