package snowdrift_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hop/game"
	"hop/game/gametest"
	"hop/game/grid"
	"hop/game/snowdrift"
	"hop/rng"
)

// at returns a 3x3 game of three agents and two drifts in the given position.
func at(t *testing.T, text string) *snowdrift.State {
	t.Helper()
	c := snowdrift.Default()
	c.Size, c.Agents, c.Drifts, c.Horizon = 3, 3, 2, 10
	return position(t, c, text)
}

func position(t *testing.T, c snowdrift.Config, text string) *snowdrift.State {
	t.Helper()
	return gametest.At[*snowdrift.State](t, gametest.New(t, snowdrift.New, c), text)
}

func legal(st game.State, s game.Seat) []bool {
	dst := make([]bool, snowdrift.Remove+1)
	st.Legal(s, dst)
	return dst
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
	st := at(t, "t=0\n 0* . .\n . 1 .\n . 2 *")
	for s, want := range []bool{true, false, false} {
		if got := legal(st, game.Seat(s))[remove]; got != want {
			t.Errorf("seat %d: remove legal %v, want %v", s, got, want)
		}
	}
	gametest.Step(st, remove, stay, stay)
	if legal(st, 0)[remove] {
		t.Error("remove is legal where the drift has gone")
	}
}

func TestMoveIntoWallOrBlockIsIllegal(t *testing.T) {
	st := at(t, "t=0\n 0 # .\n . 1 .\n * 2 *")
	for s, want := range [][]bool{
		{false, true, false, false, true, false},
		{false, true, true, true, true, false},
		{true, false, true, true, true, false},
	} {
		if got := legal(st, game.Seat(s)); !slices.Equal(got, want) {
			t.Errorf("seat %d: mask %v, want %v", s, got, want)
		}
	}
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
	st := at(t, "t=8\n 0* . .\n . 1 .\n . 2 *")
	gametest.Step(st, stay, stay, stay)
	if st.Over() {
		t.Error("over after 9 of 10 steps")
	}
	gametest.Step(st, stay, stay, stay)
	if !st.Over() {
		t.Error("not over after 10 of 10 steps")
	}
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
	g, err := snowdrift.New(c)
	if err != nil {
		t.Fatal(err)
	}
	st, r := g.New(), rng.New(3).Rand()
	var drifts, agents [16]float64
	const n = 20_000
	for range n {
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
	for name, got := range map[string][16]float64{"drifts": drifts, "agents": agents} {
		want, chi := 0., 0.
		for _, x := range got {
			want += x / 16
		}
		for _, x := range got {
			chi += (x - want) * (x - want) / want
		}
		if chi > 44.3 { // 15 degrees of freedom
			t.Errorf("%s are not uniform: chi-square %.1f, want below 44.3; %v", name, chi, got)
		}
	}
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
	c := snowdrift.Config{Size: 2, Agents: 9, Drifts: 5, Horizon: 0, Pays: -1, Cost: math.NaN()}
	_, err := snowdrift.New(c)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"agents is 9", "horizon is 0", "pays is -1", "cost is",
		"size is 2, want a board with a cell for each drift"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if err := snowdrift.Default().Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
}
