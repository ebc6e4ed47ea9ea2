package assign

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// drawn returns a scene of hunters and prey on a board of five by five, and beliefs.
func drawn(hunters, stags, hares int, r *rng.Rand) (*scene, [][]float64) {
	s := &scene{Size: 5, Stags: stags, Left: 1 + r.IntN(9)}
	for range hunters {
		s.Hunters = append(s.Hunters, r.IntN(26)-1)
	}
	for range stags + hares {
		s.Prey = append(s.Prey, r.IntN(25))
		s.Dist = append(s.Dist, distances(5, 5, s.Prey[len(s.Prey)-1], []int{6, 7}))
	}
	belief := make([][]float64, hunters)
	for j := range belief {
		belief[j] = make([]float64, len(s.Prey))
		for p := range belief[j] {
			belief[j][p] = r.Float64()
		}
	}
	return s, belief
}

// worth is what an assignment is worth, by its definition.
func worth(s *scene, belief [][]float64, heed float64, to []int) float64 {
	v, many := 0., make([]int, len(s.Prey))
	for j, p := range to {
		if p < 0 {
			continue
		}
		d := s.Dist[p][max(s.Hunters[j], 0)]
		if s.Hunters[j] < 0 || d >= s.Left {
			return math.Inf(-1)
		}
		many[p]++
		v += heed*math.Log(belief[j][p]) - Cost*float64(d)
	}
	for p, k := range many {
		if p < s.Stags && k >= 2 {
			v += 10
		} else if p >= s.Stags && k >= 1 {
			v++
		}
	}
	return v
}

// Every assignment is tried. Who can go somewhere is never left out.
func TestTheAssignmentIsTheBest(t *testing.T) {
	r := rng.New(1).Rand()
	for range 200 {
		s, belief := drawn(4, 2, 2, &r)
		to, top := make([]int, 4), math.Inf(-1)
		var try func(j int)
		try = func(j int) {
			if j == len(to) {
				top = max(top, worth(s, belief, 0.5, to))
				return
			}
			goes := false
			for p := range s.Prey {
				if to[j] = p; s.Hunters[j] >= 0 && s.Dist[p][s.Hunters[j]] < s.Left {
					goes = true
					try(j + 1)
				}
			}
			if to[j] = -1; !goes {
				try(j + 1)
			}
		}
		try(0)
		got := Best(s, belief, 0.5)
		if v := worth(s, belief, 0.5, got); math.Abs(v-top) > 1e-9 {
			t.Fatalf("%v is worth %v, the best %v: %+v", got, v, top, s)
		}
	}
}

// Somebody at (0, 0) of five by five who goes right is going to (0, 4), not to (4, 0), by 9 to 1
// each step; where a prey is gone, so is the belief in it.
func TestBeliefsFollowBayes(t *testing.T) {
	h := &hunter{heed: 1, belief: nil}
	h.seen = scene{Size: 5, Prey: []int{4, 20}, Hunters: []int{12, 0}, Dist: [][]int{distances(5, 5, 4, nil), distances(5, 5, 20, nil)}}
	h.infer(nil)
	for step := range 2 {
		h.before = []int{12, step}
		h.seen.Hunters = []int{12, step + 1}
		h.infer(h.seen.Prey)
	}
	if got, want := h.belief[1][0], 81./82; math.Abs(got-want) > 1e-12 {
		t.Errorf("the belief is %v, want %v", got, want)
	}
	before := []int{4, 20, 24}
	h.belief = [][]float64{{0.2, 0.6, 0.2}, {0.5, 0.1, 0.4}}
	h.before, h.seen.Prey, h.seen.Dist = nil, before[1:], h.seen.Dist[:2]
	if h.infer(before); math.Abs(h.belief[1][0]-0.2) > 1e-12 || math.Abs(h.belief[0][0]-0.75) > 1e-12 {
		t.Errorf("once the first prey is gone the beliefs are %v, want .2 of .5 and .75 of .8 in the second", h.belief)
	}
}

// Two others, one surely coming and one by half: 10/2 and 10/3 of a stag, by half each.
func TestAPromiseIsAnExpectation(t *testing.T) {
	h := &hunter{belief: [][]float64{nil, {1}, {0.5}}}
	h.seen = scene{Size: 5, Stags: 1, Left: 9, Prey: []int{4}, Hunters: []int{0, 1, 2}, Dist: [][]int{distances(5, 5, 4, nil)}}
	if got, want := h.promise(0), 0.5*5+0.5*10/3-4*Cost; math.Abs(got-want) > 1e-12 {
		t.Errorf("a stag promises %v, want %v", got, want)
	}
}
