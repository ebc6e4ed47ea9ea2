package hop

import (
	"hop/agent"
	"hop/mind"
	"hop/model/moa"
	"hop/ppo"
)

// Learn takes one window: what its steps were done for is known now, so what is
// known of the others and of their goals comes first, then the own network.
func (m *Mind) Learn(w *mind.Window) ([]agent.Stat, error) {
	if w.Imagined != nil && w.Imagined.Again { // what it shows of the others is known
		return m.fitOwn(w, &labels{})
	}
	labels, stats := m.label(w) // what each co-player's steps were done for, in hindsight
	fitted, err := m.fitInference(labels)
	if err != nil {
		return nil, err
	}
	others, err := m.fitOthers(w, labels, m.cfg.MOA.Passes)
	if err != nil {
		return nil, err
	}
	own, err := m.fitOwn(w, labels)
	m.version++
	return append(append(append(own, stats...), fitted...), others...), err
}

// labels are the co-players' steps of a window that may be learnt from, each with
// its goal.
type labels struct {
	list  []trajectory
	steps int       // of all of them
	goals []float32 // [steps][Features]
}

// label labels a window in hindsight.
func (m *Mind) label(w *mind.Window) (*labels, []agent.Stat) {
	l := &labels{list: m.goals.Trajectories(w.Rollout)}
	for _, p := range l.list {
		l.steps += p.hi - p.lo
	}
	if l.steps == 0 {
		return l, nil
	}
	l.goals = make([]float32, l.steps*m.goals.Features())
	return l, m.goals.Label(l.goals, w.Rollout, l.list, w.Share, &m.rand)
}

// Label is a co-player's step of a window with what it was done for.
type Label struct {
	Other  int // which of the others
	Agent  agent.ID
	T, Env int
	Goal   []float32 // [Features]
}

// Labels returns what Learn would label in a window, for audits. It draws as Learn
// does and puts the stream back; what is counted of ends is counted again by Learn,
// so the caller loads the mind as it was saved before.
func (m *Mind) Labels(w *mind.Window) []Label {
	stream := m.rand
	l, _ := m.label(w)
	m.rand = stream
	var list []Label
	width := m.goals.Features()
	for _, p := range l.list {
		for t := p.lo; t < p.hi; t++ {
			at := len(list) * width
			list = append(list, Label{p.other, p.agent, t, p.env, l.goals[at : at+width]})
		}
	}
	return list
}

// Reads declares what the own network learns from others' rows: labels in
// hindsight, if it reads goals and learns from a search, and what the team earns.
// Hand-made labels are goals that were reached. Inferred ones follow from what
// co-players saw, their kind from what they did, and those of a subgoal also from what
// they earned on the way.
func (m *Mind) Reads(w *mind.Window) mind.Reads {
	r := m.Brain.Reads(w)
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
		r.Obs, r.Action, r.Reward = true, r.Action || len(kinds(m.who)) > 0, r.Reward || w.Share < c.Mix
	case "classes":
		r.Obs, r.Reward = true, true
	}
	return r
}

// fitInference lets the goal model learn from what was labelled.
func (m *Mind) fitInference(l *labels) ([]agent.Stat, error) {
	if l.steps == 0 {
		return nil, nil
	}
	return m.goals.Fit(&m.rand)
}

// fitOthers scores the model of others on the window, which it has not seen yet,
// then lets it learn.
func (m *Mind) fitOthers(w *mind.Window, l *labels, passes int) ([]agent.Stat, error) {
	rows, who := m.rows(w, l)
	if rows.Len() == 0 {
		return nil, nil
	}
	seqs := make([]int32, len(rows.Seqs))
	for i := range seqs {
		seqs[i] = int32(i)
	}
	score := moa.NewScore(m.others, m.spec.Actions)
	score.AddAll(m.moa, rows, seqs, who)
	stats := score.Stats(m.moa, rows)
	m.moa.Share(w.Cores)
	for range passes {
		if _, err := m.moa.Epoch(rows, seqs, m.cfg.MOA.LR, &m.rand, nil); err != nil {
			return nil, err
		}
	}
	return stats, nil
}

// rows puts labelled steps into the form of the model of others; who is the
// co-player of each sequence.
func (m *Mind) rows(w *mind.Window, l *labels) (rows *moa.Rows, who []int32) {
	rows = m.moa.Model.NewRows()
	width, features := m.goals.Features(), make([]float32, m.moa.Model.GoalLen)
	row := 0
	for _, p := range l.list {
		rows.Begin()
		who = append(who, int32(p.other))
		for t := p.lo; t < p.hi; t++ {
			m.features(features, p.other, l.goals[row*width:(row+1)*width])
			rows.Add(m.sight.Obs(nil, w.Rollout, p.agent, t, p.env), features, w.Action[w.Step(p.agent, t, p.env)])
			row++
		}
	}
	return rows, who
}

// fitOwn lets the own network learn: from the search's policy and the return, or
// by PPO. When it learns from a search it reads the labels in place of the
// beliefs, because in a tree it reads single goals, and beliefs only blur them.
func (m *Mind) fitOwn(w *mind.Window, l *labels) ([]agent.Stat, error) {
	u := ppo.Update{Window: w, Search: m.cfg.Own == "search"}
	if u.Search && m.goalLen > 0 && w.GoalLen == m.goalLen && l.steps > 0 {
		u.Goal = m.inHindsight(w, l)
	}
	return m.Update(u)
}

// inHindsight returns the agent's Goal rows with labels in place of beliefs, by
// place, a view.
func (m *Mind) inHindsight(w *mind.Window, l *labels) []float32 {
	first, size := w.Slot(m.me, 0, 0), (w.Steps+1)*w.Envs
	m.hindsight = append(m.hindsight[:0], w.Goal[first*w.GoalLen:(first+size)*w.GoalLen]...)
	row, width := 0, m.goals.Features()
	for _, p := range l.list {
		for t := p.lo; t < p.hi; t++ {
			if slot := w.Slot(m.me, t, p.env); w.Alive[slot] {
				at := place(w.SeatAt(slot), w.SeatAt(w.Slot(p.agent, t, p.env)), m.spec.Seats)
				dst := m.hindsight[(slot-first)*w.GoalLen+at*m.width:][:m.width]
				clear(dst)
				copy(dst, l.goals[row*width:(row+1)*width])
			}
			row++
		}
	}
	return m.hindsight
}

// Adapts says that both the model of others and the own network can go on
// learning.
func (m *Mind) Adapts() (others, own bool) { return true, true }

// Adapt lets parts of the mind go on learning from a window among strangers: the
// model of others, the own network, or both. Beliefs move by themselves.
func (m *Mind) Adapt(w *mind.Window, others, own bool) error {
	at := *w
	at.Share = 1
	l := &labels{}
	if others {
		l, _ = m.label(&at)
		if _, err := m.fitInference(l); err != nil {
			return err
		}
		passes := m.cfg.MOA.Passes
		if passes == 0 {
			passes = Default().MOA.Passes
		}
		if _, err := m.fitOthers(&at, l, passes); err != nil {
			return err
		}
	}
	if own {
		if _, err := m.fitOwn(&at, l); err != nil {
			return err
		}
	}
	m.version++
	return nil
}
