package faults

import (
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/mind"
	"hop/rollout"
	"hop/train"
)

// remade returns the parts of the spec after a change, with other weights.
func remade(s *exp.Spec, edit func(*exp.Spec)) train.Parts {
	other := *s
	edit(&other)
	p, err := other.Parts(99, exp.Machine{Workers: 1})
	if err != nil {
		panic("faults: the changed spec cannot be built")
	}
	return p
}

func inSpec() []Fault {
	return []Fault{
		{Name: "agent 2 learns at another rate", Says: "settings copied by hand, one of them not",
			Change: func(s *exp.Spec, p *train.Parts) {
				p.Minds[2] = remade(s, func(s *exp.Spec) { s.PPO.LR *= 3 }).Minds[2]
			}},
		{Name: "agent 1 plays with agent 0's brain", Says: "the list of who plays and the list of who learns disagree",
			Change: func(_ *exp.Spec, p *train.Parts) { p.MindOf = slices.Clone(p.MindOf); p.MindOf[1] = 0 }},
		{Name: "agent 3 has a smaller network", Says: "settings of one agent differ",
			Change: func(s *exp.Spec, p *train.Parts) {
				p.Minds[3] = remade(s, func(s *exp.Spec) { s.Actor.Hidden = []int{8} }).Minds[3]
			}},
		{Name: "brains start with equal weights", Says: "one seed for all agents",
			Change: func(_ *exp.Spec, p *train.Parts) {
				for _, m := range p.Minds[1:] {
					weights(m).CopyFrom(weights(p.Minds[0]))
				}
			}},
	}
}

// recording plants a fault in what players record in the envs that they acted in.
func recording(after func(v *rollout.View, envs []int32)) change {
	return func(_ *exp.Spec, p *train.Parts) {
		each(p, func(_ int, m mind.Mind) mind.Mind {
			return &wrapped{Mind: m, players: func(q rollout.Player) rollout.Player { return &player{q, after} }}
		})
	}
}

// acting plants a fault in what players record, env by env.
func acting(after func(v *rollout.View, n int)) change {
	return recording(func(v *rollout.View, envs []int32) {
		for _, n := range envs {
			after(v, int(n))
		}
	})
}

func inRollout() []Fault {
	return []Fault{
		{Name: "the probability of another action", Says: "the log-probability belongs to a second draw",
			Change: acting(func(v *rollout.View, n int) { v.LogProb[v.StepOf(n)] -= 0.7 })},
		{Name: "values of the neighbouring env", Says: "envs mixed up when values are written",
			Change: recording(func(v *rollout.View, envs []int32) {
				first := v.Value[v.SlotOf(int(envs[0]))]
				for i, n := range envs[1:] {
					v.Value[v.SlotOf(int(envs[i]))] = v.Value[v.SlotOf(int(n))]
				}
				v.Value[v.SlotOf(int(envs[len(envs)-1]))] = first
			})},
		{Name: "rewards are changed while playing", Says: "a bonus of a hundredth a step in the true reward",
			Change: acting(func(v *rollout.View, n int) {
				if v.Agent == 0 && v.T > 0 && !v.Start[v.Moment(v.T, n)] {
					v.Reward[v.Step(v.Agent, v.T-1, n)] += 0.01
				}
			})},
		{Name: "everybody acts by agent 0's network", Says: "identity taken from a name when acting",
			Change: func(_ *exp.Spec, p *train.Parts) {
				first := p.Minds[0]
				each(p, func(_ int, m mind.Mind) mind.Mind { return &borrowed{m, first} })
			}},
		{Name: "own rows are marked as a stand-in's", Says: "nine in ten rows of agent 3 are not learnt from",
			Change: acting(func(v *rollout.View, n int) {
				if v.Agent == 3 && (v.T+n)%10 > 0 {
					v.Own[v.StepOf(n)] = false
				}
			})},
		{Name: "what was seen is overwritten while playing", Says: "a network that works in place clears the board it was shown",
			Change: acting(func(v *rollout.View, n int) {
				if v.Agent == 1 {
					v.ObsAt(v.SlotOf(n))[0] += 0.5
				}
			})},
	}
}

// borrowed learns as one mind and plays as another.
type borrowed struct {
	mind.Mind
	plays mind.Mind
}

// Unwrap returns the mind that learns.
func (b *borrowed) Unwrap() mind.Mind { return b.Mind }

func (b *borrowed) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	return b.plays.Players(a, workers, envs)
}

// between plants a fault in windows between playing and learning.
func between(edit func(ro *batch.Rollout)) change {
	return func(_ *exp.Spec, p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, imagined bool) {
			if !imagined {
				edit(ro)
			}
		}
	}
}

func inBuffers() []Fault {
	return []Fault{
		{Name: "actions of agents that had left", Says: "recorded as stay (docs/faults.md#rows-after-exit)",
			Change: between(func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, t, n, step, _ int) {
					if left(ro, a, t, n) {
						ro.Action[step] = 0
					}
				})
			})},
		{Name: "agent 0's rows in everybody's buffer", Says: "the buffer is filled by a name (docs/faults.md#shared-rows)",
			Change: between(func(ro *batch.Rollout) {
				for a := agent.ID(1); int(a) < ro.Agents; a++ {
					give(ro, a, 0)
				}
			})},
		{Name: "rewards a step late", Says: "stored with the next observation's step",
			Change: between(func(ro *batch.Rollout) {
				for a := range agent.ID(ro.Agents) {
					for t := ro.Steps - 1; t > 0; t-- {
						copy(ro.Reward[ro.Step(a, t, 0):ro.Step(a, t, 0)+ro.Envs], ro.Reward[ro.Step(a, t-1, 0):])
					}
				}
			})},
		{Name: "the last observation is overwritten",
			Says: "by the next episode's first, as auto-reset does (docs/faults.md#time-limit-as-death)",
			Change: between(func(ro *batch.Rollout) {
				for a := range agent.ID(ro.Agents) {
					for t := range ro.Steps {
						for n := range ro.Envs {
							if ro.Start[ro.Moment(t+1, n)] {
								copy(ro.ObsAt(ro.Slot(a, t, n)), ro.ObsAt(ro.Slot(a, t+1, n)))
							}
						}
					}
				}
			})},
		{Name: "cuts are called exits", Says: "a time limit learnt as death (docs/faults.md#time-limit-as-death)",
			Change: between(ends(batch.Cut, batch.Exited))},
		{Name: "exits go on", Says: "done is not recorded",
			Change: between(ends(batch.Exited, batch.Going))},
		{Name: "recorded joint actions in seat order", Says: "global order beside ego-first planes (docs/faults.md#mixed-order)",
			Change: func(s *exp.Spec, p *train.Parts) {
				spec := p.Game.Spec()
				at, k := spec.Obs.LastAt(), len(spec.Actions)
				between(func(ro *batch.Rollout) {
					old := make([]float32, spec.Seats*k)
					rows(ro, func(_ agent.ID, _, _, _, slot int) {
						last := ro.ObsAt(slot)[at:]
						copy(old, last)
						for i := range spec.Seats {
							to := (i + int(ro.Seat[slot])) % spec.Seats
							copy(last[to*k:(to+1)*k], old[i*k:(i+1)*k])
						}
					})
				})(s, p)
			}},
		{Name: "the dead are marked alive", Says: "rows after an exit are kept as if they were played",
			Change: between(func(ro *batch.Rollout) {
				for a := range agent.ID(ro.Agents) {
					for t := ro.Steps - 1; t > 0; t-- {
						for n := range ro.Envs {
							if left(ro, a, t, n) && ro.End[ro.Step(a, t-1, n)] == batch.Exited {
								slot, step := ro.Slot(a, t, n), ro.Step(a, t, n)
								ro.Alive[slot], ro.Own[step], ro.Action[step] = true, true, 0
								ro.LegalAt(slot)[0] = true
							}
						}
					}
				}
			})},
		{Name: "seats are the agents' numbers", Says: "the deal of the episode is lost",
			Change: between(func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, _, _, _, slot int) { ro.Seat[slot] = int8(a) })
			})},
		{Name: "starts of episodes are lost", Says: "episodes of an env run into each other",
			Change: between(func(ro *batch.Rollout) { clear(ro.Start) })},
		{Name: "rewards of the next agent", Says: "joined by position, not by agent",
			Change: between(func(ro *batch.Rollout) {
				size := ro.Steps * ro.Envs
				first := slices.Clone(ro.Reward[:size])
				copy(ro.Reward, ro.Reward[size:])
				copy(ro.Reward[len(ro.Reward)-size:], first)
			})},
		{Name: "all-ones masks", Says: "the mask is not recorded",
			Change: between(allLegal)},
		{Name: "rewards are stored scaled", Says: "scaled once in the buffer and once more by the learner",
			Change: between(func(ro *batch.Rollout) {
				for i := range ro.Reward {
					ro.Reward[i] *= 0.2
				}
			})},
	}
}
