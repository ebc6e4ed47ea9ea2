package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train"
)

// dummy is a mind that plays at random and reports what it is told to: guards are tried on it.
type dummy struct {
	g      game.Game
	agents []agent.ID
	stats  map[string]float64 // healthy ones
	faulty map[string]float64 // those that are not
	net    *nn.Params
	moves  func(net *nn.Params)
	idle   bool // it never learns
	blink  int  // every so many windows nothing is wrong; 0: always something is
	seen   int  // windows
	count  learner.Counts
}

func (d *dummy) Agents() []agent.ID     { return d.agents }
func (d *dummy) Counts() learner.Counts { return d.count }
func (d *dummy) Networks() []learner.Network {
	return []learner.Network{{Name: "network", Module: check.PPO, Params: d.net}}
}

func (d *dummy) Players(_ agent.ID, workers, envs int) ([]rollout.Player, error) {
	bots, err := rollout.NewBots(d.g, "random", envs)
	return slices.Repeat([]rollout.Player{bots}, workers), err
}

func (d *dummy) Learn(*learner.Window) (list []agent.Stat, err error) {
	d.seen++
	well := d.blink > 0 && d.seen%d.blink == 0
	if d.idle && !well {
		return nil, nil
	}
	d.count.Updates++
	d.moves(d.net)
	for name, v := range d.stats {
		if odd, ok := d.faulty[name]; ok && !well {
			v = odd
		}
		list = append(list, agent.Stat{Name: name, Value: v, N: 8})
	}
	for name, v := range d.faulty {
		if _, ok := d.stats[name]; !ok && !well {
			list = append(list, agent.Stat{Name: name, Value: v, N: 8})
		}
	}
	return list, nil
}

// payday is a game in which everyone is paid what the drill says, in all steps or in the last, whatever is played: what guards hold
// losses and returns against is known of it.
type payday struct {
	pay   []float32 // [seats] in a step
	often bool      // in every step, not in the last alone
	goals bool      // everyone reaches the goal in the end
}

// How long its episodes are: with the step that starts one as long as a drill's window.
const paydaySteps = 8

func (g *payday) Spec() game.Spec {
	return game.Spec{
		Name: "payday", Seats: len(g.pay), Actions: []string{"a", "b", "c"}, Goals: []string{"goal"}, Horizon: paydaySteps,
		Obs: game.Layout{Features: 1}, Symmetric: true, Deterministic: true, Fixed: true,
	}
}

func (g *payday) New() game.State      { return &paydayState{g: g} }
func (g *payday) Bots() []game.BotInfo { return []game.BotInfo{game.RandomBot(3)} }

type paydayState struct {
	g *payday
	t int
}

func (st *paydayState) Reset(*rng.Rand)                     { st.t = 0 }
func (st *paydayState) Alive(game.Seat) bool                { return !st.Over() }
func (st *paydayState) Over() bool                          { return st.t == paydaySteps }
func (st *paydayState) Observe(_ game.Seat, dst []float32)  { dst[0] = float32(st.t) }
func (st *paydayState) CopyFrom(src game.State)             { *st = *src.(*paydayState) }
func (st *paydayState) AppendText(b []byte) ([]byte, error) { return fmt.Append(b, st.t), nil }

func (st *paydayState) Step(_ []int32, rewards []float32, _ *rng.Rand) {
	st.t++
	for s, pay := range st.g.pay {
		if rewards[s] = pay; !st.g.often && !st.Over() {
			rewards[s] = 0
		}
	}
}

func (st *paydayState) Legal(_ game.Seat, dst []bool) {
	for k := range dst {
		dst[k] = !st.Over()
	}
}

// Reached returns the goal that everyone reaches in the end, if they do.
func (st *paydayState) Reached(game.Seat) int {
	if st.g.goals && st.Over() {
		return 0
	}
	return game.NoGoal
}

// drill is a fault of agent 1's that guards are to name, in a run in which nothing else is wrong.
type drill struct {
	guard, module string
	window        int // the first in which it is so for long enough; 0: it never is, and the guard must not speak
	stats         map[string]float64
	change        func(d *dummy)
	spoil         func(ro *batch.Rollout)     // every window
	begin         func(g *payday, window int) // before every window; nil: nobody is paid
	often, goals  bool                        // of the game
	weight        float64                     // of its goal; 0: 1
	blink         int
	windows       int // that it takes; 0: two more than until it is said, or eight
}

// What drills learn by. Neither is 1, so that whoever takes one unit for another is seen.
const (
	drillScale = 0.25
	drillGamma = 0.5
)

// drills are what a guard must speak of, and when: three windows in a row, five without an update, twenty behind the others, or, of
// a model of others, ten before a cross-entropy counts as stuck. Beside each limit there is one of either side. The first is healthy.
func drills() []drill {
	const k = 3
	at := func(steps int, v float32) func(*batch.Rollout) {
		return func(ro *batch.Rollout) {
			for t := range steps {
				ro.Reward[ro.Step(1, t, 0)] = v
			}
		}
	}
	one := func(name string, v float64) map[string]float64 { return map[string]float64{name: v} }
	floor, even := math.Log(1+(k-1)/math.E), math.Log(k)
	model := func(ce, top1 float64) map[string]float64 { return map[string]float64{"moa/ce": ce, "moa/top1": top1} }
	kl := func(kl, clipped, entropy float64) map[string]float64 {
		return map[string]float64{"ppo/kl": kl, "ppo/clipped": clipped, "ppo/entropy": entropy}
	}
	imagined := func(made, played float64) map[string]float64 {
		return map[string]float64{"ppo/value_loss_imagined": made, "ppo/value_loss": played}
	}
	paid := func(early, late []float32) func(g *payday, window int) { // the first three windows say what there was at the start
		return func(g *payday, window int) {
			if g.pay = early; window > 3 {
				g.pay = late
			}
		}
	}
	level := func(rows int) func(*batch.Rollout) { // the value is level in so many rows of agent 1's
		return func(ro *batch.Rollout) {
			left := rows
			for i := range ro.Steps * ro.Envs {
				step := ro.Step(1, i/ro.Envs, i%ro.Envs)
				ro.Value[ro.Slot(1, i/ro.Envs, i%ro.Envs)] = 0.5
				if ro.Own[step] {
					ro.Own[step] = left > 0
					left--
				}
			}
		}
	}
	uniform := func(off float32) func(*batch.Rollout) {
		return func(ro *batch.Rollout) {
			for i := range ro.Steps * ro.Envs {
				ro.LogProb[ro.Step(1, i/ro.Envs, i%ro.Envs)] = off - float32(even)
			}
		}
	}
	last := func(v float32) func(*batch.Rollout) { // what agent 1 is paid at an episode's end
		return func(ro *batch.Rollout) {
			for t := range ro.Steps {
				if step := ro.Step(1, t, 0); ro.End[step] != batch.Going {
					ro.Reward[step] = v
				}
			}
		}
	}
	nothing, top := []float32{0, 0, 0}, at(1, 15) // the largest return: gains are held against it
	return []drill{
		{guard: "nothing"},
		{guard: "not finite", module: "ppo", window: 1, stats: one("ppo/policy_loss", math.NaN())},
		{guard: "not finite", module: "ppo", window: 1, stats: one("ppo/kl", math.Inf(1))},
		{guard: "not finite", module: "ppo", window: 1, change: func(d *dummy) {
			d.moves = func(net *nn.Params) { net.W[0] = float32(math.NaN()) }
		}},
		{guard: "reward not finite", module: "game", window: 1, spoil: at(1, float32(math.Inf(1)))},
		{guard: "large rewards", module: "game", window: 1, spoil: at(1, -1.01e3/drillScale)},
		{guard: "large rewards", module: "game", spoil: at(1, 0.99e3/drillScale)},
		{guard: "large rewards", module: "game", window: 1, spoil: at(1, 1.01e3/drillScale/3), weight: 3},
		{guard: "large rewards", module: "game", spoil: at(1, 0.99e3/drillScale/3), weight: 3},
		// Two rewards of 2000: a return of 3000, which is 750 as it is learnt.
		{guard: "exploding loss", module: "ppo", window: 3, spoil: at(2, -2000), stats: one("ppo/value_loss", 1.02*750*750)},
		{guard: "exploding loss", module: "ppo", spoil: at(2, 2000), stats: one("ppo/value_loss", 0.98*750*750)},
		{guard: "exploding loss", module: "ppo", spoil: at(2, 2000), stats: one("ppo/value_loss", 1e9), blink: 3},
		{guard: "exploding loss", module: "ppo", window: 3, spoil: last(-4000), stats: one("ppo/value_loss", 1.02*1000*1000)},
		{guard: "exploding loss", module: "ppo", spoil: last(4000), stats: one("ppo/value_loss", 0.98*1000*1000)},
		// An episode pays 8 times 100, of which 200 count where half is left of a step's worth a step later.
		{guard: "exploding loss", module: "ppo", window: 3, begin: paid([]float32{100, 100, 100}, []float32{100, 100, 100}), often: true,
			stats: one("ppo/value_loss", 1.05*50*50)},
		{guard: "exploding loss", module: "ppo", begin: paid([]float32{100, 100, 100}, []float32{100, 100, 100}), often: true,
			stats: one("ppo/value_loss", 0.95*50*50)},
		{guard: "exploding loss", module: "moa", window: 3, stats: model(2.02*even, 0.4)},
		{guard: "exploding loss", module: "moa", stats: model(1.98*even, 0.4)},
		{guard: "double softmax", module: "moa", window: 12, stats: model(0.985*floor, 0.999)},
		{guard: "double softmax", module: "moa", stats: model(0.975*floor, 0.999), windows: 14},
		{guard: "dead gradients", module: "ppo", window: 3, stats: one("ppo/grad_norm", 0.9e-9)},
		{guard: "dead gradients", module: "ppo", stats: one("ppo/grad_norm", 1.1e-9)},
		{guard: "dead gradients", module: "ppo", stats: one("ppo/grad_norm", 0), blink: 3},
		{guard: "dead gradients", module: "ppo", window: 3, change: func(d *dummy) { d.moves = func(*nn.Params) {} }},
		{guard: "dead gradients", module: "ppo", window: 3, change: func(d *dummy) { d.moves = func(net *nn.Params) { net.W[0]++ } }},
		{guard: "ratio of 1", module: "ppo", window: 3, stats: kl(0, 0.1, 1.1e-3)},
		{guard: "ratio of 1", module: "ppo", stats: kl(0, 0.1, 0.9e-3)},
		{guard: "ratio of 1", module: "ppo", stats: kl(0, 0.1, 1), blink: 3},
		{guard: "nothing clipped", module: "ppo", window: 3, stats: kl(0.051, 0, 1)},
		{guard: "nothing clipped", module: "ppo", stats: kl(0.049, 0, 1)},
		{guard: "nothing clipped", module: "ppo", stats: kl(0.5, 0, 1), blink: 3},
		{guard: "agent without updates", module: "ppo", window: 5, change: func(d *dummy) { d.idle = true }},
		{guard: "agent without updates", module: "ppo", change: func(d *dummy) { d.idle = true }, blink: 5},
		{guard: "imagined share", module: "world", window: 1, stats: one("ppo/imagined_share", 0.021)},
		{guard: "imagined share", module: "world", stats: one("ppo/imagined_share", 0.019)},
		{guard: "imagined targets", module: "world", window: 1, stats: imagined(0.0102, 1e-4)},
		{guard: "imagined targets", module: "world", stats: imagined(0.0098, 1e-4)},
		{guard: "imagined targets", module: "world", window: 1, stats: imagined(5.1, 0.5)},
		{guard: "imagined targets", module: "world", stats: imagined(4.9, 0.5)},
		{guard: "silent value", module: "ppo", window: 3, spoil: level(32)},
		{guard: "silent value", module: "ppo", spoil: level(31)},
		{guard: "silent policy", module: "ppo", window: 3, spoil: uniform(0)},
		{guard: "silent policy", module: "ppo", spoil: uniform(1e-5)},
		// Three windows say what the returns were at first; a fiftieth of what uniform play has is little.
		{guard: "entropy collapse", module: "ppo", window: 6, stats: one("ppo/entropy", 0.0199*even)},
		{guard: "entropy collapse", module: "ppo", stats: one("ppo/entropy", 0.0201*even)},
		{guard: "entropy collapse", module: "ppo", stats: one("ppo/entropy", 0.01*even), goals: true},
		{guard: "entropy collapse", module: "ppo", stats: one("ppo/entropy", 0.01*even), begin: paid(nothing, []float32{0, 1, 0})},
		// What an agent gains counts by a tenth of a window, so that the others have a tenth of the largest return in window 5.
		{guard: "one agent behind", window: 24, spoil: top, begin: paid(nothing, []float32{10, 0.95, 10})},
		{guard: "one agent behind", spoil: top, begin: paid(nothing, []float32{10, 1.05, 10}), windows: 28},
		{guard: "one agent behind", window: 25, spoil: top, begin: paid(nothing, []float32{10, 0.3, 5})},
		{guard: "one agent behind", spoil: top, begin: paid(nothing, []float32{10, 0.3, 3.2}), windows: 28},
		{guard: "one agent behind", window: 25, spoil: top, begin: paid([]float32{0, 20, 0}, []float32{10, 20.5, 10})}, // who gains little
		{guard: "one agent behind", spoil: at(1, 150), begin: paid(nothing, []float32{10, 0.3, 10}), windows: 28},
	}
}

// drilled says whether the guards speak of what they are to watch for, when they are to and of nothing else.
func (u *session) drilled(ctx context.Context) ([]check.Finding, error) {
	f := check.Finding{
		Step: 2, Check: "guards speak when they must", Module: "guards", Unit: "guards that do not",
		Says: "Guards, tried on runs with one fault each, name it and whose it is in the window in which it has lasted long enough, and are " +
			"silent below their limits and in a healthy run.",
	}
	const next = "train: guards.go and guards_learning.go"
	bad := func(format string, args ...any) {
		f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf(format, args...), next)
	}
	said, err := u.healthyDrill(ctx)
	for _, list := range said {
		for _, x := range list {
			bad("In a healthy run a guard says %q.", x.Check)
		}
	}
	for i, d := range drills() {
		if err == nil {
			said, err = d.run(ctx, i)
		}
		if err != nil {
			return nil, err
		}
		f.Rows++
		at, who := 0, []int(nil)
		for window, list := range said {
			for _, x := range list {
				if i == 0 {
					bad("In a healthy run a guard says %q.", x.Check)
				}
				if at == 0 && x.Check == d.guard && x.Module == d.module {
					at, who = window+1, x.Who
				}
			}
		}
		switch {
		case i == 0:
		case d.window == 0 && at > 0:
			bad("A guard says %q in window %d of a run that stays within that guard's limits.", d.guard, at)
		case d.window > 0 && at == 0:
			bad("No guard says %q of a run in which that is so.", d.guard)
		case at != d.window:
			bad("A guard says %q in window %d, it is so for long enough in window %d.", d.guard, at, d.window)
		case len(who) > 0 && !slices.Equal(who, []int{1}):
			bad("A guard says %q of %v, it is so of agent 1.", d.guard, who)
		}
	}
	return []check.Finding{f}, nil
}

// moveAll moves every part of a network.
func moveAll(net *nn.Params) {
	for _, part := range net.Parts {
		net.W[part.Off]++
	}
}

// dummies are minds in a game of which nothing is wrong, one for each agent.
func dummies(g game.Game, key rng.Key) (list []learner.Mind, of []int) {
	for a := range g.Spec().Seats {
		d := &dummy{g: g, agents: []agent.ID{agent.ID(a)}, net: &nn.Params{}, moves: moveAll, stats: map[string]float64{
			"ppo/lr": 1e-3, "ppo/entropy": 1, "ppo/kl": 0.01, "ppo/clipped": 0.1, "ppo/grad_norm": 0.5, "ppo/value_loss": 1e-6,
		}}
		d.net.Dense("first", 1, 1, nn.None)
		d.net.Init(key.Child("net", a))
		list, of = append(list, d), append(of, a)
	}
	return list, of
}

// likely makes of bots' rows rows that are learnt from: bots say nothing of values and probabilities.
func likely(ro *batch.Rollout, r *rng.Rand) {
	for i := range ro.Value {
		ro.Value[i] = r.Float32()
	}
	for i := range ro.LogProb {
		ro.Own[i], ro.LogProb[i] = ro.Action[i] != game.NoAction, -r.Float32()
	}
}

// run runs a drill and returns what guards said, window by window.
func (d *drill) run(ctx context.Context, number int) (said [][]check.Finding, err error) {
	windows := cmp.Or(d.windows, max(d.window+2, 8))
	g, key := &payday{pay: make([]float32, 3), often: d.often, goals: d.goals}, rng.New(uint64(number)).Child("drill")
	cfg := train.Config{Envs: 8, Window: paydaySteps + 1, Steps: 1 << 30, Save: 1 << 30, Keep: 1, Standins: train.Standins{ShareEnd: -1}}
	if d.weight > 0 {
		cfg.GoalWeight = []train.Weight{{Goal: "goal", From: d.weight, To: d.weight, Over: 1}}
	}
	minds, of := dummies(g, key)
	mind := minds[1].(*dummy)
	if mind.faulty, mind.blink = d.stats, d.blink; d.change != nil {
		d.change(mind)
	}
	r := key.Child("watch").Rand()
	begin := func() {
		if d.begin != nil {
			d.begin(g, len(said)+1)
		}
	}
	parts := train.Parts{Game: g, Minds: minds, MindOf: of, Key: key, Workers: 1, Watch: func(ro *batch.Rollout, _ bool) {
		if likely(ro, &r); d.spoil != nil {
			d.spoil(ro)
		}
	}}
	loop, err := train.NewSelfPlay(cfg, train.Rewards{Scale: drillScale, Gamma: drillGamma, ProsocialEnd: -1}, parts)
	if err != nil {
		return nil, err
	}
	begin()
	err = probe.Windows(ctx, loop, windows, func(p *train.Progress) {
		said = append(said, p.Findings)
		begin()
	})
	return said, err
}

// healthyDrill is a run in which nothing is wrong in the audited game, whose observations guards look at too.
func (u *session) healthyDrill(ctx context.Context) (said [][]check.Finding, err error) {
	const windows = 14
	cfg := u.exp.Train
	cfg.Envs, cfg.Window, cfg.Steps, cfg.Save, cfg.Brains, cfg.Team = 8, 16, 1<<30, 1<<30, nil, nil
	cfg.Standins, cfg.Warm, cfg.Strangers, cfg.GoalWeight = train.Standins{ShareEnd: -1}, train.Warm{}, train.Strangers{}, nil
	cfg.Recorded = train.Recorded{}
	g, key := u.parts.Game, rng.New(0).Child("drill")
	minds, of := dummies(g, key)
	r := key.Child("watch").Rand()
	parts := train.Parts{Game: g, Minds: minds, MindOf: of, Key: key, Workers: 1, Watch: func(ro *batch.Rollout, _ bool) {
		likely(ro, &r)
		ro.Reward[0] = 1
	}}
	loop, err := train.NewSelfPlay(cfg, u.exp.Rewards(), parts)
	if err != nil {
		return nil, err
	}
	err = probe.Windows(ctx, loop, windows, func(p *train.Progress) { said = append(said, p.Findings) })
	return said, err
}
