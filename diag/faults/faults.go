// Package faults plants faults, to prove that an audit finds them. It is for
// tests only.
//
// A fault is planted where parts are put together: the game is wrapped, a
// player or a mind is put before another, a window is changed between playing
// and learning, a row of the log is changed before it is written. No other
// package knows that faults exist.
//
// Every fault names the module that it sits in, which is what an audit must
// name first.
package faults

import (
	"strings"

	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/mind"
	"hop/nn"
	"hop/rollout"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// Fault is something wrong that can be planted in a run of a preset.
type Fault struct {
	Name   string
	Module string   // where it sits: set by Named
	Says   string   // what it is, and where in the field it was met
	Preset string   // set by Named if most faults of the module share it
	Sets   []string // changes of the preset that it needs
	Change change
	Rows   func([]runlog.Row) // plants it in the log
}

// change plants a fault in the parts that were made from a spec.
type change = func(s *exp.Spec, p *train.Parts)

// Named returns the faults whose names hold a text, in causal order of their modules.
func Named(text string) []Fault {
	var out []Fault
	for _, part := range []struct {
		module, preset string
		list           []Fault
	}{
		{"game", "ppo-4x4", inGame()}, {"spec", "ppo-4x4", inSpec()}, {"rollout", "ppo-4x4", inRollout()},
		{"buffers", "ppo-4x4", inBuffers()}, {"ppo", "ppo-4x4", inLearner()}, {"moa", "hop-4x4", inOthers()},
		{"world", "ppo-imagine-4x4", inWorld()}, {"planner", "hop-4x4", inPlanner()},
		{"checkpoint", "ppo-4x4", inCheckpoint()}, {"logging", "ppo-4x4", inLog()},
	} {
		for _, f := range part.list {
			if f.Module = part.module; f.Preset == "" {
				f.Preset = part.preset
			}
			if strings.Contains(f.Name, text) {
				out = append(out, f)
			}
		}
	}
	return out
}

// wrapped is a mind with some abilities replaced; nil ones are the inner mind's.
type wrapped struct {
	mind.Mind
	players func(p rollout.Player) rollout.Player
	learn   func(in mind.Mind, w *mind.Window) ([]agent.Stat, error)
	save    func(in mind.Mind, f *safetensors.File, prefix string) error
	load    func(in mind.Mind, f *safetensors.File, prefix string) error
}

func (m *wrapped) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	list, err := m.Mind.Players(a, workers, envs)
	if m.players != nil {
		for i, p := range list {
			list[i] = m.players(p)
		}
	}
	return list, err
}

// Unwrap returns the inner mind.
func (m *wrapped) Unwrap() mind.Mind { return m.Mind }

func (m *wrapped) Learn(w *mind.Window) ([]agent.Stat, error) {
	if m.learn != nil {
		return m.learn(m.Mind, w)
	}
	return m.Mind.Learn(w)
}

func (m *wrapped) Save(f *safetensors.File, prefix string) error {
	if m.save != nil {
		return m.save(m.Mind, f, prefix)
	}
	return saver(m.Mind).Save(f, prefix)
}

func (m *wrapped) Load(f *safetensors.File, prefix string) error {
	if m.load != nil {
		return m.load(m.Mind, f, prefix)
	}
	return saver(m.Mind).Load(f, prefix)
}

// saver returns how a mind is saved.
func saver(m mind.Mind) mind.Saver {
	s, ok := mind.As[mind.Saver](m)
	if !ok {
		panic("faults: the mind cannot be saved")
	}
	return s
}

// weights returns those of the network that a mind acts by.
func weights(m mind.Mind) *nn.Params {
	a, ok := mind.As[mind.Acting](m)
	if !ok {
		panic("faults: the mind has no network")
	}
	_, p := a.Actor()
	return p
}

// player acts as another and does something more.
type player struct {
	rollout.Player
	after func(v *rollout.View, envs []int32)
}

func (p *player) Act(v *rollout.View, envs []int32) {
	p.Player.Act(v, envs)
	p.after(v, envs)
}

func (p *player) EpisodeOver(v *rollout.View, n int) {
	if w, ok := p.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

// allLegal calls every action legal.
func allLegal(ro *batch.Rollout) {
	for i := range ro.Legal {
		ro.Legal[i] = true
	}
}

// ends calls every end of one kind another.
func ends(from, to batch.End) func(*batch.Rollout) {
	return func(ro *batch.Rollout) {
		for i, e := range ro.End {
			if e == from {
				ro.End[i] = to
			}
		}
	}
}

// give makes agent to's rows those of agent from, but for where it sits.
func give(ro *batch.Rollout, to, from agent.ID) {
	slots, steps := (ro.Steps+1)*ro.Envs, ro.Steps*ro.Envs
	a, b := ro.Slot(to, 0, 0), ro.Slot(from, 0, 0)
	copy(ro.Obs[a*ro.ObsLen:(a+slots)*ro.ObsLen], ro.Obs[b*ro.ObsLen:])
	copy(ro.Legal[a*ro.Actions:(a+slots)*ro.Actions], ro.Legal[b*ro.Actions:])
	copy(ro.Alive[a:a+slots], ro.Alive[b:])
	copy(ro.Value[a:a+slots], ro.Value[b:])
	a, b = ro.Step(to, 0, 0), ro.Step(from, 0, 0)
	copy(ro.Reward[a:a+steps], ro.Reward[b:])
	copy(ro.End[a:a+steps], ro.End[b:])
	copy(ro.Reached[a:a+steps], ro.Reached[b:])
	copy(ro.Action[a:a+steps], ro.Action[b:])
	copy(ro.LogProb[a:a+steps], ro.LogProb[b:])
	copy(ro.Own[a:a+steps], ro.Own[b:])
}

// rows calls f at every step of every agent.
func rows(ro *batch.Rollout, f func(a agent.ID, t, n, step, slot int)) {
	for a := range agent.ID(ro.Agents) {
		for t := range ro.Steps {
			for n := range ro.Envs {
				f(a, t, n, ro.Step(a, t, n), ro.Slot(a, t, n))
			}
		}
	}
}

// left reports whether the agent has left its episode, which still runs.
func left(ro *batch.Rollout, a agent.ID, t, n int) bool {
	if ro.Alive[ro.Slot(a, t, n)] {
		return false
	}
	for b := range agent.ID(ro.Agents) {
		if ro.Alive[ro.Slot(b, t, n)] {
			return true
		}
	}
	return false
}

// each wraps every mind.
func each(p *train.Parts, wrap func(i int, m mind.Mind) mind.Mind) {
	for i, m := range p.Minds {
		p.Minds[i] = wrap(i, m)
	}
}
