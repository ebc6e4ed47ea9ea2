package pretrain

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hop/card"
	"hop/dataset"
	"hop/game/staghunt"
	"hop/model/cvae"
	"hop/runlog"
)

// goalData is a small dataset of a mix of ns and nh.
func goalData(t *testing.T, rows int) (*dataset.Data, *staghunt.Game) {
	t.Helper()
	c := staghunt.Default()
	c.Size = 4
	g, err := staghunt.New(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Mix: []string{"ns", "nh"}, Rows: rows, Seed: 7, Dir: dir}
	if _, err := dataset.Collect(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, g
}

func smallVAE(loss string, epochs int) VAEConfig {
	c := DefaultVAE(loss)
	c.Model.Hidden, c.Model.MOA, c.Model.Dim, c.Epochs = []int{48, 24}, 32, 6, epochs
	return c
}

// folder makes a run.
func folder(t *testing.T) *runlog.Run {
	t.Helper()
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), []byte("x: 1\n"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return run
}

func trainVAE(t *testing.T, cfg VAEConfig, d *dataset.Data) (*VAE, *runlog.Run) {
	t.Helper()
	v, err := NewVAE(cfg, d, 1)
	if err != nil {
		t.Fatal(err)
	}
	run := folder(t)
	if err := v.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	return v, run
}

// Fault 9: what is saved is loaded again. A run stopped after an epoch and resumed
// ends in the weights of one that was not, and a loaded model is the best one.
func TestResumedGoalsAreTheSame(t *testing.T) {
	d, _ := goalData(t, 2500)
	for _, loss := range []string{"a", "b"} {
		cfg := smallVAE(loss, 3)
		whole, run := trainVAE(t, cfg, d)
		_, want := whole.Model()
		_, loaded, err := LoadVAE(run.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(loaded.W, want.W) {
			t.Errorf("loss %s: the loaded weights are not those of the run", loss)
		}

		first, err := NewVAE(cfg, d, 1)
		if err != nil {
			t.Fatal(err)
		}
		part := folder(t)
		ctx, stop := context.WithCancel(context.Background())
		err = first.Run(ctx, part, func(int, int, map[string]float64, map[string]float64) { stop() })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("a stopped run returned %v, want canceled", err)
		}
		body, epoch, err := runlog.Last(part.Dir())
		if err != nil {
			t.Fatal(err)
		}
		second, err := NewVAE(cfg, d, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.Resume(body, epoch); err != nil {
			t.Fatal(err)
		}
		if err := second.Run(context.Background(), part, nil); err != nil {
			t.Fatal(err)
		}
		if _, got := second.Model(); !slices.Equal(got.W, want.W) {
			t.Errorf("loss %s: a resumed run has other weights", loss)
		}
	}
}

// No episode lies in two parts, and no row is lost.
func TestPartsShareNoEpisode(t *testing.T) {
	d, _ := goalData(t, 2500)
	v, err := NewVAE(smallVAE("a", 1), d, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := map[int32]int{}
	rows := 0
	for i, part := range v.parts {
		rows += len(part.rows)
		for k, row := range part.rows {
			if was, ok := in[d.Episode[row]]; ok && was != i {
				t.Fatalf("episode %d is in parts %d and %d", d.Episode[row], was, i)
			}
			in[d.Episode[row]] = i
			end := part.rows[part.last[k]]
			if d.Episode[end] != d.Episode[row] || d.Agent[end] != d.Agent[row] || (int(part.last[k])+1 < len(part.rows) && d.Episode[end+1] == d.Episode[row] && d.Agent[end+1] == d.Agent[row]) {
				t.Fatalf("row %d: the last row of its sequence is %d", row, end)
			}
		}
	}
	if rows != d.Len() {
		t.Errorf("the parts hold %d rows, want %d", rows, d.Len())
	}
}

// The own-history posterior is Bayes' rule: it starts even, is certain after an
// action that only one type does, and on average gives the true type more.
func TestOwnHistory(t *testing.T) {
	d, g := goalData(t, 3000)
	post, err := ownHistory(d, g)
	if err != nil {
		t.Fatal(err)
	}
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

func score(terms map[string]float64, change func(*VAEScore)) *VAEScore {
	s := &VAEScore{
		Rows: 1000, Terms: terms, CellsExact: 0.995, Probe: 0.75, ProbeLimit: 0.76, ProbeRows: 600, Majority: 0.6, Active: 16, Width: 16,
		past:  []epochTerms{{Learn: map[string]float64{"action": 1.2}, Held: terms}, {Learn: map[string]float64{"action": 0.4}, Held: terms}},
		goals: []string{"stag", "hare"},
	}
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
		want   card.Status
	}{
		"sound b":         {"b", 0.35, func(*VAEScore) {}, "", card.Good},
		"softmax twice":   {"b", 1.2, func(*VAEScore) {}, "softmax once", card.Broken},
		"moa not trained": {"b", 1.1, func(s *VAEScore) { s.past[1].Learn["action"] = 1.2 }, "learns", card.Broken},
		"sound a":         {"a", 0, func(*VAEScore) {}, "", card.Good},
		"agents vanish":   {"a", 0, func(s *VAEScore) { s.CellsExact = 0.5 }, "agents' cells", card.Broken},
		"z collapsed":     {"a", 0, func(s *VAEScore) { s.Active = 0 }, "z is used", card.Broken},
		"a asks for none": {"a", 0, func(s *VAEScore) { s.Probe = 0.6 }, "goal in z", card.Weak},
		"no goal in z":    {"b", 0.35, func(s *VAEScore) { s.Probe = 0.6 }, "goal in z", card.Broken},
	} {
		terms := map[string]float64{"kl": 40}
		if c.loss == "b" {
			terms["action"] = c.action
		}
		got, err := VAECard(DefaultVAE(c.loss), "x", 7, score(terms, c.change))
		if err != nil {
			t.Fatal(err)
		}
		if c.check == "" {
			if got.Status() != card.Good {
				t.Errorf("%s: the verdict is %q, want good", name, got.Verdict())
			}
			continue
		}
		if f := got.Find(c.check); f == nil || f.Status != c.want || !strings.Contains(got.Verdict(), string(c.want)) {
			t.Errorf("%s: the check %q is %+v, verdict %q; want %s", name, c.check, f, got.Verdict(), c.want)
		}
	}
	if f := DoubleSoftmaxFloor(7); math.Abs(f-1.1654) > 1e-4 {
		t.Errorf("the floor is %.4f, want 1.1654", f)
	}
}

// The two losses never share a name with a total.
func TestEveryTermHasItsName(t *testing.T) {
	d, _ := goalData(t, 2500)
	for loss, want := range map[string][]string{
		"a": {"kl", "kl_weight", "reconstruction_agents", "reconstruction_things"},
		"b": {"action", "kl", "kl_weight", "outcome", "readout_agents", "readout_things"},
	} {
		v, run := trainVAE(t, smallVAE(loss, 1), d)
		s, err := v.Judge()
		if err != nil {
			t.Fatal(err)
		}
		if got := sortedKeys(s.Terms); !slices.Equal(got, want) {
			t.Errorf("loss %s has the terms %v, want %v", loss, got, want)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		rows, err := runlog.ReadMetrics(run.Dir())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if !strings.HasPrefix(r.Name, "vae_"+loss+"/") || strings.Contains(r.Name, "total") || r.N == 0 {
				t.Errorf("loss %s logs %+v", loss, r)
			}
		}
	}
}

// The whole chain runs on agents that leave at different times, and a CVAE's
// resumed run is the same as a whole one.
func TestSubgoalsFromHistory(t *testing.T) {
	d, g := goalData(t, 2500)
	v, run := trainVAE(t, smallVAE("b", 2), d)
	m, p := v.Model()
	cfg := DefaultCVAE()
	cfg.Model = cvae.Config{Frame: "egof", Feature: 12, GRU: 16, Hidden: []int{24}, Dim: 6}
	cfg.Epochs = 2
	fresh := func() *CVAE {
		c, err := NewCVAE(cfg, d, m, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	whole, part := fresh(), fresh()
	if err := whole.Run(context.Background(), folder(t), nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	to := folder(t)
	if err := part.Run(ctx, to, func(int, int, map[string]float64, map[string]float64) { stop() }); !errors.Is(err, context.Canceled) {
		t.Fatalf("a stopped run returned %v, want canceled", err)
	}
	body, epoch, err := runlog.Last(to.Dir())
	if err != nil {
		t.Fatal(err)
	}
	again := fresh()
	if err := again.Resume(body, epoch); err != nil {
		t.Fatal(err)
	}
	if err := again.Run(context.Background(), to, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.learn.Params.W, whole.learn.Params.W) {
		t.Error("a resumed run has other weights")
	}
	if _, loaded, err := LoadCVAE(to.Dir()); err != nil || !slices.Equal(loaded.W, whole.learn.Params.W) {
		t.Errorf("the loaded weights are not those of the run (%v)", err)
	}
	s, err := whole.Judge(g)
	if err != nil {
		t.Fatal(err)
	}
	if s.ProbeLimit < 0.7 || s.ProbeLimit > 1 || s.HitRows == 0 || s.HitRows >= s.Rows {
		t.Errorf("limit %.3f, %d rows with a future of %d", s.ProbeLimit, s.HitRows, s.Rows)
	}
	c, err := CVAECard("x", s)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "g_map.png")); err != nil {
		t.Error(err)
	}
	run.Close()
}

// A subgoal is a state that the agent saw itself: never one after it left, never
// one of another agent or episode.
func TestSubgoalsAreTheAgentsOwnStates(t *testing.T) {
	d, _ := goalData(t, 2500)
	v, _ := trainVAE(t, smallVAE("a", 1), d)
	m, p := v.Model()
	for _, tc := range []struct {
		sel   cvae.Selector
		value string
	}{{cvae.Optimistic, "returns"}, {cvae.Conservative, "returns"}, {cvae.Optimistic, "learnt"}, {cvae.Conservative, "learnt"}} {
		cfg := DefaultCVAE()
		cfg.Selector, cfg.Value, cfg.ValueNet.Epochs = string(tc.sel), tc.value, 1
		c, err := NewCVAE(cfg, d, m, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		codes := v.codes(0)
		s, part := c.seqs[0], &c.parts[0]
		for row := range 400 {
			found := false
			for j := row; j <= min(row+cfg.Horizon, int(part.last[row])); j++ {
				found = found || slices.Equal(s.Mu[row*m.Dim:(row+1)*m.Dim], codes.Z[j*m.Dim:(j+1)*m.Dim])
			}
			if !found {
				t.Fatalf("%s, %s: the subgoal of row %d is none of its agent's next %d states", tc.sel, tc.value, row, cfg.Horizon)
			}
		}
	}
}

// The gate makes g neutral where the agent is far from all prey, and only there.
func TestTheGateClosesFarFromPrey(t *testing.T) {
	d, _ := goalData(t, 2500)
	v, _ := trainVAE(t, smallVAE("b", 1), d)
	m, p := v.Model()
	last := 0.
	for _, gate := range []int{0, 1, 2, 100, -1} {
		cfg := DefaultCVAE()
		cfg.Gate = gate
		c, err := NewCVAE(cfg, d, m, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		codes, open := c.inferred(2)
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

// Over discrete codes the inference aims at the probabilities of the classes.
func TestSubgoalsOfDiscreteCodes(t *testing.T) {
	d, _ := goalData(t, 2500)
	cfg := smallVAE("b", 1)
	cfg.Model.Discrete = 4
	v, _ := trainVAE(t, cfg, d)
	m, p := v.Model()
	c, err := NewCVAE(DefaultCVAE(), d, m, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := c.seqs[0]
	for row := range s.Rows() {
		sum := float32(0)
		for _, q := range s.Mu[row*4 : (row+1)*4] {
			sum += q
		}
		if sum < 0.999 || sum > 1.001 {
			t.Fatalf("the subgoal of row %d has classes that add up to %v, want 1", row, sum)
		}
	}
}
