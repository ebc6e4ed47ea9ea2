package learned_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/hunt"
	"github.com/hop-marl/hop/search/learned"
	"github.com/hop-marl/hop/search/truth"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var small = staghunt.Config{Size: 3, Agents: 3, Stags: 1, Hares: 2, Horizon: 9, StagPays: 10, HarePays: 1}

func hunting(t testing.TB) game.Game {
	t.Helper()
	return game.With(gametest.New(t, staghunt.New, small), hunt.Fast{})
}

func inputOf(g game.Game) world.Input {
	spec := g.Spec()
	l := spec.Obs
	return world.Input{
		Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: spec.Seats, Actions: len(spec.Actions),
		Horizon: spec.Horizon, Legal: l.Legal, Time: l.Time, Last: l.Last,
		Rewards: []float32{0, 0.5, 1, 1. / 3, 10. / 3, 5},
	}
}

// walk plays random episodes and calls each with every state that is not over,
// the actions played there and the state after.
func walk(g game.Game, steps int, seed uint64, each func(was, st game.State, acts []int32, rewards []float32)) {
	r := rng.New(seed).Rand()
	st, was := g.New(), g.New()
	bot := game.Random{Actions: len(g.Spec().Actions)}
	acts, rewards := make([]int32, g.Spec().Seats), make([]float32, g.Spec().Seats)
	st.Reset(&r)
	for range steps {
		if st.Over() {
			st.Reset(&r)
		}
		was.CopyFrom(st)
		for s := range acts {
			acts[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				acts[s] = bot.Act(st, game.Seat(s), &r)
			}
		}
		st.Step(acts, rewards, &r)
		each(was, st, acts, rewards)
	}
}

// exact is a model that has learnt all of the small hunt.
var exact = sync.OnceValues(func() (*world.Model, *nn.Params) {
	g, err := staghunt.New(small)
	if err != nil {
		panic(err)
	}
	in, n := inputOf(g), small.Agents
	slices.Sort(in.Rewards)
	c := world.Default()
	c.Hidden = []int{32}
	m, p, err := world.New(c, in, rng.New(1))
	if err != nil {
		panic(err)
	}
	var b world.Batch
	obs, planes := make([]float32, in.Len()), in.Height*in.Width*in.Planes
	walk(g, 8000, 1, func(was, st game.State, acts []int32, rewards []float32) {
		for s := range n {
			if acts[s] == game.NoAction {
				continue
			}
			was.Observe(game.Seat(s), obs)
			b.Obs = append(b.Obs, obs...)
			st.Observe(game.Seat(s), obs)
			b.Next = append(b.Next, obs[:planes]...)
			for i := range n {
				b.Joint, b.Reward = append(b.Joint, acts[(s+i)%n]), append(b.Reward, rewards[(s+i)%n])
			}
			b.Over = append(b.Over, st.Over())
			b.Rows++
		}
	})
	opt := nn.NewAdam(p, nn.AdamConfig{})
	const rows, steps = 64, 3000
	ws := m.Work()
	for i := range steps {
		lo := i * rows % (b.Rows - rows)
		part := world.Batch{
			Rows: rows, Obs: b.Obs[lo*m.Len():], Joint: b.Joint[lo*n:], Next: b.Next[lo*planes:], Reward: b.Reward[lo*n:], Over: b.Over[lo:],
		}
		ws.Learn(p, &part, rows)
		if _, err := opt.Step(5e-3*(1-float64(i)/steps), 1); err != nil {
			panic(err)
		}
	}
	return m, p
})

// hashNet is a network that nobody trained: fixed weights on what it is shown.
type hashNet struct {
	actions       int
	rows          int
	logits, value []float32
}

func (n *hashNet) Add(obs, goal []float32) {
	if n.rows == 0 {
		n.logits, n.value = n.logits[:0], n.value[:0]
	}
	n.rows++
	value := float32(0)
	for k := range n.actions {
		sum := float32(0)
		for i, x := range obs {
			sum += x * float32((i*7+k*31)%23-11) / 8
		}
		n.logits = append(n.logits, sum/4)
		value += sum / float32(4*n.actions)
	}
	n.value = append(n.value, value)
}

func (n *hashNet) Run() ([]float32, []float32) {
	n.rows = 0
	return n.logits, n.value
}

type noGoals struct{}

func (noGoals) Draw(dst []int32, _ int, _ *rng.Rand) { clear(dst) }

// rules is what both worlds are to a player.
type rules interface {
	search.Dynamics
	search.Observer
	Set(env int, st game.State, seats []game.Seat)
	Fit(f *search.Forest)
}

// mind is a search on one kind of rules.
type mind struct {
	f      *search.Forest
	w      rules
	prior  *search.NetPrior
	others *search.NetOthers
}

const trees = 3

func newMind(t testing.TB, g game.Game, w rules, group int) *mind {
	t.Helper()
	c := search.Default()
	c.Trees, c.Sims = trees, 40
	spec := g.Spec()
	f, err := search.New(c, len(spec.Actions), spec.Seats-1, 1, group)
	must(t, err)
	w.Fit(f)
	nc := search.NetConfig{Observer: w, Net: &hashNet{actions: len(spec.Actions)}, ObsLen: spec.Obs.Len(), Actions: len(spec.Actions),
		Rows: group, Log: 10}
	m := &mind{f: f, w: w, prior: search.NewNetPrior(nc)}
	nc.Net = &hashNet{actions: len(spec.Actions)}
	m.others = search.NewNetOthers(search.OthersConfig{NetConfig: nc, Beliefs: noGoals{}, Others: spec.Seats - 1, Trees: trees, Envs: 1})
	return m
}

func (m *mind) think(st game.State, seats []game.Seat, key rng.Key) {
	m.w.Set(0, st, seats)
	m.f.Search(m.w, m.prior, m.others, key.Rands("tree", trees))
}

func newWorld(t testing.TB, log int) *learned.World {
	t.Helper()
	m, p := exact()
	w, err := learned.New(m, p, learned.Config{Envs: 1, Trees: trees, Log: log})
	must(t, err)
	return w
}

// The model has learnt the small hunt, so trees on it are trees on the rules:
// the same visits and values, with the same random numbers, in 99 % of 300
// decisions, from every seat and with co-players in any order.
func TestOnAnExactModelTreesAreThoseOfTheRules(t *testing.T) {
	g := hunting(t)
	tw, err := truth.NewWorld(g, nil, nil, 1, trees)
	must(t, err)
	lw := newWorld(t, 12)
	truth, model := newMind(t, g, tw, trees), newMind(t, g, lw, trees)
	r := rng.New(5).Rand()
	perm, seats := make([]int, 3), make([]game.Seat, 3)
	same, all := 0, 0
	walk(g, 400, 7, func(st, _ game.State, _ []int32, _ []float32) {
		r.Perm(perm)
		for i, s := range perm {
			seats[i] = game.Seat(s)
		}
		if !st.Alive(seats[0]) || all == 300 {
			return
		}
		all++
		key := rng.New(9).Child("decision", all)
		truth.think(st, seats, key)
		model.think(st, seats, key)
		if slices.Equal(truth.f.Visits, model.f.Visits) && slices.Equal(truth.f.Q, model.f.Q) && slices.Equal(truth.f.Policy, model.f.Policy) {
			same++
		} else if all-same <= 3 {
			text, _ := st.AppendText(nil)
			t.Logf("decision %d: visits %v Q %v, on the rules %v %v at\n%s", all, model.f.Visits, model.f.Q, truth.f.Visits, truth.f.Q, text)
		}
	})
	if all < 200 || same*100 < all*99 {
		t.Errorf("%d of %d decisions are those on the rules, want 99 %%", same, all)
	}
	if lw.Found == 0 || lw.Asked == lw.Found {
		t.Errorf("%d of %d steps were kept ones", lw.Found, lw.Asked)
	}
	if mean := lw.Doubted / float64(lw.Asked-lw.Found); mean > 0.2 {
		t.Errorf("the model doubts its steps by %.3f on average", mean)
	}
}

func TestCachesAndGroupsChangeNothingButTheWork(t *testing.T) {
	g := hunting(t)
	one, many := newMind(t, g, newWorld(t, 0), 1), newMind(t, g, newWorld(t, 12), trees)
	seats, n := []game.Seat{2, 0, 1}, 0
	walk(g, 60, 3, func(st, _ game.State, _ []int32, _ []float32) {
		if !st.Alive(2) {
			return
		}
		n++
		key := rng.New(4).Child("decision", n)
		one.think(st, seats, key)
		many.think(st, seats, key)
		if !slices.Equal(one.f.Q, many.f.Q) || !slices.Equal(one.f.Visits, many.f.Visits) {
			t.Fatalf("decision %d: Q %v with caches and groups, %v without", n, many.f.Q, one.f.Q)
		}
	})
	if n == 0 {
		t.Error("nothing was decided")
	}
}

// Use forgets what other weights predicted.
func TestNewWeightsAreUsed(t *testing.T) {
	g, w := hunting(t), newWorld(t, 12)
	m, p := exact()
	other, q, err := world.New(m.Config, m.Input, rng.New(2))
	must(t, err)
	fresh, err := learned.New(other, q, learned.Config{Envs: 1, Trees: trees, Log: 12})
	must(t, err)
	a, b := newMind(t, g, w, trees), newMind(t, g, fresh, trees)
	st, r := g.New(), rng.New(8).Rand()
	st.Reset(&r)
	seats, key := []game.Seat{0, 1, 2}, rng.New(1)
	a.think(st, seats, key)
	before := slices.Clone(a.f.Q)
	must(t, w.Use(other, q))
	for _, c := range []*mind{a, b} {
		c.prior.Cache.Clear()
		c.others.Cache.Clear()
		c.think(st, seats, key)
	}
	if !slices.Equal(a.f.Q, b.f.Q) || slices.Equal(a.f.Q, before) {
		t.Errorf("Q %v after Use, %v made anew, %v before", a.f.Q, b.f.Q, before)
	}
	in := m.Input
	in.Horizon++
	wrong, wp, err := world.New(m.Config, in, rng.New(1))
	must(t, err)
	if w.Use(wrong, wp) == nil {
		t.Error("a model of another game was accepted")
	}
	if _, err := learned.New(nil, p, learned.Config{Envs: 1, Trees: 1}); err == nil {
		t.Error("no model was accepted")
	}
	if _, err := learned.New(m, p, learned.Config{}); err == nil {
		t.Error("no room was accepted")
	}
}

func TestNothingIsAllocated(t *testing.T) {
	g := hunting(t)
	m := newMind(t, g, newWorld(t, 4), trees)
	st, r := g.New(), rng.New(8).Rand()
	st.Reset(&r)
	seats, rs := []game.Seat{0, 1, 2}, rng.New(1).Rands("tree", trees)
	for range 3 {
		m.think(st, seats, rng.New(1))
	}
	if n := testing.AllocsPerRun(10, func() {
		m.w.Set(0, st, seats)
		m.f.Search(m.w, m.prior, m.others, rs)
	}); n != 0 {
		t.Errorf("Search allocates %v times, want 0", n)
	}
}
