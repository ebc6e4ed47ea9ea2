package staghunt

import (
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
)

const none = game.NoAction

// small is a 3x3 board for positions in text.
func small(change func(c *Config)) Config {
	c := Config{Size: 3, Agents: 4, Stags: 2, Hares: 3, Horizon: 20, StagPays: 10, HarePays: 1}
	if change != nil {
		change(&c)
	}
	return c
}

// at returns the state that the text shows. A text without a first line is at t=0.
func at(t *testing.T, c Config, text string) *State {
	t.Helper()
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "t=") {
		text = "t=0 first=0\n" + text
	}
	return gametest.At[*State](t, gametest.New(t, New, c), text)
}

// want steps and compares the rewards.
func (st *State) want(t *testing.T, acts []int32, rewards ...float32) {
	t.Helper()
	got := make([]float32, len(acts))
	st.Step(acts, got, nil)
	for s := range got {
		if math.Abs(float64(got[s]-rewards[s])) > 1e-6 {
			t.Errorf("actions %v pay %v, want %v", acts, got, rewards)
			return
		}
	}
}

// show returns the text of the state.
func (st *State) show() string {
	b, _ := st.AppendText(nil)
	return string(b)
}

func alive(st *State) string {
	s := ""
	for i := range st.g.c.Agents {
		if st.Alive(game.Seat(i)) {
			s += string(rune('0' + i))
		}
	}
	return s
}

func TestHuntsPay(t *testing.T) {
	equal := small(nil)
	strong := small(func(c *Config) { c.Strength = []float64{1, 2, 3, 4} })
	for _, c := range []struct {
		name  string
		c     Config
		board string
		acts  []int32
		pays  []float32
		alive string // afterwards
		left  uint64 // the prey then: bits, stags first
	}{
		{"a lone hunter changes nothing", equal, "01S . h\n . 2 .\n . . 3", []int32{5, 4, 4, 4}, []float32{0, 0, 0, 0}, "0123", 0b00101},
		{"two catch the stag", equal, "01S . h\n . 2 .\n . . 3", []int32{5, 5, 4, 4}, []float32{5, 5, 0, 0}, "23", 0b00100},
		{"a third splits the stag", equal, "013S . h\n . 2 .\n . . .",
			[]int32{5, 5, 4, 5}, []float32{10. / 3, 10. / 3, 0, 10. / 3}, "2", 0b00100},
		{"a fourth splits the stag", equal, "0123S . h\n . . .\n . . .", []int32{5, 5, 5, 5}, []float32{2.5, 2.5, 2.5, 2.5}, "", 0b00100},
		{"who only stands by gets nothing", equal, "013S . h\n . 2 .\n . . .", []int32{5, 5, 4, 4}, []float32{5, 5, 0, 0}, "23", 0b00100},
		{"two stags are two hunts", equal, "02S . h\n . . .\n . . 13S", []int32{5, 5, 5, 5}, []float32{5, 5, 5, 5}, "", 0b00100},
		{"the second stag is untouched", equal, "0123S . h\n . . .\n . . S", []int32{5, 5, 5, 5}, []float32{2.5, 2.5, 2.5, 2.5}, "", 0b00110},
		{"two split a hare", equal, "S . 012h\n . . .\n . . 3", []int32{6, 6, 4, 4}, []float32{0.5, 0.5, 0, 0}, "23", 0b00001},
		{"three split a hare", equal, "S . 012h\n . . .\n . . 3", []int32{6, 6, 6, 4}, []float32{1. / 3, 1. / 3, 1. / 3, 0}, "3", 0b00001},
		{"two hares are two hunts", equal, "S . 0h\n . . 3h\n 12h . .", []int32{6, 6, 6, 4}, []float32{1, 0.5, 0.5, 0}, "3", 0b01001},
		{"one catches a hare", equal, "S . 2h\n . . .\n 01 . 3", []int32{4, 4, 6, 4}, []float32{0, 0, 1, 0}, "013", 0b00001},
		// Hares are caught before stags, so that what is caught first could matter;
		// it does not, since no cell holds both.
		{"hare and stag in one step", equal, "02h . 13S\n . . .\n . . .", []int32{6, 5, 6, 5}, []float32{0.5, 5, 0.5, 5}, "", 0},
		{"a stag is split by strength", strong, "013S . h\n . 2 .\n . . .",
			[]int32{5, 5, 4, 5}, []float32{10. / 7, 20. / 7, 0, 40. / 7}, "2", 0b00100},
		{"a hare is not", strong, ". . 03h\n . . .\n 12S . .", []int32{6, 5, 5, 6}, []float32{0.5, 4, 6, 0.5}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := at(t, c.c, c.board)
			st.want(t, c.acts, c.pays...)
			if alive(st) != c.alive || st.left != c.left || st.Over() != (c.alive == "") {
				t.Errorf("alive %q, prey left %05b, over %v; want %q, %05b", alive(st), st.left, st.Over(), c.alive, c.left)
			}
		})
	}
}

func TestHuntersAndPreyLeave(t *testing.T) {
	st := at(t, small(nil), `
		01S . h
		 .  2 .
		 .  . 3h`)
	st.want(t, []int32{5, 5, 0, 6}, 5, 5, 0, 1)
	want := "t=1 first=1\n  .  2   h\n  .   .   .\n  .   .   .\nlast 5 5 0 6\ngone 0=stag* 1=stag* 3=hare*\n"
	if got := strings.Join(strings.Fields(st.show()), " "); got != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%swant\n%s", st.show(), want)
	}
	if got := alive(st); got != "2" {
		t.Errorf("alive %s, want 2", got)
	}
	for _, s := range []game.Seat{0, 1, 3} {
		if m := gametest.Mask(st.g, st, s); m != "" {
			t.Errorf("seat %d has left and may play %s", s, m)
		}
	}
	for s, goal := range []int{GoalStag, GoalStag, game.NoGoal, GoalHare} {
		if st.Reached(game.Seat(s)) != goal || st.Caught(game.Seat(s)) != goal {
			t.Errorf("seat %d reached %d, caught %d, want %d", s, st.Reached(game.Seat(s)), st.Caught(game.Seat(s)), goal)
		}
	}
	st.want(t, []int32{none, none, grid.Right, none}, 0, 0, 0, 0)
	if st.Reached(0) != game.NoGoal || st.Caught(0) != GoalStag {
		t.Errorf("a step later seat 0 reached %d and caught %d, want none and stag", st.Reached(0), st.Caught(0))
	}
	if st.Over() {
		t.Error("over while seat 2 hunts on")
	}
	st.want(t, []int32{none, none, HuntHare, none}, 0, 0, 1, 0)
	if !st.Over() {
		t.Error("all have left, but the episode is not over")
	}
}

// docs/faults.md#rows-after-exit: actions recorded for agents that had left.
func TestSeatThatLeftPlaysNoAction(t *testing.T) {
	st := at(t, small(nil), `
		01S . h
		 .  2 .
		 .  . 3`)
	st.want(t, []int32{5, 5, 4, 4}, 5, 5, 0, 0)
	for _, a := range []int32{grid.Stay, HuntStag, 0} {
		func() {
			defer func() {
				if p := recover(); p != "staghunt: a seat that has left must play NoAction" {
					t.Errorf("seat 1 has left and plays %d: panic %v", a, p)
				}
			}()
			st.Step([]int32{none, a, 4, 4}, make([]float32, 4), nil)
		}()
	}
	st.want(t, []int32{none, none, 0, 2}, 0, 0, 0, 0)
	if st.Last[0] != -1 || st.Last[1] != -1 {
		t.Errorf("last actions %v: who has left must have none", st.Last[:4])
	}
	obs := make([]float32, st.g.spec.Obs.Len())
	st.Observe(2, obs)
	last := obs[st.g.spec.Obs.LastAt():]
	for i, x := range last {
		want := i == 0*actions+0 || i == 1*actions+2
		if (x == 1) != want {
			t.Errorf("seat 2 observes last joint action %v: want up, left, nothing, nothing", last)
			break
		}
	}
}

func TestHorizonEnds(t *testing.T) {
	gametest.CheckEnd(t, gametest.New(t, New, small(nil)), "t=18 first=0\n 0123 . h\n . . .\n . . S", grid.Stay)
}

func TestCatchInTheLastStepPays(t *testing.T) {
	st := at(t, small(nil), "t=19 first=0\n 0h . h\n . 1 .\n 23S . .")
	st.want(t, []int32{6, 4, 5, 5}, 1, 0, 5, 5)
	if !st.Over() {
		t.Error("not over at the horizon")
	}
}

func TestEndAfterFirstCatch(t *testing.T) {
	c := small(func(c *Config) { c.EndAfter = 2 })
	st := at(t, c, "t=3\n 0h . h\n . 1 .\n 23S . .")
	st.want(t, []int32{4, 4, 4, 4}, 0, 0, 0, 0)
	st.want(t, []int32{6, 4, 4, 4}, 1, 0, 0, 0)
	if st.first != 5 {
		t.Errorf("first catch in step %d, want 5", st.first)
	}
	st.want(t, []int32{none, 4, 4, 4}, 0, 0, 0, 0)
	if st.Over() {
		t.Error("over one step after the first catch, want two")
	}
	st.want(t, []int32{none, 4, 5, 5}, 0, 0, 5, 5)
	if !st.Over() || alive(st) != "" {
		t.Errorf("two steps after the first catch: over %v, alive %q", st.Over(), alive(st))
	}
}

func TestMasks(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // actions of seats from 0 on
	}{
		{"a stag needs two", "t=1 first=1\n 0S . h\n . 1 .\n 23S . .", []string{"134", "01234", "0345", "0345"}},
		{"a stag needs two who have not left", "t=5 first=4\n 0S . h\n . . .\n . 3 .\ngone 1=hare 2=hare", []string{"134"}},
		{"a hare hunt needs a hare", "t=0\n 0 1h .\n 2S . .\n . . 3", []string{"134", "12346", "0134", "024"}},
		{"moves into walls", "t=0\n 0 . 1\n . . .\n 2 . 3", []string{"134", "124", "034", "024"}},
		{"moves into blocks", "t=0\n # 0 .\n 1 # 2\n . 3 .", []string{"34", "14", "014", "234"}},
		{"stay is always legal", "t=0\n 0S # 1h\n # # #\n 2 # 3S", []string{"4", "46", "4", "4"}},
	} {
		t.Run(c.name, func(t *testing.T) { gametest.CheckMasks(t, gametest.New(t, New, small(nil)), c.text, c.want...) })
	}
}

func TestMovesAreSimultaneous(t *testing.T) {
	// 0 and 1 change places: nobody is in the way.
	st := at(t, small(nil), "0 1 .\n . . .\n 2 . 3")
	st.want(t, []int32{grid.Right, grid.Left, 4, 4}, 0, 0, 0, 0)
	if st.Pos[0] != 1 || st.Pos[1] != 0 {
		t.Errorf("0 and 1 stand on %v, want [1 0]", st.Pos[:2])
	}
	// What is legal is decided before the step: 0 may hunt since 1 stands by, and
	// fails since 1 walks away. 2, who only now arrives, is of no help.
	st = at(t, small(nil), "01S 2 .\n . . .\n . . 3")
	st.want(t, []int32{HuntStag, grid.Down, grid.Left, 4}, 0, 0, 0, 0)
	if alive(st) != "0123" || !st.hereStag(0) {
		t.Errorf("alive %s, stag there %v, want nothing caught", alive(st), st.hereStag(0))
	}
}

func TestAgentsShareCells(t *testing.T) {
	st := at(t, small(nil), "0 1 .\n 2 . .\n . . 3")
	st.want(t, []int32{4, grid.Left, grid.Up, grid.Up}, 0, 0, 0, 0)
	if st.crowd(0) != 3 {
		t.Errorf("%d on cell 0, want 3", st.crowd(0))
	}
}

func TestOptimumIsTwelve(t *testing.T) {
	st := at(t, small(func(c *Config) { c.Stags = 1 }), "01S . .\n . 2h .\n . . 3h")
	st.want(t, []int32{5, 5, 6, 6}, 5, 5, 1, 1)
}

// docs/faults.md#mixed-order: joint actions in global order, planes ego-first.
func TestJointActionIsEgoFirst(t *testing.T) {
	st := at(t, small(nil), "0 1 2\n . . .\n 3 . .\nlast 4 3 2 1")
	l := st.g.spec.Obs
	obs := make([]float32, l.Len())
	cells, last := [4]int{0, 1, 2, 6}, [4]int{4, 3, 2, 1}
	for s := range 4 {
		st.Observe(game.Seat(s), obs)
		for o := range 4 {
			who := (s + o) % 4
			for c := range 9 {
				if want := number(c == cells[who]); obs[c*7+o] != want {
					t.Errorf("seat %d, plane %d, cell %d: %v, want %v: seat %d stands on %d", s, o, c, obs[c*7+o], want, who, cells[who])
				}
			}
			for k := range actions {
				if got, want := obs[l.LastAt()+o*actions+k], number(k == last[who]); got != want {
					t.Errorf("seat %d, last action %d, %d: %v, want %v: seat %d played %d", s, o, k, got, want, who, last[who])
				}
			}
		}
	}
}

func TestObservationShowsBlocksAndPrey(t *testing.T) {
	st := at(t, small(nil), "# 01 S\n h . h\n 23S . #")
	obs := make([]float32, st.g.spec.Obs.Len())
	st.Observe(3, obs)
	planes := map[string][]int{"self": {6}, "other1": {1}, "other2": {1}, "other3": {6}, "block": {0, 8}, "stag": {2, 6}, "hare": {3, 5}}
	for p, name := range st.g.spec.Obs.Planes {
		for c := range 9 {
			want := float32(0)
			for _, on := range planes[name] {
				if on == c {
					want = 1
				}
			}
			if got := obs[c*7+p]; got != want {
				t.Errorf("plane %s, cell %d: %v, want %v", name, c, got, want)
			}
		}
	}
	if l := st.g.spec.Obs; l.Len() != 9*7+7+1+28 {
		t.Errorf("an observation has %d numbers, want 9 cells of 7 planes, 7 masks, time, 28 last actions", l.Len())
	}
}

func number(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

func TestConfigIsChecked(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"size is 1":                  func(c *Config) { c.Size = 1 },
		"size is 2":                  func(c *Config) { c.Size = 2 },
		"agents is 65":               func(c *Config) { c.Agents = 65 },
		"stags is -1":                func(c *Config) { c.Stags = -1 },
		"horizon is 0":               func(c *Config) { c.Horizon = 0 },
		"hare_pays is .nan":          func(c *Config) { c.HarePays = math.NaN() },
		"player_strength is [1, 2]":  func(c *Config) { c.Strength = []float64{1, 2} },
		"player_strength is [1, 0, ": func(c *Config) { c.Strength = []float64{1, 0, 1, 1} },
	} {
		if _, err := New(with(change)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want one that says %q", err, name)
		}
	}
}
