package tag_test

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/rng"
)

func with(change func(c *tag.Config)) tag.Config {
	c := tag.Default()
	change(&c)
	return c
}

func newGame(t testing.TB, c tag.Config) *tag.Game {
	t.Helper()
	return gametest.New(t, tag.New, c)
}

// settings are the boards that the suite is run on.
var settings = []struct {
	name string
	c    tag.Config
}{
	{"default", tag.Default()},
	{"blocks", with(func(c *tag.Config) { c.Size, c.Blocks = 8, 5 })},
	{"two prey", with(func(c *tag.Config) { c.Size, c.Predators, c.Prey, c.Horizon = 5, 2, 2, 30 })},
	{"crowded", with(func(c *tag.Config) { c.Size, c.Predators, c.Prey, c.Horizon = 2, 5, 3, 20 })},
	{"view", with(func(c *tag.Config) { c.Blocks, c.View, c.Horizon = 2, 2, 20 })},
	{"sixteen", with(func(c *tag.Config) { c.Size, c.Predators, c.Prey, c.View, c.Horizon = 5, 12, 4, 1, 10 })},
	{"sixty-four", with(func(c *tag.Config) { c.Size, c.Predators, c.Prey, c.Horizon = 6, 55, 9, 5 })},
	{"duel", with(func(c *tag.Config) { c.Size, c.Predators, c.Start = 4, 1, 0 })},
}

func TestConforms(t *testing.T) {
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) { gametest.Run(t, newGame(t, s.c)) })
	}
}

func TestPlaythroughs(t *testing.T) {
	gametest.Playthrough(t, newGame(t, with(func(c *tag.Config) { c.Size, c.Horizon = 5, 12 })),
		[]string{"chase", "chase", "chase", "chase"}, 2, "testdata/chase.txt")
	gametest.Playthrough(t, newGame(t, with(func(c *tag.Config) { c.Blocks, c.Predators, c.Prey, c.Horizon = 3, 2, 2, 10 })),
		[]string{"chase", "flee", "random", "chase"}, 1, "testdata/blocks_mixed.txt")
}

const (
	up int32 = iota
	down
	left
	right
	stay
)

// duel is one predator, seat 0 in the texts below, and one prey on 4x4.
var duel = with(func(c *tag.Config) { c.Size, c.Predators = 4, 1 })

func position(t testing.TB, c tag.Config, text string) *tag.State {
	t.Helper()
	return gametest.At[*tag.State](t, newGame(t, c), text)
}

func where(t testing.TB, st *tag.State, size int, s game.Seat) (int, int) {
	t.Helper()
	for y := range size {
		for x := range size {
			seats, _ := st.Cell(y, x, nil, nil)
			if slices.Contains(seats, s) {
				return y, x
			}
		}
	}
	t.Fatalf("seat %d is nowhere", s)
	return 0, 0
}

func TestCatches(t *testing.T) {
	for _, c := range []struct {
		name, row string
		predator  int32
		prey      int32
		caught    bool
	}{
		{"predator steps onto waiting prey", "0 1 . .", right, stay, true},
		{"prey steps onto waiting predator", "0 1 . .", stay, left, true},
		{"both step onto one cell", "0 . 1 .", right, left, true},
		{"they swap cells", "0 1 . .", right, left, true},
		{"prey runs ahead", "0 1 . .", right, right, false},
		{"beside each other", "0 1 . .", stay, stay, false},
		{"predator enters the cell that prey left", "0 1 . .", right, down, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := position(t, duel, "t=0\n"+c.row+"\n. . . .\n. . . .\n. . . .\nprey 1")
			paid := gametest.Step(st, c.predator, c.prey)
			want := []float32{0, 0}
			if c.caught {
				want = []float32{1, -1}
			}
			if paid[0] != want[0] || paid[1] != want[1] {
				t.Errorf("paid %v, want %v", paid, want)
			}
		})
	}
}

func TestOnlyPredatorsCatchAndOnlyPrey(t *testing.T) {
	c := with(func(c *tag.Config) { c.Size, c.Predators, c.Prey = 4, 2, 2 })
	for _, acts := range [][]int32{
		{right, stay, left, stay},  // each onto its own kind
		{right, left, left, right}, // each swaps with its own kind
	} {
		st := position(t, c, "t=0\n0 1 . .\n. . . .\n. . . .\n. . 3 2\nprey 2 3")
		for s, x := range gametest.Step(st, acts...) {
			if x != 0 {
				t.Errorf("after %v seat %d is paid %v, want 0", acts, s, x)
			}
		}
	}
}

func TestPredatorsShareOneCatch(t *testing.T) {
	c := with(func(c *tag.Config) { c.Size = 4 })
	st := position(t, c, "t=0\n0 3 1 .\n. . . .\n. . . .\n2 . . .\nprey 3")
	paid := gametest.Step(st, right, left, stay, stay)
	for s := range 3 {
		if math.Abs(float64(paid[s])-1./3) > 1e-6 {
			t.Errorf("predator %d is paid %v, want a third, also without being there", s, paid[s])
		}
	}
	if math.Abs(float64(paid[3])+1) > 4e-6 {
		t.Errorf("prey is paid %v, want -1", paid[3])
	}
}

func TestTwoCatchesPayTwice(t *testing.T) {
	c := with(func(c *tag.Config) { c.Size, c.Predators, c.Prey = 4, 2, 2 })
	st := position(t, c, "t=0\n0 2 . .\n. . . .\n. . . .\n. . 3 1\nprey 2 3")
	paid := gametest.Step(st, right, left, stay, stay)
	if want := [4]float32{1, 1, -1, -1}; [4]float32(paid) != want {
		t.Errorf("paid %v, want %v", paid, want)
	}
}

// TestRewardsSumToZeroExactly: in float32, in either order of adding.
func TestRewardsSumToZeroExactly(t *testing.T) {
	for predators := 1; predators <= 7; predators++ {
		for prey := 1; predators+prey <= 8; prey++ {
			g := newGame(t, with(func(c *tag.Config) { c.Size, c.Predators, c.Prey = 3, predators, prey }))
			st := g.New()
			r := rng.New(5).Rand()
			bot, err := game.NewBot(g, "random")
			if err != nil {
				t.Fatal(err)
			}
			n := predators + prey
			acts, rewards := make([]int32, n), make([]float32, n)
			catches := 0
			for st.Reset(&r); !st.Over(); {
				for s := range acts {
					acts[s] = bot.Act(st, game.Seat(s), &r)
				}
				st.Step(acts, rewards, &r)
				var forth, back float32
				for s, x := range rewards {
					forth += x
					back += rewards[n-1-s]
					if x < 0 {
						catches++
					}
				}
				if forth != 0 || back != 0 {
					t.Fatalf("%d predators, %d prey: rewards %v sum to %v and %v", predators, prey, rewards, forth, back)
				}
			}
			if catches == 0 {
				t.Errorf("%d predators, %d prey: no catch in an episode", predators, prey)
			}
		}
	}
}

// TestCaughtPreyAppearsFarAway: at least Start moves from every predator, or as
// far as it can, and uniformly (chi-square; a false alarm in 1e4, fixed seed).
func TestCaughtPreyAppearsFarAway(t *testing.T) {
	g := newGame(t, with(func(c *tag.Config) { c.Size, c.Predators, c.Start = 4, 1, 4 }))
	r := rng.New(6).Rand()
	count := map[[2]int]int{}
	const n = 6000
	for range n {
		st := g.New().(*tag.State)
		if err := st.UnmarshalText([]byte("t=0\n0 1 . .\n. . . .\n. . . .\n. . . .\nprey 1")); err != nil {
			t.Fatal(err)
		}
		st.Step([]int32{right, stay}, make([]float32, 2), &r)
		y, x := where(t, st, 4, 1)
		count[[2]int{y, x}]++
	}
	// The predator is on 0,1. Four moves or more away are 2,3 and 3,0 and 3,2 and 3,3.
	q := 0.
	for _, cell := range [][2]int{{2, 3}, {3, 0}, {3, 2}, {3, 3}} {
		d := float64(count[cell]) - n/4
		q += d * d / (n / 4)
		delete(count, cell)
	}
	if len(count) != 0 || q > 21.1 {
		t.Errorf("chi-square %v; also appeared on %v", q, count)
	}
	far := with(func(c *tag.Config) { c.Size, c.Predators, c.Start = 4, 1, 60 })
	st := position(t, far, "t=0\n0 1 . .\n. . . .\n. . . .\n. . . .\nprey 1")
	gametest.Step(st, right, stay)
	if y, x := where(t, st, 4, 1); y != 3 || x != 3 {
		t.Errorf("prey appears on %d,%d, want 3,3, the farthest", y, x)
	}
}

func TestPreyAppearsAwayAlsoAroundBlocks(t *testing.T) {
	c := with(func(c *tag.Config) { c.Size, c.Predators, c.Start, c.Blocks = 4, 1, 60, 1 })
	st := position(t, c, "t=0\n0 1 # .\n. . # .\n. . # .\n. . . .\nprey 1")
	gametest.Step(st, right, stay)
	if y, x := where(t, st, 4, 1); y != 0 || x != 3 {
		t.Errorf("prey appears on %d,%d, want 0,3: eight moves around the blocks", y, x)
	}
}

// TestRolesAreDealt: every seat is prey equally often (5 standard errors, a
// false alarm in 1e5), and the numbers of each role are kept.
func TestRolesAreDealt(t *testing.T) {
	for _, s := range settings {
		g := newGame(t, s.c)
		st := g.New().(*tag.State)
		r := rng.New(8).Child(s.name).Rand()
		const n = 8000
		seats := s.c.Predators + s.c.Prey
		count := make([]int, seats)
		for range n {
			st.Reset(&r)
			prey := 0
			for seat := range count {
				if st.Prey(game.Seat(seat)) {
					count[seat]++
					prey++
				}
			}
			if prey != s.c.Prey {
				t.Fatalf("%s: %d prey, want %d", s.name, prey, s.c.Prey)
			}
		}
		p := float64(s.c.Prey) / float64(seats)
		for seat, k := range count {
			if math.Abs(float64(k)-n*p) > 5*math.Sqrt(n*p*(1-p)) {
				t.Errorf("%s: seat %d is prey %d times of %d, want %v", s.name, seat, k, n, n*p)
			}
		}
	}
}

func TestRolesAreObservedEgoFirst(t *testing.T) {
	c := with(func(c *tag.Config) { c.Size, c.Predators, c.Prey, c.Blocks = 4, 2, 2, 1 })
	g := newGame(t, c)
	l := g.Spec().Obs
	obs := make([]float32, l.Len())
	st := position(t, c, "t=0\n0 # 13 .\n. # . .\n. # . .\n. . . 2\nprey 1 2")
	st.Observe(3, obs)
	if got, want := [4]float32(obs[l.FeaturesAt():]), ([4]float32{0, 0, 1, 1}); got != want {
		t.Errorf("seat 3 sees roles %v, want %v", got, want)
	}
	for _, c := range []struct {
		y, x int
		want [6]float32 // self, next three seats, block, prey
	}{
		{0, 2, [6]float32{1, 0, 1, 0, 0, 1}},
		{0, 0, [6]float32{0, 1, 0, 0, 0, 0}},
		{3, 3, [6]float32{0, 0, 0, 1, 0, 1}},
		{0, 1, [6]float32{0, 0, 0, 0, 1, 0}},
	} {
		if got := [6]float32(obs[(c.y*4+c.x)*6:]); got != c.want {
			t.Errorf("cell %d,%d has planes %v, want %v", c.y, c.x, got, c.want)
		}
	}
}

// TestPermutedStepsAgree: without a catch no random number is drawn, and then
// relabelling the seats relabels everything, exactly.
func TestPermutedStepsAgree(t *testing.T) {
	c := with(func(c *tag.Config) { c.Size, c.Predators, c.Prey = 4, 2, 2 })
	st := position(t, c, "t=0\n0 . . 2\n. . . .\n. . . .\n1 . . 3\nprey 2 3")
	perm := []game.Seat{2, 0, 3, 1}
	moved, want := newGame(t, c).New().(*tag.State), newGame(t, c).New().(*tag.State)
	moved.Permute(st, perm)
	acts := []int32{right, stay, down, left}
	turned := make([]int32, 4)
	for s, to := range perm {
		turned[to] = acts[s]
	}
	gametest.Step(st, acts...)
	gametest.Step(moved, turned...)
	want.Permute(st, perm)
	a, _ := moved.AppendText(nil)
	b, _ := want.AppendText(nil)
	if string(a) != string(b) {
		t.Errorf("moved and stepped\n%s, stepped and moved\n%s", a, b)
	}
}

func TestHorizonEnds(t *testing.T) {
	gametest.CheckEnd(t, newGame(t, duel), "t=48\n0 . . .\n. . . .\n. . . .\n. . . 1\nprey 1", stay)
}

func TestWrongTextIsRefused(t *testing.T) {
	const good = "t=0\n0 . . .\n. . # .\n. . # .\n. . # 1\nprey 1\nlast 4 -\n"
	gametest.Refuses(t, newGame(t, duel), gametest.Swap(t, good, [][2]string{
		{"t=0", "t=51"},
		{"t=0", "t=3 over"},
		{"t=0", "t=50"},
		{"0 .", ". ."},
		{"0 .", "0# ."},
		{"prey 1", "prey"},
		{"prey 1", "prey 0 1"},
		{"prey 1", "prey 2"},
		{"prey 1", "prey 1 1"},
		{"last 4 -", "last 5 -"},
	}))
}

func FuzzText(f *testing.F) {
	gametest.Fuzz(f, newGame(f, duel), "t=0\n0 . . .\n. . # .\n. . # .\n. . # 1\nprey 1\nlast 4 -\n",
		"t=50 over\n01 . . .\n. . . .\n. . . .\n. . . .\nprey 1\n")
}

func TestConfigIsValidated(t *testing.T) {
	for name, c := range map[string]tag.Config{
		"zero":           {},
		"too many seats": with(func(c *tag.Config) { c.Predators, c.Prey = 60, 5 }),
		"no prey":        with(func(c *tag.Config) { c.Prey = 0 }),
		"no predator":    with(func(c *tag.Config) { c.Predators = 0 }),
	} {
		if _, err := tag.New(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, s := range settings[:3] {
		b.Run(s.name, func(b *testing.B) { gametest.Bench(b, newGame(b, s.c)) })
	}
}
