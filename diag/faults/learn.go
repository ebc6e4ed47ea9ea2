package faults

import (
	"fmt"
	"slices"
	"strings"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/ppo"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// learning plants a fault in how minds learn.
func learning(wrap func(i int, b *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error)) func(*exp.Spec, *train.Parts) {
	return func(_ *exp.Spec, p *train.Parts) {
		brains := p.Brains
		each(p, func(i int, m train.Mind) train.Mind {
			return &mind{Mind: m, learn: func(in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				return wrap(i, brains[i], in, ro, shape, share)
			}}
		})
	}
}

func inLearner() []Fault {
	return []Fault{
		{
			Name: "all learn from agent 0's rows", Module: "ppo", Preset: "ppo-4x4", Says: "train() guessed its identity: R1 > R2 > R3 > R4 (the users' fault 1)",
			Change: learning(func(i int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				give(c, agent.ID(i), 0)
				return in.Learn(c, shape, share)
			}),
		},
		{
			Name: "only agent 0 learns", Module: "ppo", Preset: "ppo-4x4", Says: "code that runs only for agent 1 (the users' fault 10)",
			Change: learning(func(i int, b *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				before := slices.Clone(b.Params.W)
				stats, err := in.Learn(ro, shape, share)
				if i > 0 {
					copy(b.Params.W, before)
				}
				return stats, err
			}),
		},
		{
			Name: "agents 1 to 3 freeze after 4 updates", Module: "ppo", Preset: "ppo-4x4", Says: "theirs froze after 75 (the users' fault 10)",
			Change: frozen(4),
		},
		{
			Name: "the optimiser does not hold the policy head", Module: "ppo", Preset: "ppo-4x4", Says: "made before the network was complete (the users' fault 3)",
			Change: learning(func(_ int, b *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				part := b.Params.Parts[len(b.Params.Parts)-1]
				before := slices.Clone(b.Params.W[part.Off : part.Off+part.Len])
				stats, err := in.Learn(ro, shape, share)
				copy(b.Params.W[part.Off:], before)
				return stats, err
			}),
		},
		{
			Name: "rows after an exit are learnt from", Module: "ppo", Preset: "ppo-4x4", Says: "the learner has no mask (the users' fault 4)",
			Change: learning(func(_ int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				rows(c, func(a agent.ID, t, n, step, slot int) {
					if left(ro, a, t, n) {
						c.Alive[slot], c.Own[step], c.LegalAt(slot)[0] = true, true, true
						c.Action[step] = max(c.Action[step], 0)
					}
				})
				return in.Learn(c, shape, share)
			}),
		},
		{
			Name: "rows of stand-ins are learnt from", Module: "ppo", Preset: "ppo-4x4", Sets: []string{"train.standins.share=0.5", "train.standins.who=[nh]"},
			Says: "what a bot did in the agent's place, as if the agent had done it",
			Change: learning(func(_ int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				rows(c, func(_ agent.ID, _, _, step, slot int) { c.Own[step] = c.Alive[slot] })
				return in.Learn(c, shape, share)
			}),
		},
		{
			Name: "a cut is not bootstrapped", Module: "ppo", Preset: "ppo-4x4", Says: "terminated or truncated, it is all done (the users' fault 11)",
			Change: learning(func(_ int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				for i, e := range c.End {
					if e == batch.Cut {
						c.End[i] = batch.Exited
					}
				}
				return in.Learn(c, shape, share)
			}),
		},
		{
			Name: "an exit is bootstrapped", Module: "ppo", Preset: "ppo-4x4", Says: "done is ignored in the advantages",
			Change: learning(func(_ int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				for i, e := range c.End {
					if e == batch.Exited {
						c.End[i] = batch.Cut
					}
				}
				return in.Learn(c, shape, share)
			}),
		},
		{
			Name: "no discount", Module: "ppo", Preset: "ppo-4x4", Says: "the returns' gamma is 1, the spec's 0.99",
			Change: func(s *exp.Spec, p *train.Parts) {
				q := remade(s, func(s *exp.Spec) { s.PPO.Gamma = 1 })
				for i := range p.Brains {
					p.Brains[i], p.Minds[i] = q.Brains[i], train.Plain(q.Brains[i])
				}
			},
		},
		{
			Name: "selfish agents learn the team's reward", Module: "ppo", Preset: "ppo-4x4", Says: "a switch of an earlier experiment is still on",
			Change: learning(func(_ int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				shape.Prosocial = 1
				return in.Learn(ro, shape, share)
			}),
		},
		{
			Name: "the mask is ignored in the loss", Module: "ppo", Preset: "ppo-4x4", Says: "masked when acting, not when learning",
			Change: learning(func(_ int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				for i := range c.Legal {
					c.Legal[i] = true
				}
				return in.Learn(c, shape, share)
			}),
		},
		{
			Name: "policies that have collapsed", Module: "ppo", Preset: "ppo-4x4", Says: "every agent stays where it is, whatever it sees",
			Change: func(_ *exp.Spec, p *train.Parts) {
				stay := slices.Index(p.Game.Spec().Actions, "stay")
				for _, b := range p.Brains {
					if part, ok := b.Params.Find("head/b"); ok && stay >= 0 {
						b.Params.W[part.Off+stay] = 12
					}
				}
			},
		},
		{
			Name: "the board is not read", Module: "ppo", Preset: "ppo-4x4", Says: "an encoder that gives zeros",
			Change: learning(func(_ int, _ *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
				c := clone(ro)
				clear(c.Obs)
				return in.Learn(c, shape, share)
			}),
		},
	}
}

// frozen stops agents above 0 after so many updates.
func frozen(after int) func(*exp.Spec, *train.Parts) {
	return learning(func(i int, b *ppo.Brain, in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
		before := slices.Clone(b.Params.W)
		stats, err := in.Learn(ro, shape, share)
		if i > 0 && b.Updates > after {
			copy(b.Params.W, before)
		}
		return stats, err
	})
}

// Frozen is the users' fault 10 as the users met it.
func Frozen(after int) Fault {
	return Fault{Name: fmt.Sprintf("agents 1 to 3 freeze after %d updates", after), Module: "ppo", Preset: "ppo-4x4", Says: "the users' fault 10", Change: frozen(after)}
}

// keep returns f with the tensors whose names begin so taken from old.
func keep(f, old *safetensors.File, prefix string) *safetensors.File {
	out := &safetensors.File{Meta: f.Meta}
	for _, t := range f.Tensors {
		if u, ok := old.Get(t.Name); ok && strings.HasPrefix(t.Name, prefix) {
			t = u
		}
		out.Tensors = append(out.Tensors, t)
	}
	return out
}

func inCheckpoint() []Fault {
	return []Fault{
		{
			Name: "the model of others is not loaded", Module: "checkpoint", Preset: "hop-4x4", Says: "saved but never loaded again: periodic loss spikes (the users' fault 9)",
			Change: func(_ *exp.Spec, p *train.Parts) {
				each(p, func(_ int, m train.Mind) train.Mind {
					return &mind{Mind: m, load: func(in train.Mind, f *safetensors.File, prefix string) error {
						now := &safetensors.File{}
						if err := in.Save(now, prefix); err != nil {
							return err
						}
						return in.Load(keep(f, now, prefix+"moa/net/"), prefix)
					}}
				})
			},
		},
		{
			Name: "the optimiser is not loaded", Module: "checkpoint", Preset: "ppo-4x4", Says: "a resumed run starts with other moments",
			Change: func(_ *exp.Spec, p *train.Parts) {
				each(p, func(_ int, m train.Mind) train.Mind {
					return &mind{Mind: m, load: func(in train.Mind, f *safetensors.File, prefix string) error {
						now := &safetensors.File{}
						if err := in.Save(now, prefix); err != nil {
							return err
						}
						return in.Load(keep(f, now, prefix+"adam/"), prefix)
					}}
				})
			},
		},
		{
			Name: "every agent saves agent 0's weights", Module: "checkpoint", Preset: "ppo-4x4", Says: "a file name without the agent's number",
			Change: func(_ *exp.Spec, p *train.Parts) {
				first := p.Brains[0]
				each(p, func(_ int, m train.Mind) train.Mind {
					return &mind{Mind: m, save: func(in train.Mind, f *safetensors.File, prefix string) error {
						if err := in.Save(f, prefix); err != nil {
							return err
						}
						zero := &safetensors.File{}
						first.Params.Save(zero, prefix+"net/")
						*f = *keep(f, zero, prefix+"net/")
						return nil
					}}
				})
			},
		},
	}
}

// logged changes rows of that name.
func logged(name string, change func(r *runlog.Row)) func([]runlog.Row) {
	return func(list []runlog.Row) {
		for i := range list {
			if list[i].Name == name {
				change(&list[i])
			}
		}
	}
}

func inLog() []Fault {
	return []Fault{
		{Name: "counts of rows are wrong", Module: "logging", Preset: "ppo-4x4", Says: "dead rows are counted too", Rows: logged("count/rows", func(r *runlog.Row) { r.Value *= 2 })},
		{Name: "means include the dead", Module: "logging", Preset: "ppo-4x4", Says: "a mean over rows that hold nothing", Rows: logged("return", func(r *runlog.Row) { r.Value *= 0.45 })},
		{Name: "agents 0 and 1 log under each other's name", Module: "logging", Preset: "ppo-4x4", Says: "two losses under one name", Rows: logged("ppo/value_loss", func(r *runlog.Row) {
			if r.Agent < 2 {
				r.Agent = 1 - r.Agent
			}
		})},
		{Name: "the number of rows behind a loss is wrong", Module: "logging", Preset: "ppo-4x4", Says: "the batch's size, not the rows alive", Rows: logged("ppo/entropy", func(r *runlog.Row) { r.N = 512 })},
		{Name: "all rewards are logged for agent 0", Module: "logging", Preset: "ppo-4x4", Says: "an account by the first name", Rows: func(list []runlog.Row) {
			sum := 0.
			for _, r := range list {
				if r.Name == "return" {
					sum += r.Value
				}
			}
			logged("return", func(r *runlog.Row) {
				if r.Value = 0; r.Agent == 0 {
					r.Value = sum
				}
			})(list)
		}},
	}
}
