package cleanup_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// quiet is a 4x4 game of two agents, river 2 and orchard 1 columns wide, in
// which nothing grows or is polluted by itself.
func quiet(c *cleanup.Config) {
	c.Size, c.Agents, c.Horizon, c.River, c.Orchard, c.Pollution, c.Growth = 4, 2, 10, 2, 1, 0, 0
}

// at returns a game in the given position.
func at(t *testing.T, edit func(*cleanup.Config), text string) *cleanup.State {
	t.Helper()
	return gametest.At[*cleanup.State](t, newGame(t, edit), text)
}

const (
	stay    = grid.Stay
	clean   = cleanup.Clean
	harvest = cleanup.Harvest
)

func TestCleanEmptiesTheRiverWithinReach(t *testing.T) {
	const pos = "t=0\n~ w . _\nw 0w . _\nw w . 1_\nw ~ . _"
	for reach, want := range []string{
		"~ w . _\nw 0~ . _\nw w . 1_\nw ~ . _",
		"~ ~ . _\n~ 0~ . _\nw ~ . 1_\nw ~ . _",
		"~ ~ . _\n~ 0~ . _\n~ ~ . 1_\nw ~ . _",
		"~ ~ . _\n~ 0~ . _\n~ ~ . 1_\n~ ~ . _",
	} {
		st := at(t, func(c *cleanup.Config) { quiet(c); c.Reach = reach }, pos)
		if got := gametest.Step(st, clean, stay); got[0] != 0 || got[1] != 0 {
			t.Errorf("reach %d: cleaning pays %v, want nothing", reach, got)
		}
		if got := gametest.Board(t, st, 4); got != want {
			t.Errorf("reach %d: got\n%s\nwant\n%s", reach, got, want)
		}
		if got, want := st.Waste(), float64(strings.Count(want, "w"))/8; got != want {
			t.Errorf("reach %d: waste %v, want %v", reach, got, want)
		}
	}
}

func TestHarvestPaysAndIsSplit(t *testing.T) {
	alone := at(t, quiet, "t=0\n~ ~ . 0a\n~ ~ . _\n~ ~ . 1a\n~ ~ . _")
	if got := gametest.Step(alone, harvest, stay); !slices.Equal(got, []float32{1, 0}) {
		t.Errorf("rewards %v, want 1 and 0", got)
	}
	if got, want := gametest.Board(t, alone, 4), "~ ~ . 0_\n~ ~ . _\n~ ~ . 1a\n~ ~ . _"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	both := at(t, quiet, "t=0\n~ ~ . 01a\n~ ~ . _\n~ ~ . a\n~ ~ . _")
	if got := gametest.Step(both, harvest, harvest); !slices.Equal(got, []float32{0.5, 0.5}) {
		t.Errorf("rewards %v, want a half each", got)
	}
	two := at(t, quiet, "t=0\n~ ~ . 0a\n~ ~ . _\n~ ~ . 1a\n~ ~ . _")
	if got := gametest.Step(two, harvest, harvest); !slices.Equal(got, []float32{1, 1}) {
		t.Errorf("rewards of two apples %v, want 1 each", got)
	}
}

func TestMasks(t *testing.T) {
	g := newGame(t, quiet)
	gametest.CheckMasks(t, g, "t=0\n0~ w . _\n~ ~ . _\n~ ~ . 1_\n~ ~ . _", "1345")  // in the river beside waste
	gametest.CheckMasks(t, g, "t=0\n~ w 0. _\n~ ~ . _\n~ ~ . 1_\n~ ~ . _", "12345") // on the bank beside waste
	gametest.CheckMasks(t, g, "t=0\n~ w . _\n~ ~ 0. _\n~ ~ . 1_\n~ ~ . _", "01234") // beyond reach
	gametest.CheckMasks(t, g, "t=0\n~ w . _\n~ ~ . 0a\n~ ~ . 1_\n~ ~ . _", "01246") // on an apple
	gametest.CheckMasks(t, g, "t=0\n~ w . a\n~ ~ . 0_\n~ ~ . 1_\n~ ~ . _", "0124")  // in the bare orchard
}

// Waste is on 2 of 8 river cells. Bounds are 5 standard errors; the seed is fixed.
func TestApplesGrowAtTheStatedRate(t *testing.T) {
	for _, tc := range []struct {
		restoration, depletion, want float64
	}{
		{0, 0.4, 0.2 * (0.4 - 0.25) / 0.4},
		{0, 1, 0.2 * 0.75},
		{0.25, 0.5, 0.2},
		{0.5, 0.75, 0.2},
		{0.1, 0.25, 0},
		{0, 0.2, 0},
	} {
		st := at(t, func(c *cleanup.Config) {
			quiet(c)
			c.Growth, c.Restoration, c.Depletion = 0.2, tc.restoration, tc.depletion
		}, "t=0\n0w w . _\n~ ~ . _\n~ ~ . 1_\n~ ~ . _")
		r := rng.New(5).Rand()
		const n = 10_000
		apples := 0.
		start := gametest.Text(t, st)
		for range n {
			st.Step([]int32{stay, stay}, make([]float32, 2), &r)
			apples += float64(strings.Count(gametest.Board(t, st, 4), "a"))
			if err := st.UnmarshalText([]byte(start)); err != nil {
				t.Fatal(err)
			}
		}
		got, tol := apples/(4*n), 5*math.Sqrt(tc.want*(1-tc.want)/(4*n))
		if math.Abs(got-tc.want) > tol {
			t.Errorf("restoration %v, depletion %v: apples grow with rate %.4f, want %.4f ± %.4f", tc.restoration, tc.depletion, got, tc.want, tol)
		}
	}
}

// The bound is chi-square's 0.9999 quantile for 5 degrees of freedom; that of
// the rate is 5 standard errors; the seed is fixed.
func TestPollutionFillsOneCleanCellAtRandom(t *testing.T) {
	st := at(t, func(c *cleanup.Config) { quiet(c); c.Pollution = 0.3 }, "t=0\n0w w . _\n~ ~ . _\n~ ~ . 1_\n~ ~ . _")
	r, start := rng.New(5).Rand(), gametest.Text(t, st)
	const n = 20_000
	count := map[string]float64{}
	none := 0.
	for range n {
		st.Step([]int32{stay, stay}, make([]float32, 2), &r)
		switch st.Waste() * 8 {
		case 2:
			none++
		case 3:
			count[gametest.Board(t, st, 4)]++
		default:
			t.Fatalf("waste on %v of 8 cells after one step from 2", st.Waste()*8)
		}
		if err := st.UnmarshalText([]byte(start)); err != nil {
			t.Fatal(err)
		}
	}
	if tol := 5 * math.Sqrt(0.21/n); math.Abs(none/n-0.7) > tol {
		t.Errorf("no pollution in %.4f of steps, want 0.7 ± %.4f", none/n, tol)
	}
	if len(count) != 6 {
		t.Errorf("%d cells filled, want 6", len(count))
	}
	gametest.CheckUniform(t, "cells filled", slices.Collect(maps.Values(count)), 25.7)
}

func TestAFullRiverStaysFull(t *testing.T) {
	st := at(t, func(c *cleanup.Config) { quiet(c); c.Pollution = 1 }, "t=0\n0w w . _\nw w . _\nw w . 1_\nw w . _")
	gametest.Step(st, stay, stay)
	if st.Waste() != 1 {
		t.Errorf("waste %v, want 1", st.Waste())
	}
}

// Everything that depends on the order of a step, in one: the last waste goes
// and an apple is harvested, so in the same step the whole orchard is full.
func TestCleaningAndHarvestComeBeforeGrowth(t *testing.T) {
	st := at(t, func(c *cleanup.Config) { quiet(c); c.Growth = 1 }, "t=0\n0w w . _\nw ~ . _\n~ ~ . 1a\n~ ~ . _")
	if got := gametest.Step(st, clean, harvest); got[1] != 1 {
		t.Errorf("harvest pays %v, want 1", got[1])
	}
	if got, want := gametest.Board(t, st, 4), "0~ ~ . a\n~ ~ . a\n~ ~ . 1a\n~ ~ . a"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPollutionComesBeforeGrowth(t *testing.T) {
	st := at(t, func(c *cleanup.Config) { quiet(c); c.Growth, c.Pollution, c.Depletion = 1, 1, 0.125 },
		"t=0\n0~ ~ . _\n~ ~ . _\n~ ~ . 1_\n~ ~ . _")
	gametest.Step(st, stay, stay)
	if got := gametest.Board(t, st, 4); strings.Contains(got, "a") || !strings.Contains(got, "w") {
		t.Errorf("apples grew though the new waste reaches depletion:\n%s", got)
	}
}

func TestMovesAreSimultaneousAndCellsAreShared(t *testing.T) {
	st := at(t, quiet, "t=0\n0~ 1~ . _\n~ ~ . _\n~ ~ . _\n~ ~ . _")
	gametest.Step(st, grid.Right, grid.Left)
	if got := gametest.Board(t, st, 4); !strings.HasPrefix(got, "1~ 0~ ") {
		t.Errorf("seats did not swap:\n%s", got)
	}
	gametest.Step(st, stay, grid.Right)
	if got := gametest.Board(t, st, 4); !strings.HasPrefix(got, "~ 01~ ") {
		t.Errorf("seats do not share a cell:\n%s", got)
	}
}

func TestHorizonEnds(t *testing.T) {
	gametest.CheckEnd(t, newGame(t, quiet), "t=8\n0~ 1~ . _\n~ ~ . _\n~ ~ . _\n~ ~ . _", stay)
}

func TestReachedAndCountsSayWhatWasDone(t *testing.T) {
	st := at(t, quiet, "t=0\n0w ~ . _\n~ ~ . _\n~ ~ . 1a\n~ ~ . _")
	gametest.Step(st, clean, harvest)
	if a, b := st.Reached(0), st.Reached(1); a != cleanup.GoalClean || b != cleanup.GoalHarvest {
		t.Errorf("reached %d and %d, want clean and harvest", a, b)
	}
	gametest.Step(st, stay, stay)
	if a, b := st.Reached(0), st.Reached(1); a != game.NoGoal || b != game.NoGoal {
		t.Errorf("reached %d and %d, want none", a, b)
	}
	if got := gametest.Text(t, st); !strings.HasSuffix(got, "cleaned 1 0\nharvested 0 1\n") {
		t.Errorf("got\n%swant seat 0 to have cleaned and seat 1 to have harvested once", got)
	}
}

// Bounds are chi-square's 0.9999 quantiles; the seed is fixed.
func TestStart(t *testing.T) {
	st := newGame(t, func(c *cleanup.Config) { quiet(c); c.Start = 0.25 }).New().(*cleanup.State)
	r := rng.New(3).Rand()
	var agents, waste [16]float64
	for range 16_000 {
		st.Reset(&r)
		if st.Waste() != 0.25 {
			t.Fatalf("waste %v, want 0.25", st.Waste())
		}
		for cell := range 16 {
			seats, things := st.Cell(cell/4, cell%4, nil, nil)
			agents[cell] += float64(len(seats))
			if slices.Contains(things, "waste") {
				waste[cell]++
			}
			if slices.Contains(things, "apple") {
				t.Fatalf("an apple at the start:\n%s", gametest.Text(t, st))
			}
		}
	}
	gametest.CheckUniform(t, "agents", agents[:], 44.3) // 15 degrees of freedom
	var river []float64
	for cell, v := range waste {
		if cell%4 < 2 {
			river = append(river, v)
		}
	}
	gametest.CheckUniform(t, "waste", river, 29.9) // 7 degrees of freedom
}

func TestObservationIsEgoFirst(t *testing.T) {
	st := at(t, func(c *cleanup.Config) { quiet(c); c.Size, c.River = 3, 1 }, "t=5\n0w . _\n~ 1. a\n~ . _\nlast 1 2")
	obs := make([]float32, 9*6+7+1+2*7)
	for i := range obs {
		obs[i] = float32(math.NaN())
	}
	st.Observe(1, obs)
	want := make([]float32, len(obs))
	for _, p := range [][2]int{{4, 0}, {0, 1}, {0, 2}, {3, 2}, {6, 2}, {0, 3}, {2, 4}, {5, 4}, {8, 4}, {5, 5}} { // cell, plane
		want[p[0]*6+p[1]] = 1
	}
	copy(want[54:], []float32{1, 1, 1, 1, 1, 0, 0, 0.5})
	want[62+2], want[69+1] = 1, 1
	if !slices.Equal(obs, want) {
		t.Errorf("got  %v\nwant %v", obs, want)
	}
}

func TestBotsActByTheirRules(t *testing.T) {
	gametest.CheckActs(t, newGame(t, quiet), []gametest.Acts{
		{"cleaner cleans in reach", "cleaner", "t=0\n~ w 0. _\n~ ~ . _\n~ ~ . 1_\n~ ~ . _", []float32{0, 0, 0, 0, 0, 1, 0}},
		{"cleaner goes to the nearest waste", "cleaner", "t=0\n~ ~ . _\n~ w . 0a\n~ ~ . 1_\nw ~ . _", []float32{0, 0, 1, 0, 0, 0, 0}},
		{"cleaner breaks ties at random", "cleaner", "t=0\nw ~ . _\n~ ~ 0. _\n~ ~ . 1_\n~ w . _", []float32{1. / 3, 1. / 3, 1. / 3, 0, 0, 0, 0}},
		{"cleaner stays by a clean river", "cleaner", "t=0\n~ ~ . _\n~ ~ . 0a\n~ ~ . 1_\n~ ~ . _", []float32{0, 0, 0, 0, 1, 0, 0}},
		{"harvester harvests", "harvester", "t=0\n~ ~ . _\n~ ~ . 0a\n~ ~ . 1_\n~ ~ . _", []float32{0, 0, 0, 0, 0, 0, 1}},
		{"harvester goes to the nearest apple", "harvester", "t=0\n~ w . a\n~ ~ . _\n~ ~ . 0_\n~ ~ . 1a", []float32{0, 1, 0, 0, 0, 0, 0}},
		{"harvester goes to the bare orchard", "harvester", "t=0\n~ w . _\n~ ~ 0. _\n~ ~ . _\n~ ~ . 1_", []float32{0, 0, 0, 1, 0, 0, 0}},
		{"harvester waits in the orchard", "harvester", "t=0\n~ w . _\n~ ~ . 0_\n~ ~ . _\n~ ~ . 1_", []float32{0, 0, 0, 0, 1, 0, 0}},
		{"fair cleans first", "fair", "t=9\n~ w 0. a\n~ ~ . _\n~ ~ . _\n~ ~ . 1_\ncleaned 3 8", []float32{0, 0, 0, 0, 0, 1, 0}},
		{"fair harvests in turn", "fair", "t=9\n~ w 0. a\n~ ~ . _\n~ ~ . _\n~ ~ . 1_\ncleaned 4 0", []float32{0, 0, 0, 1, 0, 0, 0}},
		{"fair cleans again", "fair", "t=9\n~ w 0. a\n~ ~ . _\n~ ~ . _\n~ ~ . 1_\ncleaned 4 0\nharvested 4 0", []float32{0, 0, 0, 0, 0, 1, 0}},
		{"fair cleans while there is no apple", "fair", "t=9\n~ w 0. _\n~ ~ . _\n~ ~ . _\n~ ~ . 1_\ncleaned 4 0", []float32{0, 0, 0, 0, 0, 1, 0}},
	})
}

func TestValidateNamesEveryFault(t *testing.T) {
	_, err := cleanup.New(cleanup.Config{
		Size: 3, Agents: 65, Horizon: 0, River: 2, Orchard: 2, Pollution: 2, Growth: -1, Restoration: 0.5, Depletion: 0.5, Start: 2, Reach: -1,
		Pays: math.Inf(1),
	})
	gametest.CheckFaults(t, err,
		"agents is 65", "horizon is 0", "pollution is 2", "growth is -1", "start is 2", "reach is -1", "pays is",
		"size is 3, want a board with room", "restoration is 0.5, want less than depletion")
}

func TestWrongTextIsRefused(t *testing.T) {
	const rest = "\n~ ~ . _\n~ ~ . _\n~ ~ . _"
	gametest.Refuses(t, newGame(t, quiet), [][3]string{
		{"over too early", "t=3 over\n0~ 1~ . _" + rest, "by the rules"},
		{"not over at the horizon", "t=10\n0~ 1~ . _" + rest, "by the rules"},
		{"apple in the river", "t=3\n0~ 1a . _" + rest, `"1a"`},
		{"waste in the orchard", "t=3\n0~ 1~ . w" + rest, `"w"`},
		{"seat without ground", "t=3\n0~ 1 . _" + rest, `"1"`},
		{"seat missing", "t=3\n0~ ~ . _" + rest, "seat 1"},
		{"last action", "t=3\n0~ 1~ . _" + rest + "\nlast 7 1", `"7"`},
		{"count beyond the time", "t=3\n0~ 1~ . _" + rest + "\ncleaned 4 1", `"4"`},
	})
}

func FuzzUnmarshalText(f *testing.F) {
	gametest.Fuzz(f, newGame(f, quiet), "t=0\n0~ 1w . _\n~ ~ . _\n~ ~ . a\n~ w . _",
		"t=9\n~ w 01. _\n~ ~ . _\n~ ~ . _\n~ ~ . _\nlast 5 -\ncleaned 4 0\nharvested 0 9",
		"t=10 over\n~ w . _\n~ 0~ . _\n~ ~ . 1a\n~ ~ . _\nlast 4 6")
}

func TestPermuteMovesTheCounts(t *testing.T) {
	st := at(t, quiet, "t=9\n0~ 1~ . _\n~ ~ . _\n~ ~ . _\n~ ~ . _\nlast 4 5\ncleaned 1 2\nharvested 3 4")
	moved := newGame(t, quiet).New().(*cleanup.State)
	moved.Permute(st, []game.Seat{1, 0})
	if got := gametest.Text(t, moved); !strings.HasSuffix(got, "last 5 4\ncleaned 2 1\nharvested 4 3\n") {
		t.Errorf("seats swapped:\n%s", got)
	}
}

// The draws name no seats, so with equal draws all must agree.
func TestRelabelledSeatsFareAlike(t *testing.T) {
	g := newGame(t, func(c *cleanup.Config) { c.Size, c.River, c.Orchard, c.Growth = 4, 1, 2, 0.3 })
	gametest.Relabelled(t, g, []game.Seat{2, 0, 3, 1}, true)
}
