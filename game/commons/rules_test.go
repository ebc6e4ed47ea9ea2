package commons_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/commons"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/num/rng"
)

// quiet is a 4x4 game of two agents, with one patch, in which nothing grows.
func quiet(c *commons.Config) { c.Size, c.Agents, c.Horizon, c.Growth = 4, 2, 10, 0 }

// at returns a game in the given position.
func at(t *testing.T, edit func(*commons.Config), text string) *commons.State {
	t.Helper()
	return gametest.At[*commons.State](t, newGame(t, edit), text)
}

const (
	stay    = grid.Stay
	harvest = commons.Harvest
)

func TestPatchesLieOnALattice(t *testing.T) {
	for _, tc := range []struct {
		name        string
		size, apart int
		want        string
	}{
		{"two by two, four apart", 7, 4,
			". a . . . a .\na a a . a a a\n. a . . . a .\n. . . . . . .\n. a . . . a .\na a a . a a a\n. a . . . a ."},
		{"five apart, cut off at the edge", 7, 5,
			". a . . . . a\na a a . . a a\n. a . . . . a\n. . . . . . .\n. . . . . . .\n. a . . . . a\na a a . . a a"},
		{"one", 4, 3, ". a . .\na a a .\n. a . .\n. . . ."},
		{"touching", 4, 2, ". a . a\na a a a\n. a . a\na a a a"},
		{"all one, but for a corner", 3, 1, ". a a\na a a\na a a"},
	} {
		st := newGame(t, func(c *commons.Config) { c.Size, c.Apart = tc.size, tc.apart }).New().(*commons.State)
		r := rng.New(1).Rand()
		st.Reset(&r)
		got := strings.Map(func(r rune) rune {
			if strings.ContainsRune("0123456789", r) {
				return -1
			}
			return r
		}, gametest.Board(t, st, tc.size))
		if got != tc.want {
			t.Errorf("%s: an episode starts with\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestHarvestPaysAndIsSplit(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		edit       func(*commons.Config)
		acts       [2]int32
		want       []float32
		after      string
	}{
		{"alone", "t=0\n. 0a . .\na a a .\n. 1a . .\n. . . .", quiet, [2]int32{harvest, stay}, []float32{1, 0},
			". 0_ . .\na a a .\n. 1a . .\n. . . ."},
		{"one apple, two agents", "t=0\n. 01a . .\na a a .\n. a . .\n. . . .", quiet, [2]int32{harvest, harvest}, []float32{0.5, 0.5},
			". 01_ . .\na a a .\n. a . .\n. . . ."},
		{"who stands by gets nothing", "t=0\n. 01a . .\na a a .\n. a . .\n. . . .", quiet, [2]int32{harvest, stay}, []float32{1, 0},
			". 01_ . .\na a a .\n. a . .\n. . . ."},
		{"two apples", "t=0\n. 0a . .\na a a .\n. 1a . .\n. . . .", quiet, [2]int32{harvest, harvest}, []float32{1, 1},
			". 0_ . .\na a a .\n. 1_ . .\n. . . ."},
		{"pays", "t=0\n. 01a . .\na a a .\n. a . .\n. . . .", func(c *commons.Config) { quiet(c); c.Pays = 3 },
			[2]int32{harvest, harvest}, []float32{1.5, 1.5}, ". 01_ . .\na a a .\n. a . .\n. . . ."},
	} {
		st := at(t, tc.edit, tc.text)
		if got := gametest.Step(st, tc.acts[:]...); !slices.Equal(got, tc.want) {
			t.Errorf("%s: rewards %v, want %v", tc.name, got, tc.want)
		}
		if got := gametest.Board(t, st, 4); got != tc.after {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.after)
		}
	}
}

func TestMasks(t *testing.T) {
	g := newGame(t, quiet)
	gametest.CheckMasks(t, g, "t=0\n0. a . .\na a a .\n. a . 1.\n. . . .", "134")   // in a corner without a patch
	gametest.CheckMasks(t, g, "t=0\n. 0a . .\na a a .\n. a . 1.\n. . . .", "12345") // on an apple at the edge
	gametest.CheckMasks(t, g, "t=0\n. a . .\na 0_ a .\n. a . 1.\n. . . .", "01234") // on a bare cell
}

// A bare cell grows an apple with probability growth for each apple that is within reach once all
// have harvested. Bounds are 5 standard errors; the seed is fixed.
func TestApplesGrowAtTheStatedRate(t *testing.T) {
	for _, tc := range []struct {
		name, text    string
		growth        float64
		reach         int
		act           int32     // of seat 0
		cells         [][2]int  // that are looked at
		want          []float64 // rates there
		edit          func(*commons.Config)
		growElsewhere bool
	}{
		{"one for each of four", "t=0\n0. a . .\na _ a .\n. a . 1.\n. . . .", 0.1, 1, stay, [][2]int{{1, 1}}, []float64{0.4}, nil, false},
		{"within reach alone", "t=0\n0. _ . .\na _ _ .\n. _ . 1.\n. . . .", 0.1, 1, stay, [][2]int{{1, 1}, {0, 1}, {1, 2}},
			[]float64{0.1, 0, 0}, nil, false},
		{"farther reach", "t=0\n0. _ . .\na _ _ .\n. a . 1.\n. . . .", 0.1, 2, stay, [][2]int{{1, 1}, {0, 1}, {1, 2}},
			[]float64{0.2, 0.2, 0.2}, nil, false},
		{"never by itself", "t=0\n0. _ . .\n_ _ _ .\n. _ . 1.\n. . . .", 1, 2, stay, [][2]int{{1, 1}, {0, 1}}, []float64{0, 0}, nil, false},
		{"never where there is none", "t=0\n0. a . .\na a a .\n. a . 1.\n. . . .", 1, 2, stay, [][2]int{{0, 2}, {3, 3}},
			[]float64{0, 0}, nil, false},
		{"at most surely", "t=0\n0. a . .\na _ a .\n. a . 1.\n. . . .", 0.5, 1, stay, [][2]int{{1, 1}}, []float64{1}, nil, false},
		{"not by what was just harvested", "t=0\n. 0a . .\n_ _ _ .\n. _ . 1.\n. . . .", 0.5, 2, harvest, [][2]int{{1, 1}, {0, 1}},
			[]float64{0, 0}, nil, false},
		{"again where it was harvested", "t=0\n. 0a . .\na _ _ .\n. _ . 1.\n. . . .", 0.3, 2, harvest, [][2]int{{0, 1}},
			[]float64{0.3}, nil, true},
		{"from another patch", "t=0\n. _ . . . _\n_ _ 0_ . a _\n. _ . . . _\n. . . . . .\n. _ . . . _\n_ _ 1_ . _ _", 0.3, 2, stay,
			[][2]int{{1, 2}, {1, 1}}, []float64{0.3, 0}, func(c *commons.Config) { c.Size = 6 }, true},
	} {
		st := at(t, func(c *commons.Config) {
			quiet(c)
			c.Growth, c.Reach = tc.growth, tc.reach
			if tc.edit != nil {
				tc.edit(c)
			}
		}, tc.text)
		r, start := rng.New(5).Rand(), gametest.Text(t, st)
		const n = 4_000
		count, elsewhere := make([]float64, len(tc.cells)), 0
		rows := strings.Count(tc.text, "\n")
		before := strings.Count(gametest.Board(t, st, rows), "a")
		if tc.act == harvest {
			before--
		}
		for range n {
			st.Step([]int32{tc.act, stay}, make([]float32, 2), &r)
			elsewhere += strings.Count(gametest.Board(t, st, rows), "a") - before
			for i, c := range tc.cells {
				if _, things := st.Cell(c[0], c[1], nil, nil); slices.Contains(things, "apple") {
					count[i]++
					elsewhere--
				}
			}
			if err := st.UnmarshalText([]byte(start)); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range tc.want {
			if got, tol := count[i]/n, 5*math.Sqrt(want*(1-want)/n); math.Abs(got-want) > tol {
				t.Errorf("%s: at %v apples grow with rate %.4f, want %.4f ± %.4f", tc.name, tc.cells[i], got, want, tol)
			}
		}
		if (elsewhere > 0) != tc.growElsewhere {
			t.Errorf("%s: %d apples grew elsewhere in %d steps", tc.name, elsewhere, n)
		}
	}
}

// With sure growth everything within reach of an apple is full after one step, and what is beyond
// only after two: what grows in a step helps nothing to grow in it, whichever cell comes first.
func TestWhatGrowsHelpsFromTheNextStepOn(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"downwards", "t=0\n0. a . .\n_ _ _ .\n. _ . 1.\n. . . .", "0. a . .\n_ a _ .\n. _ . 1.\n. . . ."},
		{"upwards", "t=0\n0. _ . .\n_ _ _ .\n. a . 1.\n. . . .", "0. _ . .\n_ a _ .\n. a . 1.\n. . . ."},
	} {
		st := at(t, func(c *commons.Config) { quiet(c); c.Growth, c.Reach = 1, 1 }, tc.text)
		gametest.Step(st, stay, stay)
		if got := gametest.Board(t, st, 4); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// Cells draw for themselves: of two bare cells, each with three apples within reach, every one of
// the four outcomes is as likely as the rates say. The bound is chi-square's 0.9999 quantile for 3
// degrees of freedom; the seed is fixed.
func TestCellsGrowIndependently(t *testing.T) {
	st := at(t, func(c *commons.Config) { quiet(c); c.Growth = 0.25 }, "t=0\n0. a . .\n_ _ a .\n. a . 1.\n. . . .")
	r, start := rng.New(5).Rand(), gametest.Text(t, st)
	const n = 16_000
	count := map[string]float64{}
	for range n {
		st.Step([]int32{stay, stay}, make([]float32, 2), &r)
		count[gametest.Board(t, st, 4)]++
		if err := st.UnmarshalText([]byte(start)); err != nil {
			t.Fatal(err)
		}
	}
	chi := 0.
	for board, got := range count {
		want := n * 0.25 * 0.25 * math.Pow(3, float64(strings.Count(board, "a")-3))
		chi += (got - want) * (got - want) / want
	}
	if len(count) != 4 || chi > 21.1 {
		t.Errorf("%d outcomes, want 4; chi-square %.1f, want below 21.1: %v", len(count), chi, count)
	}
}

func TestMovesAreSimultaneousAndCellsAreShared(t *testing.T) {
	st := at(t, quiet, "t=0\n. 0a . .\na 1a a .\n. a . .\n. . . .")
	gametest.Step(st, grid.Down, grid.Up)
	if got := gametest.Board(t, st, 4); got != ". 1a . .\na 0a a .\n. a . .\n. . . ." {
		t.Errorf("seats did not swap:\n%s", got)
	}
	gametest.Step(st, stay, grid.Down)
	if got := gametest.Board(t, st, 4); got != ". a . .\na 01a a .\n. a . .\n. . . ." {
		t.Errorf("seats do not share a cell:\n%s", got)
	}
}

func TestHorizonEnds(t *testing.T) {
	gametest.CheckEnd(t, newGame(t, quiet), "t=8\n0. 1a . .\na a a .\n. a . .\n. . . .", stay)
}

// Who leaves enough within reach of what it takes spares, who leaves fewer strips. What others
// take in the same step is still counted, and what is harvested is not among its own others.
func TestReachedSaysWhetherEnoughWasLeft(t *testing.T) {
	const none, spare, strip = game.NoGoal, commons.GoalSpare, commons.GoalStrip
	for _, tc := range []struct {
		name, text string
		keep       int
		acts       [2]int32
		want       [2]int
		beside     string
	}{
		{"as many as are to be kept", "t=0\n. 0a . .\na _ a .\n. _ . 1.\n. . . .", 2, [2]int32{harvest, stay}, [2]int{spare, none}, "2 0"},
		{"one fewer: the own is not counted", "t=0\n. 0a . .\na _ _ .\n. _ . 1.\n. . . .", 2, [2]int32{harvest, stay},
			[2]int{strip, none}, "1 0"},
		{"before any harvest", "t=0\n. 0a . .\n1a _ a .\n. _ . .\n. . . .", 2, [2]int32{harvest, harvest}, [2]int{spare, spare}, "2 2"},
		{"in the state after the moves", "t=0\n. 0a . .\na 1_ a .\n. _ . .\n. . . .", 2, [2]int32{harvest, grid.Left},
			[2]int{spare, none}, "2 0"},
		{"together", "t=0\n. 01a . .\na _ _ .\n. _ . .\n. . . .", 1, [2]int32{harvest, harvest}, [2]int{spare, spare}, "1 1"},
		{"nothing to be kept", "t=0\n. 0a . .\n_ _ _ .\n. _ . 1.\n. . . .", 0, [2]int32{harvest, stay}, [2]int{spare, none}, "0 0"},
		{"nobody harvests", "t=0\n. 0a . .\na a a .\n. a . 1.\n. . . .", 2, [2]int32{stay, grid.Up}, [2]int{none, none}, "0 0"},
	} {
		st := at(t, func(c *commons.Config) { quiet(c); c.Keep = tc.keep }, tc.text)
		gametest.Step(st, tc.acts[:]...)
		if got := [2]int{st.Reached(0), st.Reached(1)}; got != tc.want {
			t.Errorf("%s: reached %v, want %v", tc.name, got, tc.want)
		}
		if got := gametest.Text(t, st); !strings.HasSuffix(got, "beside "+tc.beside+"\n") {
			t.Errorf("%s: got\n%swant beside %s", tc.name, got, tc.beside)
		}
	}
	st := at(t, func(c *commons.Config) { quiet(c); c.Reach = 1 }, "t=0\n. 0a . .\na a a .\n. a . 1.\n. . . .")
	if gametest.Step(st, harvest, stay); st.Reached(0) != strip {
		t.Error("apples beyond reach are counted as left")
	}
	if gametest.Step(st, stay, stay); st.Reached(0) != none || !strings.HasSuffix(gametest.Text(t, st), "beside 0 0\n") {
		t.Errorf("reached %d in a step without a harvest:\n%s", st.Reached(0), gametest.Text(t, st))
	}
}

// The bound is chi-square's 0.9999 quantile for 15 degrees of freedom; the seed is fixed.
func TestStart(t *testing.T) {
	st := newGame(t, quiet).New().(*commons.State)
	r := rng.New(3).Rand()
	var agents [16]float64
	together := 0.
	for range 16_000 {
		st.Reset(&r)
		for cell := range 16 {
			seats, things := st.Cell(cell/4, cell%4, nil, nil)
			agents[cell] += float64(len(seats))
			if len(seats) == 2 {
				together++
			}
			if slices.Contains(things, "orchard") != slices.Contains(things, "apple") {
				t.Fatalf("orchard without an apple at the start:\n%s", gametest.Text(t, st))
			}
		}
	}
	gametest.CheckUniform(t, "agents", agents[:], 44.3)
	if math.Abs(together-1000) > 5*math.Sqrt(1000) {
		t.Errorf("agents start together in %.0f of 16000 episodes, want 1000", together)
	}
}

func TestObservationIsEgoFirst(t *testing.T) {
	st := at(t, func(c *commons.Config) { quiet(c); c.Size = 3 }, "t=5\n0. _ .\na 1a _\n. _ .\nlast 1 5")
	obs := make([]float32, 9*4+6+1+2*6)
	for i := range obs {
		obs[i] = float32(math.NaN())
	}
	st.Observe(1, obs)
	want := make([]float32, len(obs))
	for _, p := range [][2]int{{4, 0}, {0, 1}, {1, 2}, {3, 2}, {4, 2}, {5, 2}, {7, 2}, {3, 3}, {4, 3}} { // cell, plane
		want[p[0]*4+p[1]] = 1
	}
	copy(want[36:], []float32{1, 1, 1, 1, 1, 1, 0.5})
	want[43+5], want[49+1] = 1, 1
	if !slices.Equal(obs, want) {
		t.Errorf("got  %v\nwant %v", obs, want)
	}
}

func TestBotsActByTheirRules(t *testing.T) {
	gametest.CheckActs(t, newGame(t, quiet), []gametest.Acts{
		{"greedy harvests the last", "greedy", "t=0\n. 0a . .\n_ _ _ .\n. _ . 1.\n. . . .", []float32{0, 0, 0, 0, 0, 1}},
		{"greedy goes to the nearest", "greedy", "t=0\n. a . .\n_ _ _ .\n. _ 0. 1.\n. . . .", []float32{0.5, 0, 0.5, 0, 0, 0}},
		{"greedy breaks ties at random", "greedy", "t=0\n0. a . .\na _ _ .\n. _ . 1.\n. . . .", []float32{0, 0.5, 0, 0.5, 0, 0}},
		{"greedy stays where all is bare", "greedy", "t=0\n0. _ . .\n_ _ _ .\n. _ . 1.\n. . . .", []float32{0, 0, 0, 0, 1, 0}},
		{"sparing harvests where enough are left", "sparing", "t=0\n. 0a . .\na _ a .\n. _ . 1.\n. . . .", []float32{0, 0, 0, 0, 0, 1}},
		{"sparing leaves one of two", "sparing", "t=0\n. 0a . .\na _ _ .\n. _ . 1.\n. . . .", []float32{0, 0, 0, 0, 1, 0}},
		{"sparing goes to the nearest that it may take", "sparing", "t=0\n. a . .\na a a .\n. a . 1.\n. . . 0.", []float32{0.5, 0, 0.5, 0, 0, 0}},
	})
	wide := newGame(t, func(c *commons.Config) { quiet(c); c.Size, c.Apart = 7, 5 })
	gametest.CheckActs(t, wide, []gametest.Acts{
		{"sparing goes past one that it may not take", "sparing", "t=0\n. _ . . . . _\n_ a 0_ . . a a\n. _ . . . . a\n. . . . . . .\n" +
			". . . . . . .\n. _ . . . . _\n1_ _ _ . . _ _", []float32{0, 0, 0, 1, 0, 0}},
		{"greedy does not", "greedy", "t=0\n. _ . . . . _\n_ a 0_ . . a a\n. _ . . . . a\n. . . . . . .\n" +
			". . . . . . .\n. _ . . . . _\n1_ _ _ . . _ _", []float32{0, 0, 1, 0, 0, 0}},
		{"sparing leaves one that it stands on", "sparing", "t=0\n. _ . . . . _\n_ _ 0a . . a a\n. _ . . . . a\n. . . . . . .\n" +
			". . . . . . .\n. _ . . . . _\n1_ _ _ . . _ _", []float32{0, 0, 0, 1, 0, 0}},
	})
}

// Bots say what they are after; random is after nothing.
func TestBotsPursueTheirGoals(t *testing.T) {
	g := newGame(t, quiet)
	st := at(t, quiet, "t=0\n0. a . .\na a a .\n. a . 1.\n. . . .")
	for bot, want := range map[string]int{"greedy": commons.GoalStrip, "sparing": commons.GoalSpare} {
		if got := gametest.Bot(t, g, bot).(game.Pursuer).Pursues(st, 0); got != want {
			t.Errorf("%s is after %d, want %d", bot, got, want)
		}
	}
}

// What texts of strangers go for: apples to be spared, and apples that would strip.
func TestSpotsAreWhereSuchApplesAre(t *testing.T) {
	st := at(t, func(c *commons.Config) { quiet(c); c.Reach = 1; c.Keep = 1 }, "t=0\n0. a . .\n_ a _ .\n. _ . 1.\n. . . .")
	alone := at(t, func(c *commons.Config) { quiet(c); c.Reach = 1; c.Keep = 1 }, "t=0\n0. a . .\n_ _ a .\n. _ . 1.\n. . . .")
	for _, tc := range []struct {
		what  string
		st    *commons.State
		thing int
		want  []int16
	}{
		{"side by side, to spare", st, commons.GoalSpare, []int16{1, 5}}, {"side by side, to strip", st, commons.GoalStrip, nil},
		{"each alone, to spare", alone, commons.GoalSpare, nil}, {"each alone, to strip", alone, commons.GoalStrip, []int16{1, 6}},
	} {
		spots := make([]int16, 64)
		if got := spots[:tc.st.Spots(tc.thing, 0, spots)]; !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.what, got, tc.want)
		}
	}
	if n := st.Spots(commons.GoalSpare, 0, make([]int16, 1)); n != 1 {
		t.Errorf("%d spots where there is room for 1", n)
	}
}

// tallyOf counts what was reached.
func tallyOf(spared, stripped [4]uint16) *script.Tally {
	t := &script.Tally{Done: make([][4]uint16, 8)}
	for s := range spared {
		t.Done[s][commons.GoalSpare], t.Done[s][commons.GoalStrip] = spared[s], stripped[s]
	}
	return t
}

// Co-players of a text remember episodes by who stripped and how much each has.
func TestOutcomesAreThoseOfTheEpisode(t *testing.T) {
	l := newGame(t, func(*commons.Config) {}).Language()
	for _, tc := range []struct {
		name             string
		spared, stripped [4]uint16
		best             int
		kind, good       bool
	}{
		{"all spare", [4]uint16{5, 5, 5, 5}, [4]uint16{}, 0, true, true},
		{"a quarter is stripped", [4]uint16{9, 3, 3, 3}, [4]uint16{0, 1, 1, 1}, 0, true, true},
		{"more is", [4]uint16{9, 3, 3, 3}, [4]uint16{0, 1, 1, 2}, 0, false, true},
		{"a greedy one has most", [4]uint16{5, 4, 5, 5}, [4]uint16{0, 8, 0, 0}, 1, false, false},
		{"only the own", [4]uint16{0, 5, 5, 5}, [4]uint16{8, 0, 0, 0}, 1, true, true},
		{"nobody has anything", [4]uint16{}, [4]uint16{}, 0, true, false},
	} {
		tally := tallyOf(tc.spared, tc.stripped)
		if got := l.Assess(tally, nil, 0); got.Best != tc.best || got.Kind != tc.kind || got.Good != tc.good {
			t.Errorf("%s: %+v, want best %d, kind %v, good %v", tc.name, got, tc.best, tc.kind, tc.good)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	_, err := commons.New(commons.Config{
		Size: 1, Agents: 65, Horizon: 0, View: 1, Pooled: true, Apart: 0, Growth: -1, Reach: 9, Keep: -1, Pays: math.Inf(1),
	})
	gametest.CheckFaults(t, err, "size is 1", "agents is 65", "horizon is 0", "pooled is true", "apart is 0", "growth is -1", "reach is 9",
		"keep is -1", "pays is")
}

func TestBoundsAreAnAppleAStep(t *testing.T) {
	c := commons.Default()
	c.Horizon, c.Pays = 30, 2
	if got := fmt.Sprint(commons.Bounds(c)); got != "[0 60]" {
		t.Errorf("bounds %s, want [0 60]", got)
	}
}

func TestWrongTextIsRefused(t *testing.T) {
	const rest = "\na a a .\n. a . .\n. . . ."
	gametest.Refuses(t, newGame(t, quiet), [][3]string{
		{"over too early", "t=3 over\n0. 1a . ." + rest, "by the rules"},
		{"not over at the horizon", "t=10\n0. 1a . ." + rest, "by the rules"},
		{"an apple outside a patch", "t=3\n0a 1a . ." + rest, `"0a"`},
		{"bare orchard outside a patch", "t=3\n0. 1a _ ." + rest, `"_"`},
		{"grass in a patch", "t=3\n0. 1. . ." + rest, `"1."`},
		{"seat without ground", "t=3\n0. 1 . ." + rest, `"1"`},
		{"two things", "t=3\n0. 1aa . ." + rest, `"1aa"`},
		{"seat missing", "t=3\n0. a . ." + rest, "seat 1"},
		{"last action", "t=3\n0. 1a . ." + rest + "\nlast 6 1", `"6"`},
		{"more beside than there are", "t=3\n0. 1a . ." + rest + "\nbeside 6 1", `"6"`},
		{"another line", "t=3\n0. 1a . ." + rest + "\ncleaned 1 1", "cleaned"},
	})
}

func FuzzUnmarshalText(f *testing.F) {
	gametest.Fuzz(f, newGame(f, quiet), "t=0\n0. 1a . .\na a a .\n. a . .\n. . . .",
		"t=9\n. _ 01. .\n_ _ a .\n. _ . .\n. . . .\nlast 5 -\nbeside 4 0",
		"t=10 over\n. _ . .\n_ 0a _ .\n. _ . 1.\n. . . .\nlast 4 3")
}

func TestPermuteMovesWhatWasBeside(t *testing.T) {
	st := at(t, quiet, "t=9\n0. 1a . .\na a a .\n. a . .\n. . . .\nlast 4 5\nbeside 0 3")
	moved := newGame(t, quiet).New().(*commons.State)
	moved.Permute(st, []game.Seat{1, 0})
	if got := gametest.Text(t, moved); !strings.HasSuffix(got, "last 5 4\nbeside 3 0\n") || moved.Reached(0) != commons.GoalSpare {
		t.Errorf("seats swapped:\n%s", got)
	}
}

// The draws name no seats, so with equal draws all must agree.
func TestRelabelledSeatsFareAlike(t *testing.T) {
	g := newGame(t, func(c *commons.Config) { c.Size, c.Growth = 4, 0.3 })
	gametest.Relabelled(t, g, []game.Seat{2, 0, 3, 1}, true)
}
