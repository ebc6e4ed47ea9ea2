package faults

import (
	"math"
	"strings"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/game"
	"hop/plan"
	"hop/ppo"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
	"hop/train"
)

// without learns as the mind does, and puts back the tensors that begin so.
func without(in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64, prefix string) ([]agent.Stat, error) {
	before, after := &safetensors.File{}, &safetensors.File{}
	if err := in.Save(before, ""); err != nil {
		return nil, err
	}
	stats, err := in.Learn(ro, shape, share)
	if err != nil {
		return nil, err
	}
	if err := in.Save(after, ""); err != nil {
		return nil, err
	}
	return stats, in.Load(keep(after, before, prefix), "")
}

func inOthers() []Fault {
	return []Fault{
		{
			Name: "only agent 0's model of others learns", Module: "moa", Preset: "hop-4x4", Says: "code that runs only for agent 1 (the users' fault 10)",
			Change: learning(func(i int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				if i == 0 {
					return in.Learn(ro, shape, share)
				}
				return without(in, ro, shape, share, "moa/net/")
			}),
		},
		{
			Name: "the optimiser does not hold the model's head", Module: "moa", Preset: "hop-4x4", Says: "an optimiser that did not hold the model's parameters (the users' fault 3)",
			Change: learning(func(_ int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				return without(in, ro, shape, share, "moa/net/head")
			}),
		},
		{
			Name: "the model learns from who has left", Module: "moa", Preset: "hop-4x4", Says: "it learns stay, and its loss rises to 10-30 (the users' fault 4)",
			Change: learning(func(i int, b *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				for a := range agent.ID(ro.Agents) {
					if a != b.Agents[0] {
						prolong(c, ro, a)
					}
				}
				return in.Learn(c, shape, share)
			}),
		},
		{
			Name: "softmax twice", Module: "moa", Preset: "hop-4x4", Says: "before the cross-entropy: with 7 actions the loss stays above 1.165 (the users' fault 2)",
			Change: func(_ *exp.Spec, p *train.Parts) {
				each(p, func(i int, m train.Mind) train.Mind {
					h := m.(*train.HOP)
					t := &twice{h: h, me: p.Brains[i].Agents[0]}
					return &mind{Mind: m, learn: t.learn}
				})
			},
		},
		{
			Name: "the model learns from oneself", Module: "moa", Preset: "hop-4x4", Says: "rows gathered by position: the agent's own among them",
			Change: learning(func(_ int, b *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				me := b.Agents[0]
				give(c, agent.ID((int(me)+1)%ro.Agents), me)
				return in.Learn(c, shape, share)
			}),
		},
	}
}

// prolong lets an agent's last step in an episode be the episode's last slot with
// somebody alive, and has it stay until then.
func prolong(c, ro *batch.Rollout, a agent.ID) {
	for n := range ro.Envs {
		for t := ro.Steps - 2; t >= 0; t-- {
			step, next := ro.Step(a, t, n), ro.Step(a, t+1, n)
			if ro.End[step] != batch.Exited || !left(ro, a, t+1, n) {
				continue
			}
			slot := ro.Slot(a, t+1, n)
			c.End[step], c.End[next] = batch.Going, batch.Exited
			c.Alive[slot] = true
			c.Reached[next], c.Reward[next] = ro.Reached[step], ro.Reward[step]
			copy(c.ObsAt(slot), ro.ObsAt(ro.Slot(a, t, n)))
			c.Action[next] = max(ro.Action[next], 0)
		}
	}
}

// twice trains a model of others with a softmax on its probabilities.
type twice struct {
	h  *train.HOP
	me agent.ID
}

func (w *twice) learn(in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
	stats, err := without(in, ro, shape, share, "moa/net/")
	if err != nil {
		return nil, err
	}
	l := w.h.Insides().Others
	k := l.Model.Actions
	goal := make([]float32, l.Model.GoalLen)
	sum, n := 0., 0
	for range 2 {
		ws := l.Model.Work(256)
		var acts []int32
		var masks [][]bool
		flush := func() {
			if len(acts) == 0 {
				return
			}
			ws.Forward(l.Params)
			ws.ZeroGrad()
			for i, a := range acts {
				loss := double(ws.DLogits[i*k:(i+1)*k], ws.Logits[i*k:(i+1)*k], masks[i], a, len(acts))
				sum, n = sum+loss, n+1
			}
			ws.Backward(l.Params)
			ws.Reset()
			acts, masks = acts[:0], masks[:0]
			for i, g := range l.Params.G { // plain descent: nothing more to save
				l.Params.W[i] -= 0.3 * g
			}
			l.Params.ZeroGrad()
		}
		rows(ro, func(a agent.ID, _, _, step, slot int) {
			if a == w.me || !ro.Alive[slot] {
				return
			}
			ws.Add(ro.ObsAt(slot), goal)
			acts, masks = append(acts, ro.Action[step]), append(masks, ro.LegalAt(slot))
			if len(acts) == 256 {
				flush()
			}
		})
		flush()
	}
	for i := range stats {
		if stats[i].Name == "moa/ce" && n > 0 {
			stats[i].Value = sum / float64(n)
		}
	}
	return stats, nil
}

// double writes the gradient of -log softmax(softmax(logits))[a] and returns it.
func double(grad, logits []float32, legal []bool, a int32, rows int) float64 {
	p := soft(logits, legal)
	q := make([]float64, len(p))
	all := 0.
	for k := range p {
		q[k] = math.Exp(p[k])
		all += q[k]
	}
	dot := 0.
	dp := make([]float64, len(p))
	for k := range p {
		q[k] /= all
		dp[k] = q[k]
		if int32(k) == a {
			dp[k]--
		}
		dot += p[k] * dp[k]
	}
	for k := range p {
		grad[k] = float32(p[k] * (dp[k] - dot) / float64(rows))
	}
	return -math.Log(q[a])
}

func soft(logits []float32, legal []bool) []float64 {
	out := make([]float64, len(logits))
	sum := 0.
	for k, ok := range legal {
		if ok {
			out[k] = math.Exp(float64(logits[k]))
			sum += out[k]
		}
	}
	for k := range out {
		out[k] /= sum
	}
	return out
}

// dreaming plants a fault in imagined windows.
func dreaming(change func(ro *batch.Rollout)) func(*exp.Spec, *train.Parts) {
	return func(_ *exp.Spec, p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, imagined bool) {
			if imagined {
				change(ro)
			}
		}
	}
}

func inWorld() []Fault {
	return []Fault{
		{
			Name: "imagination without done", Module: "world", Preset: "ppo-imagine-4x4", Says: "imagined episodes never end (the users' fault 8)",
			Change: dreaming(func(ro *batch.Rollout) {
				for i, e := range ro.End {
					if e == batch.Exited {
						ro.End[i] = batch.Going
					}
				}
			}),
		},
		{
			Name: "imagined exits are bootstrapped", Module: "world", Preset: "ppo-imagine-4x4", Says: "every imagined end is taken for a cut (the users' fault 8)",
			Change: dreaming(func(ro *batch.Rollout) {
				for i, e := range ro.End {
					if e == batch.Exited {
						ro.End[i] = batch.Cut
					}
				}
			}),
		},
		{
			Name: "imagination with all-ones masks", Module: "world", Preset: "ppo-imagine-4x4", Says: "the users' fault 8",
			Change: dreaming(func(ro *batch.Rollout) {
				for i := range ro.Legal {
					ro.Legal[i] = true
				}
			}),
		},
		{
			Name: "imagined rewards mixed with returns", Module: "world", Preset: "ppo-imagine-4x4", Says: "value targets of two kinds: value loss 40-60 (the users' fault 7)",
			Change: dreaming(func(ro *batch.Rollout) {
				for a := range agent.ID(ro.Agents) {
					for t := ro.Steps - 2; t >= 0; t-- {
						for n := range ro.Envs {
							if ro.Alive[ro.Slot(a, t, n)] && ro.End[ro.Step(a, t, n)] == batch.Going {
								ro.Reward[ro.Step(a, t, n)] += 0.99 * ro.Reward[ro.Step(a, t+1, n)]
							}
						}
					}
				}
			}),
		},
		{
			Name: "imagined agents that left are rewarded", Module: "world", Preset: "ppo-imagine-4x4", Says: "rows after an imagined exit",
			Change: dreaming(func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, t, n, step, _ int) {
					if left(ro, a, t, n) {
						ro.Reward[step], ro.Action[step] = 1, 0
					}
				})
			}),
		},
	}
}

// misled is rules that a search is misled by.
type misled struct {
	train.Rules
	before func(l *plan.Leaf)
	after  func(l *plan.Leaf)
}

func (m *misled) Expand(leaves []plan.Leaf, others []int32, rs []rng.Rand) {
	played := make([]int32, len(leaves))
	for i := range leaves {
		played[i] = leaves[i].Action
		if m.before != nil {
			m.before(&leaves[i])
		}
	}
	m.Rules.Expand(leaves, others, rs)
	for i := range leaves {
		leaves[i].Action = played[i]
		if m.after != nil {
			m.after(&leaves[i])
		}
	}
}

// misleading plants wrong rules in every search.
func misleading(before, after func(l *plan.Leaf)) func(*exp.Spec, *train.Parts) {
	return func(_ *exp.Spec, p *train.Parts) {
		for _, m := range p.Minds {
			in := m.(*train.HOP).Insides()
			right := *in.Rules
			*in.Rules = func(envs, trees int) (train.Rules, train.Scripts, error) {
				r, s, err := right(envs, trees)
				return &misled{r, before, after}, s, err
			}
		}
	}
}

// searching changes every search's settings.
func searching(change func(c *plan.Config)) func(*exp.Spec, *train.Parts) {
	return func(_ *exp.Spec, p *train.Parts) {
		for _, m := range p.Minds {
			change(m.(*train.HOP).Insides().Search)
		}
	}
}

func inPlanner() []Fault {
	return []Fault{
		{
			Name: "the search sees other rewards", Module: "planner", Preset: "hop-4x4", Says: "rewards of a step are halved in the tree",
			Change: misleading(nil, func(l *plan.Leaf) { l.Reward *= 0.5 }),
		},
		{
			Name: "the search never ends", Module: "planner", Preset: "hop-4x4", Says: "an exit is not over: the tree plans on after it",
			Change: misleading(nil, func(l *plan.Leaf) {
				if l.Over {
					l.Over, l.Legal = false, 1
				}
			}),
		},
		{
			Name: "legal actions of the search are all", Module: "planner", Preset: "hop-4x4", Says: "an all-ones mask in the tree",
			Change: misleading(nil, func(l *plan.Leaf) { l.Legal |= 1 << 5 }),
		},
		{
			Name: "no discount in the search", Module: "planner", Preset: "hop-4x4", Says: "the setting is not passed on",
			Change: searching(func(c *plan.Config) { c.Discount = 1 }),
		},
		{
			Name: "noise where none is asked for", Module: "planner", Preset: "hop-4x4", Says: "exploration noise while judging",
			Change: searching(func(c *plan.Config) { c.NoiseEps = 0.25 }),
		},
		{
			Name: "the search's policy is recorded in another order", Module: "planner", Preset: "hop-4x4", Says: "actions are permuted in the target",
			Change: acting(nil, func(v *rollout.View, envs []int32) {
				for _, n := range envs {
					t := v.TargetAt(v.StepOf(int(n)))
					first := t[0]
					copy(t, t[1:])
					t[len(t)-1] = first
				}
			}),
		},
		{
			Name: "another action is played than was searched", Module: "planner", Preset: "hop-4x4", Says: "a random legal action after the search, with the search's probability",
			Change: acting(nil, func(v *rollout.View, envs []int32) {
				for _, n := range envs {
					v.Action[v.StepOf(int(n))] = game.Uniform(v.LegalAt(v.SlotOf(int(n))), v.Rand(int(n)))
				}
			}),
		},
	}
}

// Named returns the faults whose names hold a text.
func Named(text string) []Fault {
	var out []Fault
	for _, f := range All() {
		if strings.Contains(f.Name, text) {
			out = append(out, f)
		}
	}
	return out
}
