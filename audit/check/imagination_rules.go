package check

import (
	"slices"

	"hop/audit/reference"
	"hop/game"
	"hop/mind"
	"hop/plan"
	"hop/rng"
)

// searchStates is how many states a search's rules are asked about, each for two
// steps.
const searchStates = 60

// Search lets the rules of a search that plays on a world model make steps from real
// states of the game, and compares them with its reference.
func (c *Layers) Search(g game.Game, w reference.World, rules mind.Rules, key rng.Key) error {
	spec := g.Spec()
	n, k := spec.Seats, len(spec.Actions)
	forest, err := plan.New(plan.Default(), k, n-1, 1, 1)
	if err != nil {
		return err
	}
	rules.Fit(forest)
	if c.wrong == nil {
		c.begin()
	}
	most := c.asked + searchStates
	st, r := g.New(), key.Rand()
	rewards, joint, legal := make([]float32, n), make([]int32, n), make([]bool, k)
	bot := game.Random{Actions: k}
	st.Reset(&r)
	for c.asked < most {
		if st.Over() {
			st.Reset(&r)
		}
		var alive []game.Seat
		for s := range game.Seat(n) {
			joint[s] = game.NoAction
			if st.Alive(s) {
				alive = append(alive, s)
				joint[s] = bot.Act(st, s, &r)
			}
		}
		seats := []game.Seat{alive[r.IntN(len(alive))]} // oneself, then the others by number
		masks := make([][]bool, n)                      // ego-first
		for s := range game.Seat(n) {
			if s != seats[0] {
				seats = append(seats, s)
			}
		}
		for _, s := range seats {
			st.Legal(s, legal)
			masks[(int(s-seats[0])+n)%n] = slices.Clone(legal)
		}
		obs := make([]float32, spec.Obs.Len())
		st.Observe(seats[0], obs)
		rules.Set(0, st, seats)
		rules.Root(0, 0)
		c.asked++
		for depth := range int32(2) {
			if obs = c.expand(w, rules, depth, obs, masks, seats, &r); obs == nil {
				break
			}
		}
		st.Step(joint, rewards, &r)
	}
	return nil
}

// expand makes one step from a slot to the next and returns what oneself observes
// then, nil if nothing is left to decide.
func (c *Layers) expand(w reference.World, rules mind.Rules, from int32, obs []float32, masks [][]bool, seats []game.Seat,
	r *rng.Rand,
) []float32 {
	n := len(seats)
	joint, others := make([]int32, n), make([]int32, n-1)
	for place, s := range seats { // everyone does something legal
		at := (int(s-seats[0]) + n) % n
		joint[at] = game.NoAction
		var may []int32
		for k, ok := range masks[at] {
			if ok {
				may = append(may, int32(k))
			}
		}
		if len(may) > 0 {
			joint[at] = may[r.IntN(len(may))]
		}
		if place > 0 {
			others[place-1] = joint[at]
		}
	}
	leaves := []plan.Leaf{{From: from, To: from + 1, Action: joint[0]}}
	rules.Expand(leaves, others, make([]rng.Rand, 1))
	f := w.Predict(obs, joint)
	if f.Margin < reference.Tie {
		return nil
	}
	seen := map[string]bool{}
	over := f.End[0] || !slices.Contains(f.Legal[0], true)
	if d := float64(leaves[0].Reward) - f.Reward[0]; d > predictionSlack || d < -predictionSlack {
		seen["rewards"] = true
	}
	if leaves[0].Over != over {
		seen["exits"] = true
	}
	for place, s := range seats {
		at := (int(s-seats[0]) + n) % n
		got := make([]float32, w.Len())
		rules.Observe(got, 0, from+1, place)
		if !slices.Equal(got, w.View(f, joint, at)) {
			seen["observations"] = true
		}
		mask := rules.Legal(0, from+1, place)
		for k, ok := range f.Legal[at] {
			if ok != (mask>>k&1 != 0) {
				seen["masks"] = true
			}
		}
	}
	for what := range seen {
		c.wrong[what]++
		c.off[what] = 1
	}
	if over {
		return nil
	}
	copy(masks, f.Legal)
	return w.View(f, joint, 0)
}
