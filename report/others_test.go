package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hop/card"
	"hop/registry"
)

// know adds models of others to a hand-made run: every agent of every other one,
// of 10 windows; change may spoil a number, by name, agent and window.
func know(t *testing.T, dir string, change func(name string, agent, window int, v float64) (float64, bool)) {
	t.Helper()
	path := filepath.Join(dir, "metrics.csv")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m strings.Builder
	m.Write(b)
	for w := range 10 {
		for a := range 4 {
			put := func(name string, v float64, n int) {
				keep := true
				if change != nil {
					v, keep = change(name, a, w, v)
				}
				if keep {
					fmt.Fprintf(&m, "%d,%s,%d,%v,%d\n", 1000*(w+1), name, a, v, n)
				}
			}
			put("moa/top1", 0.4+0.04*float64(w), 300)
			put("moa/ce", 1.4-0.1*float64(w), 300)
			put("moa/sure", 0.4+0.04*float64(w), 300)
			put("moa/uniform", 0.25, 300)
			put("moa/floor", 0.9, 300)
			put("moa/dead", 0, 300)
			put("moa/wrong", 0, 300)
			put("moa/still", 0, 300)
			for j := range 4 {
				if j == a {
					continue
				}
				at := fmt.Sprintf("others/%d/", j)
				put(at+"rows", 100, 100)
				put(at+"top1", 0.4+0.04*float64(w), 100)
				put(at+"ce", 1.4-0.1*float64(w), 100)
				put(at+"ece", 0.03, 100)
				put(at+"sure", 0.45+0.04*float64(w), 100)
				put(at+"recall/up", 0.5, 50)
				put(at+"recall/stay", 0.8, 49)
				put(at+"recall/hunt hare", 0, 1) // too seldom to be called lost
			}
		}
	}
	if err := os.WriteFile(path, []byte(m.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func knowing(t *testing.T, change func(name string, agent, window int, v float64) (float64, bool)) (*othersView, string, string) {
	t.Helper()
	dir := good(t)
	for i := range 3 {
		know(t, filepath.Join(dir, fmt.Sprintf("seed-%d", i+1)), change)
	}
	g, err := read(registry.New(), dir)
	if err != nil {
		t.Fatal(err)
	}
	html, md := rendered(t, dir, Options{})
	return g.others(), html, md
}

func TestModelsOfOthersHaveACard(t *testing.T) {
	v, html, md := knowing(t, nil)
	if v.Card.Status() != card.Good {
		t.Errorf("verdict %q, want good", v.Card.Verdict())
	}
	if len(v.Pairs) != 12 {
		t.Fatalf("%d pairs, want 12: each agent of every other one", len(v.Pairs))
	}
	p := v.Pairs[0]
	if p.Of != 0 || p.About != 1 || p.Rows != 600 || p.Top1 < 0.739 || p.Top1 > 0.741 || p.Over < 0.049 || p.Over > 0.051 {
		t.Errorf("first pair %+v, want agent 0 of agent 1 on 600 rows, top-1 .74, too sure by .05: windows 9 and 10 of three seeds", p)
	}
	for _, want := range []string{"What they know of each other", "good: all 8 checks pass", "hunt hare"} {
		if !strings.Contains(html, want) || !strings.Contains(md, want) {
			t.Errorf("the page or the text does not say %q", want)
		}
	}
	if strings.Contains(html, "Module others") {
		t.Error("pairs' numbers are drawn twice")
	}
}

func TestRunsWithoutModelsOfOthersSayNothingOfThem(t *testing.T) {
	html, md := rendered(t, good(t), Options{})
	if strings.Contains(html, "know of each other") || strings.Contains(md, "know of each other") {
		t.Error("the report speaks of models that are not there")
	}
}

// Whoever acts at random cannot be foreseen: a high cross-entropy alone is no fault.
func TestHardToForeseeIsNoFault(t *testing.T) {
	v, _, _ := knowing(t, func(name string, a, w int, v float64) (float64, bool) {
		if name == "moa/ce" {
			return max(v, 1.1), true
		}
		return v, true
	})
	if v.Card.Status() != card.Good {
		t.Errorf("verdict %q, want good", v.Card.Verdict())
	}
}

func TestFaultsOfOnlineModelsAreNamed(t *testing.T) {
	for _, c := range []struct {
		fault, check, word string
		change             func(name string, a, w int, v float64) (float64, bool)
	}{
		{"softmax twice", "softmax once", "floor 0.900; right on 74 %, sure of 40 %", func(name string, a, w int, v float64) (float64, bool) {
			switch name {
			case "moa/ce":
				return max(v, 0.95), true
			case "moa/sure":
				return 0.4, true
			}
			return v, true
		}},
		{"not in the optimiser", "every part learns", "seed 1 agent 2: 4 parts", func(name string, a, w int, v float64) (float64, bool) {
			if name == "moa/still" && a == 2 {
				return 4, true
			}
			return v, true
		}},
		{"rows of those who left", "agents that have left", "agent 0: 70 rows", func(name string, a, w int, v float64) (float64, bool) {
			if name == "moa/dead" {
				return 7, true
			}
			return v, true
		}},
		{"joint actions in seat order", "joint actions are ego-first", "seed 1 agent 3: 40 rows", func(name string, a, w int,
			v float64) (float64, bool) {
			if name == "moa/wrong" && a == 3 {
				return 4, true
			}
			return v, true
		}},
		{"never loaded", "keeps what it has learnt", "agent 1: 3 times", func(name string, a, w int, v float64) (float64, bool) {
			if name == "moa/ce" && a == 1 && w%3 == 0 && w > 0 {
				return 1.4, true
			}
			return v, true
		}},
		{"only the first agent", "every agent's models learn", "seed 1 agent 1; seed 1 agent 2", func(name string, a, w int,
			v float64) (float64, bool) {
			return v, a == 0
		}},
		{"one co-player unseen", "every agent's models learn", "seed 1 agent 0 of agent 3", func(name string, a, w int,
			v float64) (float64, bool) {
			if strings.HasPrefix(name, "others/3/") {
				return 0, name == "others/3/rows"
			}
			return v, true
		}},
		{"a collapsed class", "no action is lost", "agent 0 of agent 1: up 0.00", func(name string, a, w int, v float64) (float64, bool) {
			if strings.HasSuffix(name, "recall/up") {
				return 0, true
			}
			return v, true
		}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			v, html, _ := knowing(t, c.change)
			k := v.Card.Find(c.check)
			if k == nil || k.Status != card.Broken || !strings.Contains(k.Why, c.word) {
				t.Errorf("check %q says %+v, want broken with %q", c.check, k, c.word)
			}
			if !strings.Contains(html, "Models of others: broken") {
				t.Error("the page does not say broken")
			}
		})
	}
}
