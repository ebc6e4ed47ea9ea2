package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// library returns our registry with other presets, by name.
func library(presets map[string]string) *spec.Registry {
	reg, files := registry.New(), fstest.MapFS{}
	for name, text := range presets {
		files[name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	reg.Presets = files
	return reg
}

func load(t *testing.T, reg *spec.Registry, preset string, sets ...string) spec.Spec {
	t.Helper()
	s, err := reg.Load(preset, sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// paths returns the fields that differ.
func paths(list []config.Change) (out []string) {
	for _, c := range list {
		out = append(out, c.Path)
	}
	return out
}

func TestAVariantIsTheLinesThatDiffer(t *testing.T) {
	reg := library(map[string]string{
		"low": "name: thelow\nmind: hop\ngame: {size: 6, blocks: 3}\nppo: {lr: 1e-3, gamma: 0.9}\n" +
			"search: {trees: 3, sims: 7}\ngoals: {kind: none}",
		"mid":  "base: low\nppo: {lr: 2e-3}\nsearch: {trees: 4}",
		"high": "search: {sims: 9}\ngame: {blocks: 2}\nbase: mid", // the base comes first wherever it is written
	})
	low, mid, high := load(t, reg, "low"), load(t, reg, "mid"), load(t, reg, "high", "ppo.gamma=0.8")
	if got, want := paths(low.Diff(&mid)), []string{"name", "ppo.lr", "search.trees"}; !slices.Equal(got, want) {
		t.Errorf("mid differs from low in %v, want %v", got, want)
	}
	if got, want := paths(mid.Diff(&high)), []string{"game.blocks", "name", "ppo.gamma", "search.sims"}; !slices.Equal(got, want) {
		t.Errorf("high differs from mid in %v, want %v", got, want)
	}
	c, ok := spec.SettingsAs[*hop.Config](&high)
	if !ok || c.Search.Trees != 4 || c.Search.Sims != 9 || c.Goals.Kind != "none" || high.PPO.LR != 2e-3 || high.PPO.Gamma != 0.8 {
		t.Errorf("high is %+v with %+v", high.PPO, c)
	}
	if low.Name != "thelow" || high.Name != "high" {
		t.Errorf("the specs are called %s and %s: a base must not name its variant", low.Name, high.Name)
	}
}

func TestWrongBasesAreErrors(t *testing.T) {
	presets := map[string]string{
		"alone": "base: alone", "one": "ppo: {lr: 1e-3}\nbase: two", "two": "base: three", "three": "base: one",
		"lost": "name: x\nbase: fowr", "four": "base: [one]", "bad": "base: worse", "worse": "ppo: {lr: fast}",
		"twice": "base: worse\nbase: worse",
	}
	for i := range 12 {
		presets[fmt.Sprintf("deep%d", i)] = fmt.Sprintf("base: deep%d", i+1)
	}
	presets["deep12"] = "{}"
	reg := library(presets)
	for name, want := range map[string]string{
		"alone": "line 1: base is alone, want no circle: preset alone, preset alone",
		"one":   "no circle: preset one, preset two, preset three, preset one",
		"lost":  `line 2: base is fowr, want there is no preset`,
		"deep0": "at most 8 specs under each other",
		"bad":   `ppo.lr is "fast"`,
		"twice": "line 2: base is given twice",
		"four":  "line 1: base is",
	} {
		_, err := reg.Load(name, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if _, err := reg.Load("lost", nil); err == nil || !strings.Contains(err.Error(), "did you mean four?") {
		t.Errorf("an unknown base: %v, want a suggestion", err)
	}
	load(t, reg, "deep5") // eight are allowed
}

const staged = `
mind: hop
prepare:
  - {name: data, collect: {mix: [ns, nh]}}
  - {name: vae, pretrain vae: {data: "{data}"}}
  - {name: cvae, pretrain cvae: {data: "{data}", vae: "{vae}"}}
  - {name: moa, pretrain moa: {data: "{data}"}}
goals: {kind: latent}
models: {vae: "{vae}", cvae: "{cvae}"}
follow:
  - {name: adapt, adapt: {vs: [ns, nh, nh]}}
`

func TestStagesOfABase(t *testing.T) {
	reg := library(map[string]string{
		"full": staged,
		"same": "base: full\nmodels: {vae: \"{vae}\"}",
		"newer": "base: full\nprepare: [{name: vae, pretrain vae: {data: \"{data}\", model: {loss: b}}}, " +
			"{name: more, collect: {mix: [ns, ns]}}]",
		"second": "base: full\nfollow: [{name: adapt, adapt: {vs: [nh, nh, nh]}}, {name: other, adapt: {vs: [ns, ns, ns]}}]",
		"hand":   "base: full\ngoals: {kind: hand}\nmodels: {vae: \"\", cvae: \"\", moa: \"{moa}\"}",
		"plain":  "base: full\nmind: ppo",
		"grand":  "base: plain\nactor: {hidden: [8]}",
	})
	for _, c := range []struct{ preset, prepare, follow string }{
		{"full", "data vae cvae moa", "adapt"},
		{"same", "data vae cvae", "adapt"}, // nothing names moa
		{"newer", "data vae cvae more", "adapt"},
		{"second", "data vae cvae", "adapt other"},
		{"hand", "data moa", "adapt"},
		{"plain", "", "adapt"},
		{"grand", "", "adapt"},
	} {
		s := load(t, reg, c.preset)
		var prepare, follow []string
		for _, st := range s.Prepare {
			prepare = append(prepare, st.Name)
		}
		for _, st := range s.Follow {
			follow = append(follow, st.Name)
		}
		if got := strings.Join(prepare, " "); got != c.prepare {
			t.Errorf("%s prepares %q, want %q", c.preset, got, c.prepare)
		}
		if got := strings.Join(follow, " "); got != c.follow {
			t.Errorf("%s is followed by %q, want %q", c.preset, got, c.follow)
		}
	}
	newer, second := load(t, reg, "newer"), load(t, reg, "second")
	if got := newer.Prepare[1].String(); got != "pretrain vae: {data: '{data}', model: {loss: b}}" {
		t.Errorf("a stage of the same name does not take the base's place: %q", got)
	}
	if got := second.Follow[0].String(); got != "adapt: {vs: [nh, nh, nh]}" {
		t.Errorf("a following stage of the same name does not take the base's place: %q", got)
	}
	if _, err := reg.Parse([]byte("base: full\nprepare: [{name: vae, pretrain vae: {data: \"{dada}\"}}]"), "x.yaml", "x", nil); err == nil {
		t.Error("a stage that names none of the others was accepted")
	}
}

func TestAnotherGameOrMindStartsAfresh(t *testing.T) {
	reg := library(map[string]string{
		"low":    "mind: hop\ngame: {name: staghunt, size: 6, horizon: 21}\nsearch: {trees: 3}\nleaf: {kind: net}\nppo: {lr: 1e-3}",
		"same":   "base: low\nmind: hop\ngame: {name: staghunt, blocks: 0}",
		"game":   "base: low\ngame: {name: snowdrift}",
		"mind":   "base: low\nmind: ppo",
		"return": "base: mind\nmind: hop",
	})
	low := load(t, reg, "low")
	of := func(s spec.Spec, path string) string {
		for _, f := range s.Fields() {
			if f.Path == path {
				return f.Default
			}
		}
		return "no field"
	}
	fresh, err := reg.NewGame("snowdrift")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ preset, path, want string }{
		{"same", "game.size", "6"}, {"same", "game.horizon", "21"}, {"same", "search.trees", "3"}, {"same", "game.blocks", "0"},
		{"game", "search.trees", "3"}, {"game", "ppo.lr", of(low, "ppo.lr")}, {"game", "game.stags", "no field"},
		{"mind", "search.trees", "no field"}, {"mind", "game.size", "6"}, {"mind", "ppo.lr", of(low, "ppo.lr")},
		{"return", "search.trees", fmt.Sprint(hop.Default().Search.Trees)}, {"return", "game.size", "6"},
	} {
		if got := of(load(t, reg, c.preset), c.path); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.preset, c.path, got, c.want)
		}
	}
	if got := load(t, reg, "game").Game.Fields(); !slices.Equal(got, fresh.Fields()) {
		t.Errorf("another game keeps parameters of the base's: %v", got)
	}
}

func TestBlocksOfAnotherMindAreRefused(t *testing.T) {
	reg := registry.New()
	for _, c := range []struct{ text, set, want string }{
		{"mind: lola\nppo: {lr: 1e-3}\nsearch: {trees: 3}", "", "line 3: search is a block of mind hop, want none, because mind is lola"},
		{"base: hop-4x4\nmind: ppo\nown: search", "", "line 3: own is a block of mind hop, want none, because mind is ppo"},
		{"lola: {eta: 1}", "", "line 1: lola is a block of mind lola, want none, because mind is ppo"},
		{"mind: hop", "influence.weight=1", "influence is of mind influence, and mind is hop; set mind=influence first"},
		{"{}", "goals.kind=none", "--set goals.kind=none: goals is of mind hop, and mind is ppo; set mind=hop first"},
	} {
		var sets []string
		if c.set != "" {
			sets = []string{c.set}
		}
		if _, err := reg.Parse([]byte(c.text), "x.yaml", "x", sets); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with --set %q: got %v, want %q", c.text, c.set, err, c.want)
		}
	}
	s, err := reg.Parse([]byte("{}"), "x.yaml", "x", []string{"mind=lola", "lola.eta=0.5"})
	if err != nil || s.Mind.Name != "lola" {
		t.Errorf("a mind and then its fields: %v", err)
	}
}

func TestMistypedNamesAreSuggested(t *testing.T) {
	reg := registry.New()
	for _, c := range []struct{ text, set, want string }{
		{"mind: theirs", "", "lola, ppo, rl2; minds of another program, such as examples/baselines, need that program"},
		{"mind: hopp", "", "line 1: mind is hopp, want one of hop, influence, lola, ppo, rl2; did you mean hop?"},
		{"game: {name: staghnut}", "", "line 1: game.name is staghnut, want one of"},
		{"game: {name: staghnut}", "", "did you mean staghunt?"},
		{"game: {sise: 4}", "", "did you mean game.size?"},
		{"ppo: {gama: 1}", "", "did you mean ppo.gamma?"},
		{"pppo: {gamma: 1}", "", "line 1: pppo is not a field, want one of `hop list fields`; did you mean ppo?"},
		{"mind: hop\nserach: {trees: 3}", "", "line 2: serach is not a field, want one of `hop list fields`; did you mean search?"},
		{"mind: hop\nsearch: {tree: 3}", "", "did you mean search.trees?"},
		{"", "mind=influense", "did you mean influence?"},
		{"", "game.name=snowdritf", "did you mean snowdrift?"},
		{"", "ppo.gama=1", "did you mean ppo.gamma?"},
		{"", "pppo.gamma=1", "did you mean ppo.gamma?"},
		{"", "gamma=1", "did you mean ppo.gamma?"},
		{"mind: hop", "serach.trees=3", "did you mean search.trees?"},
		{"mind: hop", "search.tres=3", "did you mean search.trees?"},
		{"mind: hop", "trees=3", "did you mean search.trees?"},
		{"", "game.sise=3", "did you mean game.size?"},
	} {
		var sets []string
		if c.set != "" {
			sets = []string{c.set}
		}
		if _, err := reg.Parse([]byte(c.text), "x.yaml", "x", sets); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with --set %q: got %v, want %q", c.text, c.set, err, c.want)
		}
	}
	if _, err := reg.Load("pp-4x4", nil); err == nil || !strings.Contains(err.Error(), "did you mean ppo-4x4?") {
		t.Errorf("a mistyped preset: got %v", err)
	}
}

func TestDiffListsWhatDiffersAndOnlyThat(t *testing.T) {
	reg := registry.New()
	for _, name := range reg.PresetNames() {
		s, again := load(t, reg, name), load(t, reg, name)
		if d := s.Diff(&again); len(d) > 0 {
			t.Errorf("%s differs from itself in %v", name, d)
		}
	}
	a := load(t, reg, "ppo-4x4")
	b := load(t, reg, "ppo-4x4", "ppo.gamma=0.5", "game.stags=2", "mind=lola", "lola.eta=0.25", "name=it")
	want := []config.Change{{Path: "game.stags", A: "1", B: "2"}, {Path: "mind", A: "ppo", B: "lola"}, {Path: "name", A: "ppo-4x4", B: "it"},
		{Path: "ppo.gamma", A: "0.99", B: "0.5"}, {Path: "lola.eta", A: "", B: "0.25"}}
	if got := a.Diff(&b); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// laughs returns a value that is ten of a value, each ten of another, nine deep.
func laughs(value string) string {
	for i := range 9 {
		value = fmt.Sprintf("[&l%d %s%s]", i, value, strings.Repeat(fmt.Sprintf(", *l%d", i), 9))
	}
	return value
}

func TestASpecIsOneDocument(t *testing.T) {
	reg := registry.New()
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "is empty"},
		{"only a comment", "# nothing\n", "is empty"},
		{"a second document", "name: a\n---\nname: b\n", "second document"},
		{"a second game", "game: {size: 4}\ngame: {size: 8}\n", "given twice"},
		{"rubbish after the document", "name: a\n...\n}\n", "not YAML"},
		{"a name that leaves the folder", "name: ../x\n", "a name that folders can have"},
		{"a name that is a path", "name: a/b\n", "a name that folders can have"},
		{"a hidden name", "name: .x\n", "a name that folders can have"},
		{"two million entries", "train: {team: [" + strings.Repeat("a,", 2_000_000) + "]}\n", "at most"},
		{"as many entries as fit", "actor: {hidden: [" + strings.Repeat("8,", 30_000) + "]}\n", "actor.hidden"},
		{"as many fields as fit", "game:\n" + strings.Repeat(" a: 1\n", 9_000), "game.a"},
		{"a billion laughs in a list", "actor: {hidden: " + laughs("[8]") + "}\n", "actor.hidden"},
		{"a billion laughs in a game", "game: {layout: " + laughs("[a]") + "}\n", "game.layout"},
		{"a billion laughs that are merged", "x: &l {a: 1}\ngame:\n <<: [" + strings.Repeat("*l,", 20_000) + "]\n", "game.<<"},
		{"a value that holds itself", "actor: {hidden: &l [*l]}\n", "actor.hidden"},
		{"deep lists", "actor: {hidden: " + strings.Repeat("[", 60_000) + "}\n", "not YAML"},
		{"deep lists that end", "actor: {hidden: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}\n", "actor.hidden"},
		{"deep blocks", "game: " + strings.Repeat("{a: ", 15_000) + "\n", "not YAML"},
	} {
		start := cpu.Start() // processor time: other tests may be busy
		_, err := reg.Parse([]byte(c.text), "s.yaml", "s", nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "s.yaml") {
			t.Errorf("%s: error %v, want one in s.yaml with %q", c.name, err, c.want)
		}
		if spent, _ := start.Spent(); spent > 1 {
			t.Errorf("%s: refused after %.1f s", c.name, spent)
		}
	}
	huge := filepath.Join(t.TempDir(), "huge.yaml")
	if err := os.WriteFile(huge, []byte("name: a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 100_000_000); err != nil {
		t.Fatal(err)
	}
	if _, err := reg.Load(huge, nil); err == nil || !strings.Contains(err.Error(), huge+" ") || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a spec of 100 MB: error %v", err)
	}
	for _, name := range []string{"hop+8x8", "my run (2)", "lauf-ä", "a..b", "x"} {
		if _, err := reg.Parse([]byte("name: \""+name+"\"\n"), "s.yaml", "s", nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
