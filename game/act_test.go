package game_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// Each count is allowed 5 standard errors; the seed is fixed.
func TestUniformDrawsLegalActionsEquallyOften(t *testing.T) {
	const n = 30_000
	r := rng.New(1).Rand()
	legal := []bool{false, true, true, false, true, false}
	count := make([]int, len(legal))
	for range n {
		count[game.Uniform(legal, &r)]++
	}
	for k, c := range count {
		want := 0.
		if legal[k] {
			want = n / 3.
		}
		if math.Abs(float64(c)-want) > 5*math.Sqrt(want*2/3) {
			t.Errorf("action %d drawn %d times, want about %.0f", k, c, want)
		}
	}
	if got := game.Uniform(make([]bool, 4), &r); got != game.NoAction {
		t.Errorf("with nothing legal: %d, want NoAction", got)
	}
}

func TestSampleFollowsTheProbabilities(t *testing.T) {
	const n = 40_000
	r := rng.New(2).Rand()
	probs := []float32{0, 0.1, 0, 0.6, 0.3, 0}
	count := make([]int, len(probs))
	for range n {
		count[game.Sample(probs, &r)]++
	}
	for k, c := range count {
		p := float64(probs[k])
		if math.Abs(float64(c)-n*p) > 5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("action %d drawn %d times, want about %.0f", k, c, n*p)
		}
	}
}

// Rounding may leave the sum just below 1; the draw must still be possible.
func TestSampleNeverDrawsAnImpossibleAction(t *testing.T) {
	r := rng.New(3).Rand()
	for range 10_000 {
		if a := game.Sample([]float32{0, 0.3, 0.3, 0, 0}, &r); a != 1 && a != 2 {
			t.Fatalf("drew %d", a)
		}
	}
}

func TestSpread(t *testing.T) {
	dst := []float32{9, 9, 9}
	game.Spread(dst, []bool{true, false, true})
	if !slices.Equal(dst, []float32{0.5, 0, 0.5}) {
		t.Errorf("got %v", dst)
	}
	game.Spread(dst, []bool{false, false, false})
	if !slices.Equal(dst, []float32{0, 0, 0}) {
		t.Errorf("nothing legal: got %v", dst)
	}
}

func TestLayoutOffsets(t *testing.T) {
	l := game.Layout{Height: 2, Width: 3, Planes: []string{"a", "b"}, Features: 4, Legal: 5, Time: 1, Last: 3}
	got := []int{l.PlanesLen(), l.FeaturesAt(), l.LegalAt(), l.TimeAt(), l.LastAt(), l.Len()}
	if want := []int{12, 12, 16, 21, 22, 37}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTailIsEgoFirst(t *testing.T) {
	l := game.Layout{Features: 1, Legal: 2, Time: 1, Last: 3}
	dst := make([]float32, l.Len())
	l.Tail(dst, 1, []bool{false, true}, 3, 4, []int8{0, 1, -1})
	want := []float32{0, 0, 1, 0.75, 0, 1, 0, 0, 1, 0} // feature, mask, time, seats 1, 2, 0
	if !slices.Equal(dst, want) {
		t.Errorf("got %v, want %v", dst, want)
	}
	bare := game.Layout{Features: 2}
	dst = []float32{7, 7}
	bare.Tail(dst, 0, []bool{true}, 1, 2, nil)
	if !slices.Equal(dst, []float32{7, 7}) {
		t.Errorf("a layout without a tail was written: %v", dst)
	}
}

func TestCheckNamesTheFault(t *testing.T) {
	c := staghunt.Default()
	c.Size, c.Agents, c.Hares = 2, 2, 1
	g := gametest.New(t, staghunt.New, c)
	const running, left = "t=0\n 0 1\n h S", "t=2 first=1\n 0 .\n . S\ngone 1=hare"
	for _, c := range []struct {
		name, text string
		actions    []int32
		want       string // "" if it is sound
	}{
		{"sound", running, []int32{4, 1}, ""},
		{"into the wall", running, []int32{4, 0}, "seat 1 played 0"},
		{"no hare here", running, []int32{6, 4}, "seat 0 played 6"},
		{"no such action", running, []int32{4, 7}, "seat 1 played 7"},
		{"alive and silent", running, []int32{game.NoAction, 4}, "seat 0 played -1"},
		{"too few", running, []int32{4}, "2 seats, got 1"},
		{"left and silent", left, []int32{4, game.NoAction}, ""},
		{"left and acting", left, []int32{4, 4}, "seat 1 has left"},
		{"over", "t=35 over\n 0 1\n h S", []int32{4, 4}, "over"},
	} {
		err := game.Check(g, gametest.At[game.State](t, g, c.text), c.actions)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestNewBotListsTheNames(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	if b, err := game.NewBot(g, "nh"); err != nil || b.Name() != "nh" {
		t.Errorf("got %v, %v", b, err)
	}
	if _, err := game.NewBot(g, "wolf"); err == nil || !strings.Contains(err.Error(), "switcher") {
		t.Errorf("got %v, want the names there are", err)
	}
}

func TestKindsHaveNames(t *testing.T) {
	for k, want := range map[game.Kind]string{game.GeneralSum: "general-sum", game.Cooperative: "cooperative", game.ZeroSum: "zero-sum"} {
		if k.String() != want {
			t.Errorf("got %q, want %q", k, want)
		}
	}
}
