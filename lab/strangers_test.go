package lab

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
)

// Agents among strangers are scored as promised: every one of the split, or as many as were
// asked for, the hardest first; nobody does better than an exact best response but by luck, and
// random play gets 0.
func TestAgentsAreScoredAmongStrangers(t *testing.T) {
	l := &Lab{Reg: registry.New()}
	g, err := l.GameWith("staghunt", []string{"game.stags=2"})
	if err != nil {
		t.Fatal(err)
	}
	ask := prepare.DefaultAdapt()
	ask.Strangers, ask.Some, ask.Lives, ask.Steps, ask.Last, ask.Starts, ask.Seeds = "validation@1", 4, 2, 300, 200, 8, []uint64{1, 2}
	table, err := l.Adapt(t.Context(), ask, Site{Game: g, Runs: []string{"bandit", "random"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Strangers) != 2 || table.First != table.Strangers[0] || table.First.N != 4 || table.First.Of < 60 {
		t.Fatalf("%d agents among %d of %d", len(table.Strangers), table.First.N, table.First.Of)
	}
	for _, s := range table.Strangers {
		if !slices.IsSortedFunc(s.Rows, func(a, b adapted.Met) int {
			if a.Normalised < b.Normalised {
				return -1
			}
			return 1
		}) {
			t.Errorf("%s: the hardest are not first", s.Agent)
		}
		for _, r := range s.Rows {
			if s.Agent == "random" && r.Score != r.Random {
				t.Errorf("random play earns %v among %s, and as a reference %v", r.Score, r.Name, r.Random)
			}
			if want := 1 - (r.BestResponse-r.Score)/max(r.BestResponse-r.Random, s.Optimum/5); r.Normalised-want > 1e-9 || want-r.Normalised > 1e-9 {
				t.Errorf("%s among %s: normalised %v, want %v", s.Agent, r.Name, r.Normalised, want)
			}
		}
	}
	b, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var promised struct {
		Strangers map[string]any
	}
	if err := json.Unmarshal(b, &promised); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"split", "n", "median", "worst_decile", "below_random", "below_safe", "by_episode", "rows"} {
		if _, ok := promised.Strangers[key]; !ok {
			t.Errorf("--json has no strangers.%s", key)
		}
	}
	for split, says := range map[string]string{"exam": "train, validation or test", "test@2": "version 1"} {
		ask.Strangers = split
		_, err := l.Adapt(t.Context(), ask, Site{Game: g, Runs: []string{"random"}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a split called %s: %v", split, err)
		}
	}
}

// Every word that a text may hold is listed with its split: bots, things and which of several
// among them, whatever the game; those of the base are in all.
func TestAllWordsAreListed(t *testing.T) {
	l := &Lab{Reg: registry.New()}
	for _, name := range []string{"staghunt", "snowdrift", "coin", "foraging", "cleanup", "matrix"} {
		about, err := l.GameWith(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := about.Build()
		if err != nil {
			t.Fatal(err)
		}
		list, err := Words(g)
		if err != nil {
			t.Fatal(err)
		}
		splits := map[string][]string{} // of a word; in the dilemma tft is a bot, and tft(...) remembers episodes
		for _, w := range list {
			word, _, _ := strings.Cut(w.Text, "(")
			splits[word] = append(splits[word], w.Split)
			if base := w.Group == "base"; base != (w.Split == "all") || w.Split == "" || w.Doc == "" {
				t.Errorf("%s: %s of the group %s is in the split %q: %q", name, w.Text, w.Group, w.Split, w.Doc)
			}
		}
		all, err := Strangers(g, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			for _, word := range strings.FieldsFunc(s.Text, func(r rune) bool { return strings.ContainsRune("(),", r) }) {
				in := splits[word]
				if !slices.Contains(in, "all") && !slices.Contains(in, string(s.Split)) && !strings.ContainsAny(word[:1], ".0123456789") {
					t.Errorf("%s: %s of the split %s has the word %s, which is listed as one of %q", name, s.Text, s.Split, word, in)
				}
			}
		}
	}
}
