package moa

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/store/card"
)

// Rows are steps of modelled agents in a model's frame, to learn from or to be
// scored on. They check what they are given: rows of agents that have left are
// refused and counted, and each observation's own last action is held against
// the action recorded before it.
type Rows struct {
	X      f32.Sparse // [rows][Cols]
	Goals  []float32  // [rows][GoalLen]
	Legal  []bool     // [rows][Actions]
	Action []int32    // [rows]
	Seqs   []Span     // each one agent's steps in one episode, in order

	Left    int  // rows of agents that had left
	Keep    bool // takes such rows in, for audits that show what they do
	Illegal int  // actions outside the mask; they are refused too
	Steps   int  // rows whose own last action could be checked
	Wrong   int  // and was not the action recorded before: orders are mixed up

	m         *Model
	enc       *frame.Encoder
	distances *distances
}

// Span is rows Lo to Hi-1.
type Span struct{ Lo, Hi int32 }

// NewRows returns an empty set of rows for models of this shape.
func (m *Model) NewRows() *Rows {
	r := &Rows{m: m, enc: m.frame.Encoder(), distances: m.newDistances()}
	r.Reset()
	return r
}

// Reset forgets all rows and counts.
func (r *Rows) Reset() {
	r.X.Reset(r.m.frame.Cols)
	r.Goals, r.Legal, r.Action, r.Seqs = r.Goals[:0], r.Legal[:0], r.Action[:0], r.Seqs[:0]
	r.Left, r.Illegal, r.Steps, r.Wrong = 0, 0, 0, 0
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.Action) }

// Begin starts a sequence: the rows added until the next Begin are one agent's
// steps in one episode, in order.
func (r *Rows) Begin() {
	n := int32(r.Len())
	r.Seqs = append(r.Seqs, Span{n, n})
}

// Add appends a step: what the agent saw, its goal and what it did. It reports
// whether the row was taken in.
func (r *Rows) Add(obs, goal []float32, action int32) bool {
	if len(r.Seqs) == 0 {
		panic("moa: Begin a sequence before adding rows")
	}
	m := r.m
	k, n := m.Actions, r.Len()
	r.Legal = append(r.Legal, make([]bool, k)...)
	legal := r.Legal[n*k:]
	if !m.Mask(legal, obs) || action < 0 || m.absent(obs) {
		r.Left++
		if !r.Keep || action < 0 {
			r.Legal = r.Legal[:n*k]
			return false
		}
		legal[action] = true
	}
	if int(action) >= k || !legal[action] {
		r.Illegal++
		r.Legal = r.Legal[:n*k]
		return false
	}
	seq := &r.Seqs[len(r.Seqs)-1]
	if m.LastAt >= 0 && seq.Hi > seq.Lo {
		r.Steps++
		if obs[m.LastAt+int(r.Action[n-1])] != 1 {
			r.Wrong++
		}
	}
	r.enc.Add(&r.X, obs, r.distances.of(obs))
	for i := range m.GoalLen {
		r.Goals = append(r.Goals, goal[i])
	}
	r.Action = append(r.Action, action)
	seq.Hi++
	return true
}

// absent reports that the planes do not show oneself.
func (m *Model) absent(obs []float32) bool {
	if m.Planes == 0 {
		return false
	}
	for i := 0; i < m.Height*m.Width*m.Planes; i += m.Planes {
		if obs[i] != 0 {
			return false
		}
	}
	return true
}

// Counts returns how often each action was taken in the rows of the sequences.
func (r *Rows) Counts(seqs []int32) []int {
	out := make([]int, r.m.Actions)
	for _, s := range seqs {
		for _, a := range r.Action[r.Seqs[s].Lo:r.Seqs[s].Hi] {
			out[a]++
		}
	}
	return out
}

// lanes lays sequences of different lengths into a rectangle of steps and lanes,
// one after the other in a lane, so that little of it is empty.
type lanes struct {
	nn.Seq
	row  []int32 // [T][N] the row that lies here; -1: none
	of   []int32 // [T][N] whose it is: index into the sequences packed
	lane []int32 // [sequences] where each lies
	from []int32 // [sequences] its first step

	order []int32
	full  []int32 // [N] steps taken
}

// pack lays out the sequences part of rows: the longest first, each into the
// first lane with room. The longest one sets T.
func (l *lanes) pack(rows *Rows, part []int32) {
	size := func(i int32) int32 { return rows.Seqs[part[i]].Hi - rows.Seqs[part[i]].Lo }
	l.order, l.full = l.order[:0], l.full[:0]
	l.T = 0
	for i := range part {
		l.order = append(l.order, int32(i))
		l.T = max(l.T, int(size(int32(i))))
	}
	slices.SortStableFunc(l.order, func(a, b int32) int { return int(size(b) - size(a)) })
	l.lane, l.from = slices.Grow(l.lane[:0], len(part))[:len(part)], slices.Grow(l.from[:0], len(part))[:len(part)]
	for _, i := range l.order {
		n := slices.IndexFunc(l.full, func(full int32) bool { return full+size(i) <= int32(l.T) })
		if n < 0 {
			n = len(l.full)
			l.full = append(l.full, 0)
		}
		l.lane[i], l.from[i] = int32(n), l.full[n]
		l.full[n] += size(i)
	}
	l.N = len(l.full)
	all := l.T * l.N
	l.row, l.of = slices.Grow(l.row[:0], all)[:all], slices.Grow(l.of[:0], all)[:all]
	l.Alive, l.Reset = slices.Grow(l.Alive[:0], all)[:all], slices.Grow(l.Reset[:0], all)[:all]
	for at := range all {
		l.row[at], l.Alive[at], l.Reset[at] = -1, false, false
	}
	for i, s := range part {
		for t := range size(int32(i)) {
			at := l.at(i, int(t))
			l.row[at], l.of[at] = rows.Seqs[s].Lo+t, int32(i)
			l.Alive[at], l.Reset[at] = true, t == 0
		}
	}
}

// at returns the place of step t of the i-th sequence.
func (l *lanes) at(i, t int) int { return (int(l.from[i])+t)*l.N + int(l.lane[i]) }

// Score is an agent's model of others' on a window that the model has
// not learnt from: of all of them together, and of each co-player by itself.
// Add rows as the model predicts them, then read Stats.
//
// The names, by agent: moa/top1, moa/ce, moa/sure (mean probability of the
// likeliest action), moa/uniform (what guessing among the
// legal actions gets), moa/floor (below which a softmax of a softmax cannot
// fall), moa/dead (rows of agents that had left and were taken in), moa/wrong
// (rows that do not show the modelled agent's own last action first), moa/still
// (parts of the network that are where they started); and for each co-player j
// others/j/top1, ce, ece, sure, rows, and recall/ACTION of every action played.
type Score struct {
	others  []agent.ID
	of      []*card.Classes // [others]
	uniform float64
	floor   float64
}

// NewScore scores predictions about some co-players.
func NewScore(others []agent.ID, actions []string) *Score {
	s := &Score{others: others}
	for range others {
		s.of = append(s.of, card.NewClasses(actions))
	}
	return s
}

// add counts a row: co-player j of the list did action, for which the model gave
// probs [Actions]; legal is its mask.
func (s *Score) add(j int, action int32, probs nn.Probs, legal []bool) {
	s.of[j].Add(int(action), probs)
	n := 0
	for _, ok := range legal {
		if ok {
			n++
		}
	}
	s.uniform += 1 / float64(n)
	s.floor += check.SoftmaxFloor(n)
}

// AddAll adds all rows of a set; who is the co-player of each sequence.
func (s *Score) AddAll(l *Learner, rows *Rows, seqs, who []int32) {
	k := l.Model.Actions
	of := make([]int32, rows.Len())
	for i, q := range seqs {
		for row := rows.Seqs[q].Lo; row < rows.Seqs[q].Hi; row++ {
			of[row] = who[i]
		}
	}
	l.Each(rows, seqs, func(row int, probs nn.Probs) {
		s.add(int(of[row]), rows.Action[row], probs, rows.Legal[row*k:(row+1)*k])
	})
}

// Stats returns the numbers. A co-player without rows has only that one, 0.
func (s *Score) Stats(l *Learner, rows *Rows) []agent.Stat {
	n, top, nll, sure := 0, 0., 0., 0.
	for _, c := range s.of {
		if c.N > 0 {
			n, top, nll, sure = n+c.N, top+c.Top1, nll+c.NLL, sure+c.Sure()*float64(c.N)
		}
	}
	var out []agent.Stat
	add := func(name string, v float64, n int) { out = append(out, agent.Stat{Name: name, Value: v, N: n}) }
	if n > 0 {
		m := float64(n)
		dead := 0
		if rows.Keep {
			dead = rows.Left
		}
		add("moa/top1", top/m, n)
		add("moa/ce", nll/m, n)
		add("moa/sure", sure/m, n)
		add("moa/uniform", s.uniform/m, n)
		add("moa/floor", s.floor/m, n)
		add("moa/dead", float64(dead), n)
		add("moa/wrong", float64(rows.Wrong), rows.Steps)
		add("moa/still", float64(len(l.Still())), n)
	}
	for j, c := range s.of {
		at := fmt.Sprintf("others/%d/", s.others[j])
		add(at+"rows", float64(c.N), c.N)
		if c.N == 0 {
			continue
		}
		add(at+"top1", c.Accuracy(), c.N)
		add(at+"ce", c.CE(), c.N)
		add(at+"ece", c.ECE(), c.N)
		add(at+"sure", c.Sure(), c.N)
		for k, name := range c.Names {
			if r := c.Class(k); r.Count > 0 {
				add(at+"recall/"+name, r.Recall, r.Count)
			}
		}
	}
	return out
}
