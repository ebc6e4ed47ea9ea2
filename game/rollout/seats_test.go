package rollout_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// Chi-square over the 24 seatings, 23 degrees of freedom, and over the 24 by 24
// pairs of consecutive seatings, 575: the bounds are passed by chance once in a
// million, and the seed is fixed.
func TestSeatsAreDealtAnewAndUniformly(t *testing.T) {
	g := stagHunt(t, func(c *staghunt.Config) { c.Horizon = 1 })
	e := envs(t, rollout.Config{Game: g, Envs: 50, Key: rng.New(5), Workers: 1, Blind: true})
	ro := batch.New(e.Shape(1200, 0))
	e.Collect(ro, drawers(1, 4))
	one, two := map[[4]int8]int{}, map[[8]int8]int{}
	episodes, pairs := 0, 0
	for n := range ro.Envs {
		var last [4]int8
		first := true
		for tt := range ro.Steps {
			if !ro.Start[ro.Moment(tt, n)] {
				continue
			}
			var p [4]int8
			for a := range p {
				p[a] = ro.Seat[ro.Slot(agent.ID(a), tt, n)]
			}
			one[p]++
			episodes++
			if !first {
				two[[8]int8(append(last[:], p[:]...))]++
				pairs++
			}
			last, first = p, false
		}
	}
	chi := func(counts []int, cells, total int) float64 {
		want := float64(total) / float64(cells)
		sum := want * float64(cells-len(counts)) // cells never seen
		for _, c := range counts {
			sum += (float64(c) - want) * (float64(c) - want) / want
		}
		return sum
	}
	if x := chi(values(one), 24, episodes); x > 70 {
		t.Errorf("seatings over %d episodes: chi-square %.1f, want below 70", episodes, x)
	}
	if x := chi(values(two), 576, pairs); x > 575+5*math.Sqrt(2*575) {
		t.Errorf("consecutive seatings over %d pairs: chi-square %.1f, want below %.1f", pairs, x, 575+5*math.Sqrt(2*575))
	}

	fixed := envs(t, rollout.Config{Game: g, Envs: 2, Key: rng.New(5), Workers: 1, FixSeat: true})
	ro = batch.New(fixed.Shape(20, 0))
	fixed.Collect(ro, drawers(1, 4))
	for a := range agent.ID(4) {
		for slot := range (ro.Steps + 1) * ro.Envs {
			if s := ro.Seat[ro.Slot(a, 0, 0)+slot]; int(s) != int(a) {
				t.Fatalf("FixSeat: %v sits on %d", a, s)
			}
		}
	}
}

func values[K comparable](m map[K]int) []int {
	var vs []int
	for _, v := range m {
		vs = append(vs, v)
	}
	return vs
}
