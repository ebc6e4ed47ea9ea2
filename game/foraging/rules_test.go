package foraging_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/num/rng"
)

func TestFoodIsTakenWhenLevelsSuffice(t *testing.T) {
	for _, c := range []struct {
		name  string
		food  int
		acts  []int32
		taken bool
	}{
		{"both load, enough", 3, []int32{load, load}, true},
		{"both load, too little", 4, []int32{load, load}, false},
		{"one loads, too little", 3, []int32{load, stay}, false},
		{"one loads, enough alone", 1, []int32{load, stay}, true},
		{"nobody loads", 1, []int32{stay, stay}, false},
		{"the partner walks away", 3, []int32{load, right}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := position(t, small(2, true), fmt.Sprintf(`t=0
. . . . .
. 0 . . .
. a 1 . .
. . . . .
. . . . .
levels 1 2
food a=%d`, c.food))
			paid := gametest.Step(st, c.acts...)
			if taken := st.FoodLevel(0) == 0; taken != c.taken || taken != (paid[0] == 1) || st.Over() != taken {
				t.Errorf("taken %v, paid %v, over %v; want taken %v", taken, paid, st.Over(), c.taken)
			}
		})
	}
}

func TestRewardIsSplitByLevel(t *testing.T) {
	st := position(t, small(4, false), twoFoods)
	paid := gametest.Step(st, load, load, stay, stay)
	// a is worth 4/5 of all food; levels 1 and 3 took it.
	want := []float32{4. / 5 / 4, 4. / 5 * 3 / 4, 0, 0}
	for s := range want {
		if math.Abs(float64(paid[s]-want[s])) > 1e-7 {
			t.Errorf("paid %v, want %v", paid, want)
			break
		}
	}
}

func TestSharedRewardIsTheSameForAll(t *testing.T) {
	st := position(t, small(4, true), twoFoods)
	for s, x := range gametest.Step(st, load, load, stay, stay) {
		if x != float32(4./5) {
			t.Errorf("seat %d is paid %v, want 0.8", s, x)
		}
	}
}

// TestCollisions: nobody ends on another's cell, whatever the seats' numbers.
func TestCollisions(t *testing.T) {
	for _, c := range []struct {
		name, row, after string
		acts             []int32
	}{
		{"same cell wanted, both stay", "0 . 1 2 .", "0 . 1 2 .", []int32{right, left, stay}},
		{"cell of one that stays", "0 1 . 2 .", "0 1 . 2 .", []int32{right, stay, stay}},
		{"swap", "0 1 . 2 .", "1 0 . 2 .", []int32{right, left, stay}},
		{"follow", "0 1 2 . .", ". 0 1 2 .", []int32{right, right, right}},
		{"held up behind one held up", "0 1 2 . .", "0 1 2 . .", []int32{right, right, stay}},
		{"held up behind a clash", "0 1 . 2 .", "0 1 . 2 .", []int32{right, right, left}},
		{"held up behind two held up", "0 1 2 3 .", "0 1 2 3 .", []int32{right, right, right, stay}},
		{"free move", "0 1 . 2 .", "0 . 1 . 2", []int32{stay, right, right}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const rest = "\n. . . . .\n. . . . .\n. . a . .\n. . . . ."
			levels := "levels" + strings.Repeat(" 1", len(c.acts))
			st := position(t, small(len(c.acts), true), "t=0\n"+c.row+rest+"\n"+levels+"\nfood a=3")
			gametest.Step(st, c.acts...)
			if got, want := gametest.Board(t, st, 5), c.after+rest; got != want {
				t.Errorf("after %v:\n%s\nwant\n%s", c.acts, got, want)
			}
		})
	}
}

func TestMaskForbidsWallsAndFood(t *testing.T) {
	gametest.CheckMasks(t, newGame(t, small(2, true)), `t=0
0 . . . .
. a 1 . .
. . . . .
. . . . .
. . . . .
levels 1 1
food a=2`, "134", "01345") // in the corner, and beside food
}

func TestDiagonalFoodCannotBeLoaded(t *testing.T) {
	gametest.CheckMasks(t, newGame(t, small(2, true)), `t=0
0 . . . .
. a . . .
. . 1 . .
. . . . .
. . . . .
levels 1 1
food a=2`, "134", "01234")
}

func TestCellOfTakenFoodIsOpen(t *testing.T) {
	st := position(t, small(2, true), `t=0
. . . . .
0 a . 1 .
. . . . .
. . b . .
. . . . .
levels 2 1
food a=1 b=1`)
	gametest.Step(st, load, stay)
	if got := st.Reached(0); got != 0 {
		t.Errorf("seat 0 reached %d, want food 0", got)
	}
	var legal [6]bool
	if st.Legal(0, legal[:]); !legal[right] || legal[load] {
		t.Errorf("beside food just taken: %v, want right and no load", legal)
	}
	gametest.Step(st, right, stay)
	if got := st.Reached(0); got != game.NoGoal {
		t.Errorf("seat 0 reached %d by walking, want none", got)
	}
	if seats, things := st.Cell(1, 1, nil, nil); len(seats) != 1 || len(things) != 0 {
		t.Errorf("on the cell of food that was taken: seats %v, things %v", seats, things)
	}
}

func TestGoalIsTheItemTaken(t *testing.T) {
	st := position(t, small(4, false), twoFoods)
	gametest.Step(st, load, load, stay, left)
	for s, want := range []int{0, 0, game.NoGoal, game.NoGoal} {
		if got := st.Reached(game.Seat(s)); got != want {
			t.Errorf("seat %d reached %d, want %d", s, got, want)
		}
	}
}

func TestHorizonEnds(t *testing.T) {
	gametest.CheckEnd(t, newGame(t, small(2, true)), `t=48
0 . . . 1
. a . . .
. . . . .
. . . . .
. . . . .
levels 1 1
food a=2`, stay)
}

func TestLevelsAreObserved(t *testing.T) {
	g := newGame(t, small(4, true))
	st := position(t, small(4, true), twoFoods)
	l := g.Spec().Obs
	obs := make([]float32, l.Len())
	st.Observe(2, obs)
	// Ego-first: seats 2, 3, 0, 1 as parts of 4; items as parts of 12.
	want := []float32{2. / 4, 4. / 4, 1. / 4, 3. / 4, 4. / 12, 1. / 12}
	for i, x := range obs[l.FeaturesAt():l.LegalAt()] {
		if x != want[i] {
			t.Errorf("features %v, want %v", obs[l.FeaturesAt():l.LegalAt()], want)
			break
		}
	}
	cell := func(y, x int) []float32 { return obs[(y*5+x)*6:][:6] }
	for _, c := range []struct{ y, x, plane int }{{0, 1, 0}, {3, 4, 1}, {1, 0, 2}, {1, 2, 3}, {1, 1, 4}, {3, 2, 5}} {
		for k, x := range cell(c.y, c.x) {
			if (x == 1) != (k == c.plane) {
				t.Errorf("cell %d,%d has planes %v, want only %d", c.y, c.x, cell(c.y, c.x), c.plane)
				break
			}
		}
	}
}

// TestStart draws many starts: food inside and apart, agents on distinct cells,
// levels within bounds, food levels as the config says.
func TestStart(t *testing.T) {
	for _, s := range settings {
		g := newGame(t, s.c)
		st := g.New().(*foraging.State)
		r := rng.New(3).Child(s.name).Rand()
		for range 500 {
			st.Reset(&r)
			var food [][2]int
			agents, levels := 0, []int{}
			for y := range s.c.Size {
				for x := range s.c.Size {
					seats, things := st.Cell(y, x, nil, nil)
					if len(seats)+len(things) > 1 {
						t.Fatalf("%s: seats %v and things %v on one cell", s.name, seats, things)
					}
					agents += len(seats)
					if len(things) == 0 {
						continue
					}
					if y == 0 || x == 0 || y == s.c.Size-1 || x == s.c.Size-1 {
						t.Fatalf("%s: food on the border:\n%s", s.name, gametest.Board(t, st, 5))
					}
					for _, f := range food {
						if math.Abs(float64(f[0]-y))+math.Abs(float64(f[1]-x)) <= 2 {
							t.Fatalf("%s: food too close:\n%s", s.name, gametest.Board(t, st, 5))
						}
					}
					food = append(food, [2]int{y, x})
				}
			}
			if agents != s.c.Agents || len(food) == 0 || len(food) > s.c.Food {
				t.Fatalf("%s: %d agents and %d items:\n%s", s.name, agents, len(food), gametest.Board(t, st, 5))
			}
			for seat := range s.c.Agents {
				level := st.Level(game.Seat(seat))
				if level < s.c.MinLevel || level > s.c.MaxLevel {
					t.Fatalf("%s: level %d, want %d to %d", s.name, level, s.c.MinLevel, s.c.MaxLevel)
				}
				levels = append(levels, level)
			}
			top := weakest(levels)
			for f := range food {
				if level := st.FoodLevel(f); level < 1 || level > top || s.c.Coop && level != top {
					t.Fatalf("%s: food of level %d with agents %v, want at most %d, coop %v", s.name, level, levels, top, s.c.Coop)
				}
			}
		}
	}
}

// weakest sums the three lowest levels, the slow way.
func weakest(levels []int) int {
	best := math.MaxInt
	n := len(levels)
	for i := range n {
		for j := range i {
			if n == 2 {
				return levels[0] + levels[1]
			}
			for k := range j {
				best = min(best, levels[i]+levels[j]+levels[k])
			}
		}
	}
	return best
}

func TestCoopFoodNeedsEveryoneOfTwo(t *testing.T) {
	g := newGame(t, with(func(c *foraging.Config) { c.Coop = true }))
	st := g.New().(*foraging.State)
	r := rng.New(4).Rand()
	for range 200 {
		st.Reset(&r)
		if got, want := st.FoodLevel(0), st.Level(0)+st.Level(1); got != want {
			t.Fatalf("food of level %d for agents %d and %d, want %d", got, st.Level(0), st.Level(1), want)
		}
	}
}
