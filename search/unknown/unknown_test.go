package unknown

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/commons"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

func made[G game.Game](g G, err error) game.Game {
	if err != nil {
		panic(err)
	}
	return g
}

func hunt() game.Game {
	c := staghunt.Default()
	c.Size, c.Stags, c.Hares, c.Horizon = 4, 2, 4, 35
	return made(staghunt.New(c))
}

// player acts by the plan alone: what it is given is even.
type player struct {
	*Plan
	policy []float32
	legal  []bool
	only   int // this script plays, from 1; 0: the plan does
}

func (p *player) Read(dst []float64, _, _ int) []float64 {
	for k := range dst {
		dst[k] = 1 / float64(len(dst))
	}
	return nil
}

func (p *player) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		n := int(n)
		p.See(v, n, p)
		v.State(n).Legal(v.SeatOf(n), p.legal)
		sum := float32(0)
		for k, ok := range p.legal {
			if p.policy[k] = 0; ok {
				p.policy[k] = 1
				sum++
			}
		}
		for k := range p.policy {
			p.policy[k] /= sum
		}
		policy := p.policy
		if p.Ready(n) && p.only == 0 {
			policy = p.Improve(policy, v, n)
		}
		v.Action[v.StepOf(n)] = game.Sample(policy, v.Rand(n))
		if p.only > 0 {
			v.Action[v.StepOf(n)] = p.lives[n].script[p.only-1].Act(v.State(n), v.SeatOf(n), v.Rand(n))
		}
	}
}

func (p *player) Evaluate(*rollout.View, []int32)    {}
func (p *player) EpisodeOver(v *rollout.View, n int) { p.Over(v, n) }

// play lets a plan live among as many of somebody as there are other seats, and returns the plan, and
// what the episodes of the last half earned.
func play(t testing.TB, g game.Game, text string, steps int, key rng.Key, change func(*player)) (*player, float64) {
	t.Helper()
	plan, err := New(g, 1)
	if err != nil || plan == nil {
		t.Fatalf("no plan: %v", err)
	}
	spec := g.Spec()
	p := &player{Plan: plan, policy: make([]float32, len(spec.Actions)), legal: make([]bool, len(spec.Actions))}
	if change != nil {
		change(p)
	}
	players := []rollout.Player{p}
	for range spec.Seats - 1 {
		b, err := rollout.NewBots(g, text, 1)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, b)
	}
	envs, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: key, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	ro := batch.New(envs.Shape(steps/2, 0))
	sum, n := 0., 0
	for half := range 2 {
		if err := envs.Collect(ro, [][]rollout.Player{players}); err != nil {
			t.Fatal(err)
		}
		for _, e := range envs.Episodes() {
			if half == 1 {
				sum += e.Return[0]
				n++
			}
		}
	}
	return p, sum / float64(n)
}

// What the log-odds of habits are moved by is the slope of the log likelihood, by finite differences of
// its definition in float64.
func TestTheGradientIsThatOfTheLikelihood(t *testing.T) {
	p, _ := play(t, hunt(), "noisy(ns,.3)", 200, rng.New(3), nil)
	m := p.lives[0].model
	likelihood := func(at *step, habit int, by float64) float64 {
		var odds [maxHabits]float64
		sum, all := 0., 0.
		for w := range m.habits {
			for _, k := range at.on.on[:at.on.n] {
				odds[w] += float64(m.odds[0][k][w]) + float64(m.odds[at.who+1][k][w])
			}
			if w == habit {
				odds[w] += by
			}
			odds[w] = math.Exp(odds[w])
			all += odds[w]
			sum += odds[w] * float64(at.like[w])
		}
		return math.Log(sum / all)
	}
	var grad f32.Sixteen
	for i := 0; i < len(m.steps); i += 17 {
		at := &m.steps[i]
		m.gradient(at, &grad)
		for w := range m.habits {
			want := (likelihood(at, w, 1e-5) - likelihood(at, w, -1e-5)) / 2e-5
			if math.Abs(float64(grad[w])-want) > 1e-5+1e-4*math.Abs(want) {
				t.Fatalf("step %d, habit %d: %g, the slope is %g", i, w, grad[w], want)
			}
		}
	}
}

// Somebody whose habits depend on the situation is predicted nearly as well as by who knows its text.
func TestAModelIsMadeWhilePlaying(t *testing.T) {
	g := hunt()
	for _, text := range []string{"if(early(4),nh,ns)", "if(within(stag,1),nh,ns)", "noisy(if(few(2),ns,nh),.2)", "random", "mix(ns,nh,.5)"} {
		p, _ := play(t, g, text, 2400, rng.New(5), func(p *player) { p.only = 3 })
		m := p.lives[0].model
		whole, err := game.NewBot(g, text)
		if err != nil {
			t.Fatal(err)
		}
		said, knows, best := 0., 0., math.Inf(-1)
		alone := make([]float64, len(m.habits))
		count := 0
		st := g.New()
		key := rng.New(6)
		rules, draws := key.Child("rules").Rand(), key.Child("acts").Rand()
		acts, rewards := make([]int32, 4), make([]float32, 4)
		probs := make([]float32, len(g.Spec().Actions))
		for range 40 {
			for st.Reset(&rules); !st.Over(); st.Step(acts, rewards, &rules) {
				for s := range game.Seat(4) {
					if acts[s] = game.NoAction; !st.Alive(s) {
						continue
					}
					acts[s] = whole.Act(st, s, &draws)
					if s == 0 {
						continue
					}
					whole.(game.Policy).Probs(st, s, probs)
					knows += math.Log(float64(probs[acts[s]])*(1-slip) + slip/float64(len(probs)))
					m.weight, m.said, m.others = 0, 0, 0
					m.see(st, s, 0, int(s)-1, 2, acts[s], 1)
					said += m.said
					for w, l := range m.steps[(m.seen-1)%kept].like[:len(m.habits)] {
						alone[w] += math.Log(float64(l))
					}
					count++
				}
			}
		}
		for _, x := range alone {
			best = max(best, x)
		}
		n := float64(count)
		t.Logf("%s: %.3f nats a step, its text %.3f, the best habit alone %.3f", text, said/n, knows/n, best/n)
		if said/n < knows/n-0.15 || text != "random" && said/n < best/n+0.1 {
			t.Errorf("%s: %.3f nats a step, its text has %.3f and the best habit alone %.3f", text, said/n, knows/n, best/n)
		}
	}
}

// Among somebody whom no script answers well the plan earns more than all of them.
func TestAPlanEarnsMoreThanScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("a life of 1,200 decisions, and one of each script")
	}
	g := hunt()
	const text, steps = "if(within(hare,1),ns,follow)", 1200
	p, earned := play(t, g, text, steps, rng.New(8), nil)
	for i, name := range p.own {
		if _, script := play(t, g, text, steps, rng.New(8), func(p *player) { p.only = i + 1 }); earned < script+0.3 {
			t.Errorf("it earns %.2f, %s %.2f", earned, name, script)
		}
	}
}

// Whom a co-player follows is drawn by the shares that the log-odds say.
func TestHabitsAreDrawnByTheirShares(t *testing.T) {
	p, _ := play(t, hunt(), "noisy(if(few(2),ns,nh),.2)", 600, rng.New(3), func(p *player) { p.only = 3 })
	m := p.lives[0].model
	var want f32.Sixteen
	for i := range m.steps {
		at := &m.steps[i]
		m.weigh(&at.on, int(at.who), &want)
		got, sum := m.shares(&at.on, int(at.who))
		for w := range m.habits {
			if math.Abs(float64(got[w]/sum-want[w])) > 1e-5 {
				t.Fatalf("step %d: habit %d has %g, %g is right", i, w, got[w]/sum, want[w])
			}
		}
	}
}

// An advantage is pulled to nothing where chance may be all of it, and stays where it is sure.
func TestAdvantagesAreNotThoseOfChance(t *testing.T) {
	p, _ := play(t, hunt(), "random", 400, rng.New(2), nil)
	l := p.lives[0]
	r := rng.New(4).Rand()
	pulled, raw := 0., 0.
	for state := range 4 {
		l.before.Reset(&r)
		l.before.Legal(l.seat[0], l.legal)
		s, _ := l.follow(0, uint64(state))
		for a := range int32(len(l.legal)) {
			if !l.legal[a] {
				continue
			}
			const many = 600
			truth, few := 0., 0.
			for f := range many {
				truth += (l.play(0, a, s, f, 99) - l.play(0, game.NoAction, s, f, 99)) / many
			}
			for f := range First + Second {
				few += (l.play(0, a, s, f, uint64(state)) - l.followed[s][f]) / (First + Second)
			}
			raw += (few - truth) * (few - truth)
			x := l.advantage(0, int(a), s, uint64(state)) - truth
			pulled += x * x
		}
	}
	t.Logf("squared errors %.2f, of plain means %.2f", pulled, raw)
	if pulled > .7*raw {
		t.Errorf("squared errors %.2f, of plain means %.2f", pulled, raw)
	}
}

// In every game that has a language there is a plan, and what may hold of a situation is in its place.
func TestEveryLanguageHasAPlan(t *testing.T) {
	for name, g := range map[string]game.Game{
		"snowdrift": made(snowdrift.New(snowdrift.Default())), "coin": made(coin.New(coin.Default())),
		"cleanup": made(cleanup.New(cleanup.Default())), "foraging": made(foraging.New(foraging.Default())),
		"matrix": made(matrix.New(matrix.Default())), "tag": made(tag.New(tag.Default())), "commons": made(commons.New(commons.Default())),
	} {
		p, _ := play(t, g, "random", 2*min(4*g.Spec().Horizon, 150), rng.New(9), nil)
		m := p.lives[0].model
		if len(m.steps) == 0 {
			t.Errorf("%s: nothing was seen", name)
		}
		for i := range m.steps {
			x := m.steps[i].on
			for j, k := range x.on[:x.n] {
				if int(k) >= m.holdable() || j > 0 && k <= x.on[j-1] {
					t.Fatalf("%s: of a situation %v holds, %d may", name, x.on[:x.n], m.holdable())
				}
			}
		}
	}
}

// Seats that look at one state in turn see what each sees by its definition, though they share what it takes.
func TestSeatsSeeWhatIsThere(t *testing.T) {
	walled := staghunt.Default()
	walled.Size, walled.Blocks = 8, 5
	for name, g := range map[string]game.Game{"hunt": hunt(), "walls": made(staghunt.New(walled)), "coin": made(coin.New(coin.Default())),
		"tag": made(tag.New(tag.Default()))} {
		p, _ := play(t, g, "random", 4, rng.New(1), nil)
		m, st, r := p.lives[0].model, g.New(), rng.New(5).Rand()
		legal, rewards := make([]bool, m.actions), make([]float32, m.lang.Seats)
		acts := make([]int32, m.lang.Seats)
		for range 40 {
			for st.Reset(&r); !st.Over(); st.Step(acts, rewards, &r) {
				m.set(st)
				for s := range game.Seat(m.lang.Seats) {
					if acts[s] = game.NoAction; !st.Alive(s) {
						continue
					}
					if got, want := m.look(s, 0, 1), seen(m, st, s); got != want {
						t.Fatalf("%s: seat %d sees %v, %v is there", name, s, got, want)
					}
					st.Legal(s, legal)
					acts[s] = game.Uniform(legal, &r)
				}
			}
		}
	}
}

// seen is look by its definition, on a board.
func seen(m *model, st game.State, s game.Seat) (x situation) {
	f, none := st.(script.Field), int16(far+1)
	nearest := func(to int16, o game.Seat, n int16) int16 {
		if at := f.Place(o); at != grid.None {
			return min(n, f.Steps(at, to))
		}
		return n
	}
	near, left := int16(far), 0
	var own, crowd [4]int16
	for thing := range m.things {
		var spots [64]int16
		own[thing], crowd[thing] = none, none
		if n := f.Spots(thing, s, spots[:]); n > 0 {
			own[thing], crowd[thing] = far, far
			for _, spot := range spots[:n] {
				for o := range game.Seat(m.lang.Seats) {
					if o == s {
						own[thing] = nearest(spot, o, own[thing])
					} else {
						crowd[thing] = nearest(spot, o, crowd[thing])
					}
				}
			}
		}
	}
	for o := range game.Seat(m.lang.Seats) {
		if o != s && f.Place(o) != grid.None {
			near, left = nearest(f.Place(s), o, near), left+1
		}
	}
	at := 0
	for _, v := range [][2]int{{1, 0}, {clocks, min(f.Time(), clocks-1)}, {3, 1}, {far + 1, int(near)}, {crowds, min(left, crowds-1)}} {
		x.on[x.n], x.n, at = uint8(at+v[1]), x.n+1, at+v[0]
	}
	for thing := range m.things {
		for _, v := range []int16{own[thing], crowd[thing]} {
			x.on[x.n], x.n, at = uint8(at+int(v)), x.n+1, at+far+2
		}
	}
	return x
}

// A plan takes no memory.
func TestPlansDoNotAllocate(t *testing.T) {
	p, _ := play(t, hunt(), "ns", 400, rng.New(2), nil)
	l := p.lives[0]
	r := rng.New(1).Rand()
	l.before.Reset(&r)
	if n := testing.AllocsPerRun(20, func() { l.play(0, 4, 0, 2, 9) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
