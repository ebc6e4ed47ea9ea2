package audit

import (
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
	stats  map[string]float64
	net    *nn.Params
	moves  func(net *nn.Params)
	idle   bool // it never learns
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
	if d.idle {
		return nil, nil
	}
	d.count.Updates++
	d.moves(d.net)
	for name, v := range d.stats {
		list = append(list, agent.Stat{Name: name, Value: v, N: 8})
	}
	return list, nil
}

// drill is a fault that guards are to name, in a run in which nothing else is wrong.
type drill struct {
	guard, module string
	window        int // the first in which it is so for long enough; 0: never
	stats         map[string]float64
	change        func(d *dummy)
	spoil         func(ro *batch.Rollout) // every window
}

// drills are what a guard must speak of, and when: three windows in a row, five without an update, or, of a model of others, ten
// before a cross-entropy counts as stuck. The first is healthy.
func drills(classes int) []drill {
	pays := func(v float32) func(*batch.Rollout) { return func(ro *batch.Rollout) { ro.Reward[0] = v } }
	double := math.Log(1+float64(classes-1)/math.E) + 1e-4
	return []drill{
		{guard: "nothing"},
		{guard: "not finite", module: "ppo", window: 1, stats: map[string]float64{"ppo/policy_loss": math.NaN()}},
		{guard: "not finite", module: "ppo", window: 1, change: func(d *dummy) {
			d.moves = func(net *nn.Params) { net.W[0] = float32(math.NaN()) }
		}},
		{guard: "reward not finite", module: "game", window: 1, spoil: pays(float32(math.Inf(1)))},
		{guard: "large rewards", module: "game", window: 1, spoil: pays(1e12)},
		{guard: "exploding loss", module: "ppo", window: 3, stats: map[string]float64{"ppo/value_loss": 1e15}},
		{guard: "exploding loss", module: "moa", window: 3, stats: map[string]float64{"moa/ce": 100, "moa/top1": 0}},
		{guard: "double softmax", module: "moa", window: 12, stats: map[string]float64{"moa/ce": double, "moa/top1": 0.999}},
		{guard: "dead gradients", module: "ppo", window: 3, stats: map[string]float64{"ppo/grad_norm": 0}},
		{guard: "dead gradients", module: "ppo", window: 3, change: func(d *dummy) { d.moves = func(*nn.Params) {} }},
		{guard: "dead gradients", module: "ppo", window: 3, change: func(d *dummy) { d.moves = func(net *nn.Params) { net.W[0]++ } }},
		{guard: "ratio of 1", module: "ppo", window: 3, stats: map[string]float64{"ppo/kl": 0}},
		{guard: "nothing clipped", module: "ppo", window: 3, stats: map[string]float64{"ppo/kl": 0.5, "ppo/clipped": 0}},
		{guard: "agent without updates", module: "ppo", window: 5, change: func(d *dummy) { d.idle = true }},
		{guard: "imagined share", module: "world", window: 1, stats: map[string]float64{"ppo/imagined_share": 1}},
		{guard: "imagined targets", module: "world", window: 1, stats: map[string]float64{"ppo/value_loss_imagined": 1e6}},
		{guard: "silent value", module: "ppo", window: 3, spoil: func(ro *batch.Rollout) {
			for i := range ro.Value {
				ro.Value[i] = 0.5
			}
		}},
		{guard: "silent policy", module: "ppo", window: 3, spoil: func(ro *batch.Rollout) {
			for a := range agent.ID(ro.Agents) {
				for i := range ro.Steps * ro.Envs {
					legal := 0
					for _, ok := range ro.LegalAt(ro.Slot(a, i/ro.Envs, i%ro.Envs)) {
						legal += map[bool]int{true: 1}[ok]
					}
					ro.LogProb[ro.Step(a, i/ro.Envs, i%ro.Envs)] = float32(-math.Log(float64(max(legal, 1))))
				}
			}
		}},
	}
}

// drilled says whether the guards speak of what they are to watch for, when they are to and of nothing else.
func (u *session) drilled(ctx context.Context) (check.Finding, error) {
	f := check.Finding{
		Step: 2, Check: "guards speak when they must", Module: "guards", Unit: "guards that do not",
		Says: "Guards, tried on runs with one fault each, name it in the window in which it has lasted long enough, and are silent in a " +
			"healthy run.",
	}
	for i, d := range drills(len(u.spec.Actions)) {
		said, err := u.drill(ctx, i, d)
		if err != nil {
			return f, err
		}
		f.Rows++
		at, got := 0, []string(nil)
		for window, list := range said {
			for _, x := range list {
				if got = append(got, x.Check); at == 0 && x.Check == d.guard && x.Module == d.module {
					at = window + 1
				}
			}
		}
		const next = "train: guards.go and guards_learning.go"
		switch {
		case d.window == 0 && len(got) > 0:
			f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("In a healthy run a guard says %q.", got[0]), next)
		case at != d.window && at == 0:
			f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("No guard says %q of a run in which that is so.", d.guard), next)
		case at != d.window:
			f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("A guard says %q in window %d, it is so for long enough in window %d.", d.guard, at,
				d.window), next)
		}
	}
	return f, nil
}

// moveAll moves every part of a network.
func moveAll(net *nn.Params) {
	for _, part := range net.Parts {
		net.W[part.Off]++
	}
}

// drill runs one and returns what guards said, window by window.
func (u *session) drill(ctx context.Context, number int, d drill) (said [][]check.Finding, err error) {
	const windows = 14
	cfg := u.exp.Train
	cfg.Envs, cfg.Window, cfg.Steps, cfg.Save, cfg.Brains, cfg.Team = 8, 16, 1<<30, 1<<30, nil, nil
	cfg.Standins, cfg.Warm, cfg.Strangers, cfg.GoalWeight = train.Standins{ShareEnd: -1}, train.Warm{}, train.Strangers{}, nil
	g, key := u.parts.Game, rng.New(uint64(number)).Child("drill")
	mind := &dummy{g: g, net: &nn.Params{}, moves: moveAll, stats: map[string]float64{
		"ppo/lr": 1e-3, "ppo/entropy": 1, "ppo/kl": 0.01, "ppo/clipped": 0.1, "ppo/grad_norm": 0.5, "ppo/value_loss": 1e-3,
	}}
	mind.net.Dense("first", 1, 1, nn.None)
	mind.net.Init(key)
	for a := range agent.ID(u.spec.Seats) {
		mind.agents = append(mind.agents, a)
	}
	for name, v := range d.stats {
		mind.stats[name] = v
	}
	if d.change != nil {
		d.change(mind)
	}
	parts := train.Parts{Game: g, Minds: []learner.Mind{mind}, MindOf: make([]int, u.spec.Seats), Key: key, Workers: 1}
	r := key.Child("watch").Rand()
	parts.Watch = func(ro *batch.Rollout, _ bool) { // bots say nothing of values and probabilities, and their rows are not learnt from
		for i := range ro.Value {
			ro.Value[i] = r.Float32()
		}
		for i := range ro.LogProb {
			ro.Own[i], ro.LogProb[i] = ro.Action[i] != game.NoAction, -r.Float32()
		}
		ro.Reward[0] = 1
		if d.spoil != nil {
			d.spoil(ro)
		}
	}
	loop, err := train.NewSelfPlay(cfg, u.exp.Rewards(), parts)
	if err != nil {
		return nil, err
	}
	err = probe.Windows(ctx, loop, windows, func(p *train.Progress) { said = append(said, p.Findings) })
	return said, err
}
