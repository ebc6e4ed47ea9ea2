package hunt

import (
	"math/bits"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

// plainly is a rollout that plays every step of everyone.
func plainly(h *hunt, ro truth.Roll, r *rng.Rand) float32 {
	v, s := &h.envs[ro.Env], h.slots[ro.Slot]
	actions, weight := make([]int32, h.n), float32(1)
	for i := int32(0); !s.over && s.cell[0] != gone; i++ {
		actions[0] = truth.Pick(h.options(v, &s, 0, h.script[ro.Script]), r.Uint64())
		draw := search.Common(ro.Seed, ro.Depth+i)
		for j, bot := range ro.Others {
			u := draw.Uint64()
			if actions[j+1] = game.NoAction; s.cell[j+1] != gone {
				actions[j+1] = truth.Pick(h.options(v, &s, j+1, h.model[bot]), u)
			}
		}
		if x := h.advance(v, &s, actions); s.cell[0] == gone {
			return weight * x
		}
		weight *= ro.Discount
	}
	return 0
}

// Futures of co-players are shared by the leaves of a tree and by scripts. Every
// rollout returns what it would if all of it were played, and leaves the stream
// where it would be.
func TestSharedFuturesChangeNoRollout(t *testing.T) {
	models := []string{"ns", "nh", "random", "deadline"}
	for _, c := range []struct {
		name   string
		starts int
		set    func(*staghunt.Config)
	}{
		{"4x4", 120, nil},
		{"8x8 blocks, two stags", 120, func(c *staghunt.Config) { c.Size, c.Blocks, c.Stags = 8, 5, 2 }},
		{"ends after a catch", 120, func(c *staghunt.Config) { c.EndAfter = 4 }},
		{"strength", 120, func(c *staghunt.Config) { c.Size, c.Strength = 3, []float64{1, 2, 0.3, 4} }},
		{"eight on 4x4", 120, func(c *staghunt.Config) { c.Agents, c.Stags = 8, 2 }},
		{"stags everywhere", 600, func(c *staghunt.Config) { c.Agents, c.Stags, c.Hares = 8, 10, 2 }},
		{"two on 3x3", 120, func(c *staghunt.Config) { c.Size, c.Agents, c.Hares = 3, 2, 2 }},
		{"short", 120, func(c *staghunt.Config) { c.Horizon, c.Hares = 6, 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := hunting(t, c.set)
			h, err := newHunt(g, truth.For{Models: models, Scripts: []string{"nh", "stag", "deadline", "ns", "random"}, Envs: 1})
			must(t, err)
			h.Size(8)
			n := g.Spec().Seats
			r := rng.New(8).Rand()
			st, rewards := g.New(), make([]float32, n)
			joint, others, seats := make([]int32, n), make([]int32, n-1), make([]game.Seat, n)
			for s := range seats {
				seats[s] = game.Seat(s)
			}
			values := map[float32]int{}
			for range c.starts {
				if st.Reset(&r); r.IntN(2) == 0 {
					for i := r.IntN(4); i >= 0 && st.Alive(0); i-- {
						for s := range joint {
							if joint[s] = game.NoAction; st.Alive(game.Seat(s)) {
								bot, _ := game.NewBot(g, models[r.IntN(3)])
								joint[s] = bot.Act(st, game.Seat(s), &r)
							}
						}
						st.Step(joint, rewards, &r)
					}
				}
				if !st.Alive(0) {
					continue
				}
				h.Set(0, st, seats)
				for j := range others {
					others[j] = int32(r.IntN(len(models)))
				}
				seed := uint64(r.IntN(3)+1) * 0x9e3779b97f4a7c15 // on other boards too
				legal, _ := h.Root(0, 0)
				check := func(slot, depth int32) {
					for script := range h.script {
						fast := truth.Stream{Rand: search.Stream(seed, uint64(script)+uint64(slot)<<8)}
						slow := fast.Rand
						ro := truth.Roll{Slot: slot, Script: script, Others: others, Discount: 0.97, Depth: depth}
						for i := range 3 {
							ro.Seed, ro.Future = seed+uint64(2*i), i
							got, want := h.Rollout(&ro, &fast), plainly(h, ro, &slow)
							if got != want {
								text, _ := st.AppendText(nil)
								t.Fatalf("slot %d, script %d, future %d: %v, want %v, from\n%s", slot, script, i, got, want, text)
							}
							values[got]++
						}
						if fast.Settle(); fast.Rand != slow {
							t.Fatalf("slot %d, script %d: the stream is not where it would be", slot, script)
						}
					}
				}
				check(0, 0)
				draw := truth.Stream{Rand: search.Common(seed, 0)}
				h.others(joint[1:], &h.envs[0], &h.slots[0], others, &draw)
				for slot := int32(1); legal != 0; legal &= legal - 1 {
					joint[0] = int32(bits.TrailingZeros32(legal))
					if _, over, _, _ := h.step(0, 0, slot, joint); !over {
						check(slot, 1)
						slot++
					}
				}
				others[0] = 3 - others[0]
				check(0, 0)
			}
			if len(values) < 10 {
				t.Errorf("only %d different values were compared", len(values))
			}
		})
	}
}
