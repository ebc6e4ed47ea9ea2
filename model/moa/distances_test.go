package moa

import (
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/rng"
)

// A move leads nearer if the definition says so, on boards with blocks.
func TestDistancesAreShortestPathsAroundBlocks(t *testing.T) {
	const h, w, planes = 5, 6, 5 // self, other, block, two kinds of things
	in := Input{
		Input: frame.Input{Height: h, Width: w, Planes: planes, Rest: 5}, Actions: 5, LegalAt: h * w * planes, LastAt: -1, Seats: 2,
		Moves: []int32{0, 1, 2, 3}, Blocks: []int{2},
	}
	m, _, err := New(Config{Net: "dense", Frame: "egof", Hidden: []int{4, 4}, Distances: true}, in, rng.New(1))
	must(t, err)
	if m.Cols() != frame.New("egof", in.Input).Cols+8 {
		t.Fatalf("%d columns, want 8 more than without distances: two kinds of things, four moves", m.Cols())
	}
	want := reference.Others{
		OthersSettings: reference.OthersSettings{Frame: frame.Board, Distances: true},
		Spec: game.Spec{Seats: 2, Obs: game.Layout{
			Height: h, Width: w, Planes: []string{"self", "other", "block", "stag", "hare"}, Legal: 5,
		}},
	}
	distances, r := m.newDistances(), rng.New(2).Rand()
	seen := 0
	for board := range 300 {
		obs := make([]float32, in.Len())
		me := r.IntN(h * w)
		for cell := range h * w {
			switch {
			case cell == me:
				obs[cell*planes] = 1
			case r.IntN(4) == 0:
				obs[cell*planes+2] = 1
			case r.IntN(8) == 0:
				obs[cell*planes+3] = 1
			}
		}
		got := distances.of(obs)
		row := want.Row(obs)
		for d, near := range row[len(row)-8:] {
			if float64(got[d]) != near {
				t.Fatalf("board %d: move %d leads nearer to thing %d: %v, want %v", board, d%4, d/4, got[d], near)
			}
			seen += int(near)
		}
	}
	if seen < 100 {
		t.Errorf("only %d moves of 300 boards led nearer", seen)
	}
}

func TestDistancesNeedABoard(t *testing.T) {
	in := Input{Input: frame.Input{Rest: 4}, Actions: 2, LegalAt: -1, LastAt: -1}
	if _, _, err := New(Config{Net: "dense", Frame: "board", Hidden: []int{4, 4}, Distances: true}, in, rng.New(1)); err == nil {
		t.Error("a game without a board has distances")
	}
}

func TestPredictingWithDistancesAllocatesNothing(t *testing.T) {
	m, p := newModel(t, Config{Net: "dense", Frame: "egof", Hidden: []int{8, 8}, Distances: true}, 0)
	r := rng.New(3).Rand()
	obs, probs, ws := look(&r, 1), make([]float32, m.Actions), m.Work(4)
	if n := testing.AllocsPerRun(20, func() { ws.Predict(p, obs, nil, probs) }); n != 0 {
		t.Errorf("Predict allocates %v times, want 0", n)
	}
}
