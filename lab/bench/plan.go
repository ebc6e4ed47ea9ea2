package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/belief"
	"github.com/hop-marl/hop/search/truth"
	"github.com/hop-marl/hop/train/spec"
)

// PlanRow is a search's speed.
type PlanRow struct {
	Size   int     `json:"size"`
	Agents int     `json:"agents"`
	Sims   int     `json:"sims"`
	Nets   bool    `json:"nets"`
	Leaf   string  `json:"leaf"`
	CPU    int     `json:"cpu"`            // cores
	Envs   int     `json:"envs"`           // decisions at once
	Rate   float64 `json:"sims_per_s"`     // of processor time: of one core
	Wall   float64 `json:"sims_per_s_all"` // of the clock: of all cores
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
	forest *search.Forest
	pool   *cores.Pool
	worlds []*truth.World // of each part of a search
	asked  []search.Asked // the same
	st     []game.State
	seats  []game.Seat
	bots   []game.Bot // by place
	joint  []int32
	reward []float32
	r      rng.Rand
	rs     []rng.Rand
}

// PlanConfig says what to plan. Leaf says what evaluates leaves: zero, scripts, nets, conv16
// or conv; Envs is how many decisions are made at once, 0: 1, with networks 32 or, where that
// takes long, fewer.
type PlanConfig struct {
	Leaf                          string
	Size, Agents, Sims, Envs, CPU int
}

// NewPlan prepares decisions of one agent in the stag hunt on the true rules. It must be
// closed.
func NewPlan(reg *spec.Registry, c PlanConfig) (*Plan, error) {
	params, err := reg.NewGame("staghunt")
	if err != nil {
		return nil, err
	}
	for path, value := range map[string]int{"size": c.Size, "agents": c.Agents, "blocks": c.Size * 5 / 8 * min(1, c.Size/5)} {
		if err := params.Set(path, fmt.Sprint(value)); err != nil {
			return nil, err
		}
	}
	g, err := params.Build()
	if err != nil {
		return nil, err
	}
	srch := search.Default()
	switch srch.Trees = 5; {
	case c.Sims < 50:
		srch.Trees = 1
	case c.Sims == 600:
		srch.Trees = 3 // the users' setting: 200 simulations, 3 trees
	}
	srch.Sims = c.Sims / srch.Trees
	nets := c.Leaf == "nets" || c.Leaf == "conv" || c.Leaf == "conv16"
	envs := c.Envs
	switch {
	case envs > 0:
	case c.Leaf == "conv":
		envs = min(max(20000/c.Sims, 1), 32) // so that a round takes about a second
	case nets:
		envs = 32
	default:
		envs = 1
	}
	trees := envs * srch.Trees
	group := srch.Trees
	if nets {
		group = trees
	}
	b := &Plan{g: g, r: rng.New(1).Rand(), rs: make([]rng.Rand, trees), row: PlanRow{
		Size: c.Size, Agents: c.Agents, Sims: srch.Sims * srch.Trees, Nets: nets, Leaf: c.Leaf, CPU: c.CPU, Envs: envs}}
	if b.forest, err = search.New(srch, len(g.Spec().Actions), c.Agents-1, envs, group); err != nil {
		return nil, err
	}
	if err := b.addPart(b.forest); err != nil {
		return nil, err
	}
	for parts := b.forest.Parts(c.CPU, envs); len(b.asked) < parts; {
		if err := b.addPart(b.forest.Part()); err != nil {
			return nil, err
		}
	}
	agents := c.Agents
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
	b.pool = cores.New(c.CPU, nil)
	b.pool.Open()
	return b, nil
}

// Close lets the cores go.
func (b *Plan) Close() { b.pool.Close() }

// models are what co-players may be.
var models = []string{"ns", "nh"}

// addPart adds whom a forest, or a part of it, asks.
func (b *Plan) addPart(f *search.Forest) error {
	spec, group := b.g.Spec(), f.Group()
	world, err := truth.NewWorld(b.g, models, []string{"nh", "stag"}, f.Envs, f.Trees)
	if err != nil {
		return err
	}
	world.Fit(f)
	beliefs := belief.New(belief.Default(), f.Envs, f.Others, len(models))
	bots := truth.NewBots(world, beliefs, f.Envs)
	asked := search.Asked{Dynamics: world, Others: bots}
	switch b.row.Leaf {
	case "zero":
		s := truth.NewScripts(bots, f.Discount, 4)
		s.Zero = true
		asked.Prior = s
	case "scripts":
		asked.Prior = truth.NewScripts(bots, f.Discount, 14)
	case "nets", "conv", "conv16":
		own, err := newNet(b.row.Leaf, spec, 0, group, 1)
		if err != nil {
			return err
		}
		other, err := newNet(b.row.Leaf, spec, len(models), group*f.Others, 2)
		if err != nil {
			return err
		}
		nc := search.NetConfig{Observer: world, Net: own, ObsLen: spec.Obs.Len(), Actions: len(spec.Actions), Rows: group, Log: 16}
		asked.Prior = search.NewNetPrior(nc)
		nc.Net = other
		asked.Others = search.NewNetOthers(search.OthersConfig{NetConfig: nc, Beliefs: beliefs, Others: f.Others, Trees: f.Trees, Envs: f.Envs,
			Vectors: oneHot(len(models))})
	default:
		return fmt.Errorf("no leaf %q; there are zero, scripts, nets, conv16 and conv", b.row.Leaf)
	}
	b.worlds, b.asked = append(b.worlds, world), append(b.asked, asked)
	return nil
}

// decide plans in every env and plays on.
func (b *Plan) decide() {
	for e, st := range b.st {
		for _, w := range b.worlds {
			w.Set(e, st, b.seats)
		}
	}
	search.Fork(b.rs, &b.r)
	b.forest.SearchOn(b.pool, b.asked, b.rs)
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

// Measure plans for d of processor time, after some to warm up. On several cores a
// decision's time is that of the clock. Allocations are those of the best of ten parts: the
// runtime has some of its own, at any time.
func (b *Plan) Measure(d time.Duration) PlanRow {
	from := cpu.Time()
	for i := 0; i < 20 && (i == 0 || cpu.Time()-from < d); i++ {
		b.decide()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const parts = 10
	done, spent, wall, allocs, count := 0, 0., 0., math.Inf(1), b.forest.Count
	for part := range parts {
		n := 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		for from = cpu.Time(); n == 0 || cpu.Time()-from < d/parts; n += len(b.st) {
			b.decide()
		}
		spent += (cpu.Time() - from).Seconds()
		wall += time.Since(start).Seconds()
		runtime.ReadMemStats(&after)
		allocs = min(allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
		if done += n; part >= 2 && spent >= d.Seconds() {
			break // decisions are longer than parts
		}
	}
	sims := b.forest.Count.Sims - count.Sims
	row := b.row
	row.Rate, row.Wall, row.MS = float64(sims)/spent, float64(sims)/wall, 1000*spent/float64(done)
	if row.CPU > 1 {
		row.MS = 1000 * wall / float64(done)
	}
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

// Plans is a search measured in every combination of settings.
type Plans struct {
	CPU    int           `yaml:"cpu" doc:"cores that share a decision; rates are per second of one core, and of all" range:"1.."`
	Envs   int           `yaml:"envs" doc:"decisions at once; 0: 1, with networks up to 32" range:"0.."`
	Time   time.Duration `yaml:"time" doc:"processor time to measure each row for"`
	Size   []int         `yaml:"size" doc:"board sizes"`
	Agents []int         `yaml:"agents" doc:"numbers of agents"`
	Sims   []int         `yaml:"sims" doc:"simulations a decision, all trees together"`
	Leaf   []string      `yaml:"leaf" doc:"what evaluates leaves: zero, scripts (bots as models), nets (dense networks of random weights, for prior and others), conv16 (small convolutional ones) or conv (HOP's)"`
}

// DefaultPlans returns small and large boards and searches, without large networks.
func DefaultPlans() Plans {
	return Plans{CPU: 1, Time: 300 * time.Millisecond, Size: []int{4, 6, 8, 16}, Agents: []int{2, 4, 8},
		Sims: []int{10, 100, 600, 1000, 10000}, Leaf: []string{"zero", "scripts", "nets"}}
}

// Validate returns everything that is wrong, joined.
func (p Plans) Validate() error { return config.Check(p) }

// Measure measures them, in the order of their fields.
func (p Plans) Measure(ctx context.Context, reg *spec.Registry) (rows []PlanRow, err error) {
	for _, leaf := range p.Leaf {
		for _, size := range p.Size {
			for _, agents := range p.Agents {
				for _, sims := range p.Sims {
					b, err := NewPlan(reg, PlanConfig{Leaf: leaf, Size: size, Agents: agents, Sims: sims, Envs: p.Envs, CPU: p.CPU})
					if err != nil {
						return nil, err
					}
					rows = append(rows, b.Measure(p.Time))
					b.Close()
					if err := ctx.Err(); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return rows, nil
}

// newNet returns the network that a leaf names, with random weights: dense
// layers of 64 and 64, HOP's convolutions, or small ones.
func newNet(leaf string, spec game.Spec, goal, rows int, seed uint64) (search.Net, error) {
	if leaf == "conv16" {
		return newSmallConv(spec, goal, rows, seed), nil
	}
	c := actor.Default()
	if leaf == "conv" {
		c.Net, c.Frame = "conv", "board"
	}
	l := spec.Obs
	m, p, err := actor.New(c, actor.Input{
		Input:   frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen(), Extra: goal},
		Actions: len(spec.Actions),
	}, rng.New(seed))
	if err != nil {
		return nil, err
	}
	return &net{ws: m.Work(rows), p: p}, nil
}

// net is an actor as a search.Net.
type net struct {
	ws  *actor.Work
	p   *nn.Params
	ran bool
}

// Add adds a row.
func (n *net) Add(obs, goal []float32) {
	if n.ran {
		n.ws.Reset()
		n.ran = false
	}
	n.ws.Add(obs, goal)
}

// Run answers the rows.
func (n *net) Run() (logits, value []float32) {
	n.ws.Forward(n.p)
	n.ran = true
	return n.ws.Logits, n.ws.Value
}

// smallConv is a convolutional net of the size that a small board needs: two 3x3
// convolutions of 16 channels, then a layer of 64 over their output and the rest of
// the row.
type smallConv struct {
	p              *nn.Params
	conv           [2]nn.Conv3x3
	hidden, head   nn.Dense
	planes, flat   int
	width, actions int // of hidden's input, of the answers
	work           *nn.ConvWork
	rows           int
	x, a, b        []float32 // [rows][H][W][channels]
	cat            []float32 // [rows][width]
	y              []float32 // [rows][64]
	out            []float32 // [rows][actions+1]
	logits, value  []float32
}

func newSmallConv(spec game.Spec, goal, rows int, seed uint64) *smallConv {
	l, p := spec.Obs, &nn.Params{}
	n := &smallConv{p: p, planes: l.PlanesLen(), flat: l.Height * l.Width * 16, actions: len(spec.Actions)}
	n.width = n.flat + l.Len() - l.PlanesLen() + goal
	n.conv[0] = p.Conv3x3("conv/0", l.Height, l.Width, len(l.Planes), 16, nn.ReLU)
	n.conv[1] = p.Conv3x3("conv/1", l.Height, l.Width, 16, 16, nn.ReLU)
	n.hidden = p.Dense("dense", n.width, 64, nn.ReLU)
	n.head = p.Dense("head", 64, n.actions+1, nn.None)
	p.Init(rng.New(seed))
	n.work = nn.NewConvWork(n.conv[0], n.conv[1])
	n.x, n.a, n.b = make([]float32, rows*n.planes), make([]float32, rows*n.flat), make([]float32, rows*n.flat)
	n.cat, n.y, n.out = make([]float32, rows*n.width), make([]float32, rows*64), make([]float32, rows*(n.actions+1))
	n.logits, n.value = make([]float32, rows*n.actions), make([]float32, rows)
	return n
}

// Add adds a row.
func (n *smallConv) Add(obs, goal []float32) {
	copy(n.x[n.rows*n.planes:], obs[:n.planes])
	rest := n.cat[n.rows*n.width+n.flat : (n.rows+1)*n.width]
	copy(rest[copy(rest, obs[n.planes:]):], goal)
	n.rows++
}

// Run answers the rows.
func (n *smallConv) Run() (logits, value []float32) {
	m := n.rows
	n.rows = 0
	n.conv[0].Forward(n.p, n.work, n.a, n.x, m)
	n.conv[1].Forward(n.p, n.work, n.b, n.a, m)
	for i := range m {
		copy(n.cat[i*n.width:], n.b[i*n.flat:(i+1)*n.flat])
	}
	n.hidden.Forward(n.p, n.y[:m*64], n.cat[:m*n.width], m)
	n.head.Forward(n.p, n.out[:m*(n.actions+1)], n.y[:m*64], m)
	for i := range m {
		row := n.out[i*(n.actions+1):]
		copy(n.logits[i*n.actions:(i+1)*n.actions], row)
		n.value[i] = row[n.actions]
	}
	return n.logits[:m*n.actions], n.value[:m]
}

// oneHot is goals as vectors of that many numbers.
type oneHot int

var oneHots = [2][]float32{{1, 0}, {0, 1}}

// Vector returns the goal's vector.
func (oneHot) Vector(_ int32, _ int, goal int32) []float32 { return oneHots[goal] }
