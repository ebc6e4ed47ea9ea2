package moa

import (
	"slices"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
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
