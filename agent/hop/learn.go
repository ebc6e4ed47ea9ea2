package hop

import (
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/rng"
)

// Learn takes one window: what its steps were done for is known now, so what is
// known of the others and of their goals comes first, then the own network.
func (m *Mind) Learn(w *learner.Window) ([]agent.Stat, error) {
	u := m.update(w)
	m.goals.Label(u)  // what each co-player's steps were done for, in hindsight
	m.goals.Fit(u)    // the inference of it
	m.others.Score(u) // the model of others, on what it has not seen yet
	m.goals.Recall(u) // the same of what known players did, so that they are not forgotten
	m.others.Fit(u)   // and what all that teaches it
	m.vectors.Fit(u)  // the world model, where it is learnt while playing
	m.own.Fit(u)      // the own network: from the search's policy, or by PPO
	return u.stats, u.err
}

// update is one update of an agent: what its parts learn from, and what they say of it. A
// part does nothing once another has failed.
type update struct {
	window      *learner.Window
	others, own bool // what is learnt: models of others; the own network
	passes      int  // of the model of others
	rand        *rng.Rand

	list  []trajectory // the co-players' steps of the window that may be learnt from
	steps int          // of all of them
	goals []float32    // [steps][features] what each was done for
	rows  *moa.Rows    // the same as the model of others reads them; nil: it has not yet
	who   []int32      // [sequences of rows] which co-player each is
	known *update      // what known players did; nil: nothing

	stats []agent.Stat
	err   error
}

// update returns an update by a window. What a window shows of the others that was learnt from
// before is known.
func (m *Mind) update(w *learner.Window) *update {
	again := w.Imagined != nil && w.Imagined.Again
	return &update{window: w, others: !again, own: true, passes: m.cfg.MOA.Passes, rand: &m.rand}
}

// add notes what a part says.
func (u *update) add(stats []agent.Stat, err error) { u.stats, u.err = append(u.stats, stats...), err }

// Adapts says that both the model of others and the own network can go on
// learning.
func (m *Mind) Adapts() (others, own bool) { return true, true }

// Adapt lets parts of the mind go on learning from a window among strangers: the
// model of others, the own network, or both. Beliefs move by themselves.
func (m *Mind) Adapt(w *learner.Window, others, own bool) error {
	late := *w
	late.Share = 1
	u := m.update(&late)
	if u.others, u.own = others, own; u.passes == 0 {
		u.passes = Default().MOA.Passes
	}
	m.goals.Label(u)
	m.goals.Fit(u)
	m.others.Score(u)
	m.goals.Recall(u)
	m.others.Fit(u)
	m.vectors.Fit(u)
	m.own.Fit(u)
	return u.err
}

// Label is a co-player's step of a window with what it was done for.
type Label struct {
	Other  int // which of the others
	Agent  agent.ID
	T, Env int
	Goal   []float32 // [features]
}

// Labels returns what Learn would label in a window, for audits. It draws as Learn
// does and puts the stream back; what is counted of ends is counted again by Learn,
// so the caller loads the mind as it was saved before.
func (m *Mind) Labels(w *learner.Window) []Label {
	stream, u := m.rand, m.update(w)
	u.rand, u.others = &stream, true
	m.goals.Label(u)
	var list []Label
	width := m.shape.features
	for _, p := range u.list {
		for t := p.lo; t < p.hi; t++ {
			at := len(list) * width
			list = append(list, Label{p.other, p.agent, t, p.env, u.goals[at : at+width]})
		}
	}
	return list
}

// Reads declares what the own network learns from others' rows: labels in
// hindsight, if it reads goals and learns from a search, and what the team earns.
// Hand-made labels are goals that were reached. Inferred ones follow from what
// co-players saw, their type from what they did, and those of a subgoal also from what
// they earned on the way.
func (m *Mind) Reads(w *learner.Window) learner.Reads {
	r := m.own.brain.Reads(w)
	if m.cfg.Own != "search" || m.goalLen == 0 || m.cfg.Goals.Kind == "context" {
		return r // labels of contexts are what it wrote itself
	}
	if r.Why != "" {
		r.Why += ", "
	}
	r.Why += "labels in hindsight"
	switch c := m.cfg.Goals; c.Kind {
	case "hand":
		r.Reached = true
	case "latent":
		r.Obs, r.Action, r.Reward = true, r.Action || len(m.population.types) > 0, r.Reward || w.Share < c.Mix
	case "classes":
		r.Obs, r.Reward = true, true
	}
	return r
}
