package foraging_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"hop/game"
	"hop/game/foraging"
	"hop/game/gametest"
	"hop/rng"
)

func with(change func(c *foraging.Config)) foraging.Config {
	c := foraging.Default()
	change(&c)
	return c
}

func newGame(t testing.TB, c foraging.Config) *foraging.Game {
	t.Helper()
	g, err := foraging.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// settings are the boards that the suite is run on.
var settings = []struct {
	name string
	c    foraging.Config
}{
	{"default", foraging.Default()},
	{"coop", with(func(c *foraging.Config) { c.Size, c.Coop, c.Agents = 6, true, 3 })},
	{"split", with(func(c *foraging.Config) { c.Size, c.Shared, c.Agents, c.Food = 6, false, 4, 4 })},
	{"crowded", with(func(c *foraging.Config) { c.Size, c.Agents, c.Food, c.Shared, c.Horizon = 5, 8, 8, false, 25 })},
	{"strong", with(func(c *foraging.Config) { c.MinLevel, c.MaxLevel, c.Agents, c.Size = 3, 8, 5, 10 })},
}

func TestConforms(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) { gametest.Run(t, newGame(t, s.c)) })
	}
}

func TestPlaythroughs(t *testing.T) {
	gametest.Playthrough(t, newGame(t, with(func(c *foraging.Config) { c.Size, c.Coop = 6, true })),
		[]string{"team", "team"}, 3, "testdata/coop_team.txt")
	gametest.Playthrough(t, newGame(t, with(func(c *foraging.Config) { c.Size, c.Shared, c.Agents, c.Food, c.Horizon = 6, false, 3, 3, 12 })),
		[]string{"solo", "nearest", "random"}, 5, "testdata/split_mixed.txt")
}

// position returns a state with the given text on a 5x5 board.
func position(t testing.TB, c foraging.Config, text string) *foraging.State {
	t.Helper()
	st := newGame(t, c).New().(*foraging.State)
	if err := st.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return st
}

func play(st game.State, acts ...int32) []float32 {
	rewards := make([]float32, len(acts))
	st.Step(acts, rewards, nil)
	return rewards
}

// board returns the lines of a state's board.
func board(t testing.TB, st *foraging.State) string {
	t.Helper()
	text, err := st.AppendText(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	rows, _, _ := strings.Cut(rest, "levels")
	return rows
}

const (
	up int32 = iota
	down
	left
	right
	stay
	load
)

// small is a 5x5 game for n agents, paid by level or shared.
func small(n int, shared bool) foraging.Config {
	return with(func(c *foraging.Config) { c.Size, c.Agents, c.Shared, c.MaxLevel = 5, n, shared, 4 })
}

// TestStepsLikeLbforaging replays what testdata/record.py recorded. Rewards are
// written there with nine digits.
func TestStepsLikeLbforaging(t *testing.T) {
	data, err := os.ReadFile("testdata/lbforaging.txt")
	if err != nil {
		t.Fatal(err)
	}
	steps, taken := 0, 0
	for i, episode := range strings.Split(string(data), "episode ")[1:] {
		var c foraging.Config
		head, rest, _ := strings.Cut(episode, "\n")
		c = foraging.Default()
		if _, err := fmt.Sscan(head, &c.Size, &c.Agents, &c.Food); err != nil {
			t.Fatal(err)
		}
		c.Shared = false
		text, rest, _ := strings.Cut(rest, "step ")
		st := position(t, c, text)
		for k, line := range strings.Split(rest, "step ") {
			line, end, _ := strings.Cut(line, "\n")
			words := strings.Fields(line)
			n := c.Agents
			acts, cells := make([]int32, n), make([]int, n)
			for s := range n {
				a, err := strconv.Atoi(words[s])
				if err != nil {
					t.Fatal(err)
				}
				acts[s] = int32(a)
				if cells[s], err = strconv.Atoi(words[n+s]); err != nil {
					t.Fatal(err)
				}
			}
			for s, got := range play(st, acts...) {
				want, err := strconv.ParseFloat(words[2*n+s], 64)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(float64(got)-want) > 1e-7 {
					t.Fatalf("episode %d, step %d: seat %d is paid %v, want %v in\n%s", i, k, s, got, want, board(t, st))
				}
				if seats, _ := st.Cell(cells[s]/c.Size, cells[s]%c.Size, nil, nil); len(seats) != 1 || seats[0] != game.Seat(s) {
					t.Fatalf("episode %d, step %d: cell %d has seats %v, want %d in\n%s", i, k, cells[s], seats, s, board(t, st))
				}
				if want > 0 {
					taken++
				}
			}
			steps++
			if over := strings.HasPrefix(end, "end"); over != st.Over() {
				t.Fatalf("episode %d, step %d: over is %v, want %v", i, k, st.Over(), over)
			}
		}
	}
	if steps < 300 || taken < 20 {
		t.Errorf("%d steps with %d rewards compared, want at least 300 and 20", steps, taken)
	}
}

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
			paid := play(st, c.acts...)
			if taken := st.FoodLevel(0) == 0; taken != c.taken || taken != (paid[0] == 1) || st.Over() != taken {
				t.Errorf("taken %v, paid %v, over %v; want taken %v", taken, paid, st.Over(), c.taken)
			}
		})
	}
}

const twoFoods = `t=0
. 2 . . .
0 a 1 . .
. . . . .
. . b . 3
. . . . .
levels 1 3 2 4
food a=4 b=1`

func TestRewardIsSplitByLevel(t *testing.T) {
	st := position(t, small(4, false), twoFoods)
	paid := play(st, load, load, stay, stay)
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
	for s, x := range play(st, load, load, stay, stay) {
		if x != float32(4./5) {
			t.Errorf("seat %d is paid %v, want 0.8", s, x)
		}
	}
}

// TestAllFoodSumsToOne plays teams to the end: who took everything got 1.
func TestAllFoodSumsToOne(t *testing.T) {
	for _, shared := range []bool{true, false} {
		c := with(func(c *foraging.Config) { c.Agents, c.Food, c.Shared, c.Horizon = 3, 4, shared, 1000 })
		g := newGame(t, c)
		for seed := range uint64(20) {
			returns, _ := episode(t, g, []string{"team", "team", "team"}, seed)
			sum := 0.
			for _, x := range returns {
				sum += x
			}
			if shared {
				sum /= 3
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("shared %v, seed %d: returns %v, want 1 in all", shared, seed, returns)
			}
		}
	}
}

// episode plays one with bots and returns the returns and the number of steps.
func episode(t testing.TB, g *foraging.Game, team []string, seed uint64) ([]float64, int) {
	t.Helper()
	rules, act := rng.New(seed).Child("rules").Rand(), rng.New(seed).Child("act").Rand()
	st := g.New().(*foraging.State)
	st.Reset(&rules)
	returns, acts := make([]float64, len(team)), make([]int32, len(team))
	bots := make([]game.Bot, len(team))
	for s, name := range team {
		b, err := game.NewBot(g, name)
		if err != nil {
			t.Fatal(err)
		}
		bots[s] = b
	}
	for !st.Over() {
		for s := range acts {
			acts[s] = bots[s].Act(st, game.Seat(s), &act)
		}
		for s, x := range play(st, acts...) {
			returns[s] += float64(x)
		}
	}
	return returns, st.Time()
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
			const rest = "\n. . . . .\n. . . . .\n. . a . .\n. . . . .\n"
			levels := "levels" + strings.Repeat(" 1", len(c.acts))
			st := position(t, small(len(c.acts), true), "t=0\n"+c.row+rest+levels+"\nfood a=3")
			play(st, c.acts...)
			if got, want := board(t, st), c.after+rest; got != want {
				t.Errorf("after %v:\n%swant\n%s", c.acts, got, want)
			}
		})
	}
}

func TestMaskForbidsWallsAndFood(t *testing.T) {
	st := position(t, small(2, true), `t=0
0 . . . .
. a 1 . .
. . . . .
. . . . .
. . . . .
levels 1 1
food a=2`)
	var legal [6]bool
	st.Legal(0, legal[:])
	if want := [6]bool{right: true, down: true, stay: true}; legal != want {
		t.Errorf("in the corner: %v, want %v", legal, want)
	}
	st.Legal(1, legal[:])
	if want := [6]bool{up: true, down: true, right: true, stay: true, load: true}; legal != want {
		t.Errorf("beside food: %v, want %v", legal, want)
	}
}

func TestDiagonalFoodCannotBeLoaded(t *testing.T) {
	st := position(t, small(2, true), `t=0
0 . . . .
. a . . .
. . 1 . .
. . . . .
. . . . .
levels 1 1
food a=2`)
	var legal [6]bool
	for s := range game.Seat(2) {
		if st.Legal(s, legal[:]); legal[load] {
			t.Errorf("seat %d may load diagonally", s)
		}
	}
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
	play(st, load, stay)
	if got := st.Reached(0); got != 0 {
		t.Errorf("seat 0 reached %d, want food 0", got)
	}
	var legal [6]bool
	if st.Legal(0, legal[:]); !legal[right] || legal[load] {
		t.Errorf("beside food just taken: %v, want right and no load", legal)
	}
	play(st, right, stay)
	if got := st.Reached(0); got != game.NoGoal {
		t.Errorf("seat 0 reached %d by walking, want none", got)
	}
	if seats, things := st.Cell(1, 1, nil, nil); len(seats) != 1 || len(things) != 0 {
		t.Errorf("on the cell of food that was taken: seats %v, things %v", seats, things)
	}
}

func TestGoalIsTheItemTaken(t *testing.T) {
	st := position(t, small(4, false), twoFoods)
	play(st, load, load, stay, left)
	for s, want := range []int{0, 0, game.NoGoal, game.NoGoal} {
		if got := st.Reached(game.Seat(s)); got != want {
			t.Errorf("seat %d reached %d, want %d", s, got, want)
		}
	}
}

func TestHorizonEnds(t *testing.T) {
	st := position(t, small(2, true), `t=49
0 . . . 1
. a . . .
. . . . .
. . . . .
. . . . .
levels 1 1
food a=2`)
	play(st, stay, stay)
	if !st.Over() || st.Alive(0) || st.Alive(1) {
		t.Errorf("at the horizon: over %v, alive %v %v", st.Over(), st.Alive(0), st.Alive(1))
	}
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
						t.Fatalf("%s: food on the border:\n%s", s.name, board(t, st))
					}
					for _, f := range food {
						if math.Abs(float64(f[0]-y))+math.Abs(float64(f[1]-x)) <= 2 {
							t.Fatalf("%s: food too close:\n%s", s.name, board(t, st))
						}
					}
					food = append(food, [2]int{y, x})
				}
			}
			if agents != s.c.Agents || len(food) == 0 || len(food) > s.c.Food {
				t.Fatalf("%s: %d agents and %d items:\n%s", s.name, agents, len(food), board(t, st))
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

// TestBotsPlayTheirRule gives the probabilities of one position: a walker goes
// straight nine times in ten.
func TestBotsPlayTheirRule(t *testing.T) {
	const text = `t=0
. . . . .
. a . 1 .
. . . . .
. . . b .
. . . . 0
levels 2 1
food a=3 b=1`
	toB := [6]float32{up: .45 + .1/3, left: .45 + .1/3, stay: .1 / 3}
	for _, c := range []struct {
		bot  string
		seat game.Seat
		want [6]float32
	}{
		{"nearest", 0, toB},
		{"nearest", 1, [6]float32{up: .02, down: .47, left: .47, right: .02, stay: .02}},
		{"solo", 0, toB},
		{"solo", 1, [6]float32{up: .02, down: .92, left: .02, right: .02, stay: .02}},
		{"team", 0, toB},
		{"team", 1, [6]float32{up: .02, down: .02, left: .92, right: .02, stay: .02}},
	} {
		st := position(t, small(2, true), text)
		b, err := game.NewBot(newGame(t, small(2, true)), c.bot)
		if err != nil {
			t.Fatal(err)
		}
		var got [6]float32
		b.(game.Policy).Probs(st, c.seat, got[:])
		for k := range got {
			if math.Abs(float64(got[k]-c.want[k])) > 1e-6 {
				t.Errorf("%s in seat %d: %v, want %v", c.bot, c.seat, got, c.want)
				break
			}
		}
	}
}

func TestWalkersLoadBesideTheirFood(t *testing.T) {
	st := position(t, small(4, true), twoFoods)
	g := newGame(t, small(4, true))
	for _, c := range []struct {
		bot  string
		seat game.Seat
		load float32
	}{{"nearest", 0, 1}, {"team", 1, 1}, {"solo", 3, 0}, {"team", 3, 0}} {
		b, err := game.NewBot(g, c.bot)
		if err != nil {
			t.Fatal(err)
		}
		var probs [6]float32
		if b.(game.Policy).Probs(st, c.seat, probs[:]); probs[load] != c.load {
			t.Errorf("%s in seat %d loads with probability %v, want %v", c.bot, c.seat, probs[load], c.load)
		}
	}
}

// TestTeamsOfBotsFinish: bots that agree on the food take all of it in time,
// even where everyone is needed.
func TestTeamsOfBotsFinish(t *testing.T) {
	for _, n := range []int{2, 3} {
		g := newGame(t, with(func(c *foraging.Config) { c.Coop, c.Agents, c.Food = true, n, 3 }))
		team := []string{"team", "team", "team"}[:n]
		sum := 0.
		const episodes = 200
		for seed := range uint64(episodes) {
			returns, _ := episode(t, g, team, seed)
			sum += returns[0]
		}
		if mean := sum / episodes; mean < 0.98 {
			t.Errorf("%d team bots return %v, want nearly all of 1", n, mean)
		}
	}
}

func TestWrongTextIsRefused(t *testing.T) {
	st := newGame(t, small(4, true)).New().(*foraging.State)
	if err := st.UnmarshalText([]byte(twoFoods)); err != nil {
		t.Fatal(err)
	}
	before, _ := st.AppendText(nil)
	for _, swap := range [][2]string{
		{"t=0", "t=51"},
		{"t=0", "t=-1"},
		{"t=0", "t=0 over"},
		{". 2 .", ". 9 ."},
		{". 2 .", ". . ."},
		{". 2 .", ". 1 ."},
		{". 2 .", ". 23 ."},
		{". . b .", ". . c ."},
		{". . b .", ". . . ."},
		{"0 a 1", "0 . 1"},
		{"0 a 1 . .", "0 b 1 . ."},
		{". . b . 3\n. . . . .", ". . . . 3"},
		{". . . . .\n. . b", ". b . . .\n. . ."},
		{"levels 1 3 2 4", "levels 1 3 2"},
		{"levels 1 3 2 4", "levels 1 3 2 5"},
		{"levels 1 3 2 4", ""},
		{"a=4", "a=0"},
		{"a=4", "a=13"},
		{"a=4", "a=4-"},
		{"a=4 ", ""},
		{"food", "fool"},
		{"b=1", "b=1\nlast 9 - - -"},
		{"b=1", "b=1\ntook c - - -"},
	} {
		text := strings.Replace(twoFoods, swap[0], swap[1], 1)
		if text == twoFoods {
			t.Fatalf("%q is not in the text", swap[0])
		}
		if err := st.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q for %q was read, want an error", swap[1], swap[0])
		}
	}
	if after, _ := st.AppendText(nil); string(after) != string(before) {
		t.Errorf("refused texts changed the state to\n%s", after)
	}
}

func FuzzText(f *testing.F) {
	f.Add(twoFoods)
	f.Add(strings.Replace(twoFoods, "0 a 1", "0 . 1", 1) + "-\nlast 5 5 0 -\ntook a a - -")
	g := newGame(f, small(4, true))
	f.Fuzz(func(t *testing.T, text string) {
		st := g.New().(*foraging.State)
		if st.UnmarshalText([]byte(text)) != nil {
			return
		}
		out, _ := st.AppendText(nil)
		again := g.New().(*foraging.State)
		if err := again.UnmarshalText(out); err != nil {
			t.Fatalf("%q was read and written as %q, which is refused: %v", text, out, err)
		}
	})
}

func TestConfigIsValidated(t *testing.T) {
	for name, c := range map[string]foraging.Config{
		"zero":             {},
		"levels reversed":  with(func(c *foraging.Config) { c.MinLevel, c.MaxLevel = 3, 2 }),
		"too many agents":  with(func(c *foraging.Config) { c.Agents = 9 }),
		"too small a size": with(func(c *foraging.Config) { c.Size = 4 }),
		"no food":          with(func(c *foraging.Config) { c.Food = 0 }),
	} {
		if _, err := foraging.New(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, s := range settings[:3] {
		b.Run(s.name, func(b *testing.B) {
			g := newGame(b, s.c)
			st := g.New()
			bot, _ := game.NewBot(g, "random")
			r := rng.New(1).Rand()
			obs := make([]float32, g.Spec().Obs.Len())
			acts, rewards := make([]int32, s.c.Agents), make([]float32, s.c.Agents)
			st.Reset(&r)
			for b.Loop() {
				if st.Over() {
					st.Reset(&r)
				}
				for s := range acts {
					st.Observe(game.Seat(s), obs)
					acts[s] = bot.Act(st, game.Seat(s), &r)
				}
				st.Step(acts, rewards, &r)
			}
			b.ReportMetric(float64(b.N*s.c.Agents)/b.Elapsed().Seconds()/1e6, "Magent-steps/s")
		})
	}
}
