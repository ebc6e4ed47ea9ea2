package spec_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// Flags and back gives the same game, for every preset and for every parameter of
// every game.
func TestFlagsNameTheSameGame(t *testing.T) {
	same := func(what string, g spec.Game) {
		t.Helper()
		flags, err := g.Flags()
		if err != nil {
			t.Fatal(err)
		}
		back, err := registry.New().NewGame(flags[1])
		if err != nil {
			t.Fatal(err)
		}
		for i := 3; i < len(flags); i += 2 {
			path, value, _ := strings.Cut(strings.TrimPrefix(flags[i], "game."), "=")
			if err := back.Set(path, value); err != nil {
				t.Fatalf("%s: %v: %v", what, flags, err)
			}
		}
		if got, want := back.Fields(), g.Fields(); !slices.Equal(got, want) {
			t.Errorf("%s: %v make\n%v, want\n%v", what, flags, got, want)
		}
	}
	for _, preset := range registry.New().PresetNames() {
		sp, err := registry.New().Load(preset, nil)
		if err != nil {
			t.Fatal(err)
		}
		same(preset, sp.Game)
	}
	changed := 0
	for _, name := range registry.New().PlainGames() {
		plain, err := registry.New().NewGame(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range plain.Fields() {
			path := strings.TrimPrefix(f.Path, "game.")
			for _, value := range []string{"walk", "3", "0.25", "true", "false", "[2,1,1,1]"} {
				g, err := registry.New().NewGame(name)
				if err != nil {
					t.Fatal(err)
				}
				if g.Set(path, value) != nil || g.Fields()[i].Default == f.Default {
					continue
				}
				same(name+" with "+f.Path+"="+value, g)
				changed++
				break
			}
		}
	}
	if changed < 30 {
		t.Errorf("%d parameters were changed: the test saw too little", changed)
	}
}
