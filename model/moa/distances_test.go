package moa

import (
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/rng"
)

// A move leads nearer if a slow search by rounds says so, on boards with blocks.
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
		// near[k] holds the cells from which a thing of plane 3 is at most k moves off.
		var near [h*w + 1][h * w]bool
		next := func(cell, d int) int {
			y, x := cell/w+[]int{-1, 1, 0, 0}[d], cell%w+[]int{0, 0, -1, 1}[d]
			if y < 0 || y >= h || x < 0 || x >= w || obs[(y*w+x)*planes+2] != 0 {
				return -1
			}
			return y*w + x
		}
		for cell := range h * w {
			near[0][cell] = obs[cell*planes+3] != 0
		}
		for k := range h * w {
			near[k+1] = near[k]
			for cell := range h * w {
				for d := range 4 {
					if to := next(cell, d); to >= 0 && near[k][to] {
						near[k+1][cell] = true
					}
				}
			}
		}
		steps := 0
		for steps < h*w && !near[steps][me] {
			steps++
		}
		for d := range 4 {
			want := float32(0)
			if to := next(me, d); to >= 0 && steps > 0 && near[steps][me] && near[steps-1][to] {
				want = 1
				seen++
			}
			if got[d] != want {
				t.Fatalf("board %d: move %d leads nearer: %v, want %v", board, d, got[d], want)
			}
			if got[4+d] != 0 {
				t.Fatalf("board %d: move %d leads nearer to things that are not there", board, d)
			}
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
