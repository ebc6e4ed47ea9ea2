package rollout_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// preparer is a player that prepares by weights of a name.
type preparer struct {
	rollout.Player
	weights  string
	window   rollout.Window
	prepared int
}

func (p *preparer) Prepare(w rollout.Window) { p.window, p.prepared = w, p.prepared+1 }

func (p *preparer) Shares(other rollout.Player) bool {
	q, ok := other.(*preparer)
	return ok && q.weights == p.weights
}

func (p *preparer) Follow(first rollout.Player) {
	if p.Shares(first) {
		p.window = first.(*preparer).window
	}
}

// What agents share is prepared once a window, by the first of them, for the players of all workers; what they do not share
// each prepares.
func TestWhatAgentsShareIsPreparedOnce(t *testing.T) {
	for _, workers := range []int{1, 3} {
		g := toy{seats: 4, horizon: 5}
		e := envs(t, rollout.Config{Game: g, Envs: 6, Key: rng.New(1), Workers: workers})
		ro, players := batch.New(e.Shape(5, 0)), drawers(workers, 4)
		for _, row := range players {
			for a, weights := range []string{"one", "other", "one"} { // the fourth prepares nothing
				row[a] = &preparer{Player: row[a], weights: weights}
			}
		}
		for window := 1; window <= 2; window++ {
			if err := e.Collect(ro, players); err != nil {
				t.Fatal(err)
			}
			var times []int
			for w, row := range players {
				for _, p := range row[:3] {
					p := p.(*preparer)
					if times = append(times, p.prepared); p.window != players[0][0].(*preparer).window {
						t.Errorf("%d workers, window %d: a player of worker %d has not the window's", workers, window, w)
					}
				}
			}
			if want := append([]int{window, window, 0}, make([]int, 3*(workers-1))...); !slices.Equal(times, want) {
				t.Errorf("%d workers, window %d: prepared %v times, want %v", workers, window, times, want)
			}
		}
	}
}
