package exp

import (
	"slices"
	"strings"
	"testing"
)

// Flags and back gives the same game, for every game and every preset.
func TestFlagsNameTheSameGame(t *testing.T) {
	for _, preset := range Presets() {
		spec, err := Load(preset, nil)
		if err != nil {
			t.Fatal(err)
		}
		flags, err := spec.Game.Flags()
		if err != nil {
			t.Fatal(err)
		}
		back, err := NewGame(flags[1])
		if err != nil {
			t.Fatal(err)
		}
		for i := 3; i < len(flags); i += 2 {
			path, value, _ := strings.Cut(strings.TrimPrefix(flags[i], "game."), "=")
			if err := back.Set(path, value); err != nil {
				t.Fatalf("%s: %v: %v", preset, flags, err)
			}
		}
		if got, want := back.Fields(), spec.Game.Fields(); !slices.Equal(got, want) {
			t.Errorf("%s: %v make\n%v, want\n%v", preset, flags, got, want)
		}
	}
}
