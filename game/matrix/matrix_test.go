package matrix_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
)

func newGame(t testing.TB, name string, rounds int) *matrix.Game {
	t.Helper()
	c := matrix.Default()
	c.Matrix, c.Rounds = name, rounds
	return gametest.New(t, matrix.New, c)
}

func TestConforms(t *testing.T) {
	for _, c := range []matrix.Config{
		matrix.Default(),
		{Matrix: "pd", Rounds: 1, Memory: true, Time: true},
		{Matrix: "staghunt", Rounds: 7, Memory: true},
		{Matrix: "chicken", Rounds: 20, Time: true},
		{Matrix: "chicken", Rounds: 3},
		{Matrix: "rps", Rounds: 1},
		{Matrix: "rps", Rounds: 30, Memory: true, Time: true},
		{Matrix: "pd", Rounds: 12, Memory: true, Hidden: true},
	} {
		t.Run(fmt.Sprintf("%s %d rounds memory %v time %v", c.Matrix, c.Rounds, c.Memory, c.Time), func(t *testing.T) {
			gametest.Run(t, gametest.New(t, matrix.New, c))
		})
	}
}

func TestPlaythroughs(t *testing.T) {
	gametest.Playthrough(t, newGame(t, "pd", 5), []string{"grim", "random"}, 4, "testdata/pd_grim_random.txt")
	gametest.Playthrough(t, newGame(t, "rps", 4), []string{"beatlast", "scissors"}, 1, "testdata/rps_beatlast_scissors.txt")
}

// start returns a fresh state.
func start(g *matrix.Game) *matrix.State {
	st := g.New().(*matrix.State)
	st.Reset(nil)
	return st
}

func round(st game.State, a, b int32) [2]float32 {
	var rewards [2]float32
	st.Step([]int32{a, b}, rewards[:], nil)
	return rewards
}

// TestStagesAreWhatTheyAreCalled checks the inequalities that define each game:
// R for both cooperating, T for tempting, S for the sucker, P for both defecting.
func TestStagesAreWhatTheyAreCalled(t *testing.T) {
	for _, s := range matrix.Stages() {
		if s.Name == "rps" {
			for i := range s.Pays {
				if s.Pays[i][i] != 0 || s.Pays[(i+1)%3][i] != 1 || s.Pays[i][(i+1)%3] != -1 {
					t.Errorf("rps pays %v: each of rock, paper, scissors must beat the one before", s.Pays)
				}
			}
			continue
		}
		R, S, T, P := s.Pays[0][0], s.Pays[0][1], s.Pays[1][0], s.Pays[1][1]
		ok := map[string]bool{
			"pd":       T > R && R > P && P > S && 2*R > T+S,
			"staghunt": R > T && T >= P && P > S,
			"chicken":  T > R && R > S && S > P,
		}[s.Name]
		if !ok {
			t.Errorf("%s has R=%d S=%d T=%d P=%d, which is another game", s.Name, R, S, T, P)
		}
	}
}

func TestStepPaysTheMatrix(t *testing.T) {
	for _, s := range matrix.Stages() {
		g := newGame(t, s.Name, 1)
		for a := range s.Actions {
			for b := range s.Actions {
				got := round(start(g), int32(a), int32(b))
				if want := [2]float32{float32(s.Pays[a][b]), float32(s.Pays[b][a])}; got != want {
					t.Errorf("%s: %s against %s pays %v, want %v", s.Name, s.Actions[a], s.Actions[b], got, want)
				}
			}
		}
	}
}

// earns returns what a strategy earns against another, exactly.
func earns(s matrix.Stage, own, other []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for a, p := range own {
		for b, q := range other {
			x := new(big.Rat).Mul(p, q)
			sum.Add(sum, x.Mul(x, big.NewRat(int64(s.Pays[a][b]), 1)))
		}
	}
	return sum
}

// pure returns the strategy that plays action a for sure.
func pure(n, a int) []*big.Rat {
	p := make([]*big.Rat, n)
	for k := range p {
		p[k] = new(big.Rat)
	}
	p[a].SetInt64(1)
	return p
}

// TestNoDeviationFromAnEquilibriumPays verifies each listed equilibrium by its
// definition; against a mixed strategy the best deviation is a pure one.
func TestNoDeviationFromAnEquilibriumPays(t *testing.T) {
	for _, s := range matrix.Stages() {
		for i, e := range s.Equilibria() {
			for seat, own := range e.Strategy {
				other := e.Strategy[1-seat]
				sum := new(big.Rat)
				for _, p := range own {
					if sum.Add(sum, p); p.Sign() < 0 {
						t.Errorf("%s, equilibrium %d, seat %d: probability %v", s.Name, i, seat, p)
					}
				}
				if sum.Cmp(big.NewRat(1, 1)) != 0 || len(own) != len(s.Actions) {
					t.Errorf("%s, equilibrium %d, seat %d: %v is no distribution over %v", s.Name, i, seat, own, s.Actions)
				}
				value := earns(s, own, other)
				if value.Cmp(e.Value[seat]) != 0 {
					t.Errorf("%s, equilibrium %d: seat %d expects %v, the table says %v", s.Name, i, seat, value, e.Value[seat])
				}
				for a := range s.Actions {
					if got := earns(s, pure(len(s.Actions), a), other); got.Cmp(value) > 0 {
						t.Errorf("%s, equilibrium %d: seat %d gets %v by %s, more than %v", s.Name, i, seat, got, s.Actions[a], value)
					}
				}
			}
		}
	}
}

// TestEquilibriaAreAllThereAre finds every equilibrium of the 2x2 games: the pure
// ones by trying all, the mixed one where it makes the other indifferent. In
// rock-paper-scissors it checks that no pure one was forgotten.
func TestEquilibriaAreAllThereAre(t *testing.T) {
	for _, s := range matrix.Stages() {
		n, want := len(s.Actions), 0
		for a := range n {
			for b := range n {
				best := true
				for k := range n {
					best = best && s.Pays[k][b] <= s.Pays[a][b] && s.Pays[k][a] <= s.Pays[b][a]
				}
				if best {
					want++
				}
			}
		}
		listed := 0
		for _, e := range s.Equilibria() {
			if e.Pure() {
				listed++
			}
		}
		if listed != want {
			t.Errorf("%s lists %d pure equilibria, want %d", s.Name, listed, want)
		}
		mixed := len(s.Equilibria()) - listed
		if n == 2 {
			// q R + (1-q) S = q T + (1-q) P at q = (P-S) / (R-S-T+P), if inside (0, 1).
			R, S, T, P := s.Pays[0][0], s.Pays[0][1], s.Pays[1][0], s.Pays[1][1]
			want = 0
			if num, den := P-S, R-S-T+P; den != 0 && num*den > 0 && num*num < num*den {
				want = 1
			}
			if mixed != want {
				t.Errorf("%s lists %d mixed equilibria, want %d", s.Name, mixed, want)
			}
		} else if mixed != 1 {
			t.Errorf("%s lists %d mixed equilibria, want 1", s.Name, mixed)
		}
	}
}

func TestMemoryIsEgoFirst(t *testing.T) {
	g := newGame(t, "pd", 10)
	obs := make([]float32, g.Spec().Obs.Len())
	for _, c := range []struct {
		name     string
		own, his int32
		at       int
	}{
		{"start", -1, -1, 0},
		{"CC", 0, 0, 1},
		{"CD", 0, 1, 2},
		{"DC", 1, 0, 3},
		{"DD", 1, 1, 4},
	} {
		for seat := range game.Seat(2) {
			st := start(g)
			if c.own >= 0 {
				acts := [2]int32{}
				acts[seat], acts[1-seat] = c.own, c.his
				round(st, acts[0], acts[1])
			}
			st.Observe(seat, obs)
			for i, x := range obs[:5] {
				if want := float32(0); i != c.at && x != want || i == c.at && x != 1 {
					t.Errorf("%s: seat %d observes %v, want a single 1 at %d", c.name, seat, obs[:5], c.at)
					break
				}
			}
		}
	}
}

func TestWithoutMemoryAndTimeNothingIsSeen(t *testing.T) {
	g := gametest.New(t, matrix.New, matrix.Config{Matrix: "pd", Rounds: 5})
	st := start(g)
	obs := make([]float32, g.Spec().Obs.Len())
	for range 5 {
		round(st, 0, 1)
		if st.Observe(0, obs); len(obs) != 1 || obs[0] != 1 {
			t.Fatalf("observation is %v, want the constant [1]", obs)
		}
	}
}

func TestRoundsEndTheEpisode(t *testing.T) {
	st := start(newGame(t, "chicken", 3))
	for i := range 3 {
		if st.Over() {
			t.Fatalf("over after %d rounds, want 3", i)
		}
		round(st, 0, 0)
	}
	if !st.Over() || st.Alive(0) || st.Alive(1) {
		t.Errorf("after 3 of 3 rounds: over %v, alive %v %v", st.Over(), st.Alive(0), st.Alive(1))
	}
	if st.Cut() {
		t.Error("the last round is a rule, not a limit from outside")
	}
	hidden := start(gametest.New(t, matrix.New, matrix.Config{Matrix: "pd", Rounds: 2, Memory: true, Hidden: true}))
	for i := range 2 {
		if hidden.Cut() {
			t.Errorf("cut after %d of 2 rounds", i)
		}
		round(hidden, 0, 0)
	}
	if !hidden.Over() || !hidden.Cut() {
		t.Error("the last round of a hidden horizon is a limit from outside, not a rule")
	}
}

func TestGoalIsTheActionJustPlayed(t *testing.T) {
	st := start(newGame(t, "staghunt", 3))
	if got := st.Reached(0); got != game.NoGoal {
		t.Errorf("reached %d before the first round, want none", got)
	}
	round(st, 1, 0)
	if a, b := st.Reached(0), st.Reached(1); a != 1 || b != 0 {
		t.Errorf("reached %d and %d, want 1 and 0", a, b)
	}
}

// TestBotsPlayTheirRule plays a bot against a script and compares its actions.
func TestBotsPlayTheirRule(t *testing.T) {
	for _, c := range []struct{ stage, bot, other, want string }{
		{"pd", "allc", "CDDC", "CCCC"},
		{"pd", "alld", "CDDC", "DDDD"},
		{"pd", "tft", "CDDCC", "CCDDC"},
		{"pd", "grim", "CCDCC", "CCCDD"},
		{"chicken", "tft", "DDCC", "CDDC"},
		{"staghunt", "grim", "DCCC", "CDDD"},
		{"rps", "rock", "RPS", "RRR"},
		{"rps", "paper", "RPS", "PPP"},
		{"rps", "scissors", "RPS", "SSS"},
		{"rps", "beatlast", "RPSR", "RPSR"},
	} {
		letters := "CD"
		if c.stage == "rps" {
			letters = "RPS"
		}
		for seat := range game.Seat(2) {
			g := newGame(t, c.stage, len(c.want))
			b := gametest.Bot(t, g, c.bot)
			st, got := start(g), ""
			for _, ch := range c.other {
				var acts [2]int32
				acts[seat] = b.Act(st, seat, nil)
				acts[1-seat] = int32(strings.IndexRune(letters, ch))
				got += string(letters[acts[seat]])
				round(st, acts[0], acts[1])
			}
			if got != c.want {
				t.Errorf("%s: %s in seat %d against %s plays %s, want %s", c.stage, c.bot, seat, c.other, got, c.want)
			}
		}
	}
}

// TestKnownScores are those of the tournament: two cooperators, a defector
// against tit for tat, and so on, over ten rounds of the prisoner's dilemma.
func TestKnownScores(t *testing.T) {
	g := newGame(t, "pd", 10)
	for _, c := range []struct {
		a, b string
		want [2]float64
	}{
		{"tft", "tft", [2]float64{30, 30}},
		{"allc", "alld", [2]float64{0, 50}},
		{"tft", "alld", [2]float64{9, 14}},
		{"grim", "alld", [2]float64{9, 14}},
		{"alld", "alld", [2]float64{10, 10}},
	} {
		scores := gametest.Returns(t, g, []string{c.a, c.b}, 1, 1)
		if got := [2]float64{scores[0].Mean, scores[1].Mean}; got != c.want {
			t.Errorf("%s against %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestWrongTextIsRefused(t *testing.T) {
	const good = "t=1\n0 last=cooperate cooperate=1 defect=0\n1 last=defect cooperate=0 defect=1\n"
	gametest.Refuses(t, newGame(t, "pd", 10), gametest.Swap(t, good, [][2]string{
		{"t=1", "t=11"},
		{"t=1", "t=-1"},
		{"t=1", "t=2"},
		{"t=1\n", ""},
		{"last=cooperate", "last=rock"},
		{"last=cooperate", "last=-"},
		{"last=cooperate", "last=defect"},
		{"cooperate=1", "cooperate=x"},
		{"cooperate=1", "stag=1"},
		{"\n0", "\n1"},
	}))
}

func FuzzText(f *testing.F) {
	gametest.Fuzz(f, newGame(f, "pd", 10), "t=1\n0 last=cooperate cooperate=1 defect=0\n1 last=defect cooperate=0 defect=1\n",
		"t=0\n0 last=- cooperate=0 defect=0\n1 last=- cooperate=0 defect=0\n")
}

func TestConfigIsValidated(t *testing.T) {
	for _, c := range []matrix.Config{{}, {Matrix: "ipd", Rounds: 1}, {Matrix: "pd", Rounds: 0}} {
		if _, err := matrix.New(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func BenchmarkStep(b *testing.B) { gametest.Bench(b, newGame(b, "pd", 10)) }
