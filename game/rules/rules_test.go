package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// settings are what random settings of a game are drawn from.
var settings = map[string]map[string][]string{
	"staghunt": {
		"size": {"3", "4", "5", "6"}, "agents": {"2", "3", "4"}, "blocks": {"0", "1", "2", "5"}, "stags": {"0", "1", "2"}, "hares": {"1", "3"},
		"horizon": {"5", "20", "35"}, "stag_pays": {"10", "7"}, "hare_pays": {"1", "0.5"}, "view": {"0", "1", "2"},
		"end_after_first_catch": {"0", "1", "5"},
	},
	"snowdrift": {
		"size": {"3", "4", "6"}, "agents": {"2", "4"}, "blocks": {"0", "2"}, "drifts": {"1", "3"}, "horizon": {"5", "30"}, "pays": {"6", "5"},
		"cost": {"4", "3"}, "view": {"0", "1"},
	},
	"coin": {
		"size": {"2", "3", "5"}, "agents": {"2", "3"}, "horizon": {"5", "40", "250"}, "pays": {"1", "2"},
		"harm": {"2", "0.5"}, "take": {"action", "walk"},
		"pause": {"0", "1", "3"}, "view": {"0", "1"}, "wrap": {"false", "true"}, "hidden": {"false", "true"}, "memory": {"true", "false"},
		"grow": {"0", "0.05"}, "from": {"0", "2"}, "solid": {"false", "true"}, "least": {"0", "200"}, "stop": {"0", "0.5"},
	},
	"cleanup": {
		"size": {"5", "6"}, "agents": {"2", "3"}, "horizon": {"10", "40"}, "river": {"1", "2"}, "orchard": {"1", "3"},
		"pollution": {"0", "0.5", "1"},
		"growth":    {"0.05", "0.5", "1"}, "restoration": {"0", "0.1"}, "depletion": {"0.4", "0.9"}, "start": {"0", "0.5"},
		"reach": {"0", "1", "3"}, "pays": {"1", "3"}, "view": {"0", "3"}, "pooled": {"false", "true"},
	},
	"commons": {
		"size": {"2", "5", "8"}, "agents": {"2", "3"}, "horizon": {"10", "40"}, "apart": {"1", "3", "5"}, "growth": {"0.01", "0.1", "1"},
		"reach": {"0", "1", "3"}, "keep": {"0", "1", "2", "3"}, "pays": {"1", "3"}, "view": {"0", "2"}, "pooled": {"false", "true"},
	},
	"foraging": {
		"size": {"5", "6", "8"}, "agents": {"2", "3", "4"}, "food": {"1", "2", "4"}, "min_level": {"1", "2"}, "max_level": {"2", "3"},
		"coop": {"false", "true"}, "shared": {"false", "true"}, "horizon": {"10", "30"}, "view": {"0", "1"},
	},
	"tag": {
		"size": {"2", "4", "6"}, "blocks": {"0", "2"}, "predators": {"1", "2", "3"}, "prey": {"1", "2"}, "start": {"0", "3", "9"},
		"horizon": {"10", "30"}, "view": {"0", "1", "2"},
	},
	"matrix": {
		"matrix": {"pd", "staghunt", "chicken", "rps"}, "rounds": {"1", "10"}, "memory": {"true", "false"}, "time": {"true", "false"},
		"hidden": {"false", "true"},
	},
	"inmatrix": {
		"map": {"repeated", "dilemma", "small"}, "agents": {"2", "4"}, "pays": {"[4,0,2,2]", "[3,0,5,1]"}, "horizon": {"40", "150"},
		"least": {"1000", "50"}, "stop": {"0.1", "1"}, "view": {"0", "1", "3"}, "freeze": {"16", "1", "4"}, "away": {"5", "2"},
		"regrow": {"0.02", "0.3"}, "refill": {"true", "false"},
	},
	"cartpole": {"limit": {"5", "30", "500"}},
}

// open returns a game and its rules, with parameters set.
func open(t testing.TB, name string, sets ...string) (game.Game, *rules.Book) {
	t.Helper()
	g, block := build(t, name, sets...)
	return g, bookOf(t, g, block)
}

func build(t testing.TB, name string, sets ...string) (game.Game, spec.Game) {
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
	return g, block
}

func bookOf(t testing.TB, g game.Game, block spec.Game) *rules.Book {
	t.Helper()
	b, err := block.Rules(g.Spec())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every game of ours keeps to its rules, written down a second time, whatever its
// parameters are.
func TestGamesKeepToTheirRules(t *testing.T) {
	for _, name := range registry.New().PlainGames() {
		t.Run(name, func(t *testing.T) {
			r := rng.New(3).Child(name).Rand()
			for i := range 10 {
				var sets []string
				for _, path := range slices.Sorted(maps.Keys(settings[name])) {
					values := settings[name][path]
					sets = append(sets, path+"="+values[r.IntN(len(values))])
				}
				if slices.Contains(sets, "wrap=true") {
					sets = append(sets, "from=0") // walls do not wrap
				}
				if slices.Contains(sets, "pooled=true") {
					sets = append(sets, "view=0")
				}
				if slices.Contains(sets, "grow=0.05") {
					sets = append(sets, "pause=0")
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

// A game whose parameter is not what the spec says is found out, for every
// parameter of every game: by its Spec, by exact claims, or by what chance brings.
func TestEveryParameterCounts(t *testing.T) {
	// What is set besides, so that the parameter has something to change.
	besides := map[string][]string{
		"coin.agents": {"size=3"},
		"coin.least":  {"horizon=250", "stop=1"}, "coin.stop": {"horizon=250"}, "coin.grow": {"pause=0"},
		"foraging.min_level": {"agents=3"}, "snowdrift.size": {"drifts=3"},
		"inmatrix.least": {"stop=1"}, "inmatrix.stop": {"least=0", "stop=0"}, "inmatrix.regrow": {"map=small"}, "inmatrix.refill": {"map=small"},
		"inmatrix.pays": {"map=small"}, "inmatrix.freeze": {"map=small"}, "inmatrix.away": {"map=small"},
	}
	others := map[string]string{
		"staghunt.player_strength": "[1,2,3,4]", "staghunt.blocks": "2", "staghunt.size": "5", "foraging.size": "7", "foraging.max_level": "3",
		"foraging.min_level": "2", "foraging.food": "3", "foraging.agents": "3", "tag.blocks": "1", "cleanup.restoration": "0.2",
		"inmatrix.pays": "[3,0,5,1]",
	}
	for _, name := range registry.New().PlainGames() {
		_, plain := build(t, name)
		for _, f := range plain.Fields() {
			path := strings.TrimPrefix(f.Path, "game.")
			value := others[name+"."+path]
			for _, v := range settings[name][path] {
				if value == "" && v != f.Default {
					value = v
				}
			}
			if value == "" {
				t.Errorf("%s.%s: no value to try", name, path)
				continue
			}
			more := besides[name+"."+path]
			g, _ := build(t, name, append(slices.Clone(more), path+"="+value)...)
			_, said := build(t, name, more...)
			b := bookOf(t, g, said)
			b.Play(g, rng.New(1), 1200)
			f := b.Finding()
			if f.Status < check.Suspect || f.Module != "game" {
				t.Errorf("%s plays %s=%s, which its spec does not say: %v: %s", name, path, value, f.Status, f.Says)
			}
			t.Logf("%s.%s: %s", name, path, f.Says)
		}
	}
}

// Sentences say who did what, what came of it and what the rules say.
func TestSentences(t *testing.T) {
	for _, c := range []struct{ name, set, says string }{
		{"staghunt", "stag_pays=40", "who hunts a stag with one other, is paid 20; the rules say 5"},
		{"snowdrift", "cost=3", "who removes a drift alone, while 1 drift is removed in all, is paid 3; the rules say 2"},
		{"coin", "harm=1", "who takes no coin, while 1 other does, is paid -1; the rules say -2"},
	} {
		g, _ := build(t, c.name, c.set)
		_, said := build(t, c.name)
		b := bookOf(t, g, said)
		b.Play(g, rng.New(1), 2000)
		if f := b.Finding(); !strings.Contains(f.Says, c.says) || !strings.Contains(f.Next, "game/"+c.name+": State.Step") {
			t.Errorf("%s with %s: %q, want one with %q; next %q", c.name, c.set, f.Says, c.says, f.Next)
		}
	}
}

// Games from outside are not asked about, nor are parameters that are new here.
func TestUnknownRulesAreNotAskedAbout(t *testing.T) {
	g, block := build(t, "matrix")
	m, err := block.Map()
	if err != nil {
		t.Fatal(err)
	}
	_, err = rules.Open(g.Spec(), "chess", m, nil)
	if err == nil {
		t.Fatal("the rules of chess are known")
	}
	if f := rules.Unasked("chess", err); f.Status != check.NotAsked || !strings.Contains(f.Says, "chess") {
		t.Errorf("%v: %s", f.Status, f.Says)
	}
	m["tax"] = 1
	if _, err = rules.Open(g.Spec(), "matrix", m, rules.Matrix); err == nil {
		t.Error("a parameter that nobody knows is passed over")
	}
	delete(m, "tax")
	delete(m, "rounds")
	if _, err = rules.Open(g.Spec(), "matrix", m, rules.Matrix); err == nil {
		t.Error("a parameter that is missing is passed over")
	}
}

// So do games of many.
func TestGamesOfManyKeepToTheirRules(t *testing.T) {
	for name, sets := range map[string][]string{
		"staghunt": {"size=6", "blocks=1", "stags=4", "hares=12", "horizon=12"}, "snowdrift": {"size=6", "drifts=12", "horizon=12"},
		"coin": {"size=9", "grow=0.1", "pause=0", "horizon=12"}, "cleanup": {"growth=0.5", "horizon=12"},
		"commons":  {"growth=0.1", "horizon=12"},
		"foraging": {"size=9", "food=4", "horizon=12"}, "tag": {"size=6", "prey=3", "horizon=12"},
	} {
		for _, n := range []string{"16", "64"} {
			for _, view := range []string{"0", "1"} {
				seats := "agents=" + n
				if name == "tag" {
					seats = map[string]string{"16": "predators=13", "64": "predators=61"}[n]
				}
				g, b := open(t, name, append(sets, seats, "view="+view)...)
				b.Play(g, rng.New(1), 30)
				if f := b.Finding(); f.Status != check.Pass {
					t.Errorf("%s, %s seats, view %s: %v: %s\n%s", name, n, view, f.Status, f.Says, strings.Join(b.Wrong(), "\n"))
				}
			}
		}
	}
}
