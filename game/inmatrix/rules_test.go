package inmatrix_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/inmatrix"
	"github.com/hop-marl/hop/num/rng"
)

const (
	stay     = grid.Stay
	interact = inmatrix.Interact
)

// small is a game for two on the small map, in which nothing comes back by chance.
func small(t testing.TB, edit func(*inmatrix.Config)) *inmatrix.Game {
	c := inmatrix.Default()
	c.Map, c.Freeze, c.View, c.Regrow, c.Horizon = "small", 2, 0, 0, 200
	if edit != nil {
		edit(&c)
	}
	return gametest.New(t, inmatrix.New, c)
}

// field is the small map with seats by digits; lines follow.
const field = `t=4
 #  #  #  #  #  #  #  #  #
 #  .  .  .  .  .  .  .  #
 #  .  s  s  .  h  h  .  #
 #  .  s  s  .  h  h  .  #
 #  .  .  .  .  .  .  .  #
 #  .  h  h  .  s  s  .  #
 #  .  h  h  .  s  s  .  #
 #  .  .  .  .  .  .  .  #
 #  #  #  #  #  #  #  #  #
`

// with puts seats on rows and columns of the field.
func with(lines string, seats ...[2]int) string {
	rows := strings.Split(field, "\n")
	for s, at := range seats {
		cells := strings.Fields(rows[at[0]+1])
		if cells[at[1]] == "." {
			cells[at[1]] = ""
		}
		cells[at[1]] = string(rune('0'+s)) + cells[at[1]]
		rows[at[0]+1] = strings.Join(cells, " ")
	}
	return strings.Join(rows, "\n") + lines
}

// at returns the small game in that position.
func at(t *testing.T, edit func(*inmatrix.Config), lines string, seats ...[2]int) *inmatrix.State {
	t.Helper()
	return gametest.At[*inmatrix.State](t, small(t, edit), with(lines, seats...))
}

// line returns the words of a line of the state's text.
func line(t *testing.T, st game.State, name string) string {
	t.Helper()
	for l := range strings.SplitSeq(gametest.Text(t, st), "\n") {
		if rest, ok := strings.CutPrefix(l, name+" "); ok {
			return rest
		}
	}
	t.Fatalf("no line %s", name)
	return ""
}

func wantLine(t *testing.T, st game.State, name, want string) {
	t.Helper()
	if got := line(t, st, name); got != want {
		t.Errorf("%s %s, want %s", name, got, want)
	}
}

func TestWhoWalksOntoAResourceTakesIt(t *testing.T) {
	st := at(t, nil, "", [2]int{1, 2}, [2]int{7, 5})
	gametest.Step(st, grid.Down, grid.Up)
	wantLine(t, st, "stags", "1 1")
	wantLine(t, st, "hares", "0 0")
	gametest.Step(st, grid.Down, stay)
	wantLine(t, st, "stags", "2 1")
	if row := strings.Fields(strings.Split(gametest.Text(t, st), "\n")[3]); row[2] != "x" {
		t.Errorf("where the stag was stands %q, want x", row[2])
	}
}

func TestNobodyWalksThroughAnother(t *testing.T) {
	st := at(t, nil, "", [2]int{4, 1}, [2]int{4, 2})
	gametest.Step(st, grid.Right, stay)
	if got := strings.Fields(strings.Split(gametest.Text(t, st), "\n")[5])[1:3]; !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("row %v, want both where they were", got)
	}
}

// Of two who want one cell either gets it: 1,000 draws, and five standard deviations are 79.
func TestWhoMovesFirstIsDrawn(t *testing.T) {
	g, r, first := small(t, nil), rng.New(3).Rand(), 0
	st := gametest.At[*inmatrix.State](t, g, with("", [2]int{4, 1}, [2]int{4, 3}))
	now, rewards := g.New(), make([]float32, 2)
	for range 1000 {
		now.CopyFrom(st)
		now.Step([]int32{grid.Right, grid.Left}, rewards, &r)
		if strings.Fields(strings.Split(gametest.Text(t, now), "\n")[5])[2] == "0" {
			first++
		}
	}
	if math.Abs(float64(first)-500) > 79 {
		t.Errorf("seat 0 gets the cell %d times of 1000", first)
	}
}

func TestTurns(t *testing.T) {
	st := at(t, nil, "face 0 3\n", [2]int{1, 1}, [2]int{7, 7})
	gametest.Step(st, inmatrix.TurnLeft, inmatrix.TurnRight)
	wantLine(t, st, "face", "3 0")
}

// The beam has three rays of three cells: from the cells on both sides and from the one ahead. A
// face of 1 looks to the right. Seats have gathered something, so that whoever is hit stands still.
func TestTheBeam(t *testing.T) {
	for _, tc := range []struct {
		name string
		from [2]int
		face int
		to   [2]int
		hits bool
	}{
		{"ahead", [2]int{4, 1}, 1, [2]int{4, 2}, true},
		{"three ahead", [2]int{4, 1}, 1, [2]int{4, 4}, true},
		{"four ahead", [2]int{4, 1}, 1, [2]int{4, 5}, false},
		{"behind", [2]int{4, 2}, 1, [2]int{4, 1}, false},
		{"beside", [2]int{1, 4}, 1, [2]int{2, 4}, true},
		{"beside and two ahead", [2]int{7, 4}, 0, [2]int{5, 3 + 1}, true},
		{"a resource on the way", [2]int{1, 2}, 2, [2]int{4, 2}, false},
		{"on both sides", [2]int{4, 4}, 0, [2]int{4, 3}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := at(t, nil, "stags 1 1\nface "+string(rune('0'+tc.face))+" 0\n", tc.from, tc.to)
			gametest.Step(st, interact, stay)
			want := "0 0"
			if tc.hits {
				want = "2 2"
			}
			wantLine(t, st, "frozen", want)
		})
	}
}

func TestOnlyThoseMeetWhoHaveGatheredSomething(t *testing.T) {
	for _, stags := range []string{"0 1", "1 0"} {
		st := at(t, nil, "stags "+stags+"\nface 1 0\n", [2]int{4, 1}, [2]int{4, 2})
		gametest.Step(st, interact, stay)
		wantLine(t, st, "frozen", "0 0")
	}
}

// Everybody begins with one of either kind: who has gathered three stags plays stag with 4/5.
func TestAnInteractionPaysTheMatrixBetweenTheMixtures(t *testing.T) {
	st := at(t, nil, "stags 3 0\nhares 0 1\nface 1 0\n", [2]int{4, 1}, [2]int{4, 2})
	if got := gametest.Step(st, interact, stay); got[0] != 0 || got[1] != 0 {
		t.Errorf("paid %v at once, want nothing before the freeze ends", got)
	}
	wantLine(t, st, "reached", "0 1")
	gametest.CheckMasks(t, small(t, nil), gametest.Text(t, st), "4", "4")
	gametest.Step(st, stay, stay)
	p, q := 4./5, 1./3
	want := []float32{float32(p*q*4 + (1-p)*2), float32(p*q*4 + (1-q)*2)}
	got := gametest.Step(st, stay, stay)
	for s := range want {
		if math.Abs(float64(got[s]-want[s])) > 1e-6 {
			t.Errorf("paid %v, want %v", got, want)
		}
	}
	wantLine(t, st, "stags", "0 0")
	wantLine(t, st, "metstags", "0 3")
	wantLine(t, st, "away", "5 5")
}

func TestTheyComeBackAndSoDoTheResources(t *testing.T) {
	gone := "taken 11 11" + strings.Repeat(" 0", 14) + "\n"
	text := strings.Replace(with("stags 1 1\nmetstags 1 1\nfrozen 1 1\n"+gone, [2]int{4, 1}, [2]int{4, 2}), "s  s", "x  x", 1)
	for _, refill := range []bool{true, false} {
		st := gametest.At[*inmatrix.State](t, small(t, func(c *inmatrix.Config) { c.Refill = refill }), text)
		for away := 5; away >= 0; away-- {
			gametest.Step(st, stay, stay)
			wantLine(t, st, "away", strings.Repeat(string(rune('0'+away))+" ", 2)[:3])
		}
		if got := strings.HasPrefix(line(t, st, "taken"), "0 0"); got != refill {
			t.Errorf("refill %v: all resources are back: %v", refill, got)
		}
	}
}

func TestAResourceComesBackByChanceTenStepsLater(t *testing.T) {
	st := at(t, func(c *inmatrix.Config) { c.Regrow = 1 }, "", [2]int{1, 2}, [2]int{7, 7})
	gametest.Step(st, grid.Down, stay)
	for range 20 {
		gametest.Step(st, stay, stay)
	}
	others := strings.Repeat(" 0", 15)
	wantLine(t, st, "taken", "11"+others) // somebody stands on it
	gametest.Step(st, grid.Left, stay)
	wantLine(t, st, "taken", "0"+others)
	gametest.Step(st, grid.Right, stay)
	for want := 2; want < 11; want++ {
		gametest.Step(st, stay, stay)
	}
	wantLine(t, st, "taken", "11"+others)
}

func TestThreeBeamsDestroyAResource(t *testing.T) {
	st := at(t, nil, "face 1 0\nhurt 2"+strings.Repeat(" 0", 15)+"\n", [2]int{2, 1}, [2]int{7, 7})
	gametest.Step(st, interact, stay)
	wantLine(t, st, "taken", "2"+strings.Repeat(" 0", 15))
	wantLine(t, st, "stags", "0 0")
}

func TestTheBeamCools(t *testing.T) {
	st := at(t, nil, "", [2]int{4, 4}, [2]int{7, 7})
	for i, legal := range []bool{true, false, false, true} {
		if got := strings.Contains(gametest.Mask(small(t, nil), st, 0), "7"); got != legal {
			t.Errorf("step %d: a beam is legal: %v, want %v", i, got, legal)
		}
		act := int32(stay)
		if i == 0 {
			act = interact
		}
		gametest.Step(st, act, stay)
	}
}

// From step Least on every hundredth step ends the episode with probability Stop; it is no cut, the
// horizon is.
func TestEnds(t *testing.T) {
	for _, tc := range []struct {
		least, horizon, at int
		cut                bool
	}{{100, 400, 100, false}, {101, 400, 200, false}, {300, 150, 150, true}} {
		g := small(t, func(c *inmatrix.Config) { c.Least, c.Horizon, c.Stop = tc.least, tc.horizon, 1 })
		st, r, n := g.New().(*inmatrix.State), rng.New(2).Rand(), 0
		for st.Reset(&r); !st.Over(); n++ {
			st.Step([]int32{stay, stay}, make([]float32, 2), &r)
		}
		if n != tc.at || st.Cut() != tc.cut {
			t.Errorf("least %d, horizon %d: over after %d steps, cut %v", tc.least, tc.horizon, n, st.Cut())
		}
	}
}

func TestBotsActByTheirRules(t *testing.T) {
	only := func(k int) []float32 {
		p := make([]float32, 8)
		p[k] = 1
		return p
	}
	gametest.CheckActs(t, small(t, nil), []gametest.Acts{
		{"stag goes to a stag", "stag", with("", [2]int{1, 3}, [2]int{7, 7}), only(grid.Down)},
		{"hare goes to a hare", "hare", with("", [2]int{1, 5}, [2]int{7, 7}), only(grid.Down)},
		{"hare turns to whom it can meet", "hare", with("hares 5 1\nface 0 0\n", [2]int{4, 1}, [2]int{4, 3}), only(inmatrix.TurnRight)},
		{"stag meets", "stag", with("stags 5 1\nface 1 0\n", [2]int{4, 1}, [2]int{4, 3}), only(interact)},
		{"stag gathers while the other has nothing", "stag", with("stags 5 0\nface 1 0\n", [2]int{2, 1}, [2]int{4, 3}), only(grid.Right)},
		{"tft gathers hares after one with hares", "tft", with("methares 2 0\n", [2]int{1, 5}, [2]int{7, 7}), only(grid.Down)},
		{"who stands still stays", "stag", with("stags 5 1\nmetstags 1 5\nfrozen 1 1\n", [2]int{4, 1}, [2]int{4, 3}), only(stay)},
	})
}

func TestWrongTextIsRefused(t *testing.T) {
	good := with("stags 1 1\nface 0 0\n", [2]int{4, 1}, [2]int{4, 3})
	spots := strings.Repeat(" 0", 15) + "\n"
	gametest.Refuses(t, small(t, nil), [][3]string{
		{"over too early", strings.Replace(good, "t=4", "t=4 over", 1), "over is true"},
		{"another kind", strings.Replace(good, "s  s", "h  s", 1), "cannot be so"},
		{"nothing where the map has something", strings.Replace(good, "s  s", ".  s", 1), "does not have there"},
		{"no wall", strings.Replace(good, "#", ".", 1), "does not have there"},
		{"taken without a number", strings.Replace(good, "s  s", "x  s", 1), "cannot be so"},
		{"two on a cell", strings.Replace(good, "0 .", "01 .", 1), "once each"},
		{"a seat on a resource", with("", [2]int{2, 2}, [2]int{4, 3}), "cannot be so"},
		{"a seat missing", with("", [2]int{4, 1}), "seat 1 is away for 0 steps"},
		{"away on the board", good + "away 2 0\n", "seat 0 is away"},
		{"frozen after nothing", good + "frozen 1 0\n", "met nobody"},
		{"few spots", good + "taken 1\n", "1 numbers"},
		{"much hurt", good + "hurt 3" + spots, `"3" after "hurt"`},
		{"no direction", strings.Replace(good, "face 0", "face 4", 1), `"4"`},
	})
}

func FuzzUnmarshalText(f *testing.F) {
	gametest.Fuzz(f, small(f, nil), with("stags 1 1\nface 0 3\nmetstags 2 1\nfrozen 2 1\ncool 1 0\n", [2]int{4, 1}, [2]int{4, 3}),
		with("away 0 3\nreached 1 -\n", [2]int{4, 1}))
}

func TestValidateNamesEveryFault(t *testing.T) {
	c := inmatrix.Default()
	c.Map, c.Agents, c.Pays, c.Stop = "moon", 9, []float64{1}, 2
	_, err := inmatrix.New(c)
	gametest.CheckFaults(t, err, "map is", "agents is 9", "pays is [1]", "stop is 2")
	c = inmatrix.Default()
	c.Map, c.Agents = "small", 6
	_, err = inmatrix.New(c)
	gametest.CheckFaults(t, err, "agents is 6")
}
