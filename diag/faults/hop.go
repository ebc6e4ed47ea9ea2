package faults

import (
	"math"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/game"
	"hop/mind"
	"hop/model/moa"
	"hop/plan"
	"hop/rng"
	"hop/rollout"
	"hop/train"
)

func inOthers() []Fault {
	return []Fault{
		{Name: "only agent 0's model of others learns", Says: "code that runs only for agent 1 (docs/faults.md#only-agent-one)",
			Change: undone("moa/net/", notFirst)},
		{Name: "the optimiser does not hold the model's head",
			Says:   "an optimiser that did not hold the model's parameters (docs/faults.md#optimiser-misses-parameters)",
			Change: undone("moa/net/head", everywhere)},
		{Name: "the model learns from who has left",
			Says: "it learns stay, and its loss rises to 10-30 (docs/faults.md#rows-after-exit)",
			Change: onCopy(func(w *mind.Window, me agent.ID) {
				for a := range agent.ID(w.Agents) {
					if a != me {
						prolong(w.Rollout, a)
					}
				}
			})},
		{Name: "softmax twice", Says: "before the cross-entropy: with 7 actions the loss stays above 1.165 (docs/faults.md#double-softmax)",
			Change: func(_ *exp.Spec, p *train.Parts) {
				each(p, func(i int, m mind.Mind) mind.Mind {
					h, _ := mind.As[interface{ Model() *moa.Learner }](m)
					t := &twice{model: h.Model(), me: m.Agents()[0]}
					return &wrapped{Mind: m, learn: t.learn}
				})
			}},
		{Name: "the model learns from oneself", Says: "rows gathered by position: the agent's own among them",
			Change: onCopy(func(w *mind.Window, me agent.ID) { give(w.Rollout, agent.ID((int(me)+1)%w.Agents), me) })},
	}
}

// prolong lets an agent's last step in an episode be the episode's last slot with
// somebody alive, and has it stay until then.
func prolong(ro *batch.Rollout, a agent.ID) {
	for n := range ro.Envs {
		for t := ro.Steps - 2; t >= 0; t-- {
			step, next := ro.Step(a, t, n), ro.Step(a, t+1, n)
			if ro.End[step] != batch.Exited || !left(ro, a, t+1, n) {
				continue
			}
			slot := ro.Slot(a, t+1, n)
			ro.End[step], ro.End[next] = batch.Going, batch.Exited
			ro.Alive[slot] = true
			ro.Reached[next], ro.Reward[next] = ro.Reached[step], ro.Reward[step]
			copy(ro.ObsAt(slot), ro.ObsAt(ro.Slot(a, t, n)))
			ro.Action[next] = max(ro.Action[next], 0)
		}
	}
}

// twice trains a model of others with a softmax on its probabilities.
type twice struct {
	model *moa.Learner
	me    agent.ID
}

func (t *twice) learn(in mind.Mind, w *mind.Window) ([]agent.Stat, error) {
	stats, err := without(in, w, "moa/net/")
	if err != nil {
		return nil, err
	}
	l := t.model
	ro := w.Rollout
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
			if a == t.me || !ro.Alive[slot] {
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
func dreaming(edit func(ro *batch.Rollout)) change {
	return func(_ *exp.Spec, p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, imagined bool) {
			if imagined {
				edit(ro)
			}
		}
	}
}

func inWorld() []Fault {
	return []Fault{
		{Name: "imagination without done", Says: "imagined episodes never end (docs/faults.md#imagination-without-done)",
			Change: dreaming(ends(batch.Exited, batch.Going))},
		{Name: "imagined exits are bootstrapped",
			Says:   "every imagined end is taken for a cut (docs/faults.md#imagination-without-done)",
			Change: dreaming(ends(batch.Exited, batch.Cut))},
		{Name: "imagination with all-ones masks",
			Says:   "every imagined action is called legal (docs/faults.md#imagination-without-done)",
			Change: dreaming(allLegal)},
		{Name: "imagined rewards mixed with returns", Says: "value targets of two kinds: value loss 40-60 (docs/faults.md#mixed-value-targets)",
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
			})},
		{Name: "imagined agents that left are rewarded", Says: "rows after an imagined exit",
			Change: dreaming(func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, t, n, step, _ int) {
					if left(ro, a, t, n) {
						ro.Reward[step], ro.Action[step] = 1, 0
					}
				})
			})},
	}
}

// misled is rules that a search is misled by.
type misled struct {
	mind.Rules
	after func(l *plan.Leaf)
}

func (m *misled) Expand(leaves []plan.Leaf, others []int32, rs []rng.Rand) {
	m.Rules.Expand(leaves, others, rs)
	for i := range leaves {
		m.after(&leaves[i])
	}
}

// misleading plants wrong rules in every search.
func misleading(after func(l *plan.Leaf)) change {
	return func(_ *exp.Spec, p *train.Parts) {
		for _, m := range p.Minds {
			s, _ := mind.As[mind.Searching](m)
			_, made := s.Search()
			right := *made
			*made = func(f *plan.Forest) (mind.Rules, mind.Scripts, error) {
				r, s, err := right(f)
				return &misled{r, after}, s, err
			}
		}
	}
}

// searching changes every search's settings.
func searching(edit func(c *plan.Config)) change {
	return func(_ *exp.Spec, p *train.Parts) {
		for _, m := range p.Minds {
			s, _ := mind.As[mind.Searching](m)
			search, _ := s.Search()
			edit(search)
		}
	}
}

func inPlanner() []Fault {
	return []Fault{
		{Name: "the search sees other rewards", Says: "rewards of a step are halved in the tree",
			Change: misleading(func(l *plan.Leaf) { l.Reward *= 0.5 })},
		{Name: "the search never ends", Says: "an exit is not over: the tree plans on after it",
			Change: misleading(func(l *plan.Leaf) {
				if l.Over {
					l.Over, l.Legal = false, 1
				}
			})},
		{Name: "legal actions of the search are all", Says: "an all-ones mask in the tree",
			Change: misleading(func(l *plan.Leaf) { l.Legal |= 1 << 5 })},
		{Name: "no discount in the search", Says: "the setting is not passed on",
			Change: searching(func(c *plan.Config) { c.Discount = 1 })},
		{Name: "noise where none is asked for", Says: "exploration noise while scoring",
			Change: searching(func(c *plan.Config) { c.NoiseEps = 0.25 })},
		{Name: "the search's policy is recorded in another order", Says: "actions are permuted in the target",
			Change: acting(func(v *rollout.View, n int) {
				t := v.TargetAt(v.StepOf(n))
				first := t[0]
				copy(t, t[1:])
				t[len(t)-1] = first
			})},
		{Name: "another action is played than was searched",
			Says: "a random legal action after the search, with the search's probability",
			Change: acting(func(v *rollout.View, n int) {
				v.Action[v.StepOf(n)] = game.Uniform(v.LegalAt(v.SlotOf(n)), v.Rand(n))
			})},
	}
}
