package coin_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

func small(c *coin.Config) { c.Size, c.Horizon = 3, 10 }

func walking(c *coin.Config) { c.Size, c.Horizon, c.Take, c.Pause = 3, 10, "walk", 0 }

// at returns a 3x3 game in the given position.
func at(t *testing.T, edit func(*coin.Config), text string) *coin.State {
	t.Helper()
	return gametest.At[*coin.State](t, newGame(t, edit), text)
}

const (
	stay = grid.Stay
	take = coin.Take
)

func TestTakingPays(t *testing.T) {
	three := func(c *coin.Config) { small(c); c.Agents = 3 }
	for _, tc := range []struct {
		name, pos string
		edit      func(*coin.Config)
		acts      []int32
		want      []float32
		reached   []int
	}{
		{"own coin", "t=0 wait=0\n0a . .\n. 1 .\n. . .", small, []int32{take, stay}, []float32{1, 0}, []int{coin.GoalOwn, game.NoGoal}},
		{"the other's coin costs its owner 2", "t=0 wait=0\n0b . .\n. 1 .\n. . .",
			small, []int32{take, stay}, []float32{1, -2}, []int{coin.GoalOther, game.NoGoal}},
		{"owner and other at once", "t=0 wait=0\n01b . .\n. . .\n. . .",
			small, []int32{take, take}, []float32{1, -1}, []int{coin.GoalOther, coin.GoalOwn}},
		{"owner alone though the other stands by", "t=0 wait=0\n01b . .\n. . .\n. . .",
			small, []int32{stay, take}, []float32{0, 1}, []int{game.NoGoal, coin.GoalOwn}},
		{"two robbers harm the owner once", "t=0 wait=0\n01c . .\n. 2 .\n. . .",
			three, []int32{take, take, stay}, []float32{1, 1, -2}, []int{coin.GoalOther, coin.GoalOther, game.NoGoal}},
		{"by walking", "t=0 wait=0\n0 a .\n. 1 .\n. . .", walking, []int32{grid.Right, stay}, []float32{1, 0}, []int{coin.GoalOwn, game.NoGoal}},
		{"both by walking", "t=0 wait=0\n0 a .\n. 1 .\n. . .", walking, []int32{grid.Right, grid.Up}, []float32{-1, 1},
			[]int{coin.GoalOwn, coin.GoalOther}},
		{"walking over it is not taking where that is an action", "t=0 wait=0\n0 a .\n. 1 .\n. . .",
			small, []int32{grid.Right, stay}, []float32{0, 0}, []int{game.NoGoal, game.NoGoal}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := at(t, tc.edit, tc.pos)
			if got := gametest.Step(st, tc.acts...); !slices.Equal(got, tc.want) {
				t.Errorf("rewards %v, want %v", got, tc.want)
			}
			for s, want := range tc.reached {
				if got := st.Reached(game.Seat(s)); got != want {
					t.Errorf("seat %d reached %d, want %d", s, got, want)
				}
			}
		})
	}
}

func TestTakeIsLegalOnlyOnTheCoin(t *testing.T) {
	gametest.CheckMasks(t, newGame(t, small), "t=0 wait=0\n0a . .\n. 1 .\n. . .", "1345", "01234")
}

func TestWalkersHaveNoTakeAction(t *testing.T) {
	if got := newGame(t, walking).Spec().Actions; len(got) != take {
		t.Errorf("actions %v, want the moves and stay", got)
	}
}

func TestNextCoinComesAfterThePause(t *testing.T) {
	for pause := range 4 {
		st := at(t, func(c *coin.Config) { small(c); c.Pause = pause }, "t=0 wait=0\n0a . .\n. 1 .\n. . .")
		gametest.Step(st, take, stay)
		for i := range pause {
			if !strings.Contains(gametest.Text(t, st), " wait="+string(rune('0'+pause-i))) {
				t.Errorf("pause %d: %d steps after the coin was taken:\n%s", pause, i, gametest.Text(t, st))
			}
			gametest.Step(st, stay, stay)
		}
		if !strings.Contains(gametest.Text(t, st), "wait=0") {
			t.Errorf("pause %d: no coin after %d steps:\n%s", pause, pause, gametest.Text(t, st))
		}
	}
}

// crowd are the rules of Melting Pot's coins on 3x3, on which nothing grows unless it is asked for.
func crowd(c *coin.Config) { walking(c); c.Solid, c.Grow = true, 1e-12 }

func TestNobodyMovesToWhereSomebodyStands(t *testing.T) {
	st := at(t, crowd, "t=0 wait=0\n0 1 .\n. . .\n. . .")
	gametest.Step(st, grid.Right, stay)
	if got := gametest.Text(t, st); !strings.Contains(got, "0    1    .") {
		t.Errorf("seat 0 walked into seat 1:\n%s", got)
	}
}

func TestOfSeveralCoinsEveryTakerGetsItsOwn(t *testing.T) {
	st := at(t, crowd, "t=0 wait=0\n0 b .\n. . a\n1 a .")
	if got := gametest.Step(st, grid.Right, grid.Right); !slices.Equal(got, []float32{-1, -1}) {
		t.Errorf("each takes the other's coin and gets %v, want -1", got)
	}
	if got := gametest.Text(t, st); !strings.Contains(strings.Join(strings.Fields(got), " "), ". 0 . . . a . 1 .") {
		t.Errorf("one coin of seat 0 is to be left:\n%s", got)
	}
}

// The sides of a board are drawn evenly: the bound is chi-square's 0.9999 quantile, 8 degrees of freedom.
func TestBoardsAreDrawnEvenly(t *testing.T) {
	st, r := newGame(t, func(c *coin.Config) { crowd(c); c.Size, c.From = 5, 3 }).New(), rng.New(3).Rand()
	count := map[int]float64{}
	for range 4500 {
		st.Reset(&r)
		rows, columns := 0, 0
		for i := range 5 {
			for k, at := range [2][2]int{{i, 0}, {0, i}} {
				if _, things := st.(*coin.State).Cell(at[0], at[1], nil, nil); len(things) == 0 {
					if k == 0 {
						rows++
					} else {
						columns++
					}
				}
			}
		}
		count[10*rows+columns]++
	}
	if len(count) != 9 {
		t.Errorf("boards %v, want those of 3 to 5 rows and columns", count)
	}
	gametest.CheckUniform(t, "boards", slices.Collect(maps.Values(count)), 31.8)
}

func TestHorizonEnds(t *testing.T) {
	gametest.CheckEnd(t, newGame(t, small), "t=8 wait=0\n0a . .\n. 1 .\n. . .", stay)
}

// Owners and cells of new coins, given the agents' cells, are uniform. The bound
// is chi-square's 0.9999 quantile: a false alarm in 10,000 seeds, and the seed
// is fixed.
func TestNewCoinsAreUniformOnFreeCells(t *testing.T) {
	st := newGame(t, func(c *coin.Config) { walking(c); c.Agents = 3; c.Horizon = 1000 }).New()
	r := rng.New(3).Rand()
	count := map[string]float64{}
	for range 30_000 {
		if err := st.(*coin.State).UnmarshalText([]byte("t=0 wait=0\n0 a .\n. 1 .\n. . 2")); err != nil {
			t.Fatal(err)
		}
		st.Step([]int32{grid.Right, stay, stay}, make([]float32, 3), &r) // seat 0 now stands in the middle of the first row
		count[gametest.Text(t, st)]++
	}
	const kinds = 6 * 3 // free cells, owners
	if len(count) != kinds {
		t.Errorf("%d kinds of coins, want %d", len(count), kinds)
	}
	gametest.CheckUniform(t, "coins", slices.Collect(maps.Values(count)), 47.6) // 17 degrees of freedom
}

func TestStartIsUniform(t *testing.T) {
	st := newGame(t, small).New()
	r := rng.New(3).Rand()
	var agents, coins [9]float64
	for range 18_000 {
		st.Reset(&r)
		for cell := range 9 {
			seats, things := st.(*coin.State).Cell(cell/3, cell%3, nil, nil)
			agents[cell] += float64(len(seats))
			coins[cell] += float64(len(things))
			if len(seats) > 0 && len(things) > 0 {
				t.Fatalf("the coin starts under an agent:\n%s", gametest.Text(t, st))
			}
		}
	}
	gametest.CheckUniform(t, "agents", agents[:], 31.8) // chi-square's 0.9999 quantile, 8 degrees of freedom
	gametest.CheckUniform(t, "coins", coins[:], 31.8)
}

func TestCoinPlanesAreEgoFirst(t *testing.T) {
	st := at(t, small, "t=5 wait=0\n0 . b\n. 1 .\n. . .\nlast 1 2")
	obs := make([]float32, 9*4+6+1+2*6)
	for seat, cells := range [][][2]int{
		{{0, 0}, {4, 1}, {2, 3}}, // cell, plane: seat 0, seat 1, the other's coin
		{{4, 0}, {0, 1}, {2, 2}}, // seat 1, seat 0, its own coin
	} {
		for i := range obs {
			obs[i] = float32(math.NaN())
		}
		st.Observe(game.Seat(seat), obs)
		want := make([]float32, 36)
		for _, p := range cells {
			want[p[0]*4+p[1]] = 1
		}
		if !slices.Equal(obs[:36], want) {
			t.Errorf("seat %d sees planes %v, want %v", seat, obs[:36], want)
		}
		if obs[42] != 0.5 || obs[43+1+seat] != 1 || obs[49+2-seat] != 1 {
			t.Errorf("seat %d sees time and last actions %v", seat, obs[42:])
		}
	}
}

func TestBotsActByTheirRules(t *testing.T) {
	gametest.CheckActs(t, newGame(t, small), []gametest.Acts{
		{"own takes its coin", "own", "t=0 wait=0\n0a . .\n. 1 .\n. . .", []float32{0, 0, 0, 0, 0, 1}},
		{"own goes to its coin", "own", "t=0 wait=0\n0 . a\n. 1 .\n. . .", []float32{0, 0, 0, 1, 0, 0}},
		{"own breaks ties at random", "own", "t=0 wait=0\n. . .\n. a .\n. 1 0", []float32{.5, 0, .5, 0, 0, 0}},
		{"own stays while the coin is the other's", "own", "t=0 wait=0\n0b . .\n. 1 .\n. . .", []float32{0, 0, 0, 0, 1, 0}},
		{"any takes the other's coin", "any", "t=0 wait=0\n0b . .\n. 1 .\n. . .", []float32{0, 0, 0, 0, 0, 1}},
		{"any goes to the other's coin", "any", "t=0 wait=0\n0 . .\n. 1 .\nb . .", []float32{0, 1, 0, 0, 0, 0}},
		{"any stays while there is none", "any", "t=0 wait=1\n0 . .\n. 1 .\n. . .", []float32{0, 0, 0, 0, 1, 0}},
		{"grudge takes its coin", "grudge", "t=0 wait=0\n0a . .\n. 1 .\n. . .", []float32{0, 0, 0, 0, 0, 1}},
		{"grudge leaves the other's coin", "grudge", "t=1 wait=0\n0b . .\n. 1 .\n. . .\nlast 4 4\nrobbed 1", []float32{0, 0, 0, 0, 1, 0}},
		{"grudge takes it once robbed", "grudge", "t=1 wait=0\n0b . .\n. 1 .\n. . .\nlast 4 4\nrobbed 0", []float32{0, 0, 0, 0, 0, 1}},
	})
	gametest.CheckActs(t, newGame(t, walking), []gametest.Acts{
		{"own walks", "own", "t=0 wait=0\n0 . .\n. 1 .\na . .", []float32{0, 1, 0, 0, 0}},
		{"grudge goes where any goes", "grudge", "t=0 wait=0\n0 . .\n. 1 .\nb . .", []float32{0, 1, 0, 0, 0}},
		{"grudge stops before the other's coin", "grudge", "t=0 wait=0\n0 . .\nb 1 .\n. . .", []float32{0, 0, 0, 0, 1}},
		{"grudge goes on once robbed", "grudge", "t=1 wait=0\n0 . .\nb 1 .\n. . .\nlast 4 4\nrobbed 0", []float32{0, 1, 0, 0, 0}},
	})
}

func TestValidateNamesEveryFault(t *testing.T) {
	_, err := coin.New(coin.Config{Size: 2, Agents: 65, Horizon: 0, Pays: -1, Harm: -1, Take: "grab", Pause: -1})
	gametest.CheckFaults(t, err, "size is 2, want a board with more cells", "agents is 65", "horizon is 0", "pays is -1", "harm is -1",
		"take is grab", "pause is -1")
}

func TestWrongTextIsRefused(t *testing.T) {
	gametest.Refuses(t, newGame(t, small), [][3]string{
		{"no wait", "t=0\n0 . a\n. 1 .\n. . .", "first line"},
		{"time beyond the horizon", "t=11 wait=0\n0 . a\n. 1 .\n. . .", "first line"},
		{"over too early", "t=3 wait=0 over\n0 . a\n. 1 .\n. . .", "by the rules"},
		{"long wait", "t=3 wait=2\n0 . .\n. 1 .\n. . .", "wait=2"},
		{"no coin", "t=3 wait=0\n0 . .\n. 1 .\n. . .", "a coin on the board"},
		{"coin too early", "t=3 wait=1\n0 . a\n. 1 .\n. . .", "none otherwise"},
		{"two coins", "t=3 wait=0\n0 . a\n. 1 b\n. . .", `"b"`},
		{"seat missing", "t=3 wait=0\n0 . a\n. . .\n. . .", "seat 1"},
		{"unknown owner", "t=3 wait=0\n0 . c\n. 1 .\n. . .", `"c"`},
		{"last action", "t=3 wait=0\n0 . a\n. 1 .\n. . .\nlast 7 1", `"7"`},
		{"took", "t=3 wait=0\n0 . a\n. 1 .\n. . .\ntook 0=mine", `"0=mine"`},
		{"robbed", "t=3 wait=0\n0 . a\n. 1 .\n. . .\nrobbed 2", `"2" after robbed`},
	})
	gametest.Refuses(t, newGame(t, walking), [][3]string{
		{"a walker on a coin", "t=3 wait=0\n0a . .\n. 1 .\n. . .", "would have taken"},
	})
}

func FuzzUnmarshalText(f *testing.F) {
	gametest.Fuzz(f, newGame(f, small), "t=0 wait=0\n0 . a\n. 1 .\n. . .",
		"t=3 wait=1\n0 . .\n. 1 .\n. . .\nlast 5 -\ntook 0=other", "t=10 wait=0 over\n01b . .\n. . .\n. . .\nlast 4 4")
}

func TestPicturesNumberCoinsByOwner(t *testing.T) {
	seats, things := at(t, small, "t=0 wait=0\n0 . .\n. 1b .\n. . .").Cell(1, 1, nil, nil)
	if len(seats) != 1 || seats[0] != 1 || len(things) != 1 || things[0] != "coin1" {
		t.Errorf("got seats %v and things %v, want seat 1 on coin1", seats, things)
	}
}

// Whoever was robbed stays robbed to the episode's end, in a copy and under another seat's number too; who lost nothing is not.
func TestTheftsAreRemembered(t *testing.T) {
	st := at(t, walking, "t=0 wait=0\n0 b .\n. . .\n. . 1")
	robbed := func(st *coin.State) string {
		return strings.TrimSpace(gametest.Text(t, st)[strings.Index(gametest.Text(t, st), "took"):])
	}
	r := rng.New(1).Rand()
	st.Step([]int32{3, 4}, make([]float32, 2), &r)
	if got := robbed(st); got != "took 0=other\nrobbed 1" {
		t.Errorf("after seat 0 took seat 1's coin: %q", got)
	}
	turned := newGame(t, walking).New().(*coin.State)
	if turned.Permute(st, []game.Seat{1, 0}); robbed(turned) != "took 1=other\nrobbed 0" {
		t.Errorf("with seats exchanged: %q", robbed(turned))
	}
	turned.CopyFrom(st)
	for range 3 {
		turned.Step([]int32{4, 4}, make([]float32, 2), &r)
	}
	if got := robbed(turned); got != "took\nrobbed 1" {
		t.Errorf("three steps later: %q", got)
	}
	if turned.Reset(&r); robbed(turned) != "took" {
		t.Errorf("in a new episode: %q", robbed(turned))
	}
}

// Only the owner of a new coin is drawn, so what a step pays and who reached what
// must agree.
func TestRelabelledSeatsFareAlike(t *testing.T) {
	g := newGame(t, func(c *coin.Config) { c.Size, c.Agents = 2, 3 })
	gametest.Relabelled(t, g, []game.Seat{2, 0, 1}, false)
}
