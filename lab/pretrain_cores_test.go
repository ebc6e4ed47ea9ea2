package lab

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// TestCardsOnAnyCores: the cards of every kind of model have the same bytes on one core and on
// three.
func TestCardsOnAnyCores(t *testing.T) {
	t.Chdir(t.TempDir())
	collect(t, "data", 7)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	l := &Lab{Reg: registry.New(), Version: "test"}
	first := map[string]string{}
	for _, cores := range []int{1, 3} {
		runtime.GOMAXPROCS(cores)
		out := func(name string) Common {
			return Common{Out: filepath.Join(t.Name(), string(rune('0'+cores)), name), Seed: 1}
		}
		for _, model := range []struct {
			name string
			do   func(ctx context.Context) error
		}{
			{"moa", func(ctx context.Context) error {
				_, err := MOA{Data: "data", Condition: "type", Net: "dense", Epochs: 1, Set: []string{"model.hidden=[8,8]"},
					Common: out("moa")}.Do(ctx, l)
				return err
			}},
			{"vae", func(ctx context.Context) error {
				_, err := VAE{Data: "data", Loss: "b", Dim: 4, Set: []string{"epochs=1", "model.hidden=[8]"}, Common: out("vae")}.Do(ctx, l)
				return err
			}},
			{"cvae", func(ctx context.Context) error {
				_, err := CVAE{Data: "data", VAE: out("vae").Out, Selector: "optimistic", Gate: -1, Set: []string{"epochs=1", "model.gru=8"},
					Common: out("cvae")}.Do(ctx, l)
				return err
			}},
			{"response", func(ctx context.Context) error {
				_, err := Response{Game: "staghunt", Episodes: 6, Set: []string{"game.size=4", "game.horizon=6", "steps=2000", "envs=16", "who=[ns,nh]",
					"net.hidden=[8]"}, Common: out("response")}.Do(ctx, l)
				return err
			}},
			{"world", func(ctx context.Context) error {
				_, err := World{Data: []string{"data"}, Variant: "heads", Probe: 60, Plays: 10, Fault: "none",
					Set: []string{"epochs=1", "model.hidden=[8]"}, Common: out("world")}.Do(ctx, l)
				return err
			}},
		} {
			if err := model.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", model.name, err)
			}
			for _, file := range []string{"card.json", "card.html"} {
				b, err := os.ReadFile(filepath.Join(out(model.name).Out, file))
				if err != nil {
					t.Fatal(err)
				}
				was, ok := first[model.name+file]
				if first[model.name+file] = string(b); ok && string(b) != was {
					t.Errorf("%s of %s on %d cores is not that on one", file, model.name, cores)
				}
			}
		}
	}
}
