package check

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// Layers compares what a world model computes with what its layers come to in
// float64.
type Layers struct {
	asked int
	wrong map[string]int     // steps, by what differs
	off   map[string]float64 // by how much at most
}

func (c *Layers) begin() { c.wrong, c.off = map[string]int{}, map[string]float64{} }

// layerRows is how many steps a model is asked to predict again.
const layerRows = 192

// near is how far a probability or an expected reward may be from its reference.
const predictionSlack = 1e-4

// Ask lets the model predict played steps.
func (c *Layers) Ask(m *world.Model, p *nn.Params, ro *batch.Rollout) {
	c.begin()
	w := WorldOf(m, p)
	all, _ := w.Steps(ro)
	var deeds []reference.Transition
	for i := 0; i < len(all) && len(deeds) < layerRows; i += max(len(all)/layerRows, 1) {
		deeds = append(deeds, all[i])
	}
	n, rows, board := m.Agents, len(deeds), m.Height*m.Width*m.Planes
	var obs []float32
	var joint []int32
	for _, d := range deeds {
		obs, joint = append(obs, d.Obs...), append(joint, d.Joint...)
	}
	next := world.Next{Over: make([]bool, rows), Planes: make([]float32, rows*board)}
	for range n {
		next.Obs = append(next.Obs, make([]float32, rows*m.Len()))
		next.Reward = append(next.Reward, make([]float32, rows))
		next.Mean = append(next.Mean, make([]float32, rows))
		next.Gone = append(next.Gone, make([]float32, rows))
		next.End = append(next.End, make([]bool, rows))
		next.Legal = append(next.Legal, make([]bool, rows*m.Actions))
	}
	m.Work().Step(p, &next, obs, joint, rows)
	for i, d := range deeds {
		f := w.Predict(d.Obs, d.Joint)
		seen := map[string]bool{}
		far := func(what string, by float64) {
			if by > predictionSlack || math.IsNaN(by) {
				seen[what] = true
				c.off[what] = max(c.off[what], by)
			}
		}
		if !f.Tied() { // else what follows from it may differ
			for j, v := range f.Planes {
				what := "things"
				if j%m.Planes < n {
					what = "moves"
				}
				far(what, math.Abs(v-float64(next.Planes[i*board+j])))
			}
			if f.Over != next.Over[i] {
				far("ends of episodes", 1)
			}
			for a := range n {
				far("rewards", math.Abs(f.Mean[a]-float64(next.Mean[a][i]))/max(1, math.Abs(f.Mean[a])))
				far("rewards", math.Abs(f.Reward[a]-float64(next.Reward[a][i]))/max(1, math.Abs(f.Reward[a])))
				far("exits", math.Abs(f.Gone[a]-float64(next.Gone[a][i])))
				if f.End[a] != next.End[a][i] {
					far("exits", 1)
				}
				if !slices.Equal(f.Legal[a], next.Legal[a][i*m.Actions:(i+1)*m.Actions]) {
					far("masks", 1)
				}
				if !slices.Equal(w.View(f, d.Joint, a), next.Obs[a][i*m.Len():(i+1)*m.Len()]) {
					far("observations", 1)
				}
			}
		}
		c.asked++
		for what := range seen {
			c.wrong[what]++
		}
	}
}

// searchStates is how many states a search's rules are asked about, each for two
// steps.
const searchStates = 60

// Search lets the rules of a search that plays on a world model make steps from real
// states of the game, and compares them with its reference.
func (c *Layers) Search(g game.Game, w reference.World, made learner.RulesMaker, key rng.Key) error {
	spec := g.Spec()
	n, k := spec.Seats, len(spec.Actions)
	one := search.Default()
	one.Trees = 1
	forest, err := search.New(one, k, n-1, 1, 1)
	if err != nil {
		return err
	}
	rules, _, err := made(forest)
	if err != nil {
		return err
	}
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
func (c *Layers) expand(w reference.World, rules learner.Rules, from int32, obs []float32, masks [][]bool, seats []game.Seat, r *rng.Rand,
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
	leaves := []search.Leaf{{From: from, To: from + 1, Action: joint[0]}}
	rules.Expand(leaves, others, make([]rng.Rand, 1))
	f := w.Predict(obs, joint)
	if f.Tied() {
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
