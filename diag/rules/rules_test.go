package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"hop/check"
	"hop/diag/rules"
	"hop/exp"
	"hop/game"
	"hop/registry"
	"hop/rng"
)

// settings are what random settings of a game are drawn from.
var settings = map[string]map[string][]string{
	"staghunt": {
		"size": {"3", "4", "5", "6"}, "agents": {"2", "3", "4"}, "blocks": {"0", "1", "2", "5"}, "stags": {"0", "1", "2"}, "hares": {"1", "3"},
		"horizon": {"5", "20", "35"}, "stag_pays": {"10", "7"}, "hare_pays": {"1", "0.5"}, "end_after_first_catch": {"0", "1", "5"},
	},
	"snowdrift": {
		"size": {"3", "4", "6"}, "agents": {"2", "4"}, "blocks": {"0", "2"}, "drifts": {"1", "3"}, "horizon": {"5", "30"}, "pays": {"6", "5"},
		"cost": {"4", "3"},
	},
	"coin": {
		"size": {"2", "3", "5"}, "agents": {"2", "3"}, "horizon": {"5", "40"}, "pays": {"1", "2"},
		"harm": {"2", "0.5"}, "take": {"action", "walk"},
		"pause": {"0", "1", "3"},
	},
	"cleanup": {
		"size": {"5", "6"}, "agents": {"2", "3"}, "horizon": {"10", "40"}, "river": {"1", "2"}, "orchard": {"1", "3"},
		"pollution": {"0", "0.5", "1"},
		"growth":    {"0.05", "0.5", "1"}, "restoration": {"0", "0.1"}, "depletion": {"0.4", "0.9"}, "start": {"0", "0.5"},
		"reach": {"0", "1", "3"}, "pays": {"1", "3"},
	},
	"foraging": {
		"size": {"5", "6", "8"}, "agents": {"2", "3", "4"}, "food": {"1", "2", "4"}, "min_level": {"1", "2"}, "max_level": {"2", "3"},
		"coop": {"false", "true"}, "shared": {"false", "true"}, "horizon": {"10", "30"},
	},
	"tag": {
		"size": {"2", "4", "6"}, "blocks": {"0", "2"}, "predators": {"1", "2", "3"}, "prey": {"1", "2"}, "start": {"0", "3", "9"},
		"horizon": {"10", "30"},
	},
	"matrix": {
		"matrix": {"pd", "staghunt", "chicken", "rps"}, "rounds": {"1", "10"}, "memory": {"true", "false"}, "time": {"true", "false"},
	},
	"cartpole": {"limit": {"5", "30", "500"}},
}

// open returns a game and its rules, with parameters set.
func open(t testing.TB, name string, sets ...string) (game.Game, *rules.Book) {
	t.Helper()
	block, err := registry.New().NewGame(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		path, value, _ := strings.Cut(set, "=")
		if err := block.Set(path, value); err != nil {
			t.Fatal(err)
		}
	}
	g, err := block.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g, bookOf(t, g, block)
}

func bookOf(t testing.TB, g game.Game, block exp.Game) *rules.Book {
	t.Helper()
	m, err := block.Map()
	if err != nil {
		t.Fatal(err)
	}
	b, err := rules.Open(g.Spec(), block.Name, m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every game of ours keeps to its rules, written down a second time, whatever its
// parameters are.
func TestGamesKeepToTheirRules(t *testing.T) {
	for _, name := range registry.New().GameNames() {
		t.Run(name, func(t *testing.T) {
			r := rng.New(3).Child(name).Rand()
			for i := range 10 {
				var sets []string
				for _, path := range slices.Sorted(maps.Keys(settings[name])) {
					values := settings[name][path]
					sets = append(sets, path+"="+values[r.IntN(len(values))])
				}
				g, b := open(t, name, sets...)
				b.Play(g, rng.New(uint64(i)), 600)
				if f := b.Finding(); f.Status != check.Pass {
					t.Errorf("%v: %v: %s\n%s", sets, f.Status, f.Says, strings.Join(b.Wrong(), "\n"))
				}
			}
			g, b := open(t, name)
			b.Play(g, rng.New(1), 2000)
			if f := b.Finding(); f.Status != check.Pass || f.Rows < 2000 {
				t.Errorf("%v: %s", f.Status, f.Says)
			}
		})
	}
}
