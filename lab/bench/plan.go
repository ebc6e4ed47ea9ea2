package bench

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"hop/belief"
	"hop/exp"
	"hop/game"
	"hop/internal/cpu"
	"hop/plan"
	"hop/plan/truth"
	"hop/rng"
)

// PlanRow is a search's speed.
type PlanRow struct {
	Size   int     `json:"size"`
	Agents int     `json:"agents"`
	Sims   int     `json:"sims"`
	Nets   bool    `json:"nets"`
	Leaf   string  `json:"leaf"`
	Rate   float64 `json:"sims_per_s"`
	MS     float64 `json:"ms_per_decision"`
	Leaves float64 `json:"leaves_per_sim"` // states evaluated
	Allocs float64 `json:"allocs"`         // a decision, in the part of the time with the fewest

	Phases PlanPhases `json:"phases"` // shares of the time
}

// PlanPhases are shares of the time.
type PlanPhases struct {
	Select   float64 `json:"select"`
	Others   float64 `json:"others"`
	Dynamics float64 `json:"dynamics"`
	Leaf     float64 `json:"leaf"`
	Backup   float64 `json:"backup"`
}

// Plan plans for one agent in each of several envs.
type Plan struct {
	row    PlanRow
	g      game.Game
	forest *plan.Forest
	world  *truth.World
	prior  plan.Prior
	others plan.Others
	st     []game.State
	seats  []game.Seat
	bots   []game.Bot // by place
	joint  []int32
	reward []float32
	r      rng.Rand
	rs     []rng.Rand
}

// NewPlan prepares decisions of one agent in the stag hunt on the true rules. leaf
// says what evaluates leaves: zero, scripts, nets, conv16 or conv.
func NewPlan(reg *exp.Registry, leaf string, size, agents, sims int) (*Plan, error) {
	params, err := reg.NewGame("staghunt")
	if err != nil {
		return nil, err
	}
	for path, value := range map[string]int{"size": size, "agents": agents, "blocks": size * 5 / 8 * min(1, size/5)} {
		if err := params.Set(path, fmt.Sprint(value)); err != nil {
			return nil, err
		}
	}
	g, err := params.Build()
	if err != nil {
		return nil, err
	}
	spec, c := g.Spec(), plan.Default()
	switch c.Trees = 5; {
	case sims < 50:
		c.Trees = 1
	case sims == 600:
		c.Trees = 3 // the users' setting: 200 simulations, 3 trees
	}
	c.Sims = sims / c.Trees
	envs, group := 1, c.Trees
	nets := leaf == "nets" || leaf == "conv" || leaf == "conv16"
	if nets {
		envs = 32
		if leaf == "conv" {
			envs = min(max(20000/sims, 1), 32) // so that a round takes about a second
		}
		group = envs * c.Trees
	}
	b := &Plan{row: PlanRow{Size: size, Agents: agents, Sims: c.Sims * c.Trees, Nets: nets, Leaf: leaf}, g: g, r: rng.New(1).Rand(),
		rs: make([]rng.Rand, envs*c.Trees)}
	if b.forest, err = plan.New(c, len(spec.Actions), agents-1, envs, group); err != nil {
		return nil, err
	}
	models := []string{"ns", "nh"}
	if b.world, err = truth.NewWorld(g, models, []string{"nh", "stag"}, envs, c.Trees); err != nil {
		return nil, err
	}
	b.world.Fit(b.forest)
	beliefs := belief.New(belief.Default(), envs, agents-1, len(models))
	bots := truth.NewBots(b.world, beliefs, envs)
	b.others = bots
	switch leaf {
	case "zero":
		s := truth.NewScripts(bots, c.Discount, 4)
		s.Zero = true
		b.prior = s
	case "scripts":
		b.prior = truth.NewScripts(bots, c.Discount, 14)
	case "nets", "conv", "conv16":
		own, err := newNet(leaf, spec, 0, group, 1)
		if err != nil {
			return nil, err
		}
		other, err := newNet(leaf, spec, len(models), group*(agents-1), 2)
		if err != nil {
			return nil, err
		}
		nc := plan.NetConfig{Observer: b.world, Net: own, ObsLen: spec.Obs.Len(), Actions: len(spec.Actions), Rows: group, Log: 16}
		b.prior = plan.NewNetPrior(nc)
		nc.Net = other
		b.others = plan.NewNetOthers(plan.OthersConfig{NetConfig: nc, Beliefs: beliefs, Others: agents - 1, Trees: c.Trees, Envs: envs,
			Vectors: oneHot(len(models))})
	default:
		return nil, fmt.Errorf("no leaf %q; there are zero, scripts, nets, conv16 and conv", leaf)
	}
	for place := range agents {
		b.seats = append(b.seats, game.Seat(place))
		bot, err := game.NewBot(g, models[place%2])
		if err != nil {
			return nil, err
		}
		b.bots = append(b.bots, bot)
	}
	b.joint, b.reward = make([]int32, agents), make([]float32, agents)
	for range envs {
		st := g.New()
		st.Reset(&b.r)
		b.st = append(b.st, st)
	}
	return b, nil
}

// decide plans in every env and plays on.
func (b *Plan) decide() {
	for e, st := range b.st {
		b.world.Set(e, st, b.seats)
	}
	plan.Fork(b.rs, &b.r)
	b.forest.Search(b.world, b.prior, b.others, b.rs)
	n := len(b.g.Spec().Actions)
	for e, st := range b.st {
		for place := range b.joint {
			b.joint[place] = game.NoAction
			if st.Alive(game.Seat(place)) {
				b.joint[place] = b.bots[place].Act(st, game.Seat(place), &b.r)
			}
		}
		b.joint[0] = game.Sample(b.forest.Policy[e*n:(e+1)*n], &b.r)
		if st.Step(b.joint, b.reward, &b.r); !st.Alive(0) {
			st.Reset(&b.r)
		}
	}
}

// Measure plans for d of processor time, after some to warm up. Allocations are
// those of the best of ten parts: the runtime has some of its own, at any time.
func (b *Plan) Measure(d time.Duration) PlanRow {
	from := cpu.Time()
	for i := 0; i < 20 && (i == 0 || cpu.Time()-from < d); i++ {
		b.decide()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const parts = 10
	done, spent, allocs, count := 0, 0., math.Inf(1), b.forest.Count
	for part := range parts {
		n := 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for from = cpu.Time(); n == 0 || cpu.Time()-from < d/parts; n += len(b.st) {
			b.decide()
		}
		spent += (cpu.Time() - from).Seconds()
		runtime.ReadMemStats(&after)
		allocs = min(allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
		if done += n; part >= 2 && spent >= d.Seconds() {
			break // decisions are longer than parts
		}
	}
	sims := b.forest.Count.Sims - count.Sims
	row := b.row
	row.Rate, row.MS = float64(sims)/spent, 1000*spent/float64(done)
	row.Leaves = float64(b.forest.Count.Leaves-count.Leaves) / float64(sims)
	row.Allocs = allocs
	row.Phases = b.phases(d / 4)
	return row
}

// phases plans on with a clock, whose own cost is taken off: of a round, six
// readings, two of them while backing up.
func (b *Plan) phases(d time.Duration) PlanPhases {
	start := time.Now()
	clock := func() time.Duration { return time.Since(start) }
	cost := math.Inf(1)
	for range 20 { // the least, because others may run in between
		const readings = 100
		from := clock()
		for range readings {
			clock()
		}
		cost = min(cost, (clock()-from).Seconds()/(readings+1))
	}
	b.forest.Clock = clock
	rounds := b.forest.Count.Rounds
	for from := cpu.Time(); ; {
		b.decide()
		if cpu.Time()-from >= d {
			break
		}
	}
	b.forest.Clock = nil
	s, n := b.forest.Spent, float64(b.forest.Count.Rounds-rounds)
	net := func(d time.Duration, readings float64) float64 { return max(d.Seconds()-readings*n*cost, 0) }
	p := PlanPhases{net(s.Select, 1), net(s.Others, 1), net(s.Dynamics, 1), net(s.Leaf, 1), net(s.Backup, 2)}
	sum := p.Select + p.Others + p.Dynamics + p.Leaf + p.Backup
	if sum == 0 {
		return PlanPhases{}
	}
	return PlanPhases{p.Select / sum, p.Others / sum, p.Dynamics / sum, p.Leaf / sum, p.Backup / sum}
}
