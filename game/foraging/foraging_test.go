package foraging_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/gametest"
)

func with(change func(c *foraging.Config)) foraging.Config {
	c := foraging.Default()
	change(&c)
	return c
}

func newGame(t testing.TB, c foraging.Config) *foraging.Game {
	t.Helper()
	return gametest.New(t, foraging.New, c)
}

// settings are the boards that the suite is run on.
var settings = []struct {
	name string
	c    foraging.Config
}{
	{"default", foraging.Default()},
	{"coop", with(func(c *foraging.Config) { c.Size, c.Coop, c.Agents = 6, true, 3 })},
	{"split", with(func(c *foraging.Config) { c.Size, c.Shared, c.Agents, c.Food = 6, false, 4, 4 })},
	{"view", with(func(c *foraging.Config) { c.Size, c.Food, c.View, c.Horizon = 7, 3, 1, 15 })},
	{"crowded", with(func(c *foraging.Config) { c.Size, c.Agents, c.Food, c.Shared, c.Horizon = 5, 8, 8, false, 25 })},
	{"sixteen", with(func(c *foraging.Config) { c.Size, c.Agents, c.Food, c.View, c.Horizon = 7, 16, 4, 2, 10 })},
	{"sixty-four", with(func(c *foraging.Config) { c.Size, c.Agents, c.Food, c.Shared, c.Horizon = 9, 64, 3, false, 5 })},
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
	return gametest.At[*foraging.State](t, newGame(t, c), text)
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
			for s, got := range gametest.Step(st, acts...) {
				want, err := strconv.ParseFloat(words[2*n+s], 64)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(float64(got)-want) > 1e-7 {
					t.Fatalf("episode %d, step %d: seat %d is paid %v, want %v in\n%s", i, k, s, got, want, gametest.Board(t, st, 5))
				}
				if seats, _ := st.Cell(cells[s]/c.Size, cells[s]%c.Size, nil, nil); len(seats) != 1 || seats[0] != game.Seat(s) {
					t.Fatalf("episode %d, step %d: cell %d has seats %v, want %d in\n%s", i, k, cells[s], seats, s, gametest.Board(t, st, 5))
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

const twoFoods = `t=0
. 2 . . .
0 a 1 . .
. . . . .
. . b . 3
. . . . .
levels 1 3 2 4
food a=4 b=1`

func TestWrongTextIsRefused(t *testing.T) {
	gametest.Refuses(t, newGame(t, small(4, true)), gametest.Swap(t, twoFoods, [][2]string{
		{"t=0", "t=51"},
		{"t=0", "t=0 over"},
		{". 2 .", ". . ."},
		{". 2 .", ". 23 ."},
		{". . b .", ". . c ."},
		{". . b .", ". . . ."},
		{"0 a 1", "0 . 1"},
		{"0 a 1 . .", "0 b 1 . ."},
		{". . . . .\n. . b", ". b . . .\n. . ."},
		{"levels 1 3 2 4", "levels 1 3 2 5"},
		{"levels 1 3 2 4", ""},
		{"a=4", "a=0"},
		{"a=4", "a=13"},
		{"a=4", "a=4-"},
		{"a=4 ", ""},
		{"b=1", "b=1\nlast 9 - - -"},
		{"b=1", "b=1\ntook c - - -"},
	}))
}

func FuzzText(f *testing.F) {
	gametest.Fuzz(f, newGame(f, small(4, true)), twoFoods,
		strings.NewReplacer("0 a 1", "0 . 1", "a=4", "a=4-").Replace(twoFoods)+"\nlast 5 5 0 -\ntook a a - -")
}

func TestConfigIsValidated(t *testing.T) {
	for name, c := range map[string]foraging.Config{
		"zero":             {},
		"levels reversed":  with(func(c *foraging.Config) { c.MinLevel, c.MaxLevel = 3, 2 }),
		"too many agents":  with(func(c *foraging.Config) { c.Agents = 65 }),
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
		b.Run(s.name, func(b *testing.B) { gametest.Bench(b, newGame(b, s.c)) })
	}
}
