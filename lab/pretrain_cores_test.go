package lab

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hop-marl/hop/train/prepare"
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
		out := func(name string) Site { return Site{Dir: filepath.Join(t.Name(), string(rune('0'+cores)), name)} }
		for _, model := range []struct {
			name string
			do   func(ctx context.Context) error
		}{
			{"moa", func(ctx context.Context) error {
				c := prepare.DefaultMOA()
				c.Data, c.Condition, c.Epochs, c.Model.Hidden = "data", "type", 1, []int{8, 8}
				_, err := l.PretrainMOA(ctx, c, out("moa"))
				return err
			}},
			{"vae", func(ctx context.Context) error {
				_, err := l.PretrainVAE(ctx, smallVAE("data", "b", 1, 4, 8), out("vae"))
				return err
			}},
			{"cvae", func(ctx context.Context) error {
				c := prepare.DefaultCVAE()
				c.Data, c.VAE, c.Epochs, c.Model.GRU = "data", prepare.Folder(out("vae").Dir), 1, 8
				_, err := l.PretrainCVAE(ctx, c, out("cvae"))
				return err
			}},
			{"response", func(ctx context.Context) error {
				c := prepare.DefaultResponse()
				c.Episodes, c.Steps, c.Envs, c.Who, c.Net.Hidden = 6, 2000, 16, []string{"ns", "nh"}, []int{8}
				_, err := l.PretrainResponse(ctx, c, siteOf(t, l, "staghunt", out("response").Dir, "game.size=4", "game.horizon=6"))
				return err
			}},
			{"world", func(ctx context.Context) error {
				c := prepare.DefaultWorld()
				c.Data, c.Probe, c.Plays, c.Epochs, c.Model.Hidden = []prepare.Folder{"data"}, 60, 10, 1, []int{8}
				_, err := l.PretrainWorld(ctx, c, out("world"))
				return err
			}},
		} {
			if err := model.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", model.name, err)
			}
			for _, file := range []string{"card.json", "card.html"} {
				b, err := os.ReadFile(filepath.Join(out(model.name).Dir, file))
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
