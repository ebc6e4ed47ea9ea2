package weaklink_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"

	"example.org/outside/weaklink"
)

// The conformance suite is all that a game needs to be used everywhere.
func TestGame(t *testing.T) {
	for _, c := range []weaklink.Config{weaklink.Default(), {Agents: 5, Levels: 2, Rounds: 3, Cost: 0.2}} {
		g, err := weaklink.New(c)
		if err != nil {
			t.Fatal(err)
		}
		gametest.Run(t, g)
	}
}

// The group's lowest effort pays everybody, and everybody pays for its own.
func TestTheWeakestLinkPays(t *testing.T) {
	g, err := weaklink.New(weaklink.Default())
	if err != nil {
		t.Fatal(err)
	}
	st, rewards := g.New(), make([]float32, 3)
	st.Reset(nil)
	st.Step([]int32{2, 1, 2}, rewards, nil)
	if want := [3]float32{0, 0.5, 0}; [3]float32(rewards) != want {
		t.Errorf("paid %v, want %v", rewards, want)
	}
}

// The second writing of the rules finds nothing wrong with the game, and says what is wrong
// with one whose effort costs something else than the spec says.
func TestTheRulesAreWrittenTwice(t *testing.T) {
	for _, c := range []struct {
		cost float64 // of the game; the spec says 0.5
		want check.Status
	}{{0.5, check.Pass}, {0.25, check.Fault}} {
		cfg := weaklink.Default()
		cfg.Cost = c.cost
		g, err := weaklink.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b, err := rules.Open(g.Spec(), "weaklink", map[string]any{"agents": 3, "levels": 3, "rounds": 10, "cost": 0.5}, weaklink.Rules)
		if err != nil {
			t.Fatal(err)
		}
		b.Play(g, rng.New(1), 200)
		if f := b.Finding(); f.Status != c.want || c.want == check.Fault && !strings.Contains(f.Says, "whose effort is") {
			t.Errorf("a cost of %v: %v, %s", c.cost, f.Status, f.Says)
		}
	}
}

// The rules made for search play, see and draw as the game does.
func TestFastKeepsToTheRules(t *testing.T) {
	g, err := weaklink.New(weaklink.Config{Agents: 4, Levels: 3, Rounds: 5, Cost: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	to := truth.For{Models: []string{"hard", "idle", "random"}, Scripts: []string{"random", "hard"}, Envs: 1}
	fast, err := weaklink.Fast{}.Model(g, to)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := truth.Plain(g, to)
	if err != nil {
		t.Fatal(err)
	}
	both := []truth.Model{fast, plain}
	seats, goals := []game.Seat{2, 0, 3, 1}, []int32{2, 0, 2}
	st, r := g.New(), rng.New(3).Rand()
	for range 20 {
		st.Reset(&r)
		rewards := make([]float32, 4)
		for range r.IntN(5) {
			st.Step([]int32{int32(r.IntN(3)), int32(r.IntN(3)), int32(r.IntN(3)), int32(r.IntN(3))}, rewards, &r)
		}
		seed, act := r.Uint64(), int32(r.IntN(3))
		var seen [2]string
		for i, m := range both {
			m.Size(2)
			m.Set(0, st, seats)
			legal, _ := m.Root(0, 0)
			draw, others := []rng.Rand{rng.New(seed).Rand()}, make([]int32, 3)
			m.Draw(others, []search.Query{{}}, goals, []int32{0}, draw)
			leaf := []search.Leaf{{To: 1, Action: act}}
			m.Expand(leaf, others, []int32{0}, draw)
			leaf[0].Key = 0
			seen[i] = fmt.Sprint(legal, others, leaf)
			for place := range seats {
				obs := make([]float32, g.Spec().Obs.Len())
				m.Observe(obs, 0, 1, place)
				seen[i] += fmt.Sprint(obs, m.Legal(0, 1, place))
			}
			for script := range m.Scripts() {
				for _, common := range []uint64{0, seed | 1} {
					ro := truth.Roll{Script: script, Others: goals, Discount: 0.9, Seed: common}
					seen[i] += fmt.Sprint(m.Rollout(&ro, &truth.Stream{Rand: rng.New(seed).Rand()}), " ")
				}
			}
		}
		if seen[0] != seen[1] {
			t.Fatalf("made for search: %s\nthe game's own: %s", seen[0], seen[1])
		}
	}
}

// A best response earns what the best effort earns against all that the others may do.
func TestBestResponsesAreExact(t *testing.T) {
	c := weaklink.Config{Agents: 3, Levels: 3, Rounds: 4, Cost: 0.3}
	bare, err := weaklink.New(c)
	if err != nil {
		t.Fatal(err)
	}
	br, err := oracle.NewBR(bare, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	st, rewards := bare.New(), make([]float32, 3)
	efforts := map[string][]int32{"hard": {2}, "idle": {0}, "random": {0, 1, 2}}
	for _, team := range [][]string{{"hard", "", "hard"}, {"idle", "", "hard"}, {"random", "", "hard"}, {"random", "", "random"}} {
		best := math.Inf(-1)
		for e := range int32(3) {
			sum, n := 0., 0.
			for _, a := range efforts[team[0]] {
				for _, b := range efforts[team[2]] {
					st.Reset(nil)
					st.Step([]int32{a, e, b}, rewards, nil)
					sum, n = sum+float64(rewards[1]), n+1
				}
			}
			best = max(best, sum/n)
		}
		st.Reset(nil)
		st.Step([]int32{0, 0, 0}, rewards, nil)
		got, err := br.Value(st, 1, team)
		if want := best * (1 + 0.5 + 0.25); err != nil || math.Abs(got-want) > 1e-6 {
			t.Errorf("against %v with three rounds left: %v (%v), want %v", team, got, err, want)
		}
	}
}
