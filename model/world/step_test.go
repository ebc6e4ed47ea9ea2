package world_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// learn trains a model on played rows.
func learn(t testing.TB, data *played, steps int) (*world.Model, *nn.Params) {
	t.Helper()
	c := world.Default()
	c.Hidden = []int{32}
	m, p, err := world.New(c, data.in, rng.New(1))
	must(t, err)
	opt := nn.NewAdam(p, nn.AdamConfig{})
	ws, b := m.Work(), &data.batch
	const rows = 64
	n, planes := m.Agents, len(b.Next)/b.Rows
	for i := range steps {
		lo := i * rows % (b.Rows - rows)
		part := world.Batch{
			Rows: rows, Obs: b.Obs[lo*m.Len():], Joint: b.Joint[lo*n:], Next: b.Next[lo*planes:], Reward: b.Reward[lo*n:], Over: b.Over[lo:],
		}
		ws.Learn(p, &part, rows)
		if _, err := opt.Step(5e-3*(1-float64(i)/float64(steps)), 1); err != nil {
			t.Fatal(err)
		}
	}
	return m, p
}

// What Step writes after learning is what the game does: every agent's view with
// its mask, rewards, ends, over. 3x3 with three hunters; 99 % of 400 new steps.
func TestAfterLearningStepIsTheGame(t *testing.T) {
	data := play(t, small, 4000, 1)
	m, p := learn(t, data, 600)
	g, in, n := data.g, data.in, data.in.Agents
	r := rng.New(9).Rand()
	st := g.New()
	bot := game.Random{Actions: in.Actions}
	acts, rewards := make([]int32, n), make([]float32, n)
	obs, want, legal := make([]float32, in.Len()), make([]float32, in.Len()), make([]bool, in.Actions)
	ws, dst := m.Work(), next(in, 1)
	st.Reset(&r)
	wrong := map[string]int{}
	doubt := [2]float64{}
	const steps = 400
	for range steps {
		if st.Over() {
			st.Reset(&r)
		}
		st.Observe(0, obs)
		for s := range acts {
			acts[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				acts[s] = bot.Act(st, game.Seat(s), &r)
			}
		}
		ws.Step(p, dst, obs, acts, 1)
		st.Step(acts, rewards, &r)
		bad := false
		note := func(what string, ok bool) {
			if !ok {
				wrong[what]++
				bad = true
			}
		}
		note("over", dst.Over[0] == st.Over())
		for s := range n {
			st.Observe(game.Seat(s), want)
			st.Legal(game.Seat(s), legal)
			note("reward", dst.Reward[s][0] == rewards[s])
			note("end", dst.End[s][0] == !st.Alive(game.Seat(s)))
			note("legal", slices.Equal(dst.Legal[s], legal))
			note("obs", slices.Equal(dst.Obs[s], want))
		}
		if bad {
			doubt[1] += float64(dst.Doubt[0])
			wrong["steps"]++
		} else {
			doubt[0] += float64(dst.Doubt[0])
		}
	}
	if wrong["steps"] > steps/100 {
		t.Errorf("%d of %d steps are wrong, want at most %d; by part: %v", wrong["steps"], steps, steps/100, wrong)
	}
	if mean := doubt[0] / float64(steps-wrong["steps"]); mean > 0.1 {
		t.Errorf("doubt on right steps is %.3f, want at most 0.1", mean)
	}
}

// Whatever the weights, nobody jumps, nobody comes back, and probabilities are
// probabilities.
func TestNoWeightsCanTeleport(t *testing.T) {
	data := play(t, small, 300, 2)
	in := data.in
	for seed := range uint64(3) {
		m, p, err := world.New(world.Default(), in, rng.New(seed))
		must(t, err)
		for i := range p.W {
			p.W[i] *= 5 // sure of nonsense
		}
		ws, dst, rows := m.Work(), next(in, data.batch.Rows), data.batch.Rows
		ws.Step(p, dst, data.batch.Obs, data.batch.Joint, rows)
		planes := in.Height * in.Width * in.Planes
		for i := range rows {
			before, after, raw := data.batch.Obs[i*in.Len():], dst.Obs[0][i*in.Len():], dst.Planes[i*planes:(i+1)*planes]
			if d := dst.Doubt[i]; !(d >= 0 && d <= 1) {
				t.Fatalf("row %d: doubt is %v", i, d)
			}
			for a := range in.Agents {
				was, is := find(before[:planes], a, in.Planes), find(after[:planes], a, in.Planes)
				if was < 0 && is >= 0 {
					t.Fatalf("row %d: agent %d had left and is back on cell %d", i, a, is)
				}
				if was >= 0 && is >= 0 && (abs(was/in.Width-is/in.Width) > 1 || abs(was%in.Width-is%in.Width) > 1) {
					t.Fatalf("row %d: agent %d jumped from cell %d to %d", i, a, was, is)
				}
				sum := float32(0)
				for cell := range in.Height * in.Width {
					sum += raw[cell*in.Planes+a]
				}
				if sum > 1.001 {
					t.Fatalf("row %d: agent %d is on the board with probability %v", i, a, sum)
				}
			}
		}
	}
}

func find(planes []float32, a, width int) int {
	for i := a; i < len(planes); i += width {
		if planes[i] != 0 {
			return i / width
		}
	}
	return -1
}

func abs(x int) int { return max(x, -x) }

func TestFinishedRowsStayAndPayNothing(t *testing.T) {
	data := play(t, small, 1, 1)
	in := data.in
	for _, variant := range []string{world.Heads, world.Planes} {
		c := world.Default()
		c.Variant = variant
		m, p, err := world.New(c, in, rng.New(1))
		must(t, err)
		dst := next(in, 1)
		m.Work().Step(p, dst, data.batch.Obs, []int32{-1, -1, -1}, 1)
		planes := in.Height * in.Width * in.Planes
		if !slices.Equal(dst.Obs[0][:planes], data.batch.Obs[:planes]) {
			t.Errorf("%s: the board of a finished row changed", variant)
		}
		for a := range in.Agents {
			if dst.Reward[a][0] != 0 || !dst.End[a][0] || slices.Contains(dst.Legal[a], true) || !dst.Over[0] {
				t.Errorf("%s: agent %d of a finished row: reward %v, end %v, legal %v, over %v; want 0, true, none, true", variant, a,
					dst.Reward[a][0], dst.End[a][0], dst.Legal[a], dst.Over[0])
			}
		}
	}
}

// A row comes out the same alone and among others, so chunks and shards do not
// reach a number; and what is not asked for is not written.
func TestRowsDoNotDependOnTheirNeighbours(t *testing.T) {
	data := play(t, small, 150, 3)
	in := data.in
	for _, variant := range []string{world.Heads, world.Planes} {
		c := world.Default()
		c.Variant = variant
		m, p, err := world.New(c, in, rng.New(1))
		must(t, err)
		for i := range p.W {
			p.W[i] *= 5 // so that rows differ
		}
		ws, all, one := m.Work(), next(in, 150), next(in, 1)
		ws.Step(p, all, data.batch.Obs, data.batch.Joint, 150)
		for _, i := range []int{0, 63, 64, 149} {
			ws.Step(p, one, data.batch.Obs[i*in.Len():], data.batch.Joint[i*in.Agents:], 1)
			for a := range in.Agents {
				if !slices.Equal(one.Obs[a], all.Obs[a][i*in.Len():(i+1)*in.Len()]) || one.Mean[a][0] != all.Mean[a][i] ||
					one.Reward[a][0] != all.Reward[a][i] || one.End[a][0] != all.End[a][i] || one.Gone[a][0] != all.Gone[a][i] {
					t.Errorf("%s: row %d, agent %d differs alone", variant, i, a)
				}
			}
			if one.Doubt[0] != all.Doubt[i] {
				t.Errorf("%s: row %d: doubt %v alone, %v among others", variant, i, one.Doubt[0], all.Doubt[i])
			}
		}
		few := &world.Next{Reward: [][]float32{nil, make([]float32, 150)}, Obs: [][]float32{nil, make([]float32, 150*in.Len())}}
		ws.Step(p, few, data.batch.Obs, data.batch.Joint, 150)
		if !slices.Equal(few.Reward[1], all.Reward[1]) || !slices.Equal(few.Obs[1], all.Obs[1]) {
			t.Errorf("%s: agent 1's rewards or observations differ when nothing else is asked for", variant)
		}
	}
}

func TestConfigurationsThatCannotBeAreRefused(t *testing.T) {
	good := play(t, small, 1, 1).in
	for name, change := range map[string]func(*world.Config, *world.Input){
		"no planes":      func(_ *world.Config, in *world.Input) { in.Planes = 0 },
		"no rewards":     func(_ *world.Config, in *world.Input) { in.Rewards = nil },
		"many rewards":   func(_ *world.Config, in *world.Input) { in.Rewards = make([]float32, world.MaxRewards+1) },
		"agents":         func(_ *world.Config, in *world.Input) { in.Agents = in.Planes + 1 },
		"weights":        func(c *world.Config, _ *world.Input) { c.Weights = []float64{1} },
		"no layers":      func(c *world.Config, _ *world.Input) { c.Hidden = nil },
		"unknown fault":  func(c *world.Config, _ *world.Input) { c.Fault = "other" },
		"unknown kind":   func(c *world.Config, _ *world.Input) { c.Variant = "other" },
		"negative width": func(c *world.Config, _ *world.Input) { c.Dense = []int{-1} },
	} {
		c, in := world.Default(), good
		change(&c, &in)
		if _, _, err := world.New(c, in, rng.New(1)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
