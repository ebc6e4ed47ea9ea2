package hunt

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hunting(t testing.TB, set func(*staghunt.Config)) *staghunt.Game {
	t.Helper()
	c := staghunt.Default()
	if set != nil {
		set(&c)
	}
	return gametest.New(t, staghunt.New, c)
}

// Both kinds of rules play the same episodes, step by step, with random legal
// actions, and agree on everything that can be asked.
func TestHuntKeepsToTheRulesOfStagHunt(t *testing.T) {
	models := []string{"random", "ns", "nh", "deadline"}
	for _, c := range []struct {
		name string
		set  func(*staghunt.Config)
	}{
		{"4x4", nil},
		{"8x8 blocks, two stags", func(c *staghunt.Config) { c.Size, c.Blocks, c.Stags = 8, 5, 2 }},
		{"ends after a catch", func(c *staghunt.Config) { c.EndAfter = 3 }},
		{"strength", func(c *staghunt.Config) { c.Size, c.Strength = 3, []float64{1, 2, 0.3, 4} }},
		{"eight on 3x3", func(c *staghunt.Config) { c.Size, c.Agents, c.Hares = 3, 8, 3 }},
		{"two on 17x17", func(c *staghunt.Config) { c.Size, c.Agents, c.Hares = 17, 2, 30 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := hunting(t, c.set)
			spec := g.Spec()
			with := truth.For{Models: models, Envs: 1}
			h, err := newHunt(g, with)
			must(t, err)
			a, err := truth.Plain(g, with)
			must(t, err)
			h.Size(2)
			a.Size(2)
			var bots []game.Policy
			for _, name := range models {
				b, err := game.NewBot(g, name)
				must(t, err)
				bots = append(bots, b.(game.Policy))
			}
			r := rng.New(4).Rand()
			st, rewards := g.New(), make([]float32, spec.Seats)
			acts, leaf, rs := make([]int32, spec.Seats), make([]search.Leaf, 1), make([]rng.Rand, 1)
			seats := make([]game.Seat, spec.Seats)
			perm := make([]int, spec.Seats)
			x, y, probs := make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len()), make([]float32, len(spec.Actions))
			joint := make([]int32, spec.Seats)
			catches := 0
			for episode := range 60 {
				st.Reset(&r)
				r.Perm(perm)
				for p, s := range perm {
					seats[p] = game.Seat(s)
				}
				at := int32(0)
				for moved := false; ; moved = true {
					if !moved || episode%2 == 1 { // every other episode is read anew at each step
						h.Set(0, st, seats)
						a.Set(0, st, seats)
						h.Root(0, at)
						if !moved {
							a.Root(0, at)
						}
					}
					text, _ := st.AppendText(nil)
					for place, seat := range seats {
						if got, want := h.Legal(0, at, place), a.Legal(0, at, place); got != want {
							t.Fatalf("place %d: legal %07b, want %07b at\n%s", place, got, want, text)
						}
						h.Observe(x, 0, at, place)
						a.Observe(y, 0, at, place)
						if !slices.Equal(x, y) {
							t.Fatalf("place %d: observation %v, want %v at\n%s", place, x, y, text)
						}
						joint[place] = game.NoAction
						if !st.Alive(seat) {
							continue
						}
						for m := range models {
							bots[m].Probs(st, seat, probs)
							want := uint32(0)
							for k, p := range probs {
								if p > 0 {
									want |= 1 << k
								}
							}
							if got := h.options(&h.envs[0], &h.slots[at], place, h.model[m]); got != want {
								t.Fatalf("place %d as %s: %07b, want %07b at\n%s", place, models[m], got, want, text)
							}
						}
						joint[place] = truth.Pick(a.Legal(0, at, place), r.Uint64())
						if set := a.Legal(0, at, place) >> staghunt.HuntStag; set != 0 && r.IntN(2) == 0 {
							joint[place] = int32(staghunt.HuntStag + bits.TrailingZeros32(set))
						}
					}
					if st.Over() {
						break
					}
					hr, hover, hlegal, _ := h.step(0, at, 1-at, joint)
					leaf[0] = search.Leaf{From: at, To: 1 - at, Action: joint[0]}
					a.Expand(leaf, joint[1:], []int32{0}, rs)
					if l := leaf[0]; hr != l.Reward || hover != l.Over || hlegal != l.Legal {
						t.Fatalf("after %v: reward %v over %v legal %07b, want %v %v %07b at\n%s", joint, hr, hover, hlegal, l.Reward, l.Over, l.Legal,
							text)
					}
					for place, seat := range seats {
						acts[seat] = joint[place]
					}
					st.Step(acts, rewards, &r)
					if hr > 0 {
						catches++
					}
					at = 1 - at
					if hover {
						break
					}
				}
			}
			if catches == 0 {
				t.Error("place 0 never caught anything: nothing was compared")
			}
		})
	}
}

// More hunters than a position has room for are searched on the game's own rules, where the script stag is the bot that it
// stands for; of several stags it stands for none.
func TestMoreThanEightHuntersPlanOnTheRulesOfStagHunt(t *testing.T) {
	for stags := 1; stags <= 2; stags++ {
		g := game.With(hunting(t, func(c *staghunt.Config) { c.Size, c.Agents, c.Hares, c.Stags = 6, 12, 12, stags }), Fast{})
		if truth.FastOf(g) != nil {
			t.Fatal("twelve fit")
		}
		_, err := truth.NewWorld(g, []string{"ns", "nh"}, []string{"nh", "stag"}, 1, 1)
		if (err == nil) != (stags == 1) {
			t.Fatalf("%d stags: %v", stags, err)
		}
		if err != nil {
			continue
		}
		if truth.BotOf(g, "stag") != "deadline" || truth.BotOf(g, "nh") != "nh" {
			t.Errorf("stag is %s, nh is %s", truth.BotOf(g, "stag"), truth.BotOf(g, "nh"))
		}
	}
}
