package registry_test

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/search/truth"
	"github.com/hop-marl/hop/train/registry"
)

// A built game brings along what its entry knows; where parameters do not fit the rules made for
// search, search plays the game's own.
func TestBuiltGamesBringAlongWhatTheirEntriesKnow(t *testing.T) {
	for _, c := range []struct {
		name, field, value   string
		fast, solved, chance bool
	}{
		{"staghunt", "size", "8", true, true, false},
		{"staghunt", "view", "1", false, true, false},
		{"coin", "pause", "1", false, false, true},
		{"cleanup", "reach", "1", false, false, true},
		{"commons", "reach", "1", false, false, true},
		{"tag", "start", "2", false, false, true},
		{"snowdrift", "size", "5", false, true, false},
	} {
		s, err := registry.New().NewGame(c.name)
		if err == nil {
			err = s.Set(c.field, c.value)
		}
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.Build()
		if err != nil {
			t.Fatal(err)
		}
		draws, known := game.As[rules.Chance](g)
		known = known && draws() != nil
		if fast, solved := truth.FastOf(g) != nil, oracle.Solvable(g, nil) == nil; fast != c.fast || solved != c.solved || known != c.chance {
			t.Errorf("%s with %s=%s: rules for search %v, best responses %v, draws %v; want %v, %v, %v", c.name, c.field, c.value, fast, solved,
				known, c.fast, c.solved, c.chance)
		}
	}
}
