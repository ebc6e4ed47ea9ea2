package pretrain_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// livesOf records lives of four episodes on 4x4.
func livesOf(t *testing.T, rows int) *dataset.Data {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Stags = 4, 2
	g := gametest.New(t, staghunt.New, c)
	cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Among: []string{"ns", "nh", "random"}, Life: 4, Rows: rows,
		Seed: 7, Dir: t.TempDir()}
	if _, err := dataset.Collect(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(cfg.Dir)
	must(t, err)
	return d
}

func newSequence(t *testing.T, d *dataset.Data, change func(*pretrain.SequenceConfig)) *pretrain.Sequence {
	t.Helper()
	c := pretrain.DefaultSequence().For(d.Layout)
	c.Model.Width, c.Model.Heads, c.Model.Up, c.Model.Head.Hidden = 16, 2, 16, []int{16, 16}
	c.Epochs, c.Learning.Batch = 3, 512
	if change != nil {
		change(&c)
	}
	s, err := pretrain.NewSequence(c, d, 1)
	must(t, err)
	return s
}

// An observer sees a co-player's steps until it leaves itself, and never what comes of
// the step by which it leaves.
func TestHistoriesEndWhereTheObserverLeaves(t *testing.T) {
	d := livesOf(t, 3000)
	s := newSequence(t, d, nil)
	h := pretrain.NewHistories(d, s.Learner.Model, func(int) bool { return true })
	n := d.Layout.Seats
	alive := func(agent, episode, step int) bool {
		q := d.Sequences[episode*n+agent]
		return step < q.Hi-q.Lo
	}
	want := 0
	for _, q := range d.Sequences {
		for by := range n {
			for t := 0; by != int(q.Agent) && t < q.Hi-q.Lo && alive(by, q.Episode, t); t++ {
				want++
			}
		}
	}
	if h.Rows.Len() != want {
		t.Errorf("%d steps are predicted, want %d", h.Rows.Len(), want)
	}
	for i, row := range h.Source {
		e, step := int(d.Episode[row]), int(d.T[row])
		if got, want := h.Token[i], alive(int(h.By[i]), e, step+1); got != want {
			t.Fatalf("episode %d, step %d of agent %d: agent %d saw what came of it: %v, want %v", e, step, d.Agent[row], h.By[i], got, want)
		}
		if h.Past[i] != int32(e%4) || h.Life[i] != int32(e/4) {
			t.Fatalf("episode %d is said to be number %d of life %d", e, h.Past[i], h.Life[i])
		}
	}
	part := map[int32]int{}
	for k, p := range s.Parts {
		for _, life := range p.Life {
			if was, ok := part[life]; ok && was != k {
				t.Fatalf("life %d is of two parts", life)
			}
			part[life] = k
		}
	}
}

// A training that is stopped and goes on ends in the bytes of one that was not.
func TestASequenceGoesOnAsIfNothingHappened(t *testing.T) {
	d := livesOf(t, 3000)
	whole, run := newSequence(t, d, nil), folder(t)
	must(t, whole.Run(context.Background(), run, nil))
	if first, last := whole.Past[0].Learn["ce"], whole.Past[len(whole.Past)-1].Learn["ce"]; last >= first {
		t.Errorf("the cross-entropy learnt from goes from %.3f to %.3f", first, last)
	}
	ctx, stop := context.WithCancel(context.Background())
	cut, part := newSequence(t, d, nil), folder(t)
	err := cut.Run(ctx, part, func(p pretrain.Progress) {
		if p.Epoch == 2 && !p.Whole {
			stop()
		}
	})
	if err == nil {
		t.Fatal("it was not stopped")
	}
	body, step, _, err := part.Resume()
	must(t, err)
	again := newSequence(t, d, nil)
	must(t, again.Resume(body, step))
	must(t, again.Run(context.Background(), part, nil))
	a, _, _, err := run.Resume()
	must(t, err)
	b, _, _, err := part.Resume()
	must(t, err)
	if !slices.Equal(whole.Learner.Params.W, again.Learner.Params.W) || !bytes.Equal(a, b) {
		t.Error("stopped and resumed, the weights or the checkpoint differ")
	}
}

func TestTooFewLivesAreRefused(t *testing.T) {
	d := livesOf(t, 20)
	_, err := pretrain.NewSequence(pretrain.DefaultSequence().For(d.Layout), d, 1)
	if err == nil || !strings.Contains(err.Error(), "lives of 4 are too few") {
		t.Errorf("error %v, want that lives are too few", err)
	}
}
