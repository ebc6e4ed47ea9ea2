package pretrain

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hop/card"
	"hop/dataset"
	"hop/game"
	"hop/game/staghunt"
	"hop/nn"
	"hop/oracle"
	"hop/runlog"
	"hop/safetensors"
)

var moaGame = sync.OnceValues(func() (game.Game, error) {
	c := staghunt.Default()
	c.Size, c.Blocks = 4, 0
	return staghunt.New(c)
})

// moaData collects 8,000 rows of ns and nh on 4x4.
func moaData(t *testing.T) (*dataset.Data, game.Game) {
	t.Helper()
	g, err := moaGame()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := dataset.Collect(context.Background(), dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Mix: []string{"ns", "nh"}, Rows: 8000, Seed: 7, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, g
}

func smallMOA(d *dataset.Data) MOAConfig {
	c := DefaultMOA(d.Layout)
	c.Model.Hidden, c.Epochs, c.Learning.Batch = []int{32, 32}, 4, 32
	return c
}

func newMOA(t *testing.T, c MOAConfig, d *dataset.Data) *MOA {
	t.Helper()
	m, err := NewMOA(c, d, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func moaRun(t *testing.T) *runlog.Run {
	t.Helper()
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), []byte("moa: {}\n"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return run
}

func judge(t *testing.T, m *MOA, g game.Game) (*MOAScore, *card.Card) {
	t.Helper()
	s, k, err := m.Judge(g)
	if err != nil {
		t.Fatal(err)
	}
	return s, k
}

// broken fails unless the check is broken and the verdict, or at least the card,
// names it.
func broken(t *testing.T, k *card.Card, name, word string) {
	t.Helper()
	c := k.Find(name)
	if c == nil || c.Status != card.Broken || !strings.Contains(c.Why, word) || c.Fix == "" {
		t.Errorf("check %q is %+v, want it broken with %q and a fix", name, c, word)
	}
	if k.Status() != card.Broken {
		t.Errorf("the verdict is %q", k.Verdict())
	}
}

func TestMOALearnsAndIsJudgedBesideLimits(t *testing.T) {
	d, g := moaData(t)
	c := smallMOA(d)
	c.Condition = "type"
	m := newMOA(t, c, d)
	run := moaRun(t)
	if err := m.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	s, k := judge(t, m, g)
	if s.OfLimit < .93 || s.Limit != "type known" || s.Top1 < s.Baselines["state_table"].Top1 {
		t.Errorf("top-1 %.3f is %.3f of %s; baselines %v", s.Top1, s.OfLimit, s.Limit, s.Baselines)
	}
	if own, known := s.Limits["own_history"].Top1, s.Limits["type_known"].Top1; own < .8 || known < own+.03 {
		t.Errorf("own history %.3f, type known %.3f", own, known)
	}
	if s.Belief == nil || s.Belief.Agents < 100 || s.Belief.OnTime < .5 {
		t.Errorf("belief is %+v", s.Belief)
	}
	for _, name := range []string{"agents that have left", "joint actions are ego-first", "actions are legal", "every part learns", "below the floor of a double softmax", "keeps what it has learnt", "beats what needs no learning"} {
		if c := k.Find(name); c == nil || c.Status != card.Good {
			t.Errorf("check %q of a sound run is %+v", name, c)
		}
	}
	for _, name := range []string{"moa_eval_epoch0.csv", "moa_eval_epoch3.npz", "metrics.csv"} {
		if _, err := os.Stat(filepath.Join(run.Dir(), name)); err != nil {
			t.Error(err)
		}
	}
	if err := k.Write(run.Dir()); err != nil {
		t.Error(err)
	}
	if k.Find("names types in time") == nil {
		t.Error("a model that is told types is not asked whether it names them")
	}
	c.Condition = "goal"
	if _, k := judge(t, newMOA(t, c, d), g); k.Find("names types in time") != nil {
		t.Error("a model that is told goals is asked for types")
	}
}

func TestEpisodesAreNotShared(t *testing.T) {
	d, _ := moaData(t)
	m := newMOA(t, smallMOA(d), d)
	part := map[int32]string{}
	for name, seqs := range map[string][]int32{"learn": m.learn, "choose": m.choose, "judge": m.judge} {
		for _, s := range seqs {
			e := d.Episode[m.source[m.rows.Seqs[s].Lo]]
			if was := part[e]; was != "" && was != name {
				t.Fatalf("episode %d is in %s and %s", e, was, name)
			}
			part[e] = name
		}
	}
	if len(part) != d.Episodes || m.rows.Len() != d.Len() {
		t.Errorf("%d episodes and %d rows of %d and %d are used", len(part), m.rows.Len(), d.Episodes, d.Len())
	}
}

// Fault 2: cross-entropy of a softmax of probabilities. It does not compile with
// nn's types; forced through a conversion, even certainty stays at the floor.
func TestDoubleSoftmaxIsNamed(t *testing.T) {
	for _, legal := range []int{2, 4, 7} {
		mask, sure := make([]bool, 7), make(nn.Probs, 7)
		for i := range legal {
			mask[i] = true
		}
		sure[0] = 1
		cat := nn.NewCategorical(7, 1)
		cat.Set(nn.Logits(sure), mask, 1)
		got := cat.CrossEntropy(nil, []int32{0}, nil, nn.Rows{N: 1}).Mean()
		floor := math.Log(1 + float64(legal-1)/math.E)
		if math.Abs(got-floor) > 1e-5 {
			t.Errorf("%d legal actions: %v, want the floor %v", legal, got, floor)
		}
		k := &card.Card{}
		checkFloor(k, got, floor, 7)
		broken(t, k, "below the floor of a double softmax", "1.165 with all 7")
		k = &card.Card{}
		checkFloor(k, got-.2, floor, 7)
		if k.Status() != card.Good {
			t.Errorf("a loss below the floor is judged %q", k.Verdict())
		}
	}
}

// Fault 3: an optimiser that never moves the weights.
func TestStillWeightsAreNamed(t *testing.T) {
	d, g := moaData(t)
	_, k := judge(t, newMOA(t, smallMOA(d), d), g)
	broken(t, k, "every part learns", "head/w")
}

// Fault 4: rows of agents that have left, recorded as "stay".
func TestRowsOfThoseWhoLeftAreNamed(t *testing.T) {
	d, _ := moaData(t)
	m := newMOA(t, smallMOA(d), d)
	rows := m.Learner.Model.NewRows()
	rows.Keep = true
	obs := make([]float32, d.ObsLen())
	dead := 0
	for _, s := range d.Sequences {
		rows.Begin()
		for i := s.Lo; i < s.Hi; i++ {
			d.Observation(i, obs)
			rows.Add(obs, nil, int32(d.Action[i]))
		}
		d.NextObservation(s.Hi-1, obs) // what a loop without exits goes on to see
		for range 3 {
			dead++
			rows.Add(obs, nil, 4)
		}
	}
	if rows.Left != dead {
		t.Fatalf("%d of %d dead rows were noticed", rows.Left, dead)
	}
	k := &card.Card{}
	checkRows(k, rows)
	broken(t, k, "agents that have left", "stands still")
}

// Fault 5: joint actions in seat order.
func TestSeatOrderIsNamed(t *testing.T) {
	d, g := moaData(t)
	n := d.Layout.Seats
	for row := range d.Len() {
		ego, seat := make([]int8, n), int(d.Seat[row])
		copy(ego, d.Last[row*n:(row+1)*n])
		for i, a := range ego {
			d.Last[row*n+(seat+i)%n] = a
		}
	}
	m := newMOA(t, smallMOA(d), d)
	s, k := judge(t, m, g)
	broken(t, k, "joint actions are ego-first", "not the one recorded")
	if !strings.Contains(s.LimitError, "does not see what was recorded") {
		t.Errorf("the replay says %q", s.LimitError)
	}
}

// Fault 9: a model that is saved, while a fresh one goes on.
func TestForgettingIsNamed(t *testing.T) {
	d, _ := moaData(t)
	for _, forget := range []bool{false, true} {
		m := newMOA(t, smallMOA(d), d)
		m.cfg.Patience = 0
		f := &safetensors.File{}
		m.Learner.Save(f, "")
		err := m.Run(context.Background(), moaRun(t), func(p MOAProgress) {
			if forget && p.Whole {
				if err := m.Learner.Load(f, ""); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		k := &card.Card{}
		checkSpikes(k, m.curve.Steps)
		if forget {
			broken(t, k, "keeps what it has learnt", "jumps back towards its start 3 times")
		} else if k.Status() != card.Good {
			t.Errorf("a sound run is judged %q; curve %.2f", k.Verdict(), m.curve.Steps)
		}
	}
}

func TestResumedMOAEqualsUninterrupted(t *testing.T) {
	d, g := moaData(t)
	c := smallMOA(d)
	c.Model.History = 8
	whole, run := newMOA(t, c, d), moaRun(t)
	if err := whole.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	first, cut := newMOA(t, c, d), moaRun(t)
	ctx, cancel := context.WithCancel(context.Background())
	err := first.Run(ctx, cut, func(p MOAProgress) {
		if p.Epoch == 2 && !p.Whole {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopping gives %v", err)
	}
	if err := cut.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := runlog.Open(cut.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	body, _, _, err := again.Resume()
	if err != nil {
		t.Fatal(err)
	}
	second := newMOA(t, c, d)
	if err := second.Load(body); err != nil {
		t.Fatal(err)
	}
	if err := second.Run(context.Background(), again, nil); err != nil {
		t.Fatal(err)
	}
	a, err := whole.Save()
	if err != nil {
		t.Fatal(err)
	}
	b, err := second.Save()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("the resumed run ends elsewhere")
	}
	sa, _ := judge(t, whole, g)
	sb, _ := judge(t, second, g)
	if sa.CE != sb.CE || sa.Limit != oracle.OwnHistory.String() {
		t.Errorf("cross-entropy %v and %v beside %s", sa.CE, sb.CE, sa.Limit)
	}
}
