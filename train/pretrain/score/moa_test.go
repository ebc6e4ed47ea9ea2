package score

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

// smallMOA trains a model of others on 8,000 rows, unless it may not learn.
func smallMOA(t *testing.T, d *dataset.Data, condition string, run *runlog.Run) *pretrain.MOA {
	t.Helper()
	c := pretrain.DefaultMOA().For(d.Layout)
	c.Model.Hidden, c.Epochs, c.Patience, c.Learning.Batch, c.Condition = []int{32, 32}, 4, 0, 32, condition
	m, err := pretrain.NewMOA(c, d, nil, 1)
	if err == nil && run != nil {
		err = m.Run(context.Background(), run, nil)
	}
	must(t, err)
	return m
}

func scoreMOA(t *testing.T, m *pretrain.MOA, g game.Game) (*MOAScore, *card.Card) {
	t.Helper()
	s, k, err := MOA(t.Context(), m, g)
	must(t, err)
	return s, k
}

func TestMOALearnsAndIsScoredBesideLimits(t *testing.T) {
	d, g := goalData(t, 8000)
	run := folder(t)
	s, k := scoreMOA(t, smallMOA(t, d, "type", run), g)
	if s.OfLimit < .93 || s.Limit != "type known" || s.Top1 < s.Baselines["state_table"].Top1 {
		t.Errorf("top-1 %.3f is %.3f of %s; baselines %v", s.Top1, s.OfLimit, s.Limit, s.Baselines)
	}
	if own, known := s.Limits["own_history"].Top1, s.Limits["type_known"].Top1; own < .8 || known < own+.03 {
		t.Errorf("own history %.3f, type known %.3f", own, known)
	}
	if s.Belief == nil || s.Belief.Agents < 100 || s.Belief.OnTime < .5 {
		t.Errorf("belief is %+v", s.Belief)
	}
	for _, name := range []string{"agents that have left", "joint actions are ego-first", "actions are legal", "every part learns",
		"below the floor of a double softmax", "keeps what it has learnt", "beats what needs no learning"} {
		if c := k.Find(name); c == nil || c.Status != check.Pass {
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
	if !strings.HasPrefix(k.Verdict(), "short: 4 of the usual 10 epochs") {
		t.Errorf("four epochs where ten are usual are scored %q", k.Verdict())
	}
	if k.Find("names types in time") == nil {
		t.Error("a model that is given types is not asked whether it names them")
	}
	if _, k := scoreMOA(t, smallMOA(t, d, "goal", nil), g); k.Find("names types in time") != nil {
		t.Error("a model that is given goals is asked for types")
	}
}

// The cross-entropy of a softmax of probabilities. It does not compile with
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
		floor := check.SoftmaxFloor(legal)
		if math.Abs(got-floor) > 1e-5 {
			t.Errorf("%d legal actions: %v, want the floor %v", legal, got, floor)
		}
		k := &card.Card{}
		p := check.Predictor{CE: got, Floor: floor, Classes: 7, Right: 1, Sure: math.E / (math.E + float64(legal-1))}
		askFloor(k, "below the floor of a double softmax", p)
		broken(t, k, "below the floor of a double softmax", "1.165 with all 7")
		k = &card.Card{}
		p.CE -= .2
		askFloor(k, "below the floor of a double softmax", p)
		if k.Status() != check.Pass {
			t.Errorf("a loss below the floor is scored %q", k.Verdict())
		}
	}
}

// Free riders of the snowdrift game wander at random: the exact observer's own
// cross-entropy lies above what a softmax of a softmax can reach, so nobody is
// accused of one.
func TestWhoCannotBeForeseenIsNoDoubleSoftmax(t *testing.T) {
	c := snowdrift.Default()
	c.Size = 4
	g := gametest.New(t, snowdrift.New, c)
	cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "snowdrift"}, Mix: []string{"nd", "fix"}, Rows: 3000, Seed: 7,
		Dir: t.TempDir(), Workers: 1}
	_, err := dataset.Collect(context.Background(), cfg)
	must(t, err)
	d, err := dataset.Open(cfg.Dir)
	must(t, err)
	s, k := scoreMOA(t, smallMOA(t, d, "none", folder(t)), g)
	if s.LimitCE < 0.9 || s.OfLimit < 0.8 {
		t.Fatalf("the exact observer has %.3f nats, the model %.2f of its top-1: not the case that is meant", s.LimitCE, s.OfLimit)
	}
	if strings.Contains(k.Verdict(), "double softmax") {
		t.Errorf("the verdict is %q", k.Verdict())
	}
	if text := k.Markdown(); !strings.Contains(text, "| below the floor of a double softmax | not asked |") {
		t.Errorf("the card does not say why the floor tells nothing:\n%s", text)
	}
}

// An optimiser that never moves the weights.
func TestStillWeightsAreNamed(t *testing.T) {
	d, g := goalData(t, 8000)
	_, k := scoreMOA(t, smallMOA(t, d, "none", nil), g)
	broken(t, k, "every part learns", "head/w")
}

// Rows of agents that have left, recorded as "stay".
func TestRowsOfThoseWhoLeftAreNamed(t *testing.T) {
	d, _ := goalData(t, 8000)
	m := smallMOA(t, d, "none", nil)
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

// Joint actions in seat order.
func TestSeatOrderIsNamed(t *testing.T) {
	d, g := goalData(t, 8000)
	n := d.Layout.Seats
	for row := range d.Len() {
		ego, seat := make([]int8, n), int(d.Seat[row])
		copy(ego, d.Last[row*n:(row+1)*n])
		for i, a := range ego {
			d.Last[row*n+(seat+i)%n] = a
		}
	}
	m := smallMOA(t, d, "none", nil)
	s, k := scoreMOA(t, m, g)
	broken(t, k, "joint actions are ego-first", "not the one recorded")
	if !strings.Contains(s.LimitError, "does not see what was recorded") {
		t.Errorf("the replay says %q", s.LimitError)
	}
}

// A model that is saved, while a fresh one goes on.
func TestForgettingIsNamed(t *testing.T) {
	d, _ := goalData(t, 8000)
	for _, forget := range []bool{false, true} {
		m := smallMOA(t, d, "none", nil)
		f := &safetensors.File{}
		m.Learner.Save(f, "")
		err := m.Run(context.Background(), folder(t), func(p pretrain.Progress) {
			if forget && p.Whole {
				if err := m.Learner.Load(f, ""); err != nil {
					t.Error(err)
				}
			}
		})
		must(t, err)
		k := &card.Card{}
		var steps []float64
		for _, e := range m.Past {
			steps = append(steps, e.Steps...)
		}
		askSpikes(k, steps)
		if forget {
			broken(t, k, "keeps what it has learnt", "jumps back towards its start 3 times")
		} else if k.Status() != check.Pass {
			t.Errorf("a sound run is scored %q; curve %.2f", k.Verdict(), steps)
		}
	}
}
