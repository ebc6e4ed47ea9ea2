package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"

	"example.org/outside/weaklink"
)

// counted counts the models that are made for searches.
type counted struct {
	weaklink.Fast
	made *atomic.Int32
}

func (c counted) Model(g game.Game, to truth.For) (truth.Model, error) {
	c.made.Add(1)
	return c.Fast.Model(g, to)
}

// finding returns what an audit found out by a check.
func finding(t *testing.T, r *audit.Result, name string) check.Finding {
	t.Helper()
	i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Check == name })
	if i < 0 {
		t.Fatalf("the audit did not ask whether %s", name)
	}
	return r.Findings[i]
}

// HOP searches a game from outside on the rules that its entry names, and is audited down to the
// leaves of its trees, as in hop's own games.
func TestPlannersSearchOnTheRulesThatTheEntryNames(t *testing.T) {
	var made atomic.Int32
	reg := all()
	params, err := reg.NewGame("weaklink")
	if err != nil {
		t.Fatal(err)
	}
	g, err := params.Build()
	if err != nil {
		t.Fatal(err)
	}
	if truth.FastOf(g) != (weaklink.Fast{}) {
		t.Error("the entry names no rules made for search")
	}
	reg.Games["weaklink"] = reg.Games["weaklink"].Fast(counted{made: &made})
	s, err := reg.Load("planner.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := audit.Spec(t.Context(), s, audit.Options{Seeds: []uint64{1}, Episodes: 100})
	if err != nil {
		t.Fatal(err)
	}
	if made.Load() == 0 {
		t.Error("no search was made on the rules that the entry names")
	}
	for _, name := range []string{"steps are what the rules of weaklink say", "the search plans on the true rules",
		"steps in a tree are played right", "leaves are worth what the definition says"} {
		if f := finding(t, r, name); f.Status != check.Pass || f.Rows == 0 {
			t.Errorf("%s: %v in %d rows, %s", name, f.Status, f.Rows, f.Says)
		}
	}
}

// twice learns from each window twice.
type twice struct{ learner.Mind }

func (m twice) Learn(w *learner.Window) ([]agent.Stat, error) {
	if _, err := m.Mind.Learn(w); err != nil {
		return nil, err
	}
	return m.Mind.Learn(w)
}

func (m twice) Unwrap() learner.Mind { return m.Mind }

// Updates of a learner from outside are computed again, and a fault in them is found.
func TestUpdatesAreHeldAgainstTheEntrysDefinition(t *testing.T) {
	s, err := all().Load("weaklink.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	const name = "an update is what the definition gives"
	for _, slip := range []bool{false, true} {
		change := func(_ *spec.Spec, p *train.Parts) {
			for i := range p.Minds {
				if slip {
					p.Minds[i] = twice{p.Minds[i]}
				}
			}
		}
		r, err := audit.Spec(t.Context(), s, audit.Options{Seeds: []uint64{1}, Episodes: 100, Updates: 6, Change: change})
		if err != nil {
			t.Fatal(err)
		}
		switch f := finding(t, r, name); {
		case !slip && (f.Status != check.Pass || f.Rows == 0):
			t.Errorf("%v in %d rows: %s", f.Status, f.Rows, f.Says)
		case slip && (f.Status != check.Fault || !strings.Contains(f.Says, "REINFORCE")):
			t.Errorf("learning twice: %v, %s", f.Status, f.Says)
		}
	}
}

// Who does not say that it learns from made-up steps is not given any.
func TestWhatTheEntryDoesNotSayIsNotAssumed(t *testing.T) {
	_, err := all().Load("weaklink.yaml", []string{"imagine.on=true"})
	if err == nil || !strings.Contains(err.Error(), "mind is reinforce") {
		t.Errorf("got %v, want an objection to made-up steps", err)
	}
}

// Reports draw what the entries know, zoos have members of the learner, and regret is known.
func TestReportsZoosAndRegretKnowWhatTheEntriesKnow(t *testing.T) {
	dir := t.TempDir()
	outside(t, "train", "weaklink.yaml", "--set", "train.steps=5000", "--set", "eval.episodes=50", "--out", dir)
	page, err := os.ReadFile(filepath.Join(dir, "weaklink-001", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"REINFORCE, frame", "optimum", "nobody works"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if out := outside(t, "oracle", "--game", "weaklink", "--vs", "hard,random", "--episodes", "20"); !strings.Contains(out, "1.6667") {
		t.Errorf("a best response gets 10/6 of a hard and a random one; got\n%s", out)
	}
	out := outside(t, "zoo", "train", "--game", "weaklink", "--who", "reinforce-1", "--hold", "selfish-2", "--steps", "600", "--out",
		filepath.Join(dir, "zoo"))
	if !strings.Contains(out, "reinforce-1") {
		t.Errorf("the zoo has no reinforce-1:\n%s", out)
	}
}

// BenchmarkSearch compares trees on the rules that the entry names with trees on the game's own.
func BenchmarkSearch(b *testing.B) {
	bare, err := weaklink.New(weaklink.Default())
	if err != nil {
		b.Fatal(err)
	}
	for name, g := range map[string]game.Game{"own": bare, "fast": game.With(bare, weaklink.Fast{})} {
		b.Run(name, func(b *testing.B) {
			c := search.Default()
			c.Trees, c.Sims = 8, 60
			f, err := search.New(c, len(g.Spec().Actions), 2, 1, c.Trees)
			if err != nil {
				b.Fatal(err)
			}
			w, err := truth.NewWorld(g, []string{"hard", "idle", "random"}, []string{"hard", "idle"}, 1, c.Trees)
			if err != nil {
				b.Fatal(err)
			}
			w.Fit(f)
			bots := truth.NewBots(w, truth.Sure{0, 2}, 1)
			prior := truth.NewScripts(bots, c.Discount, 1)
			st, r, rs := g.New(), rng.New(1).Rand(), make([]rng.Rand, c.Trees)
			st.Reset(&r)
			for b.Loop() {
				w.Set(0, st, []game.Seat{0, 1, 2})
				search.Fork(rs, &r)
				f.Search(w, prior, bots, rs)
			}
		})
	}
}
