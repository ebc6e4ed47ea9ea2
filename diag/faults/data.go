package faults

import (
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/rollout"
	"hop/train"
)

// remade returns the parts of the spec after a change, with other weights.
func remade(s *exp.Spec, change func(*exp.Spec)) train.Parts {
	other := *s
	change(&other)
	p, err := other.Parts(99, exp.Machine{Workers: 1})
	if err != nil {
		panic("faults: the changed spec cannot be built")
	}
	return p
}

func inSpec() []Fault {
	return []Fault{
		{
			Name: "agent 2 learns at another rate", Module: "spec", Preset: "ppo-4x4", Says: "settings copied by hand, one of them not",
			Change: func(s *exp.Spec, p *train.Parts) {
				q := remade(s, func(s *exp.Spec) { s.PPO.LR *= 3 })
				p.Brains[2], p.Minds[2] = q.Brains[2], train.Plain(q.Brains[2])
			},
		},
		{
			Name: "agent 1 plays with agent 0's brain", Module: "spec", Preset: "ppo-4x4", Says: "the list of who plays and the list of who learns disagree",
			Change: func(_ *exp.Spec, p *train.Parts) { p.BrainOf = slices.Clone(p.BrainOf); p.BrainOf[1] = 0 },
		},
		{
			Name: "agent 3 has a smaller network", Module: "spec", Preset: "ppo-4x4", Says: "settings of one agent differ",
			Change: func(s *exp.Spec, p *train.Parts) {
				q := remade(s, func(s *exp.Spec) { s.Actor.Hidden = []int{8} })
				p.Brains[3], p.Minds[3] = q.Brains[3], train.Plain(q.Brains[3])
			},
		},
		{
			Name: "brains start with equal weights", Module: "spec", Preset: "ppo-4x4", Says: "one seed for all agents",
			Change: func(_ *exp.Spec, p *train.Parts) {
				for _, b := range p.Brains[1:] {
					b.Params.CopyFrom(p.Brains[0].Params)
				}
			},
		},
	}
}

// acting plants a fault in what players record.
func acting(only func(agent.ID) bool, after func(v *rollout.View, envs []int32)) func(*exp.Spec, *train.Parts) {
	return func(_ *exp.Spec, p *train.Parts) {
		each(p, func(_ int, m train.Mind) train.Mind {
			return &mind{Mind: m, players: func(a agent.ID, q rollout.Player) rollout.Player {
				if only != nil && !only(a) {
					return q
				}
				return &player{q, after}
			}}
		})
	}
}

func inRollout() []Fault {
	return []Fault{
		{
			Name: "the probability of another action", Module: "rollout", Preset: "ppo-4x4", Says: "the log-probability belongs to a second draw",
			Change: acting(nil, func(v *rollout.View, envs []int32) {
				for _, n := range envs {
					v.LogProb[v.StepOf(int(n))] -= 0.7
				}
			}),
		},
		{
			Name: "values of the neighbouring env", Module: "rollout", Preset: "ppo-4x4", Says: "envs mixed up when values are written",
			Change: acting(nil, func(v *rollout.View, envs []int32) {
				if len(envs) < 2 {
					return
				}
				first := v.Value[v.SlotOf(int(envs[0]))]
				for i := 0; i+1 < len(envs); i++ {
					v.Value[v.SlotOf(int(envs[i]))] = v.Value[v.SlotOf(int(envs[i+1]))]
				}
				v.Value[v.SlotOf(int(envs[len(envs)-1]))] = first
			}),
		},
		{
			Name: "rewards are changed while playing", Module: "rollout", Preset: "ppo-4x4", Says: "a bonus of a hundredth a step in the true reward",
			Change: acting(func(a agent.ID) bool { return a == 0 }, func(v *rollout.View, envs []int32) {
				for _, n := range envs {
					if v.T > 0 && !v.Start[v.Moment(v.T, int(n))] {
						v.Reward[v.Step(v.Agent, v.T-1, int(n))] += 0.01
					}
				}
			}),
		},
		{
			Name: "everybody acts by agent 0's network", Module: "rollout", Preset: "ppo-4x4", Says: "identity guessed when acting",
			Change: func(_ *exp.Spec, p *train.Parts) {
				first := p.Minds[0]
				each(p, func(_ int, m train.Mind) train.Mind { return &borrowed{m, first} })
			},
		},
		{
			Name: "own rows are marked as a stand-in's", Module: "rollout", Preset: "ppo-4x4", Says: "nine in ten rows of agent 3 are not learnt from",
			Change: acting(func(a agent.ID) bool { return a == 3 }, func(v *rollout.View, envs []int32) {
				for _, n := range envs {
					if (v.T+int(n))%10 > 0 {
						v.Own[v.StepOf(int(n))] = false
					}
				}
			}),
		},
		{
			Name: "what was seen is overwritten while playing", Module: "rollout", Preset: "ppo-4x4", Says: "a network that works in place clears the board it was shown",
			Change: acting(func(a agent.ID) bool { return a == 1 }, func(v *rollout.View, envs []int32) {
				for _, n := range envs {
					v.ObsAt(v.SlotOf(int(n)))[0] += 0.5
				}
			}),
		},
	}
}

// borrowed learns as one mind and plays as another.
type borrowed struct {
	train.Mind
	plays train.Mind
}

func (b *borrowed) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	return b.plays.Players(a, workers, envs)
}

// between plants a fault in windows between playing and learning.
func between(change func(ro *batch.Rollout)) func(*exp.Spec, *train.Parts) {
	return func(_ *exp.Spec, p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, imagined bool) {
			if !imagined {
				change(ro)
			}
		}
	}
}

func inBuffers() []Fault {
	return []Fault{
		{
			Name: "actions of agents that had left", Module: "buffers", Preset: "ppo-4x4", Says: "recorded as stay (the users' fault 4)",
			Change: between(func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, t, n, step, _ int) {
					if left(ro, a, t, n) {
						ro.Action[step] = 0
					}
				})
			}),
		},
		{
			Name: "agent 0's rows in everybody's buffer", Module: "buffers", Preset: "ppo-4x4", Says: "the buffer is filled by a name (the users' fault 1)",
			Change: between(func(ro *batch.Rollout) {
				for a := agent.ID(1); int(a) < ro.Agents; a++ {
					give(ro, a, 0)
				}
			}),
		},
		{
			Name: "rewards a step late", Module: "buffers", Preset: "ppo-4x4", Says: "stored with the next observation's step",
			Change: between(func(ro *batch.Rollout) {
				for a := range agent.ID(ro.Agents) {
					for t := ro.Steps - 1; t > 0; t-- {
						copy(ro.Reward[ro.Step(a, t, 0):ro.Step(a, t, 0)+ro.Envs], ro.Reward[ro.Step(a, t-1, 0):])
					}
				}
			}),
		},
		{
			Name: "the last observation is overwritten", Module: "buffers", Preset: "ppo-4x4", Says: "by the next episode's first, as auto-reset does (the users' fault 11)",
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
			}),
		},
		{
			Name: "cuts are called exits", Module: "buffers", Preset: "ppo-4x4", Says: "a time limit learnt as death (the users' fault 11)",
			Change: between(func(ro *batch.Rollout) {
				for i, e := range ro.End {
					if e == batch.Cut {
						ro.End[i] = batch.Exited
					}
				}
			}),
		},
		{
			Name: "exits go on", Module: "buffers", Preset: "ppo-4x4", Says: "done is not recorded",
			Change: between(func(ro *batch.Rollout) {
				for i, e := range ro.End {
					if e == batch.Exited {
						ro.End[i] = batch.Going
					}
				}
			}),
		},
		{
			Name: "recorded joint actions in seat order", Module: "buffers", Preset: "ppo-4x4", Says: "global order beside ego-first planes (the users' fault 5)",
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
			},
		},
		{
			Name: "the dead are marked alive", Module: "buffers", Preset: "ppo-4x4", Says: "rows after an exit are kept as if they were played",
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
			}),
		},
		{
			Name: "seats are the agents' numbers", Module: "buffers", Preset: "ppo-4x4", Says: "the deal of the episode is lost",
			Change: between(func(ro *batch.Rollout) {
				rows(ro, func(a agent.ID, _, _, _, slot int) { ro.Seat[slot] = int8(a) })
			}),
		},
		{
			Name: "starts of episodes are lost", Module: "buffers", Preset: "ppo-4x4", Says: "episodes of an env run into each other",
			Change: between(func(ro *batch.Rollout) { clear(ro.Start) }),
		},
		{
			Name: "rewards of the next agent", Module: "buffers", Preset: "ppo-4x4", Says: "joined by position, not by agent",
			Change: between(func(ro *batch.Rollout) {
				size := ro.Steps * ro.Envs
				first := slices.Clone(ro.Reward[:size])
				copy(ro.Reward, ro.Reward[size:])
				copy(ro.Reward[len(ro.Reward)-size:], first)
			}),
		},
		{
			Name: "all-ones masks", Module: "buffers", Preset: "ppo-4x4", Says: "the mask is not recorded",
			Change: between(func(ro *batch.Rollout) {
				for i := range ro.Legal {
					ro.Legal[i] = true
				}
			}),
		},
		{
			Name: "rewards are stored scaled", Module: "buffers", Preset: "ppo-4x4", Says: "scaled once in the buffer and once more by the learner",
			Change: between(func(ro *batch.Rollout) {
				for i := range ro.Reward {
					ro.Reward[i] *= 0.2
				}
			}),
		},
	}
}
