package pretrain_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// seenOf records rows of stag hunts on 4x4 in which seats see one cell around themselves.
func seenOf(t *testing.T, rows int) *dataset.Data {
	t.Helper()
	c := staghunt.Default()
	c.Stags, c.View = 2, 1
	cfg := dataset.Config{Game: gametest.New(t, staghunt.New, c), GameSpec: map[string]any{"name": "staghunt"},
		Among: []string{"ns", "nh", "random"}, Life: 4, Rows: rows, Seed: 7, Dir: t.TempDir()}
	if _, err := dataset.Collect(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(cfg.Dir)
	must(t, err)
	return d
}

// A world model learns from what was in view: other things and agents beyond it, other actions and
// rewards of those who were not seen, change no weight.
func TestAWorldLearnsFromWhatWasSeen(t *testing.T) {
	weights := func(scramble bool) []float32 {
		d := seenOf(t, 900)
		if scramble {
			hideAll(d)
		}
		w := newWorld(t, d)
		if err := w.Run(t.Context(), folder(t), nil); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(w.Net.W)
	}
	if !slices.Equal(weights(false), weights(true)) {
		t.Error("what was out of view is learnt from")
	}
}

// hideAll draws anew what was out of view of each row's agent.
func hideAll(d *dataset.Data) {
	r, l, n := rng.New(9).Rand(), d.Layout.Obs(), d.Layout.Seats
	obs := make([]float32, l.Len())
	for row := range d.T {
		d.Observation(row, obs)
		me := l.CellOf(obs, 0)
		for k := 1; k < n; k++ {
			if at := l.CellOf(obs, k); at < 0 || !l.InView(d.Layout.View, me, at) {
				d.Joint[row*n+k] = int8(r.IntN(5))
			}
			d.Rewards[row*n+k] = 0
		}
		planes := l.PlanesLen()
		d.NextObservation(row, obs)
		to := l.CellOf(obs, 0)
		for i := range planes {
			c := i / len(l.Planes)
			if i%len(l.Planes) != 0 && !l.InView(d.Layout.View, me, c) {
				d.Obs[row*planes+i] = uint8(r.IntN(2))
			}
			if i%len(l.Planes) != 0 && (to < 0 || !l.InView(d.Layout.View, to, c)) {
				d.NextObs[row*planes+i] = uint8(r.IntN(2))
			}
		}
	}
}

// With a view an observer has a co-player's steps while it is in view, and no others.
func TestHistoriesAreOfWhomTheObserverSees(t *testing.T) {
	d := seenOf(t, 3000)
	h := pretrain.NewHistories(d, newSequence(t, d, nil).Learner.Model, func(int) bool { return true })
	l, n := d.Layout.Obs(), d.Layout.Seats
	obs, got, want := make([]float32, l.Len()), map[[2]int]bool{}, 0
	for i, row := range h.Source {
		got[[2]int{int(row), int(h.By[i])}] = true
	}
	for row, a := range d.Agent {
		d.Observation(row, obs)
		for by := range int8(n) {
			q := d.Sequences[int(d.Episode[row])*n+int(by)]
			place := (int(d.Seat[q.Lo]) - int(d.Seat[row]) + n) % n
			at, from := l.CellOf(obs, 0), l.CellOf(obs, place)
			sees := by != a && from >= 0 && l.InView(1, from, at)
			if sees {
				want++
			}
			if got[[2]int{row, int(by)}] != sees {
				t.Fatalf("row %d of agent %d is read by %d: %v, want %v", row, a, by, !sees, sees)
			}
		}
	}
	if len(h.Source) != want || want < 500 {
		t.Errorf("%d steps are read, want %d", len(h.Source), want)
	}
}
