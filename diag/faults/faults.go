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
	"hop/agent"
	"hop/batch"
	"hop/exp"
	"hop/ppo"
	"hop/rollout"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// Fault is something wrong that can be planted in a run of a preset.
type Fault struct {
	Name   string
	Module string // where it sits
	Says   string // what it is, and where in the field it was met
	Preset string
	Sets   []string // changes of the preset that it needs
	// Change plants it; s is the spec that the parts were made from.
	Change func(s *exp.Spec, p *train.Parts)
	Rows   func([]runlog.Row) // plants it in the log
}

// All lists every fault, in causal order of their modules.
func All() []Fault {
	var all []Fault
	for _, list := range [][]Fault{inGame(), inSpec(), inRollout(), inBuffers(), inLearner(), inOthers(), inWorld(), inPlanner(), inCheckpoint(), inLog()} {
		all = append(all, list...)
	}
	return all
}

// mind is a Mind with some abilities replaced; nil ones are the inner mind's.
type mind struct {
	train.Mind
	players func(a agent.ID, p rollout.Player) rollout.Player
	learn   func(in train.Mind, ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error)
	save    func(in train.Mind, f *safetensors.File, prefix string) error
	load    func(in train.Mind, f *safetensors.File, prefix string) error
}

func (m *mind) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	list, err := m.Mind.Players(a, workers, envs)
	if m.players != nil {
		for i, p := range list {
			list[i] = m.players(a, p)
		}
	}
	return list, err
}

func (m *mind) Learn(ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
	if m.learn != nil {
		return m.learn(m.Mind, ro, shape, share)
	}
	return m.Mind.Learn(ro, shape, share)
}

func (m *mind) Save(f *safetensors.File, prefix string) error {
	if m.save != nil {
		return m.save(m.Mind, f, prefix)
	}
	return m.Mind.Save(f, prefix)
}

func (m *mind) Load(f *safetensors.File, prefix string) error {
	if m.load != nil {
		return m.load(m.Mind, f, prefix)
	}
	return m.Mind.Load(f, prefix)
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

// clone returns a copy of a window.
func clone(ro *batch.Rollout) *batch.Rollout {
	c := batch.New(ro.Shape)
	copy(c.Obs, ro.Obs)
	copy(c.Legal, ro.Legal)
	copy(c.Alive, ro.Alive)
	copy(c.Seat, ro.Seat)
	copy(c.Reward, ro.Reward)
	copy(c.End, ro.End)
	copy(c.Reached, ro.Reached)
	copy(c.Start, ro.Start)
	copy(c.Action, ro.Action)
	copy(c.LogProb, ro.LogProb)
	copy(c.Own, ro.Own)
	copy(c.Value, ro.Value)
	copy(c.Goal, ro.Goal)
	copy(c.Target, ro.Target)
	return c
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
func each(p *train.Parts, wrap func(i int, m train.Mind) train.Mind) {
	for i, m := range p.Minds {
		p.Minds[i] = wrap(i, m)
	}
}
