package oracle_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/eval"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hunt(t testing.TB, set func(*staghunt.Config)) game.Game {
	t.Helper()
	c := staghunt.Default()
	if set != nil {
		set(&c)
	}
	return gametest.New(t, staghunt.New, c)
}

// twin is the definition: expectimax over the real rules and the real bots,
// memoised by the state's text.
type twin struct {
	g     game.Game
	seat  game.Seat
	pol   []game.Policy
	gamma float64
	memo  map[string]float64
	whole bool // the last joint action matters
}

func (w *twin) value(st game.State) float64 {
	if !st.Alive(w.seat) {
		return 0
	}
	text, _ := st.AppendText(nil)
	key := string(text)
	if !w.whole {
		key, _, _ = strings.Cut(key, "last")
	}
	if v, ok := w.memo[key]; ok {
		return v
	}
	best := math.Inf(-1)
	for _, q := range w.q(st) {
		best = max(best, q)
	}
	w.memo[key] = best
	return best
}

func (w *twin) q(st game.State) map[int]float64 {
	spec := w.g.Spec()
	legal := make([]bool, len(spec.Actions))
	st.Legal(w.seat, legal)
	out := map[int]float64{}
	for k, ok := range legal {
		if ok {
			actions := make([]int32, spec.Seats)
			actions[w.seat] = int32(k)
			out[k] = w.mean(st, actions, 0)
		}
	}
	return out
}

func (w *twin) mean(st game.State, actions []int32, s int) float64 {
	if s == len(actions) {
		next := w.g.New()
		next.CopyFrom(st)
		rewards := make([]float32, len(actions))
		next.Step(actions, rewards, nil)
		return float64(rewards[w.seat]) + w.gamma*w.value(next)
	}
	if game.Seat(s) == w.seat {
		return w.mean(st, actions, s+1)
	}
	if !st.Alive(game.Seat(s)) {
		actions[s] = game.NoAction
		return w.mean(st, actions, s+1)
	}
	probs := make([]float32, len(w.g.Spec().Actions))
	w.pol[s].Probs(st, game.Seat(s), probs)
	sum := 0.
	for k, p := range probs {
		if p > 0 {
			actions[s] = int32(k)
			sum += float64(p) * w.mean(st, actions, s+1)
		}
	}
	return sum
}

func TestValuesEqualExpectimaxOverTheRealRules(t *testing.T) {
	small := func(c *staghunt.Config) { c.Size, c.Horizon, c.Hares = 3, 5, 2 }
	for _, c := range []struct {
		name  string
		bots  []string
		focal game.Seat
		gamma float64
		set   func(*staghunt.Config)
	}{
		{"types", []string{"", "ns", "nh"}, 0, 1, small},
		{"sorted pair", []string{"ns", "", "ns"}, 1, 0.9, small},
		{"random pair", []string{"random", "random", ""}, 2, 1, func(c *staghunt.Config) { small(c); c.Horizon = 3 }},
		{"deadline", []string{"deadline", "", "random"}, 1, 0.95, small},
		{"ends after a catch", []string{"", "nh", "ns"}, 0, 1, func(c *staghunt.Config) { small(c); c.EndAfter = 2 }},
		{"strength", []string{"", "ns", "ns"}, 0, 1, func(c *staghunt.Config) { small(c); c.Strength = []float64{1, 2, 3} }},
		{"two stags, blocks", []string{"", "ns", "random"}, 0, 0.99,
			func(c *staghunt.Config) { small(c); c.Size, c.Stags, c.Blocks, c.Horizon = 4, 2, 1, 4 }},
		{"prices", []string{"", "ns", "nh"}, 0, 1, func(c *staghunt.Config) { small(c); c.StagPays, c.HarePays = 3, 1.4 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := hunt(t, func(cfg *staghunt.Config) { cfg.Agents = 3; c.set(cfg) })
			br, err := oracle.NewBR(g, c.gamma)
			must(t, err)
			st, r := g.New(), rng.New(3).Rand()
			for start := range 8 {
				st.Reset(&r)
				w := &twin{g: g, seat: c.focal, gamma: c.gamma, memo: map[string]float64{}}
				for _, name := range c.bots {
					if name == "" {
						name = "random"
					}
					b, err := game.NewBot(g, name)
					must(t, err)
					w.pol = append(w.pol, b.(game.Policy))
				}
				actions, rewards := make([]int32, 3), make([]float32, 3)
				for !st.Over() {
					text, _ := st.AppendText(nil)
					got, err := br.Value(st, c.focal, c.bots)
					must(t, err)
					if want := w.value(st); math.Abs(got-want) > 1e-6 {
						t.Fatalf("start %d: value %v, want %v at\n%s", start, got, want, text)
					}
					if st.Alive(c.focal) {
						q := make([]float64, 7)
						if _, err := br.Q(q, st, c.focal, c.bots); err != nil {
							t.Fatal(err)
						}
						for k, want := range w.q(st) {
							if math.Abs(q[k]-want) > 1e-6 {
								t.Fatalf("start %d: Q of action %d is %v, want %v at\n%s", start, k, q[k], want, text)
							}
						}
					}
					for s := range actions {
						actions[s] = game.NoAction
						if st.Alive(game.Seat(s)) {
							actions[s] = w.pol[s].Act(st, game.Seat(s), &r)
						}
					}
					st.Step(actions, rewards, nil)
				}
			}
		})
	}
}

// mean returns V averaged over starts, and what the best response got on them.
func mean(t testing.TB, g game.Game, others []string, episodes int) (value, played stats.Acc, states int) {
	t.Helper()
	team := append([]string{"br"}, others...)
	br, err := oracle.NewBR(g, 1)
	must(t, err)
	key := rng.New(5)
	v := map[[2]int]float64{}
	err = oracle.Starts(g, key, 64, episodes, false, team, 0, func(env, i int, st game.State, seat game.Seat, bots []string) error {
		x, err := br.Value(st, seat, bots)
		v[[2]int{env, i}] = x
		states += br.States()
		value.Add(x)
		return err
	})
	must(t, err)
	members := []eval.Member{{Name: "br", Blind: true, Players: func(workers, lanes int) ([]rollout.Player, error) {
		ps := make([]rollout.Player, workers)
		for i := range ps {
			p, err := oracle.NewPlayer(g, team, 1, lanes)
			if err != nil {
				return nil, err
			}
			ps[i] = p
		}
		return ps, nil
	}}}
	for _, name := range others {
		members = append(members, eval.Bot(g, name))
	}
	_, err = eval.Run(context.Background(), eval.Config{
		Game: g, Team: members, Episodes: episodes, Key: key, Workers: 1,
		Each: func(ep rollout.Episode) { played.Add(ep.Return[0] - v[[2]int{ep.Env, ep.Index}]) },
	})
	must(t, err)
	return value, played, states / episodes
}

// The difference of what was played and V on common starts may be 4 standard
// errors: about one false alarm in 16,000 rows; the seed is fixed.
func TestPlayedEqualsValue(t *testing.T) {
	four := func(*staghunt.Config) {}
	eight := func(c *staghunt.Config) { c.Size, c.Blocks = 8, 5 }
	two := func(c *staghunt.Config) { eight(c); c.Stags = 2 }
	for _, c := range []struct {
		board    string
		set      func(*staghunt.Config)
		team     string
		episodes int
		want     float64 // of V, within 4 standard errors
	}{
		{"4x4", four, "nh nh nh", 100, 1},
		{"4x4", four, "ns ns ns", 300, 2.87},
		{"4x4", four, "ns nh nh", 60, 5},
		{"4x4", four, "ns ns random", 8, 3.57},
		{"8x8", eight, "nh nh nh", 60, 1},
		{"8x8", eight, "ns ns ns", 100, 2.97},
		{"8x8", eight, "ns nh nh", 40, 5},
		{"8x8 2s", two, "ns ns ns", 40, 4.85},
		{"8x8 2s", two, "nh nh nh", 60, 1},
	} {
		t.Run(c.board+" "+c.team, func(t *testing.T) {
			value, diff, states := mean(t, hunt(t, c.set), strings.Fields(c.team), c.episodes)
			t.Logf("V %.4f ± %.4f, played-V %.4f ± %.4f, %d states", value.Mean(), value.SE(), diff.Mean(), diff.SE(), states)
			if math.Abs(diff.Mean()) > 4*diff.SE()+1e-6 {
				t.Errorf("played differs from V by %.4f ± %.4f", diff.Mean(), diff.SE())
			}
			if got := value.Mean(); math.Abs(got-c.want) > 4*value.SE()+1e-9 {
				t.Errorf("V is %.4f ± %.4f, want %.4f", got, value.SE(), c.want)
			}
		})
	}
}

func TestSolvableNamesTheFault(t *testing.T) {
	if err := oracle.Solvable(gametest.New(t, coin.New, coin.Default()), nil); err == nil {
		t.Error("a game whose rules draw was accepted")
	}
	g := hunt(t, nil)
	if err := oracle.Solvable(g, []string{"ns", "deadline"}); err != nil {
		t.Errorf("got %v", err)
	}
	if err := oracle.Solvable(g, []string{"ns", "switcher"}); err == nil || !strings.Contains(err.Error(), "switcher") {
		t.Errorf("got %v, want an objection to switcher", err)
	}
	if err := oracle.Solvable(hunt(t, func(c *staghunt.Config) { c.Size = 16 }), nil); err == nil {
		t.Error("16x16 was accepted")
	}
	for _, discount := range []float64{1.5, -1, math.NaN(), math.Inf(1)} {
		if _, err := oracle.NewBR(g, discount); err == nil {
			t.Errorf("a discount of %v was accepted", discount)
		}
	}
	br, _ := oracle.NewBR(g, 1)
	st, r := g.New(), rng.New(1).Rand()
	st.Reset(&r)
	if _, err := br.Value(st, 0, []string{"", "ns", "wolf", "nh"}); err == nil {
		t.Error("a bot named wolf was accepted")
	}
	if _, err := br.Value(st, 4, []string{"ns", "ns", "ns", "nh"}); err == nil {
		t.Error("seat 4 of 4 was accepted")
	}
}

func BenchmarkValue(b *testing.B) {
	eight := func(c *staghunt.Config) { c.Size, c.Blocks = 8, 5 }
	for _, team := range []string{"ns ns ns", "nh nh nh", "ns nh nh", "ns ns random", "nh ns random"} {
		b.Run(fmt.Sprint(team), func(b *testing.B) {
			g := hunt(b, eight)
			br, err := oracle.NewBR(g, 1)
			must(b, err)
			bots := append([]string{""}, strings.Fields(team)...)
			st, r := g.New(), rng.New(1).Rand()
			states := 0
			for b.Loop() {
				st.Reset(&r)
				if _, err := br.Value(st, 0, bots); err != nil {
					b.Fatal(err)
				}
				states += br.States()
			}
			b.ReportMetric(float64(states)/float64(b.N), "states")
		})
	}
}
