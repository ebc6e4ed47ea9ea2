package lab

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
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
	g, err := l.GameWith("staghunt", []string{"game.horizon=12", "game.stags=2"})
	if err != nil {
		t.Fatal(err)
	}
	ask := prepare.DefaultAdapt()
	ask.Strangers, ask.Some, ask.Lives, ask.Steps, ask.Last, ask.Starts, ask.Seeds = "validation@1", 3, 2, 300, 200, 1, []uint64{1}
	table, err := l.Adapt(t.Context(), ask, Site{Game: g, Runs: []string{"bandit", "random"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Strangers) != 2 || table.First != table.Strangers[0] || table.First.N != 3 || table.First.Of < 60 {
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
			team := strings.Join([]string{s.Agent, r.Name, r.Name, r.Name}, ",")
			if want := "hop play --game staghunt --set game.horizon=12 --set game.stags=2 --team '" + team + "'"; r.Watch != want {
				t.Errorf("to be watched by %s, want %s", r.Watch, want)
			}
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
	ask.LeaveOut, ask.Lives, ask.Starts, ask.Seeds = []string{"ns", "nh", "first", "random", "stag", "lazy", "tft"}, 1, 1, []uint64{1}
	if table, err = l.Adapt(t.Context(), ask, Site{Game: g, Runs: []string{"random"}}); err != nil {
		t.Fatal(err)
	}
	if s := table.First; s.N == 0 || s.N > 3 || s.Of < 60 || len(s.LeftOut) != 7 {
		t.Errorf("without most words: %d of %d, without %v", s.N, s.Of, s.LeftOut)
	}
	ask.LeaveOut = nil
	ask.Some, ask.Steps, ask.Last = 6, 48, 36
	if table, err = l.Adapt(t.Context(), ask, Site{Game: g, Runs: []string{"br", "random"}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range table.Strangers { // br knows no answer to those that remember: the others are scored, for both agents
		if len(s.Unsolved) == 0 || s.N != 6-len(s.Unsolved) || len(s.Rows) != s.N || s.Exact != s.N {
			t.Errorf("%s is scored among %d, %d exactly; left out: %+v", s.Agent, len(s.Rows), s.Exact, s.Unsolved)
		}
		for _, u := range s.Unsolved {
			if !strings.Contains(u.Why, "no closed policy") || !strings.Contains(table.Text(), "Nobody meets "+u.Name+", since br") {
				t.Errorf("%s is left out: %s\n%s", u.Name, u.Why, table.Text())
			}
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
	for _, name := range []string{"staghunt", "snowdrift", "coin", "foraging", "cleanup", "commons", "matrix", "tag"} {
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
		all, err := Strangers(g, "", nil)
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

// What learnt against some co-players is kept: the same who are called otherwise get the same
// weights without a step more, and others get others.
func TestBestResponsesAreLearntOnce(t *testing.T) {
	cache := t.TempDir()
	for _, where := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(where, cache)
	}
	l := &Lab{Reg: registry.New()}
	of, err := l.GameWith("staghunt", []string{"game.horizon=8"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := of.Build()
	if err != nil {
		t.Fatal(err)
	}
	kept := func() (list []string) {
		if err := filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
			if strings.HasSuffix(path, "result.json") {
				info, err := d.Info()
				if err != nil {
					return err
				}
				list = append(list, fmt.Sprint(path, info.ModTime()))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	var first []string
	for i, vs := range [][]string{{"wsls", "flee", "nh"}, {"wsls(ns,nh)", "flee", "nh"}, {"wsls", "flee", "ns"}} {
		m, err := l.learnt(t.Context(), of, g, vs, 4096)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name != learntName {
			t.Errorf("it is called %s", m.Name)
		}
		now := kept()
		switch i {
		case 0:
			first = now
		case 1:
			if !slices.Equal(now, first) {
				t.Errorf("the same co-players: learnt again, %v beside %v", now, first)
			}
		case 2:
			if len(now) != 2 {
				t.Errorf("other co-players: %v is kept", now)
			}
		}
	}
}

// Of co-players with many states fewer starts are solved, so that each costs the same.
func TestLargeStartsAreFew(t *testing.T) {
	l := &Lab{Reg: registry.New()}
	of, err := l.GameWith("staghunt", []string{"game.stags=2"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := of.Build()
	if err != nil {
		t.Fatal(err)
	}
	c := &adapting{Lab: l, Adapt: prepare.DefaultAdapt(), turns: make(chan struct{}, 1)}
	for text, want := range map[string]struct {
		exact bool
		least int
		most  int
	}{"go(stag)": {true, 128, 128}, "if(waits(stag),go(stag,last,nh),go(hare,last,random))": {true, 8, 100}, "noisy(nh)": {false, 0, 0}} {
		p := part{vs: []string{text, text, text}}
		if err := c.closed(t.Context(), g, &p); err != nil {
			t.Fatal(err)
		}
		if p.exact != want.exact || p.starts < want.least || p.starts > want.most {
			t.Errorf("%s: exact %v, %d starts; want %v", text, p.exact, p.starts, want)
		}
	}
}
