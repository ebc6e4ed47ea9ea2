package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
)

// halves has a model learn in two halves: the first is stopped after its first epoch.
func halves(t *testing.T, do func(ctx context.Context, l *Lab) error) (first, second func() error) {
	t.Helper()
	l := &Lab{Reg: registry.New(), Version: "test"}
	first = func() error {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		l.Watch = func(n News) {
			if n.Kind == Counted && n.At > 0 && n.At >= n.Of/2 {
				stop()
			}
		}
		err := do(ctx, l)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("the first half: %v, want that it was stopped", err)
		}
		return err
	}
	return first, func() error {
		l.Watch = nil
		return do(t.Context(), l)
	}
}

func collect(t *testing.T, dir string, seed uint64) {
	t.Helper()
	l := &Lab{Reg: registry.New(), Version: "test"}
	c := prepare.Collect{Mix: []string{"ns", "nh"}, Life: 1, Rows: 600, Seed: seed}
	if _, _, err := l.Collect(t.Context(), c, siteOf(t, l, "staghunt", dir, "game.size=4")); err != nil {
		t.Fatal(err)
	}
}

// siteOf is a folder for something that is done in a game.
func siteOf(t *testing.T, l *Lab, name, dir string, sets ...string) Site {
	t.Helper()
	g, err := l.GameWith(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	return Site{Game: g, Set: sets, Dir: dir}
}

// smallVAE has codes learnt by a small network.
func smallVAE(data prepare.Folder, loss string, epochs, dim, hidden int) prepare.VAE {
	c := prepare.DefaultVAE(loss)
	c.Data, c.Epochs, c.Model.Dim, c.Model.Hidden = data, epochs, dim, []int{hidden}
	return c
}

// Data and models are what they hold: a folder may move between two halves of a
// learning, but not be another one under the old name.
func TestInputsReplacedBetweenTwoHalvesAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	collect(t, "data", 7)
	collect(t, "other", 8)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(err error, flag string) {
		t.Helper()
		var m Misuse
		if !errors.As(err, &m) || !strings.Contains(err.Error(), "not what --"+flag+" holds now") {
			t.Errorf("with another %s: %v", flag, err)
		}
	}
	swap := func(a, b string) {
		t.Helper()
		must(errors.Join(os.Rename(a, "aside"), os.Rename(b, a), os.Rename("aside", b)))
	}
	ask, at := smallVAE("data", "a", 4, 4, 8), Site{Dir: "vae"}
	learn := func(ctx context.Context, l *Lab) error {
		_, err := l.PretrainVAE(ctx, ask, at)
		return err
	}
	first, second := halves(t, learn)
	first()
	swap("data", "other")
	refused(second(), "data")
	swap("data", "other")
	must(os.Rename("data", "moved"))
	ask.Data = "moved"
	must(second())

	at.Dir, ask.Seed = "vae2", 2
	must(second())
	infer := prepare.DefaultCVAE()
	infer.Data, infer.VAE, infer.Epochs = "moved", "vae", 4
	first, second = halves(t, func(ctx context.Context, l *Lab) error {
		_, err := l.PretrainCVAE(ctx, infer, Site{Dir: "cvae"})
		return err
	})
	first()
	swap("vae", "vae2")
	refused(second(), "vae")
	swap("vae", "vae2")
	must(os.Rename("vae", filepath.Join("moved", "vae")))
	infer.VAE = prepare.Folder(filepath.Join("moved", "vae"))
	must(second())
}

// Another build goes on only if it is told to.
func TestLearningGoesOnByTheSameBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	collect(t, "data", 7)
	ask, at := smallVAE("data", "a", 4, 4, 8), Site{Dir: "vae"}
	version := "test"
	first, second := halves(t, func(ctx context.Context, l *Lab) error {
		l.Version = version
		_, err := l.PretrainVAE(ctx, ask, at)
		return err
	})
	first()
	version = "other"
	err := second()
	for _, want := range []string{"hop test,", "hop other,", "--accept-build"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
	at.AcceptBuild = true
	if err := second(); err != nil {
		t.Error(err)
	}
	at.AcceptBuild = false
	if err := second(); err != nil {
		t.Errorf("the build that went on last: %v", err)
	}
}
