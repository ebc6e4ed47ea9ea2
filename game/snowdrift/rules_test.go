package snowdrift_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/num/rng"
)

// threeSeats is a 3x3 game of three agents and two drifts.
func threeSeats(t testing.TB) *snowdrift.Game {
	c := snowdrift.Default()
	c.Size, c.Agents, c.Drifts, c.Horizon = 3, 3, 2, 10
	return gametest.New(t, snowdrift.New, c)
}

// at returns it in the given position.
func at(t *testing.T, text string) *snowdrift.State {
	t.Helper()
	return gametest.At[*snowdrift.State](t, threeSeats(t), text)
}

func wantRewards(t *testing.T, got []float32, want ...float32) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("rewards %v, want %v", got, want)
	}
}

const (
	stay   = grid.Stay
	remove = snowdrift.Remove
)

func TestEveryoneGainsAndTheRemoverPays(t *testing.T) {
	st := at(t, "t=0\n 0* . .\n . 1 .\n . 2 *")
	wantRewards(t, gametest.Step(st, remove, stay, stay), 2, 6, 6)
}

func TestCostIsSplitAmongTheRemoversOfTheStep(t *testing.T) {
	wantRewards(t, gametest.Step(at(t, "t=0\n 01* . .\n . . .\n . 2 *"), remove, remove, stay), 4, 4, 6)
	third := float32(6 - 4./3)
	wantRewards(t, gametest.Step(at(t, "t=0\n 012* . .\n . . .\n . . *"), remove, remove, remove), third, third, third)
}

func TestWhoStandsByDoesNotPay(t *testing.T) {
	wantRewards(t, gametest.Step(at(t, "t=0\n 01* . .\n . . .\n . 2 *"), remove, stay, stay), 2, 6, 6)
}

func TestSeveralDriftsMayGoInOneStep(t *testing.T) {
	st := at(t, "t=0\n 02* . .\n . . .\n . . 1*")
	wantRewards(t, gametest.Step(st, remove, remove, stay), 8, 8, 12)
	if !st.Over() {
		t.Error("not over with no drift left")
	}
}

func TestRemoveIsLegalOnlyOnADrift(t *testing.T) {
	gametest.CheckMasks(t, threeSeats(t), "t=0\n 0* . .\n . 1 .\n . 2 *", "1345", "01234", "0234")
	gametest.CheckMasks(t, threeSeats(t), "t=1\n 0x . .\n . 1 .\n . 2 *", "134") // the drift has gone
}

func TestMoveIntoWallOrBlockIsIllegal(t *testing.T) {
	gametest.CheckMasks(t, threeSeats(t), "t=0\n 0 # .\n . 1 .\n * 2 *", "14", "1234", "0234")
}

func TestMovesAreSimultaneousAndCellsAreShared(t *testing.T) {
	st := at(t, "t=0\n 0 1 .\n . . .\n * 2 *")
	wantRewards(t, gametest.Step(st, grid.Right, grid.Left, grid.Up), 0, 0, 0)
	want := "t=1\n    1    0    .\n    .    2    .\n    *    .    *\nlast 3 2 0\n"
	if got := gametest.Text(t, st); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	gametest.Step(st, grid.Down, grid.Down, grid.Left)
	if got := gametest.Text(t, st); !strings.Contains(got, "12    0    .") {
		t.Errorf("seats 1 and 2 do not share a cell:\n%s", got)
	}
}

func TestEndsWhenNoDriftIsLeft(t *testing.T) {
	st := at(t, "t=0\n 0* . .\n . 1 .\n . 2 x")
	gametest.Step(st, remove, stay, stay)
	for s := range game.Seat(3) {
		if st.Alive(s) {
			t.Errorf("seat %d is alive after the end", s)
		}
	}
	if !st.Over() {
		t.Error("not over")
	}
}

func TestHorizonEnds(t *testing.T) {
	gametest.CheckEnd(t, threeSeats(t), "t=8\n 0* . .\n . 1 .\n . 2 *", stay)
}

func TestRemoversStay(t *testing.T) {
	st := at(t, "t=0\n 0* . .\n . 1 .\n . 2 *")
	gametest.Step(st, remove, stay, stay)
	for s := range game.Seat(3) {
		if !st.Alive(s) {
			t.Errorf("seat %d has left", s)
		}
	}
}

func TestReachedIsTheRemovedDriftInRowMajorOrder(t *testing.T) {
	st := at(t, "t=0\n 0* . .\n . 1 .\n . . 2*")
	for _, want := range [][]int{{0, game.NoGoal, game.NoGoal}, {game.NoGoal, game.NoGoal, 1}} {
		acts := []int32{stay, stay, stay}
		for s, goal := range want {
			if goal != game.NoGoal {
				acts[s] = remove
			}
		}
		gametest.Step(st, acts...)
		for s, goal := range want {
			if got := st.Reached(game.Seat(s)); got != goal {
				t.Errorf("t=%d: seat %d reached %d, want %d", st.Time(), s, got, goal)
			}
		}
	}
}

// Bounds are chi-square's 0.9999 quantiles: a false alarm in 10,000 seeds, and
// the seed is fixed.
func TestStartIsUniform(t *testing.T) {
	c := snowdrift.Default()
	c.Size, c.Drifts, c.Agents = 4, 3, 2
	st, r := gametest.New(t, snowdrift.New, c).New(), rng.New(3).Rand()
	var drifts, agents [16]float64
	for range 20_000 {
		st.Reset(&r)
		count := 0
		for cell := range 16 {
			seats, things := st.(*snowdrift.State).Cell(cell/4, cell%4, nil, nil)
			agents[cell] += float64(len(seats))
			drifts[cell] += float64(len(things))
			count += len(things)
		}
		if count != 3 {
			t.Fatalf("%d cells with a drift, want 3 distinct ones", count)
		}
	}
	gametest.CheckUniform(t, "drifts", drifts[:], 44.3) // 15 degrees of freedom
	gametest.CheckUniform(t, "agents", agents[:], 44.3)
}

func TestObservationIsEgoFirst(t *testing.T) {
	st := at(t, "t=5\n 0* # .\n . 1 .\n . 2 *\nlast 0 1 2")
	obs := make([]float32, 9*5+6+1+3*6)
	for i := range obs {
		obs[i] = float32(math.NaN())
	}
	st.Observe(1, obs)
	want := make([]float32, len(obs))
	for _, p := range [][2]int{{4, 0}, {7, 1}, {0, 2}, {1, 3}, {0, 4}, {8, 4}} { // cell, plane: seats 1, 2, 0, block, drifts
		want[p[0]*5+p[1]] = 1
	}
	copy(want[45:], []float32{0, 1, 1, 1, 1, 0, 0.5})
	want[52+1], want[58+2], want[64+0] = 1, 1, 1
	if !slices.Equal(obs, want) {
		t.Errorf("got  %v\nwant %v", obs, want)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	c := snowdrift.Config{Size: 2, Agents: 65, Drifts: 5, Horizon: 0, Pays: -1, Cost: math.NaN()}
	_, err := snowdrift.New(c)
	gametest.CheckFaults(t, err, "agents is 65", "horizon is 0", "pays is -1", "cost is",
		"size is 2, want a board with a cell for each drift")
	if err := snowdrift.Default().Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
}

func TestWrongTextIsRefused(t *testing.T) {
	gametest.Refuses(t, threeSeats(t), [][3]string{
		{"time beyond the horizon", "t=11\n0* . .\n. 1 .\n. 2 *", "first line"},
		{"seat missing", "t=0\n0* . .\n. 1 .\n. . *", "seat 2"},
		{"seat on a block", "t=0\n0* . .\n. 1 .\n. 2# *", `"2#"`},
		{"few drifts", "t=0\n0* . .\n. 1 .\n. 2 .", "1 drifts"},
		{"many drifts", "t=0\n0* . .\n* 1 .\n. 2 *", "2 drifts"},
		{"last action", "t=1\n0* . .\n. 1 .\n. 2 *\nlast 9 1 1", `"9"`},
		{"removal of nothing", "t=1\n0* . .\n. 1 .\n. 2 *\nlast 5 1 1", "seat 0 removed"},
		{"not over at the horizon", "t=10\n0* . .\n. 1 .\n. 2 *", "over is false"},
		{"over too early", "t=9 over\n0* . .\n. 1 .\n. 2 *", "over is true"},
	})
}

func FuzzUnmarshalText(f *testing.F) {
	gametest.Fuzz(f, threeSeats(f), "t=0\n0* . .\n. 1 .\n. 2 *", "t=3\n 0x # .\n . 1 .\n . 2 *\nlast 5 - 3",
		"t=10 over\n 012x . .\n . . .\n . . x\nlast 5 5 5")
}

func TestBotsActByTheirRules(t *testing.T) {
	gametest.CheckActs(t, threeSeats(t), []gametest.Acts{
		{"nd removes on a drift", "nd", "t=0\n 0* . .\n . 1 .\n . 2 *", []float32{0, 0, 0, 0, 0, 1}},
		{"nd takes the shortest path", "nd", "t=0\n 0 . *\n . 1 .\n . 2 *", []float32{0, 0, 0, 1, 0, 0}},
		{"nd breaks ties at random", "nd", "t=0\n 0 . *\n . 1 .\n * 2 .", []float32{0, .5, 0, .5, 0, 0}},
		{"nd walks around blocks", "nd", "t=0\n 0 # *\n . 1 .\n x 2 .", []float32{0, 1, 0, 0, 0, 0}},
		{"nd ignores where a drift was", "nd", "t=0\n 0 x .\n . 1 .\n * 2 .", []float32{0, 1, 0, 0, 0, 0}},
		{"nd stays where no path leads", "nd", "t=0\n 0 # *\n # 1 .\n x 2 .", []float32{0, 0, 0, 0, 1, 0}},
		{"fix never removes", "fix", "t=0\n 0* . .\n . 1 .\n . 2 *", []float32{0, 1. / 3, 0, 1. / 3, 1. / 3, 0}},
		{"random is uniform", "random", "t=0\n 0* . .\n . 1 .\n . 2 *", []float32{0, .25, 0, .25, .25, .25}},
	})
}
