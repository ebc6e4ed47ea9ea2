package score

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hunts records rows of stag hunts: of ns with nh, or of a team.
func hunts(t *testing.T, size, horizon, rows int, seed uint64, team ...string) (*dataset.Data, game.Game) {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Horizon = size, horizon
	g := gametest.New(t, staghunt.New, c)
	cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Team: team, Rows: rows, Seed: seed, Dir: t.TempDir(),
		Workers: 1}
	if team == nil {
		cfg.Mix = []string{"ns", "nh"}
	}
	if _, err := dataset.Collect(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(cfg.Dir)
	must(t, err)
	return d, g
}

func goalData(t *testing.T, rows int) (*dataset.Data, game.Game) {
	return hunts(t, 4, staghunt.Default().Horizon, rows, 7)
}

// folder makes a run.
func folder(t *testing.T) *runlog.Run {
	t.Helper()
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), []byte("x: 1\n"), runlog.Info{})
	must(t, err)
	t.Cleanup(func() { run.Close() })
	return run
}

func trainVAE(t *testing.T, loss string, epochs int, d *dataset.Data) *pretrain.VAE {
	t.Helper()
	c := pretrain.DefaultVAE(loss)
	c.Model.Hidden, c.Model.MOA, c.Model.Dim, c.Epochs = []int{48, 24}, 32, 6, epochs
	v, err := pretrain.NewVAE(c, d, 1)
	must(t, err)
	must(t, v.Run(context.Background(), folder(t), nil))
	return v
}

// broken fails unless the check is broken and the verdict, or at least the card,
// names it.
func broken(t *testing.T, k *card.Card, name, word string) {
	t.Helper()
	c := k.Find(name)
	if c == nil || c.Status != check.Fault || !strings.Contains(c.Says, word) || c.Next == "" {
		t.Errorf("check %q is %+v, want it broken with %q and a fix", name, c, word)
	}
	if k.Status() != check.Fault {
		t.Errorf("the verdict is %q", k.Verdict())
	}
}

// The own-history posterior is Bayes' rule: it starts even, is certain after an
// action that only one type does, and on average gives the true type more.
func TestOwnHistory(t *testing.T) {
	d, g := goalData(t, 3000)
	post, err := ownHistory(d, g)
	must(t, err)
	right, n := 0., 0
	for _, q := range d.Sequences {
		if post[2*q.Lo] != 0.5 {
			t.Fatalf("the belief starts at %v, want even", post[2*q.Lo])
		}
		for row := q.Lo; row < q.Hi; row++ {
			p := post[2*row+int(d.Bot[row])]
			if p < 1e-6 {
				t.Fatalf("row %d: the true type is ruled out", row)
			}
			if row > q.Lo {
				right += float64(p)
				n++
			}
		}
	}
	if mean := right / float64(n); mean < 0.8 {
		t.Errorf("after the first step the true type has %.3f on average, want at least 0.8", mean)
	}
}

func vaeScore(terms map[string]float64, change func(*VAEScore)) *VAEScore {
	s := &VAEScore{
		codeScore:  codeScore{Rows: 1000, Terms: terms, Probe: 0.75, ProbeLimit: 0.76, ProbeRows: 600, Majority: 0.6, Active: 16, Width: 16},
		CellsExact: 0.995,
	}
	s.past = []model.Epoch{{Learn: map[string]float64{"action": 1.2}, Held: terms}, {Learn: map[string]float64{"action": 0.4}, Held: terms}}
	s.goals = []string{"stag", "hare"}
	s.codes.Dim, s.codes.Z, s.codes.Label = 2, []float32{1, 2, 3, 1, 5, 6}, []int{0, 1, -1}
	change(s)
	return s
}

// Each fault of the notes is named by the card: a softmax of a softmax (2), an
// optimiser without the model of the action (3), agents that vanish (6), a z that
// says nothing.
func TestCardNamesFaults(t *testing.T) {
	for name, c := range map[string]struct {
		loss   string
		action float64
		change func(*VAEScore)
		check  string
		want   check.Status
	}{
		"sound b":         {"b", 0.35, func(*VAEScore) {}, "", check.Pass},
		"softmax twice":   {"b", 1.2, func(s *VAEScore) { s.Top1 = 0.85 }, "softmax once", check.Fault},
		"moa not trained": {"b", 1.1, func(s *VAEScore) { s.past[1].Learn["action"] = 1.2 }, "learns", check.Fault},
		"sound a":         {"a", 0, func(*VAEScore) {}, "", check.Pass},
		"agents vanish":   {"a", 0, func(s *VAEScore) { s.CellsExact = 0.5 }, "agents' cells", check.Fault},
		"z collapsed":     {"a", 0, func(s *VAEScore) { s.Active = 0 }, "z is used", check.Fault},
		"a asks for none": {"a", 0, func(s *VAEScore) { s.Probe = 0.6 }, "goal in z", check.Suspect},
		"no goal in z":    {"b", 0.35, func(s *VAEScore) { s.Probe = 0.6 }, "goal in z", check.Fault},
	} {
		terms := map[string]float64{"kl": 40}
		if c.loss == "b" {
			terms["action"] = c.action
		}
		got := vaeCard(pretrain.DefaultVAE(c.loss), "x", 7, vaeScore(terms, c.change))
		if c.check == "" {
			if got.Status() != check.Pass {
				t.Errorf("%s: the verdict is %q, want good", name, got.Verdict())
			}
			continue
		}
		if f := got.Find(c.check); f == nil || f.Status != c.want || !strings.Contains(got.Verdict(), c.want.Grade()) {
			t.Errorf("%s: the check %q is %+v, verdict %q; want %s", name, c.check, f, got.Verdict(), c.want)
		}
	}
}

// The whole chain runs on agents that leave at different times.
func TestSubgoalsFromHistory(t *testing.T) {
	d, g := goalData(t, 2500)
	v := trainVAE(t, "b", 2, d)
	cfg := pretrain.DefaultCVAE()
	cfg.Model = cvae.Config{Frame: "egof", Feature: 12, GRU: 16, Hidden: []int{24}, Dim: 6}
	cfg.Epochs, cfg.Value = 2, "learnt"
	c, err := pretrain.NewCVAE(cfg, d, v.Learner.Model, v.Learner.Params, 1)
	must(t, err)
	must(t, c.Run(context.Background(), folder(t), nil))
	s, k, err := CVAE(t.Context(), c, g)
	must(t, err)
	if s.ProbeLimit < 0.7 || s.ProbeLimit > 1 || s.HitRows == 0 || s.HitRows >= s.Rows {
		t.Errorf("limit %.3f, %d rows with a future of %d", s.ProbeLimit, s.HitRows, s.Rows)
	}
	if s.Value.Agrees < 0.3 || s.Value.Agrees > 0.999 {
		t.Errorf("learnt values pick %.3f of the subgoals as returns do; want at least 0.3, and not all", s.Value.Agrees)
	}
	dir := t.TempDir()
	must(t, k.Write(dir))
	if _, err := os.Stat(filepath.Join(dir, "g_map.png")); err != nil {
		t.Error(err)
	}
}

// The gate makes g neutral where the agent is far from all prey, and only there.
func TestTheGateClosesFarFromPrey(t *testing.T) {
	d, _ := goalData(t, 2500)
	v := trainVAE(t, "b", 1, d)
	last := 0.
	for _, gate := range []int{0, 1, 2, 100, -1} {
		cfg := pretrain.DefaultCVAE()
		cfg.Gate = gate
		c, err := pretrain.NewCVAE(cfg, d, v.Learner.Model, v.Learner.Params, 1)
		must(t, err)
		codes, open := inferred(c, 2)
		closed := 0
		for i := range codes.Label {
			if !slices.ContainsFunc(codes.Z[i*codes.Dim:(i+1)*codes.Dim], func(x float32) bool { return x != 0 }) {
				closed++
			}
		}
		if want := float64(closed) / float64(len(codes.Label)); math.Abs(1-want-open) > 1e-9 {
			t.Errorf("gate %d: said to be open on %.3f of rows, but %.3f are neutral", gate, open, want)
		}
		if open < last || gate == 0 && (open == 0 || open == 1) || (gate < 0 || gate == 100) && open != 1 {
			t.Errorf("gate %d is open on %.3f of rows, the one before on %.3f", gate, open, last)
		}
		last = open
	}
}
