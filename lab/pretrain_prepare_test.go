package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	c := Collect{Game: "staghunt", Set: []string{"game.size=4"}, Mix: []string{"ns", "nh"}, Rows: 600, Seed: seed, Out: dir}
	if _, _, err := c.Do(t.Context(), l); err != nil {
		t.Fatal(err)
	}
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
	ask := VAE{Data: "data", Loss: "a", Dim: 4, Set: []string{"epochs=4", "model.hidden=[8]"}, Common: Common{Out: "vae", Seed: 1}}
	learn := func(ctx context.Context, l *Lab) error {
		_, err := ask.Do(ctx, l)
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

	ask.Out, ask.Seed = "vae2", 2
	must(second())
	infer := CVAE{Data: "moved", VAE: "vae", Selector: "optimistic", Gate: -1, Set: []string{"epochs=4"}, Common: Common{Out: "cvae", Seed: 1}}
	first, second = halves(t, func(ctx context.Context, l *Lab) error {
		_, err := infer.Do(ctx, l)
		return err
	})
	first()
	swap("vae", "vae2")
	refused(second(), "vae")
	swap("vae", "vae2")
	must(os.Rename("vae", filepath.Join("moved", "vae")))
	infer.VAE = filepath.Join("moved", "vae")
	must(second())
}

// Another build goes on only if it is told to.
func TestLearningGoesOnByTheSameBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	collect(t, "data", 7)
	ask := VAE{Data: "data", Loss: "a", Dim: 4, Set: []string{"epochs=4", "model.hidden=[8]"}, Common: Common{Out: "vae", Seed: 1}}
	version := "test"
	first, second := halves(t, func(ctx context.Context, l *Lab) error {
		l.Version = version
		_, err := ask.Do(ctx, l)
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
	ask.AcceptBuild = true
	if err := second(); err != nil {
		t.Error(err)
	}
	ask.AcceptBuild = false
	if err := second(); err != nil {
		t.Errorf("the build that went on last: %v", err)
	}
}
