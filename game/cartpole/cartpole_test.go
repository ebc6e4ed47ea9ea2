package cartpole_test

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/cartpole"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/num/rng"
)

func newGame(t testing.TB, limit int) *cartpole.Game {
	t.Helper()
	c := cartpole.Default()
	c.Limit = limit
	return gametest.New(t, cartpole.New, c)
}

func TestConforms(t *testing.T) {
	for _, limit := range []int{500, 12} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) { gametest.Run(t, newGame(t, limit)) })
	}
}

func TestPlaythroughs(t *testing.T) {
	gametest.Playthrough(t, newGame(t, 500), []string{"random"}, 10, "testdata/random.txt")
	gametest.Playthrough(t, newGame(t, 10), []string{"balance"}, 1, "testdata/balance.txt")
}

// position returns a state of g with the given text.
func position(t testing.TB, g *cartpole.Game, text string) *cartpole.State {
	t.Helper()
	return gametest.At[*cartpole.State](t, g, text)
}

func push(st game.State, action int32) float32 {
	var reward [1]float32
	st.Step([]int32{action}, reward[:], nil)
	return reward[0]
}

// numbers reads the four numbers of a state back from its text.
func numbers(t testing.TB, st *cartpole.State) (at [4]float64) {
	t.Helper()
	for i, w := range strings.Fields(gametest.Text(t, st))[1:] {
		_, val, _ := strings.Cut(w, "=")
		var err error
		if at[i], err = strconv.ParseFloat(val, 64); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// TestStepsLikeGymnasium plays every step that testdata/record.py recorded from
// the recorded state before it. Go's sine and the C library's may differ in their
// last bit, so a step may differ by 1e-15; the pole is unstable, so differences
// would grow without bound if an episode were replayed from its start alone.
func TestStepsLikeGymnasium(t *testing.T) {
	data, err := os.ReadFile("testdata/gymnasium.txt")
	if err != nil {
		t.Fatal(err)
	}
	g := newGame(t, 500)
	var st *cartpole.State
	exits, cuts, worst := 0, 0, 0.
	for n, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		words := strings.Fields(line)
		switch words[0] {
		case "#":
			continue
		case "start":
			st = recorded(t, g, 0, words[1:5])
			continue
		}
		action, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, want := push(st, int32(action)), words[5]; want != "1.0" || got != 1 {
			t.Errorf("line %d: reward %v, want %v", n+1, got, want)
		}
		after := recorded(t, g, st.Time(), words[1:5])
		want := numbers(t, after)
		for i, got := range numbers(t, st) {
			worst = max(worst, math.Abs(got-want[i]))
			if math.Abs(got-want[i]) > 1e-15 {
				t.Fatalf("line %d: number %d is %v, want %v", n+1, i, got, want[i])
			}
		}
		exit, cut := words[6] == "1", words[7] == "1"
		if st.Over() != (exit || cut) || st.Cut() != (cut && !exit) {
			t.Errorf("line %d: over %v, cut %v; Gymnasium terminated %v, truncated %v", n+1, st.Over(), st.Cut(), exit, cut)
		}
		if exit {
			exits++
		} else if cut {
			cuts++
		}
		st = after
	}
	if exits != 3 || cuts != 1 {
		t.Errorf("%d exits and %d cuts in the recording, want 3 and 1", exits, cuts)
	}
	t.Logf("largest difference in one step %g", worst)
}

// recorded returns the state at step time with the four recorded numbers.
func recorded(t testing.TB, g *cartpole.Game, time int, at []string) *cartpole.State {
	t.Helper()
	return position(t, g, "t="+strconv.Itoa(time)+" x="+at[0]+" v="+at[1]+" theta="+at[2]+" omega="+at[3])
}

func TestObservationIsFourFloat32(t *testing.T) {
	g := newGame(t, 500)
	st := position(t, g, "t=7 x=0.1 v=-0.2 theta=0.03 omega=0.4")
	obs := make([]float32, g.Spec().Obs.Len())
	st.Observe(0, obs)
	want := []float32{0.1, -0.2, 0.03, 0.4}
	if len(obs) != len(want) {
		t.Fatalf("observation has %d numbers, want %d", len(obs), len(want))
	}
	for i := range want {
		if obs[i] != want[i] {
			t.Errorf("observation %d is %v, want %v", i, obs[i], want[i])
		}
	}
}

// TestEndsAtThresholds places the pole and the cart so that the next step goes
// just over, or stays just inside, 12 degrees and 2.4 metres.
func TestEndsAtThresholds(t *testing.T) {
	g := newGame(t, 500)
	for _, c := range []struct {
		name, text string
		over       bool
	}{
		{"right edge passed", "x=2.39 v=0.6", true},
		{"right edge not passed", "x=2.39 v=0.4", false},
		{"left edge passed", "x=-2.39 v=-0.6", true},
		{"left edge not passed", "x=-2.39 v=-0.4", false},
		{"pole at 12.1 degrees", "theta=0.2 omega=0.56", true},
		{"pole at 11.9 degrees", "theta=0.2 omega=0.38", false},
		{"pole at -12.1 degrees", "theta=-0.2 omega=-0.56", true},
		{"pole at -11.9 degrees", "theta=-0.2 omega=-0.38", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := position(t, g, c.text)
			if reward := push(st, cartpole.PushLeft); reward != 1 {
				t.Errorf("reward %v, want 1 for every step, the last too", reward)
			}
			if st.Over() != c.over || st.Alive(0) == c.over || st.Cut() {
				t.Errorf("over %v, alive %v, cut %v; want over %v and no cut", st.Over(), st.Alive(0), st.Cut(), c.over)
			}
		})
	}
}

func TestLimitIsACutAndFallingAnExit(t *testing.T) {
	g := newGame(t, 500)
	st := position(t, g, "t=499")
	push(st, cartpole.PushLeft)
	if !st.Over() || !st.Cut() {
		t.Errorf("upright at the limit: over %v, cut %v; want both", st.Over(), st.Cut())
	}
	st = position(t, g, "t=499 theta=0.2 omega=0.6")
	push(st, cartpole.PushLeft)
	if !st.Over() || st.Cut() {
		t.Errorf("fell at the limit: over %v, cut %v; want over by the rules", st.Over(), st.Cut())
	}
}

// TestStartIsUniform: each number's mean and variance are those of a uniform
// draw from ±0.05. The bounds are 5 standard errors: a false alarm in 1e6.
func TestStartIsUniform(t *testing.T) {
	g := newGame(t, 500)
	st := g.New().(*cartpole.State)
	r := rng.New(1).Child("start").Rand()
	const n = 20000
	var sum, squares [4]float64
	var obs [4]float32
	for range n {
		st.Reset(&r)
		st.Observe(0, obs[:])
		for i, v := range obs {
			u := float64(v) / 0.05
			if math.Abs(u) > 1 {
				t.Fatalf("number %d starts at %v, want within 0.05", i, v)
			}
			sum[i] += u
			squares[i] += u * u
		}
	}
	for i := range sum {
		if mean := sum[i] / n; math.Abs(mean) > 5*math.Sqrt(1./3/n) {
			t.Errorf("number %d starts at mean %v of the bound, want 0", i, mean)
		}
		if v := squares[i] / n; math.Abs(v-1./3) > 5*math.Sqrt(4./45/n) {
			t.Errorf("number %d starts with variance %v of the bound's square, want 1/3", i, v)
		}
	}
}

// play returns the mean return of a bot.
func play(t testing.TB, bot string, episodes int) float64 {
	t.Helper()
	return gametest.Returns(t, newGame(t, 500), []string{bot}, episodes, 7)[0].Mean
}

func TestBalanceBotNeverFalls(t *testing.T) {
	if got := play(t, "balance", 200); got != 500 {
		t.Errorf("balance returns %v, want 500 in every episode", got)
	}
}

// TestRandomBotFallsEarly: random play returns 22.13 in Gymnasium (8,000 episodes,
// standard error 0.13), where one episode has a standard deviation of 11.8. The
// bound is 5 combined standard errors.
func TestRandomBotFallsEarly(t *testing.T) {
	const n = 5000
	if got := play(t, "random", n); math.Abs(got-22.13) > 5*math.Hypot(0.13, 11.8/math.Sqrt(n)) {
		t.Errorf("random returns %v over %d episodes, want 22.13 +- 1.1", got, n)
	}
}

func TestWrongTextIsRefused(t *testing.T) {
	g := newGame(t, 500)
	for _, text := range []string{"t=-1", "t=501", "t=x", "y=1", "x=NaN", "x=Inf", "x=", "x"} {
		if err := g.New().(*cartpole.State).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was read, want an error", text)
		}
	}
}

func TestConfigIsValidated(t *testing.T) {
	if _, err := cartpole.New(cartpole.Config{}); err == nil {
		t.Error("a limit of 0 steps was accepted")
	}
	if err := cartpole.Default().Validate(); err != nil {
		t.Errorf("the default is refused: %v", err)
	}
}

func BenchmarkStep(b *testing.B) { gametest.Bench(b, newGame(b, 500)) }
