package report

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/train/registry"
)

// spoil may change a number, by name, agent and window, or leave it out.
type spoil func(name string, agent, window int, v float64) (float64, bool)

// set writes a number of one agent, or of all (-1), in its place.
func set(of string, agent int, x float64) spoil {
	return func(name string, a, _ int, v float64) (float64, bool) {
		if strings.HasSuffix(name, of) && (agent < 0 || a == agent) {
			return x, true
		}
		return v, true
	}
}

// know adds models of others to a hand-made run: every agent of every other one,
// of 10 windows; change may spoil a number, by name, agent and window.
func know(t *testing.T, dir string, change spoil) {
	t.Helper()
	path := filepath.Join(dir, "metrics.csv")
	var m strings.Builder
	m.WriteString(load(t, path))
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
	put(t, path, m.String())
}

func knowing(t *testing.T, change spoil) (*othersView, string, string) {
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
	if v.Card.Status() != check.Pass {
		t.Errorf("verdict %q, want good", v.Card.Verdict())
	}
	if len(v.Pairs) != 12 {
		t.Fatalf("%d pairs, want 12: each agent of every other one", len(v.Pairs))
	}
	p := v.Pairs[0]
	if p.Of != 0 || p.About != 1 || p.Rows != 600 || p.Top1 < 0.739 || p.Top1 > 0.741 || p.Over < 0.049 || p.Over > 0.051 {
		t.Errorf("first pair %+v, want agent 0 of agent 1 on 600 rows, top-1 .74, too sure by .05: windows 9 and 10 of three seeds", p)
	}
	says(t, "the page", html, "What they know of each other", "good: all 8 checks pass", "hunt hare")
	says(t, "the text", md, "What they know of each other", "good: all 8 checks pass", "hunt hare")
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
	if v.Card.Status() != check.Pass {
		t.Errorf("verdict %q, want good", v.Card.Verdict())
	}
}

func TestFaultsOfOnlineModelsAreNamed(t *testing.T) {
	for _, c := range []struct {
		fault, check, word string
		change             spoil
	}{
		{"softmax twice", "softmax once", "floor 0.900; right on 74 %, sure of 40 %", func(name string, a, w int, v float64) (float64, bool) {
			if name == "moa/ce" {
				return max(v, 0.95), true
			}
			return set("moa/sure", -1, 0.4)(name, a, w, v)
		}},
		{"not in the optimiser", "every part learns", "seed 1 agent 2: 4 parts", set("moa/still", 2, 4)},
		{"rows of those who left", "agents that have left", "agent 0: 70 rows", set("moa/dead", -1, 7)},
		{"joint actions in seat order", "joint actions are ego-first", "seed 1 agent 3: 40 rows", set("moa/wrong", 3, 4)},
		{"never loaded", "keeps what it has learnt", "agent 1: 3 times", func(name string, a, w int, v float64) (float64, bool) {
			if name == "moa/ce" && a == 1 && w%3 == 0 && w > 0 {
				return 1.4, true
			}
			return v, true
		}},
		{"only the first agent", "every agent's models learn", "seed 1 agent 1; seed 1 agent 2",
			func(_ string, a, _ int, v float64) (float64, bool) { return v, a == 0 }},
		{"one co-player unseen", "every agent's models learn", "seed 1 agent 0 of agent 3",
			func(name string, _, _ int, v float64) (float64, bool) {
				if strings.HasPrefix(name, "others/3/") {
					return 0, name == "others/3/rows"
				}
				return v, true
			}},
		{"a collapsed class", "no action is lost", "agent 0 of agent 1: up 0.00", set("recall/up", -1, 0)},
	} {
		t.Run(c.fault, func(t *testing.T) {
			v, html, _ := knowing(t, c.change)
			k := v.Card.Find(c.check)
			if k == nil || k.Status != check.Fault || !strings.Contains(k.Says, c.word) {
				t.Errorf("check %q says %+v, want broken with %q", c.check, k, c.word)
			}
			says(t, "the page", html, "Models of others: broken")
		})
	}
}

// Models that have not come to the last fifth of training are not called good.
func TestModelsOfOthersAreScoredAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, tiny{seed: 1, status: "running", windows: 10, mean: math.NaN()})
	know(t, dir, func(_ string, _, w int, v float64) (float64, bool) { return v, w < 6 })
	g, err := read(registry.New(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if v := g.others(); v == nil || v.Card != nil {
		t.Errorf("they are said to be %+v", v)
	}
	page, text := rendered(t, dir, Options{})
	for _, doc := range []string{page, text} {
		says(t, "the report", doc, "no run has come to it yet")
	}
}

// What models of others know of strangers is drawn by kind, with its start and its limit,
// and not once more among the metrics; runs that were not scored have no such figure.
func TestWhatTheyForgetIsDrawn(t *testing.T) {
	dir := good(t)
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprintf("seed-%d", i+1), "metrics.csv")
		var m strings.Builder
		m.WriteString(load(t, path))
		for w := range 10 {
			for a := range 4 {
				for _, kind := range []string{"ns", "runs/a/seed-1#0", "all"} {
					for name, v := range map[string]float64{"top1": 0.8 - 0.05*float64(w), "ce": 1, "start": 0.8, "limit": 0.9} {
						fmt.Fprintf(&m, "%d,moa/strangers/%s/%s,%d,%v,%d\n", 1000*(w+1), kind, name, a, v, 200)
					}
				}
			}
		}
		put(t, path, m.String())
	}
	g, err := read(registry.New(), dir)
	if err != nil {
		t.Fatal(err)
	}
	titles := ""
	for _, f := range g.figures() {
		for _, p := range f.Panels {
			if strings.Contains(p.Title, "strangers/") {
				t.Errorf("%s is drawn in the figure %s", p.Title, f.Name)
			}
			if f.Name == "strangers" {
				titles += p.Title + "; "
			}
		}
	}
	if want := "ns: top-1; runs/a/seed-1#0: top-1; all kinds together: top-1; "; titles != want {
		t.Errorf("the figure has the panels %q, want %q", titles, want)
	}
	if b, err := g.document(Options{}).Page(); err != nil || !strings.Contains(string(b), "Does the model of others forget?") {
		t.Errorf("the page does not ask whether models forget: %v", err)
	}
	if g, err = read(registry.New(), good(t)); err != nil || figures(g.figures()).Figure("strangers") != nil {
		t.Errorf("a run that was not scored on strangers has the figure, %v", err)
	}
}
