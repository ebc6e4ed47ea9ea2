package lives

import (
	"context"
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/pretrain/score"
)

func played(t *testing.T, life int) (*pretrain.Sequence, game.Game) {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Stags = 4, 2
	g := gametest.New(t, staghunt.New, c)
	cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Among: []string{"ns", "nh", "random"}, Life: life, Rows: 4000,
		Seed: 7, Dir: t.TempDir()}
	if _, err := dataset.Collect(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	p := pretrain.DefaultSequence().For(d.Layout)
	p.Model.Width, p.Model.Heads, p.Model.Up, p.Model.Head.Hidden = 8, 2, 8, []int{8, 8}
	s, err := pretrain.NewSequence(p, d, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s, g
}

// In lives of one episode, at steps that were all seen, the observer is the exact one of
// package oracle that goes by the co-player's own history.
func TestTheObserverOfOneEpisodeIsTheExactOne(t *testing.T) {
	s, g := played(t, 1)
	h := s.Parts[2]
	y, err := observe(s.Data, g, h, s.Learner.Model.Input)
	if err != nil {
		t.Fatal(err)
	}
	b, err := oracle.NewBayes(g, s.Data.Bots)
	if err != nil {
		t.Fatal(err)
	}
	rows, lives := map[int][]int{}, map[int]bool{}
	for i, row := range h.Source {
		rows[int(row)] = append(rows[int(row)], i)
		lives[int(h.Life[i])] = true
	}
	nll, n, probs := 0., 0, make([]float32, len(s.Data.Layout.Actions))
	err = score.Replay(s.Data, g, func(e int) bool { return lives[e] }, b.Start, func(st game.State, at []int, actions []int32) {
		for _, row := range at {
			b.Predict(probs, oracle.OwnHistory, st, game.Seat(s.Data.Seat[row]), 0)
			for range rows[row] {
				nll -= math.Log(float64(probs[s.Data.Action[row]]))
				n++
			}
		}
		b.Update(st, actions)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := float64(y.All.CE), nll/float64(n); y.All.Rows != n || math.Abs(got-want) > 1e-6 {
		t.Errorf("the observer's cross-entropy is %.6f on %d rows, the exact one's %.6f on %d", got, y.All.Rows, want, n)
	}
}

// Who remembers earlier episodes knows more at a later one's first step than at the
// life's; the same rows are counted for every predictor.
func TestTheObserverRemembersTheLife(t *testing.T) {
	s, g := played(t, 4)
	got, k, err := Of(s, g, nil)
	if err != nil || len(got.Predictors) != 2 {
		t.Fatalf("%d predictors, error %v", len(got.Predictors), err)
	}
	own, bayes := got.Predictors[0], got.Predictors[1]
	if first, last := bayes.Episodes[0].Kind, bayes.Episodes[3].Kind; last < first || last < 0.99 {
		t.Errorf("the kind is named in %.2f of the first episode's steps and %.2f of the last's", first, last)
	}
	if start := bayes.Steps[0]; math.Abs(float64(start.Kind)-1./3) > 1e-9 {
		t.Errorf("before the first step the kind is named in %.3f, want one of three", start.Kind)
	}
	for i := range own.Steps {
		if own.Steps[i].Rows != bayes.Steps[i].Rows || own.Steps[i].Seen != bayes.Steps[i].Seen {
			t.Errorf("after %s steps the model is scored on %d rows, the observer on %d", own.Steps[i].Seen, own.Steps[i].Rows, bayes.Steps[i].Rows)
		}
	}
	if n := k.Numbers[3]; n.Name != "kind: top-1" || n.Limit == nil || n.Limit.Value != float64(bayes.All.Kind) {
		t.Errorf("the card says %+v of kinds, want the observer as the limit", n)
	}
}
