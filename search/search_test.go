package search

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/rng"
)

// toy is a game by table: states are numbers, J co-players choose uniformly
// among Moves, rewards and successors come from a function. It is Dynamics,
// Prior and Others, and counts what it is asked.
type toy struct {
	actions, others, moves int
	next                   func(s int, a int32, o []int32, r *rng.Rand) (int, float32, bool)
	value                  func(s int) float32
	logits                 func(s int, dst []float32)
	legal                  func(s int) uint32
	start                  int
	at                     []int
	batches                []int
}

func (g *toy) mask(s int) uint32 {
	if g.legal != nil {
		return g.legal(s)
	}
	return 1<<g.actions - 1
}

func (g *toy) Root(_, slot int32) (uint32, uint64) {
	g.at[slot] = g.start
	return g.mask(g.start), uint64(g.start) + 2
}

func (g *toy) Expand(leaves []Leaf, others []int32, rs []rng.Rand) {
	for i := range leaves {
		l := &leaves[i]
		s, reward, over := g.next(g.at[l.From], l.Action, others[i*g.others:(i+1)*g.others], &rs[l.Tree])
		g.at[l.To] = s
		l.Reward, l.Over, l.Legal, l.Key = reward, over, g.mask(s), uint64(s)+2
	}
}

func (g *toy) Eval(logits, value []float32, qs []Query) {
	clear(logits)
	g.batches = append(g.batches, len(qs))
	for i, q := range qs {
		value[i] = 0
		if g.value != nil {
			value[i] = g.value(g.at[q.Slot])
		}
		if g.logits != nil {
			g.logits(g.at[q.Slot], logits[i*g.actions:(i+1)*g.actions])
		}
	}
}

func (*toy) Goals(int32, *rng.Rand) {}

func (g *toy) Draw(dst []int32, qs []Query, rs []rng.Rand) {
	for i := range dst {
		dst[i] = int32(rs[qs[i/g.others].Tree].IntN(g.moves))
	}
}

func (g *toy) search(t testing.TB, c Config, envs, group int) *Forest {
	t.Helper()
	f, err := New(c, g.actions, g.others, envs, group)
	must(t, err)
	g.at = make([]int, f.Slots())
	f.Search(g, g, g, rng.New(1).Rands("search", envs*c.Trees))
	return f
}

// matrix is a game of one step against a uniform column player.
func matrix(pays [][]float32) *toy {
	return &toy{actions: len(pays), others: 1, moves: len(pays[0]), next: func(_ int, a int32, o []int32, _ *rng.Rand) (int, float32, bool) {
		return 1, pays[a][o[0]], true
	}}
}

func TestMatrixGamesAreSolved(t *testing.T) {
	for _, c := range []struct {
		name string
		pays [][]float32
		best int
	}{
		{"stag hunt against a coin", [][]float32{{5, 0}, {1, 1}}, 0},
		{"stag hunt, poor stag", [][]float32{{1.6, 0}, {1, 1}}, 1},
		{"prisoner's dilemma", [][]float32{{3, 0}, {5, 1}}, 1},
		{"three columns", [][]float32{{0, 0, 4}, {1, 1, 1}, {2, 2, 2}}, 2},
		{"all negative", [][]float32{{-3, -1}, {-1, -1.5}, {-9, 0}}, 1},
	} {
		for name, cfg := range map[string]Config{"default": Default(), "hashed": Default(), "one-step": Default(), "node": Default()} {
			cfg.Trees = max(cfg.Trees, 400)
			if name == "hashed" {
				cfg.Hashed, cfg.Trees, cfg.Sims = true, 1, 4000
			}
			if name == "one-step" {
				cfg.Kind = "onestep"
			}
			if name == "node" {
				cfg.Norm, cfg.Resample = "node", "node"
			}
			f := matrix(c.pays).search(t, cfg, 1, 8)
			if f.Policy[c.best] != 1 {
				t.Errorf("%s, %s: policy %v of Q %v, want all on %d", c.name, name, f.Policy, f.Q, c.best)
			}
			mean := float32(0)
			for _, x := range c.pays[c.best] {
				mean += x / float32(len(c.pays[c.best]))
			}
			if math.Abs(float64(f.Q[c.best]-mean)) > 0.35 {
				t.Errorf("%s, %s: Q %v, want about %v", c.name, name, f.Q[c.best], mean)
			}
		}
	}
}

func TestWithoutSimulationsThePriorIsPlayed(t *testing.T) {
	g := matrix([][]float32{{1, 1}, {2, 2}, {3, 3}})
	g.logits = func(_ int, dst []float32) { copy(dst, []float32{0, float32(math.Log(2)), 50}) }
	g.legal = func(int) uint32 { return 0b011 }
	c := Default()
	c.Sims = 0
	f := g.search(t, c, 1, 1)
	for k, want := range []float32{1. / 3, 2. / 3, 0} {
		if math.Abs(float64(f.Policy[k]-want)) > 1e-6 {
			t.Errorf("policy %v, want the prior over legal actions", f.Policy)
		}
	}
}

// coin: action 0 pays 1 for certain; action 1 pays 4 if the rules' coin falls
// its way, with probability 0.2. Playing 1 only when the coin is known to fall
// well would average 1.6; the optimum is 1.
func TestThePlannerCannotPeekAtTheRulesStream(t *testing.T) {
	coin := func(r *rng.Rand) float32 {
		if r.Float64() < 0.2 {
			return 4
		}
		return 0
	}
	g := &toy{actions: 2, others: 1, moves: 1, next: func(_ int, a int32, _ []int32, r *rng.Rand) (int, float32, bool) {
		if a == 0 {
			return 1, 1, true
		}
		return 1, coin(r), true
	}}
	c := Default()
	c.Trees, c.Sims = 20, 10
	f, err := New(c, 2, 1, 1, 1)
	must(t, err)
	g.at = make([]int, f.Slots())
	rules, act := rng.New(2).Rand(), rng.New(2).Child("act").Rand()
	rs, sum := make([]rng.Rand, c.Trees), 0.
	const n = 4000
	for range n {
		Fork(rs, &act)
		f.Search(g, g, g, rs)
		pay := coin(&rules) // the stream moves on whatever is played
		if f.Policy[0] == 1 {
			pay = 1
		}
		sum += float64(pay)
	}
	// 4 standard errors of at most 1.6 each: one false alarm in 30,000.
	if mean := sum / n; mean > 1+4*1.6/math.Sqrt(n) {
		t.Errorf("mean %.3f beats the optimum of 1", mean)
	}
}

// corridor: walking right for n steps pays 1 at the end; left ends with 0.3.
func corridor(n int, scale float32, perm []int) *toy {
	return &toy{actions: len(perm), others: 1, moves: 2,
		next: func(s int, a int32, _ []int32, _ *rng.Rand) (int, float32, bool) {
			switch a := perm[a]; {
			case a == 0:
				return -1, 0.3 * scale, true
			case a == 1 && s == n-1:
				return n, scale, true
			case a == 1:
				return s + 1, 0, false
			}
			return s + 1000, -0.01 * scale, true
		},
		value: func(s int) float32 { return 0.1 * scale },
	}
}

func TestPermutedActionsGivePermutedResults(t *testing.T) {
	c := Default()
	c.Sims = 200
	plain := corridor(2, 1, []int{0, 1, 2, 3}).search(t, c, 1, 1)
	perm := []int{2, 0, 3, 1} // new action a is old perm[a]
	moved := corridor(2, 1, perm).search(t, c, 1, 1)
	for a, old := range perm {
		if plain.Policy[old] != moved.Policy[a] {
			t.Errorf("policy of old action %d is %v, as new action %d %v", old, plain.Policy[old], a, moved.Policy[a])
		}
	}
	if plain.Policy[1] != 1 {
		t.Errorf("policy %v of Q %v, want all on 1", plain.Policy, plain.Q)
	}
}

func TestScaledRewardsGiveTheSameSearch(t *testing.T) {
	one := corridor(4, 1, []int{0, 1, 2, 3}).search(t, Default(), 1, 1)
	for _, scale := range []float32{8, 10, 0.1} {
		ten := corridor(4, scale, []int{0, 1, 2, 3}).search(t, Default(), 1, 1)
		if !slices.Equal(one.Visits, ten.Visits) || !slices.Equal(one.Policy, ten.Policy) {
			t.Errorf("times %v: visits %v policy %v, want %v %v", scale, ten.Visits, ten.Policy, one.Visits, one.Policy)
		}
	}
}

func TestResultsDoNotDependOnGroups(t *testing.T) {
	for name, set := range map[string]func(*Config){
		"depth": func(*Config) {}, "child": func(c *Config) { c.Resample = "child" }, "root": func(c *Config) { c.Resample = "root" },
		"node": func(c *Config) { c.Resample = "node" }, "hashed": func(c *Config) { c.Hashed = true },
		"noise": func(c *Config) { c.NoiseEps = 0.25 },
	} {
		c := Default()
		set(&c)
		walk := func() *toy {
			g := corridor(5, 1, []int{0, 1, 2})
			inner := g.next
			g.next = func(s int, a int32, o []int32, r *rng.Rand) (int, float32, bool) {
				s, reward, over := inner(s, a, o, r)
				return s, reward + 0.2*float32(o[0]), over
			}
			return g
		}
		want := walk().search(t, c, 3, 1)
		for _, group := range []int{2, 7, 100} {
			got := walk().search(t, c, 3, group)
			if !slices.Equal(got.Q, want.Q) || !slices.Equal(got.Visits, want.Visits) {
				t.Errorf("%s, groups of %d: Q %v, want %v", name, group, got.Q, want.Q)
			}
		}
	}
}

// With n lanes a round asks about up to n leaves at once: one call of the
// network for a simulation of every tree, not one a tree.
func TestLeavesAreEvaluatedTogether(t *testing.T) {
	c := Default()
	c.Trees, c.Sims = 5, 20
	g := corridor(40, 1, []int{0, 1, 2})
	f := g.search(t, c, 4, 20)
	if g.batches[0] != 20 || len(g.batches) > c.Sims+1 {
		t.Errorf("%d calls, the first about %d; want at most %d, the first about 20", len(g.batches), g.batches[0], c.Sims+1)
	}
	if f.Count.Sims != 400 {
		t.Errorf("%d simulations, want 400", f.Count.Sims)
	}
}

func TestNoiseIsAtTheRootOnly(t *testing.T) {
	c := Default()
	c.NoiseEps, c.NoiseA, c.Trees = 0.5, 0.3, 1
	f := corridor(40, 1, []int{0, 1, 2}).search(t, c, 1, 1)
	flat := func(slot int) bool {
		e := f.edges[slot*f.row:]
		return e[0].p == e[1].p && e[1].p == e[2].p
	}
	if flat(0) {
		t.Error("the root's prior has no noise")
	}
	seen := 0
	for slot := 1; slot < f.stride; slot++ {
		if f.nodes[slot].visits > 0 && !f.nodes[slot].over {
			seen++
			if !flat(slot) {
				t.Errorf("the prior of node %d has noise", slot)
			}
		}
	}
	if seen == 0 {
		t.Error("no inner node was looked at")
	}
	if s := f.Prior[0] + f.Prior[1] + f.Prior[2]; math.Abs(float64(s-1)) > 1e-6 || f.Prior[0] != f.Prior[1] {
		t.Errorf("the reported prior %v must be free of noise", f.Prior)
	}
}

// Log prior + beta Q: a prior of e to 1 outweighs Q's lead of 1 below beta 1, and
// not above it; an action that was not tried is not played.
func TestThePriorWeighsAgainstBetaTimesQ(t *testing.T) {
	f := &Forest{Config: Config{Act: "prior", Trees: 1}, Actions: 3}
	prior := []float32{0.6, 0.6 / math.E, 0}
	for _, c := range []struct {
		beta  float64
		tried []int32
		want  int
	}{{0, []int32{1, 1, 0}, 0}, {0.9, []int32{1, 1, 0}, 0}, {1.1, []int32{1, 1, 0}, 1}, {1.1, []int32{1, 0, 0}, 0}} {
		f.Beta = c.beta
		if got := f.improved([]float32{2, 3, 9}, prior, c.tried, 0); got != c.want {
			t.Errorf("beta %v, tried %v: action %d is played, want %d", c.beta, c.tried, got, c.want)
		}
	}
}

// One action, rewards 1 on each of three steps, then a leaf worth 8: with
// discount 1/2 the root is worth 1 + 1/2 + 1/4 + 8/8 when depth 3 is reached.
func TestRewardsBeforeTheLeafAreDiscountedAndCount(t *testing.T) {
	g := &toy{actions: 1, others: 1, moves: 1,
		next:  func(s int, _ int32, _ []int32, _ *rng.Rand) (int, float32, bool) { return s + 1, 1, false },
		value: func(s int) float32 { return 8 },
	}
	c := Default()
	c.Discount, c.Trees, c.Sims = 0.5, 1, 3
	f := g.search(t, c, 1, 1)
	// Returns of the three simulations: 1+8/2, 1+1/2+8/4, 1+1/2+1/4+8/8.
	if want := float32(5+3.5+2.75) / 3; math.Abs(float64(f.Q[0]-want)) > 1e-6 {
		t.Errorf("Q %v, want %v", f.Q[0], want)
	}
}

func TestTerminalAndLeafAreDiscountedAlike(t *testing.T) {
	for _, end := range []bool{true, false} {
		g := &toy{actions: 1, others: 1, moves: 1, next: func(s int, _ int32, _ []int32, _ *rng.Rand) (int, float32, bool) {
			if s == 1 && end {
				return 2, 4, true
			}
			return s + 1, 0, false
		}, value: func(s int) float32 {
			if s == 2 && !end {
				return 8 // seen one step later, so worth 4 there
			}
			return 0
		}}
		c := Default()
		c.Discount, c.Trees, c.Sims, c.Depth = 0.5, 1, 2, 2
		f := g.search(t, c, 1, 1)
		if want := float32(0+2) / 2; f.Q[0] != want {
			t.Errorf("ends %v: Q %v, want %v", end, f.Q[0], want)
		}
	}
}

// RLlib raises visits to the power of its temperature; here beta multiplies Q.
func TestBetaIsAFactorNotAPower(t *testing.T) {
	c := Default()
	c.Act, c.Beta = "softmax", 2
	f := matrix([][]float32{{0.5, 0.5}, {0.25, 0.25}}).search(t, c, 1, 1)
	want := reference.Softmax([]float64{c.Beta * 0.5, c.Beta * 0.25}, nil)[0]
	if math.Abs(float64(f.Policy[0])-want) > 1e-6 {
		t.Errorf("policy %v, want %v on the first", f.Policy, want)
	}
	c.Act = "visits"
	f = matrix([][]float32{{0.5, 0.5}, {0.25, 0.25}}).search(t, c, 1, 1)
	if got := float64(f.Visits[0]) / float64(f.Visits[0]+f.Visits[1]); math.Abs(float64(f.Policy[0])-got) > 1e-6 {
		t.Errorf("policy %v of visits %v", f.Policy, f.Visits)
	}
}

// In HOP's published settings the first action keeps the search: the others
// stand at 0 until c P sqrt(N) exceeds its Q, and the last is never tried.
func TestThePaperSettingsLockIn(t *testing.T) {
	pays := [][]float32{{4, 4}, {5, 5}, {5, 5}}
	c := Paper()
	c.Act = "most"
	if f := matrix(pays).search(t, c, 1, 1); f.Policy[0] != 1 || f.Visits[2] != 0 {
		t.Errorf("Q %v visits %v: expected the first action to lock in", f.Q, f.Visits)
	}
	if f := matrix(pays).search(t, Default(), 1, 1); f.Policy[0] != 0 {
		t.Errorf("Q %v visits %v: the default must not lock in", f.Q, f.Visits)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	for _, hashed := range []bool{false, true} {
		c := Default()
		c.Hashed = hashed
		g := corridor(6, 1, []int{0, 1, 2})
		f := g.search(t, c, 2, 4)
		rs := rng.New(1).Rands("search", 2*c.Trees)
		if n := testing.AllocsPerRun(10, func() {
			g.batches = g.batches[:0]
			f.Search(g, g, g, rs)
		}); n != 0 {
			t.Errorf("hashed %v: Search allocates %v times, want 0", hashed, n)
		}
	}
}

func TestConfigFaultsAreNamed(t *testing.T) {
	c := Default()
	c.Trees, c.Norm = 0, "sum"
	if _, err := New(c, 3, 1, 1, 1); err == nil {
		t.Error("no trees and an unknown norm were accepted")
	}
	if _, err := New(Default(), 33, 1, 1, 1); err == nil {
		t.Error("33 actions were accepted")
	}
}
