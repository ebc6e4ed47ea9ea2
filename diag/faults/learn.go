package faults

import (
	"fmt"
	"slices"
	"strings"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/mind"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// onCopy has minds learn from a copy of their window that was changed; me is the
// mind's first agent.
func onCopy(edit func(w *mind.Window, me agent.ID)) change {
	return func(_ *exp.Spec, p *train.Parts) {
		each(p, func(_ int, m mind.Mind) mind.Mind {
			return &wrapped{Mind: m, learn: func(in mind.Mind, w *mind.Window) ([]agent.Stat, error) {
				c := *w
				c.Rollout = batch.New(w.Shape)
				c.CopyFrom(w.Rollout)
				edit(&c, in.Agents()[0])
				return in.Learn(&c)
			}}
		})
	}
}

// undone has minds learn, and puts the tensors back whose names begin so, where it
// applies: i is the mind's number, updates how often it will have learnt.
func undone(prefix string, where func(i, updates int) bool) change {
	return func(_ *exp.Spec, p *train.Parts) {
		each(p, func(i int, m mind.Mind) mind.Mind {
			return &wrapped{Mind: m, learn: func(in mind.Mind, w *mind.Window) ([]agent.Stat, error) {
				learnt := 0
				if c, ok := mind.As[mind.Counting](in); ok {
					learnt = c.Counts().Updates
				}
				if where(i, learnt+1) {
					return without(in, w, prefix)
				}
				return in.Learn(w)
			}}
		})
	}
}

func everywhere(_, _ int) bool { return true }
func notFirst(i, _ int) bool   { return i > 0 }

// without learns as the mind does, and puts back the tensors that begin so.
func without(in mind.Mind, w *mind.Window, prefix string) ([]agent.Stat, error) {
	before, after := &safetensors.File{}, &safetensors.File{}
	if err := saver(in).Save(before, ""); err != nil {
		return nil, err
	}
	stats, err := in.Learn(w)
	if err != nil {
		return nil, err
	}
	if err := saver(in).Save(after, ""); err != nil {
		return nil, err
	}
	return stats, saver(in).Load(keep(after, before, prefix), "")
}

func inLearner() []Fault {
	return []Fault{
		{Name: "all learn from agent 0's rows",
			Says:   "train() took its identity from a name: R1 > R2 > R3 > R4 (docs/faults.md#shared-rows)",
			Change: onCopy(func(w *mind.Window, me agent.ID) { give(w.Rollout, me, 0) })},
		{Name: "only agent 0 learns", Says: "code that runs only for agent 1 (docs/faults.md#only-agent-one)",
			Change: undone("net/", notFirst)},
		Frozen(4),
		{Name: "the optimiser does not hold the policy head",
			Says:   "made before the network was complete (docs/faults.md#optimiser-misses-parameters)",
			Change: undone("net/head/b", everywhere)},
		{Name: "rows after an exit are learnt from", Says: "the learner has no mask (docs/faults.md#rows-after-exit)",
			Change: onCopy(func(w *mind.Window, _ agent.ID) {
				rows(w.Rollout, func(a agent.ID, t, n, step, slot int) {
					if left(w.Rollout, a, t, n) {
						w.Alive[slot], w.Own[step], w.LegalAt(slot)[0] = true, true, true
						w.Action[step] = max(w.Action[step], 0)
					}
				})
			})},
		{Name: "rows of stand-ins are learnt from", Sets: []string{"train.standins.share=0.5", "train.standins.who=[nh]"},
			Says: "what a bot did in the agent's place, as if the agent had done it",
			Change: onCopy(func(w *mind.Window, _ agent.ID) {
				rows(w.Rollout, func(_ agent.ID, _, _, step, slot int) { w.Own[step] = w.Alive[slot] })
			})},
		{Name: "a cut is not bootstrapped", Says: "terminated or truncated, it is all done (docs/faults.md#time-limit-as-death)",
			Change: onCopy(func(w *mind.Window, _ agent.ID) { ends(batch.Cut, batch.Exited)(w.Rollout) })},
		{Name: "an exit is bootstrapped", Says: "done is ignored in the advantages",
			Change: onCopy(func(w *mind.Window, _ agent.ID) { ends(batch.Exited, batch.Cut)(w.Rollout) })},
		{Name: "no discount", Says: "the returns' gamma is 1, the spec's 0.99",
			Change: func(s *exp.Spec, p *train.Parts) {
				copy(p.Minds, remade(s, func(s *exp.Spec) { s.PPO.Gamma = 1 }).Minds)
			}},
		{Name: "selfish agents learn the team's reward", Says: "a switch of an earlier experiment is still on",
			Change: onCopy(func(w *mind.Window, _ agent.ID) { w.Rewards.Prosocial = 1 })},
		{Name: "the mask is ignored in the loss", Says: "masked when acting, not when learning",
			Change: onCopy(func(w *mind.Window, _ agent.ID) { allLegal(w.Rollout) })},
		{Name: "policies that have collapsed", Says: "every agent stays where it is, whatever it sees",
			Change: func(_ *exp.Spec, p *train.Parts) {
				stay := slices.Index(p.Game.Spec().Actions, "stay")
				for _, m := range p.Minds {
					net := weights(m)
					if part, ok := net.Find("head/b"); ok && stay >= 0 {
						net.W[part.Off+stay] = 12
					}
				}
			}},
		{Name: "the board is not read", Says: "an encoder that gives zeros",
			Change: onCopy(func(w *mind.Window, _ agent.ID) { clear(w.Obs) })},
	}
}

// Frozen stops agents above 0 after so many updates; the users met it after 75.
func Frozen(after int) Fault {
	return Fault{
		Name: fmt.Sprintf("agents 1 to 3 freeze after %d updates", after), Module: "ppo", Preset: "ppo-4x4",
		Says:   "a counter that all agents share (docs/faults.md#only-agent-one)",
		Change: undone("net/", func(i, updates int) bool { return i > 0 && updates > after }),
	}
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

// unloaded has minds keep the tensors that begin so when they are loaded.
func unloaded(part string) change {
	return func(_ *exp.Spec, p *train.Parts) {
		each(p, func(_ int, m mind.Mind) mind.Mind {
			return &wrapped{Mind: m, load: func(in mind.Mind, f *safetensors.File, prefix string) error {
				now := &safetensors.File{}
				if err := saver(in).Save(now, prefix); err != nil {
					return err
				}
				return saver(in).Load(keep(f, now, prefix+part), prefix)
			}}
		})
	}
}

func inCheckpoint() []Fault {
	return []Fault{
		{Name: "the model of others is not loaded", Preset: "hop-4x4",
			Says:   "saved but never loaded again: periodic loss spikes (docs/faults.md#saved-never-loaded)",
			Change: unloaded("moa/net/")},
		{Name: "the optimiser is not loaded", Says: "a resumed run starts with other moments", Change: unloaded("adam/")},
		{Name: "every agent saves agent 0's weights", Says: "a file name without the agent's number",
			Change: func(_ *exp.Spec, p *train.Parts) {
				first := weights(p.Minds[0])
				each(p, func(_ int, m mind.Mind) mind.Mind {
					return &wrapped{Mind: m, save: func(in mind.Mind, f *safetensors.File, prefix string) error {
						if err := saver(in).Save(f, prefix); err != nil {
							return err
						}
						zero := &safetensors.File{}
						first.Save(zero, prefix+"net/")
						*f = *keep(f, zero, prefix+"net/")
						return nil
					}}
				})
			}},
	}
}

// logged changes rows of that name.
func logged(name string, edit func(r *runlog.Row)) func([]runlog.Row) {
	return func(list []runlog.Row) {
		for i := range list {
			if list[i].Name == name {
				edit(&list[i])
			}
		}
	}
}

func inLog() []Fault {
	return []Fault{
		{Name: "counts of rows are wrong", Says: "dead rows are counted too",
			Rows: logged("count/rows", func(r *runlog.Row) { r.Value *= 2 })},
		{Name: "means include the dead", Says: "a mean over rows that hold nothing",
			Rows: logged("return", func(r *runlog.Row) { r.Value *= 0.45 })},
		{Name: "agents 0 and 1 log under each other's name", Says: "two losses under one name",
			Rows: logged("ppo/value_loss", func(r *runlog.Row) {
				if r.Agent < 2 {
					r.Agent = 1 - r.Agent
				}
			})},
		{Name: "the number of rows behind a loss is wrong", Says: "the batch's size, not the rows alive",
			Rows: logged("ppo/entropy", func(r *runlog.Row) { r.N = 512 })},
		{Name: "all rewards are logged for agent 0", Says: "an account by the first name", Rows: func(list []runlog.Row) {
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
