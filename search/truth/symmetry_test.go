package truth_test

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/belief"
	"github.com/hop-marl/hop/search/truth"
)

// bench is a planner on the real rules that can be asked about any position.
type bench struct {
	f     *search.Forest
	w     *truth.World
	prior *truth.Scripts
	bots  *truth.Bots
}

// newBench sets a search up on the real rules, with bots as models of co-players.
func newBench(t testing.TB, set func(*staghunt.Config), c search.Config, models ...string) *bench {
	t.Helper()
	g := hunting(t, set)
	others := g.Spec().Seats - 1
	f, err := search.New(c, len(g.Spec().Actions), others, 1, c.Trees)
	must(t, err)
	w, err := truth.NewWorld(g, models, []string{"nh", "stag"}, 1, c.Trees)
	must(t, err)
	w.Fit(f)
	b := &bench{f: f, w: w, bots: truth.NewBots(w, belief.New(belief.Default(), 1, others, len(models)), 1)}
	b.prior = truth.NewScripts(b.bots, c.Discount, 12)
	return b
}

// deep is a search of six trees.
func deep() search.Config {
	c := search.Default()
	c.Trees, c.Sims = 6, 60
	return c
}

// positions calls do with states of episodes of bots, with seat 0 alive.
func positions(g game.Game, n int, do func(i int, st game.State)) {
	r := rng.New(6).Rand()
	names := []string{"random", "ns", "nh", "random"}
	st, acts, rewards := g.New(), make([]int32, 4), make([]float32, 4)
	st.Reset(&r)
	for i := 0; i < n; {
		if !st.Alive(0) {
			st.Reset(&r)
		}
		do(i, st)
		i++
		for s := range acts {
			acts[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				bot, _ := game.NewBot(g, names[s])
				acts[s] = bot.Act(st, game.Seat(s), &r)
			}
		}
		st.Step(acts, rewards, &r)
	}
}

var boards = map[string]func(*staghunt.Config){
	"4x4": func(c *staghunt.Config) { c.Stags = 2 },
	"8x8": func(c *staghunt.Config) { c.Size, c.Blocks = 8, 5 },
}

// turned is a world and its prior with own actions renumbered: new action a is
// old action perm[a]. The prior prefers some actions to others, a little, so that
// no two of them are equals.
type turned struct {
	*bench
	perm []int
}

var tilt = []float32{0.011, -0.032, 0.047, -0.005, 0.023, -0.041, 0.035}

func (w turned) mask(old uint32) uint32 {
	set := uint32(0)
	for a, was := range w.perm {
		set |= old >> was & 1 << a
	}
	return set
}

func (w turned) Root(tree, slot int32) (uint32, uint64) {
	legal, key := w.w.Root(tree, slot)
	return w.mask(legal), key
}

func (w turned) Expand(leaves []search.Leaf, others []int32, rs []rng.Rand) {
	for i := range leaves {
		leaves[i].Action = int32(w.perm[leaves[i].Action])
	}
	w.w.Expand(leaves, others, rs)
	for i := range leaves {
		leaves[i].Action = int32(slices.Index(w.perm, int(leaves[i].Action)))
		leaves[i].Legal = w.mask(leaves[i].Legal)
	}
}

func (w turned) Eval(logits, value []float32, qs []search.Query) {
	w.prior.Eval(logits, value, qs)
	for i := range qs {
		for a, was := range w.perm {
			logits[i*len(w.perm)+a] = tilt[was]
		}
	}
}

// Own actions are numbers and nothing else: renumbered, a search visits the same
// moves as often, values them the same and plays the same, exactly.
func TestRenumberedActionsGiveTheSameSearch(t *testing.T) {
	plain := []int{0, 1, 2, 3, 4, 5, 6}
	for name, set := range boards {
		b := newBench(t, set, deep(), "ns", "nh", "random")
		r := rng.New(2).Rand()
		played := uint32(0)
		positions(b.w.Game, 60, func(i int, st game.State) {
			rs := rng.New(3).Child("decision", i).Rands("tree", b.f.Trees)
			b.w.Set(0, st, []game.Seat{0, 1, 2, 3})
			w := turned{b, plain}
			b.f.Search(w, w, b.bots, slices.Clone(rs))
			visits, q, policy := slices.Clone(b.f.Visits), slices.Clone(b.f.Q), slices.Clone(b.f.Policy)
			w.perm = make([]int, len(plain))
			r.Perm(w.perm)
			b.f.Search(w, w, b.bots, slices.Clone(rs))
			for a, was := range w.perm {
				if b.f.Visits[a] != visits[was] || b.f.Q[a] != q[was] || b.f.Policy[a] != policy[was] {
					t.Fatalf("%s, position %d: action %d had visits %d Q %v policy %v, as action %d it has %d %v %v",
						name, i, was, visits[was], q[was], policy[was], a, b.f.Visits[a], b.f.Q[a], b.f.Policy[a])
				}
				if policy[was] == 1 {
					played |= 1 << was
				}
			}
		})
		if bits.OnesCount32(played) < 5 {
			t.Errorf("%s: only the actions %07b were ever chosen: little was compared", name, played)
		}
	}
}

// Eight times the rewards is exact in binary: all visits are the same. Ten times
// is not: what is played is the same.
func TestScaledRewardsGiveTheSameDecisions(t *testing.T) {
	for name, set := range boards {
		one := newBench(t, set, deep(), "ns", "nh", "random")
		for _, scale := range []float64{8, 10} {
			many := newBench(t, func(c *staghunt.Config) {
				set(c)
				c.StagPays, c.HarePays = c.StagPays*scale, c.HarePays*scale
			}, deep(), "ns", "nh", "random")
			positions(one.w.Game, 60, func(i int, st game.State) {
				rs := rng.New(3).Child("decision", i).Rands("tree", one.f.Trees)
				for _, b := range []*bench{one, many} {
					b.w.Set(0, st, []game.Seat{0, 1, 2, 3})
					b.f.Search(b.w, b.prior, b.bots, slices.Clone(rs))
				}
				if !slices.Equal(one.f.Policy, many.f.Policy) || scale == 8 && !slices.Equal(one.f.Visits, many.f.Visits) {
					t.Errorf("%s, position %d: policy %v visits %v, with rewards times %v %v %v", name, i, one.f.Policy, one.f.Visits, scale,
						many.f.Policy, many.f.Visits)
				}
			})
		}
	}
}
