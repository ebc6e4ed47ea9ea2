package moa

import (
	"slices"

	"github.com/hop-marl/hop/num/nn"
)

// Mask writes which actions an observation says are legal: all of them if the
// game does not show the mask. It reports whether any is; a row without is that
// of an agent that has left.
func (m *Model) Mask(dst []bool, obs []float32) bool {
	if m.LegalAt < 0 {
		for k := range dst {
			dst[k] = true
		}
		return true
	}
	found := false
	for k := range dst {
		dst[k] = obs[m.LegalAt+k] != 0
		found = found || dst[k]
	}
	return found
}

// Predict writes for each row a distribution over the modelled agent's actions.
// obs is [rows][ObsLen], from that agent's own place; goals [rows][GoalLen] is
// read only if the model has a goal; probs is [rows][Actions]. Illegal actions
// get 0, and rows of agents that have left are zero. It allocates nothing, and
// panics if the lengths do not fit or a model has history, which needs
// PredictGoals.
func (ws *Work) Predict(p *nn.Params, obs, goals, probs []float32) {
	if ws.m.History > 0 {
		panic("moa: a model with history needs PredictGoals")
	}
	ws.predict(p, obs, goals, nil, probs, false)
}

// Ask adds a row that Answer is to answer, as Predict would: an observation, nil for that of the
// row before, and a goal.
func (ws *Work) Ask(obs, goal []float32) {
	m, i := ws.m, ws.asked
	ws.room(i)
	ws.asked++
	k, row := m.Actions, ws.X.Rows()
	switch {
	case obs == nil && ws.at[i-1] < 0, obs != nil && !m.Mask(ws.legal[row*k:(row+1)*k], obs):
		ws.at[i] = -1
		return
	case obs == nil:
		copy(ws.legal[row*k:(row+1)*k], ws.legal[(row-1)*k:row*k])
		ws.AddFrom(&ws.X, row-1, goal)
	default:
		ws.Add(obs, goal)
	}
	ws.at[i] = int32(row)
}

// Answer writes what was asked since the last call, probs [rows][Actions], for models without
// history.
func (ws *Work) Answer(p *nn.Params, probs []float32) {
	k := ws.m.Actions
	if ws.X.Rows() > 0 {
		ws.Forward(p)
		ws.dist.Set(ws.Logits, ws.legal, ws.X.Rows())
	}
	for i, at := range ws.at[:ws.asked] {
		if clear(probs[i*k : (i+1)*k]); at >= 0 {
			copy(probs[i*k:(i+1)*k], ws.dist.P[int(at)*k:(int(at)+1)*k])
		}
	}
	ws.asked = 0
	ws.Reset()
}

// Remember takes in the observations at which the agents now act: it advances
// hidden [rows][History], zero at an episode's start. Those of agents that have
// left stay as they are.
func (ws *Work) Remember(p *nn.Params, obs, hidden []float32) {
	ws.predict(p, obs, nil, hidden, nil, true)
}

// PredictGoals writes probs [rows][GoalLen][Actions]: the distribution for every
// one-hot goal, which is what a belief's update reads. The work is as that of
// Predict on rows*GoalLen rows. For a model with history, hidden [rows][History]
// holds what has been remembered of each agent before this observation. It is not
// changed; Remember advances it.
func (ws *Work) PredictGoals(p *nn.Params, obs, hidden, probs []float32) {
	m := ws.m
	g, k, n := m.GoalLen, m.Actions, m.Len()
	rows := len(obs) / n
	if rows*n != len(obs) || len(probs) != rows*g*k || m.History > 0 && len(hidden) != rows*m.History {
		panic("moa: lengths do not fit the rows")
	}
	per := max(ws.rows/max(g, 1), 1)
	for lo := 0; lo < rows; lo += per {
		hi := min(lo+per, rows)
		ws.Reset()
		out := probs[lo*g*k : hi*g*k]
		clear(out)
		count := 0
		for i := lo; i < hi; i++ {
			row := obs[i*n : (i+1)*n]
			if !m.Mask(ws.legal[count*k:(count+1)*k], row) {
				continue
			}
			for goal := range g {
				ws.room(count)
				copy(ws.legal[count*k:(count+1)*k], ws.legal[(count-goal)*k:(count-goal+1)*k])
				if m.History > 0 {
					copy(ws.hidden[count*m.History:], hidden[i*m.History:(i+1)*m.History])
				}
				ws.enc.Add(&ws.X, row, ws.distances.of(row))
				one := ws.Goals[count*g : (count+1)*g]
				clear(one)
				one[goal] = 1
				ws.at[count] = int32((i-lo)*g + goal)
				count++
			}
		}
		ws.finish(p, out, count)
	}
}

// predict is Predict with what is remembered or, with advance, Remember.
func (ws *Work) predict(p *nn.Params, obs, goals, hidden, probs []float32, advance bool) {
	m := ws.m
	n, k, g, h := m.Len(), m.Actions, m.GoalLen, m.History
	rows := len(obs) / n
	switch {
	case rows*n != len(obs),
		!advance && (len(probs) != rows*k || g > 0 && len(goals) != rows*g),
		h > 0 && len(hidden) != rows*h:
		panic("moa: lengths do not fit the rows")
	}
	for lo := 0; lo < rows; lo += ws.rows {
		hi := min(lo+ws.rows, rows)
		ws.Reset()
		count := 0
		for i := lo; i < hi; i++ {
			row := obs[i*n : (i+1)*n]
			if !m.Mask(ws.legal[count*k:(count+1)*k], row) {
				continue
			}
			ws.enc.Add(&ws.X, row, ws.distances.of(row))
			if !advance && g > 0 {
				copy(ws.Goals[count*g:(count+1)*g], goals[i*g:(i+1)*g])
			}
			if h > 0 {
				copy(ws.hidden[count*h:(count+1)*h], hidden[i*h:(i+1)*h])
			}
			ws.at[count] = int32(i - lo)
			count++
		}
		if !advance {
			out := probs[lo*k : hi*k]
			clear(out)
			ws.finish(p, out, count)
			continue
		}
		ws.features(p)
		ws.remember(p, ws.hidden, count)
		for i, at := range ws.at[:count] {
			copy(hidden[(lo+int(at))*h:(lo+int(at)+1)*h], ws.hidden[i*h:(i+1)*h])
		}
	}
}

// finish runs the gathered rows and puts their distributions where they belong.
func (ws *Work) finish(p *nn.Params, out []float32, count int) {
	if count == 0 {
		return
	}
	k := ws.m.Actions
	if ws.m.History > 0 {
		ws.Step(p, ws.hidden)
	} else {
		ws.Forward(p)
	}
	ws.dist.Set(ws.Logits, ws.legal, count)
	for i, at := range ws.at[:count] {
		copy(out[int(at)*k:(int(at)+1)*k], ws.dist.P[i*k:(i+1)*k])
	}
}

// Answers is a learner's model as a search asks it: it takes rows one by one and answers them
// together. Who acts at random, or is beyond the gate, is nobody by the goal's last numbers: it
// has equal logits, and the network is not asked.
type Answers struct {
	l      *Learner
	ws     *Work
	who    int       // where in a goal it says whom it is about
	asked  []bool    // [rows]
	logits []float32 // [rows][Actions]
}

// Answers returns the model for up to rows rows at a time. With who as long as goals, nobody
// is known.
func (l *Learner) Answers(rows, who int) *Answers {
	return &Answers{l: l, ws: l.Model.Work(rows), who: who, asked: make([]bool, 0, rows), logits: make([]float32, rows*l.Model.Actions)}
}

// Add adds a row.
func (n *Answers) Add(obs, goal []float32) {
	ask := slices.ContainsFunc(goal[n.who:], func(x float32) bool { return x != 0 })
	if n.asked = append(n.asked, ask); ask {
		n.ws.Add(obs, goal)
	}
}

// Rows returns how many of the rows that were added the network is asked about.
func (n *Answers) Rows() int { return n.ws.Rows() }

// Run computes the rows that were added and forgets them. The logits are a view; there are no
// values.
func (n *Answers) Run() (logits, value []float32) {
	k, at := n.l.Model.Actions, 0
	if n.ws.Rows() > 0 {
		n.ws.Forward(n.l.Params)
	}
	for i, ask := range n.asked {
		row := n.logits[i*k : (i+1)*k]
		if clear(row); ask {
			copy(row, n.ws.Logits[at*k:])
			at++
		}
	}
	logits = n.logits[:len(n.asked)*k]
	n.asked = n.asked[:0]
	n.ws.Reset()
	return logits, nil
}
