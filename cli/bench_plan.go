package cli

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"hop/belief"
	"hop/exp"
	"hop/game"
	"hop/plan"
	"hop/plan/truth"
	"hop/rng"
)

type benchPlanCmd struct {
	CPU    int           `name:"cpu" help:"Must be 1: a search runs on one core." default:"1"`
	Time   time.Duration `help:"Processor time to measure each row for." default:"300ms"`
	Size   []int         `help:"Board sizes." default:"4,6,8,16"`
	Agents []int         `help:"Numbers of agents." default:"2,4,8"`
	Sims   []int         `help:"Simulations a decision, all trees together." default:"10,100,600,1000,10000"`
	Leaf   []string      `help:"What evaluates leaves: zero, scripts (bots as models), nets (dense networks of random weights, for prior and others), conv16 (small convolutional ones) or conv (HOP's)." default:"zero,scripts,nets"`
	Loop   bool          `help:"Measure one iteration of training instead: 1,554 env steps on 6x6, all four agents plan with 3 trees of 200 simulations and learn."`
	Grid   bool          `help:"Print Markdown tables, a leaf each: boards and agents down, simulations across, million simulations a second."`
	JSON   bool          `help:"Print one JSON object."`
}

func (benchPlanCmd) Help() string {
	return `Examples:

  hop bench plan --size 6 --agents 4 --sims 600
  hop bench plan --grid
  hop bench plan --loop

Decisions of one agent in stag hunt on the true rules, along episodes that its plans and bots play. With nets, 32 envs are planned for at once, with an actor of two layers of 64 as prior and another as model of the others, caches on. conv16 is the same with two 3x3 convolutions of 16 channels and a layer of 64, conv with HOP's convolutions of 16, 32 and 32 channels and a layer of 512, and fewer envs where there are many simulations. Rates are per second of processor time. The last columns say which share of it went into walking down the tree, drawing co-players, playing steps, judging leaves and backing up, by the clock.`
}

type planRow struct {
	Size   int     `json:"size"`
	Agents int     `json:"agents"`
	Sims   int     `json:"sims"`
	Nets   bool    `json:"nets"`
	Leaf   string  `json:"leaf"`
	Rate   float64 `json:"sims_per_s"`
	MS     float64 `json:"ms_per_decision"`
	Leaves float64 `json:"leaves_per_sim"` // states evaluated
	Allocs float64 `json:"allocs"`         // a decision, in the part of the time with the fewest

	Phases planPhases `json:"phases"` // shares of the time
}

type planPhases struct {
	Select   float64 `json:"select"`
	Others   float64 `json:"others"`
	Dynamics float64 `json:"dynamics"`
	Leaf     float64 `json:"leaf"`
	Backup   float64 `json:"backup"`
}

func (c benchPlanCmd) Run(a *app) error {
	if c.CPU != 1 {
		return usage("--cpu %d: a search runs on one core; start several for more", c.CPU)
	}
	if c.Loop {
		return c.loop(a)
	}
	var rows []planRow
	for _, leaf := range c.Leaf {
		for _, size := range c.Size {
			for _, agents := range c.Agents {
				for _, sims := range c.Sims {
					b, err := newPlanBench(a.reg, leaf, size, agents, sims)
					if err != nil {
						return usageError{err}
					}
					rows = append(rows, b.measure(c.Time))
					if err := a.ctx.Err(); err != nil {
						return err
					}
				}
			}
		}
	}
	if c.JSON {
		return a.emit(map[string]any{"rows": rows})
	}
	if c.Grid {
		c.grid(a, rows)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "leaf\tboard\tagents\tsims\tsims/s per core\tms a decision\tleaves a sim\tallocations\tselect\tothers\tsteps\tleaf\tbackup\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%dx%d\t%d\t%d\t%s\t%.3f\t%.2f\t%.2f\t", r.Leaf, r.Size, r.Size, r.Agents, r.Sims, short(r.Rate), r.MS, r.Leaves, r.Allocs)
		for _, share := range []float64{r.Phases.Select, r.Phases.Others, r.Phases.Dynamics, r.Phases.Leaf, r.Phases.Backup} {
			fmt.Fprintf(w, "%.0f %%\t", 100*share)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// grid prints the rows, which lie in the order of Leaf, Size, Agents and Sims.
func (c benchPlanCmd) grid(a *app, rows []planRow) {
	for _, leaf := range c.Leaf {
		fmt.Fprintf(a.out, "| %s, agents |", leaf)
		for _, sims := range c.Sims {
			fmt.Fprintf(a.out, " %d |", sims)
		}
		fmt.Fprintf(a.out, "\n|%s\n", strings.Repeat("---|", len(c.Sims)+1))
		for _, size := range c.Size {
			for _, agents := range c.Agents {
				fmt.Fprintf(a.out, "| %dx%d, %d |", size, size, agents)
				for range c.Sims {
					fmt.Fprintf(a.out, " %.3g |", rows[0].Rate/1e6)
					rows = rows[1:]
				}
				fmt.Fprintln(a.out)
			}
		}
		fmt.Fprintln(a.out)
	}
}

// planBench plans for one agent in each of several envs.
type planBench struct {
	row    planRow
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

func newPlanBench(reg *exp.Registry, leaf string, size, agents, sims int) (*planBench, error) {
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
	b := &planBench{row: planRow{Size: size, Agents: agents, Sims: c.Sims * c.Trees, Nets: nets, Leaf: leaf}, g: g, r: rng.New(1).Rand(), rs: make([]rng.Rand, envs*c.Trees)}
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
		own, err := newBenchNet(leaf, spec, 0, group, 1)
		if err != nil {
			return nil, err
		}
		other, err := newBenchNet(leaf, spec, len(models), group*(agents-1), 2)
		if err != nil {
			return nil, err
		}
		nc := plan.NetConfig{Observer: b.world, Net: own, ObsLen: spec.Obs.Len(), Actions: len(spec.Actions), Rows: group, Log: 16}
		b.prior = plan.NewNetPrior(nc)
		nc.Net = other
		b.others = plan.NewNetOthers(plan.OthersConfig{NetConfig: nc, Beliefs: beliefs, Others: agents - 1, Trees: c.Trees, Envs: envs, Vectors: oneHot(len(models))})
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
func (b *planBench) decide() {
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

// measure plans for d of processor time, after some to warm up. Allocations are
// those of the best of ten parts: the runtime has some of its own, at any time.
func (b *planBench) measure(d time.Duration) planRow {
	from := cpuTime()
	for i := 0; i < 20 && (i == 0 || cpuTime()-from < d); i++ {
		b.decide()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const parts = 10
	done, spent, allocs, count := 0, 0., math.Inf(1), b.forest.Count
	for part := range parts {
		n := 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for from = cpuTime(); n == 0 || cpuTime()-from < d/parts; n += len(b.st) {
			b.decide()
		}
		spent += (cpuTime() - from).Seconds()
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
func (b *planBench) phases(d time.Duration) planPhases {
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
	for from := cpuTime(); ; {
		b.decide()
		if cpuTime()-from >= d {
			break
		}
	}
	b.forest.Clock = nil
	s, n := b.forest.Spent, float64(b.forest.Count.Rounds-rounds)
	net := func(d time.Duration, readings float64) float64 { return max(d.Seconds()-readings*n*cost, 0) }
	p := planPhases{net(s.Select, 1), net(s.Others, 1), net(s.Dynamics, 1), net(s.Leaf, 1), net(s.Backup, 2)}
	sum := p.Select + p.Others + p.Dynamics + p.Leaf + p.Backup
	if sum == 0 {
		return planPhases{}
	}
	return planPhases{p.Select / sum, p.Others / sum, p.Dynamics / sum, p.Leaf / sum, p.Backup / sum}
}
