package reference

import (
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

// sequence is a stretch of at most SeqLen steps of one agent in one env.
type sequence struct {
	rows   []int // by step; -1 where the agent was not there or did not act itself
	lo, n  int   // first step, and env
	before [2][]float64
}

// recall cuts the window into the sequences that an LSTM is trained through, by
// agent, stretch and env, and finds the state before each as play left it: Memory
// is what stood before the window, an episode starts from zero, and steps at which
// the agent does not act leave it as it is. The weights that played are those that
// the update starts from.
func (o Own) recall(l *Learnt, ro *batch.Rollout) {
	rows := map[Row]int{}
	for r, at := range l.Row {
		rows[at] = r
	}
	for k, a := range o.Agents {
		states := o.states(l, ro, k, a, rows)
		for lo := 0; lo < ro.Steps; lo += o.SeqLen {
			for n := range ro.Envs {
				s, some := sequence{lo: lo, n: n, before: states[lo/o.SeqLen][n]}, false
				for t := range o.SeqLen {
					r, ok := rows[Row{a, lo + t, n}]
					if !ok {
						r = -1
					}
					s.rows, some = append(s.rows, r), some || ok
				}
				if some {
					l.seqs = append(l.seqs, s)
				}
			}
		}
	}
}

// states returns the state before every stretch of every env, [stretch][env].
func (o Own) states(l *Learnt, ro *batch.Rollout, k int, a agent.ID, rows map[Row]int) [][][2][]float64 {
	var out [][][2][]float64
	t := &Tape{}
	h, c := NewMat(ro.Envs, o.LSTM), NewMat(ro.Envs, o.LSTM)
	if o.Memory != nil {
		copy(h.V, o.Memory[k]["h"].V)
		copy(c.V, o.Memory[k]["c"].V)
	}
	for step := range ro.Steps {
		x, keep, fresh := make([][]float64, ro.Envs), make([]bool, ro.Envs), make([]bool, ro.Envs)
		for n := range x {
			x[n] = make([]float64, len(l.x[0]))
			if r, ok := rows[Row{a, step, n}]; ok {
				x[n], keep[n] = l.x[r], true
				fresh[n] = ro.Start[ro.Moment(step, n)]
			}
		}
		h, c = reset(t, h, fresh), reset(t, c, fresh)
		if step%o.SeqLen == 0 {
			list := make([][2][]float64, ro.Envs)
			for n := range list {
				list[n] = [2][]float64{h.Row(n), c.Row(n)}
			}
			out = append(out, list)
		}
		h1, c1 := t.LSTM(l.Net, "lstm", o.below(t, l.Net, "trunk", rowsOf(x)), h, c)
		h, c = t.Choose(keep, h1, h), t.Choose(keep, c1, c)
	}
	return out
}

// AfterCuts calls do for every slot after a cut of the agents' own with what their network says there, given what they remember: net
// are the weights that played the window.
func (o Own) AfterCuts(net Net, ro *batch.Rollout, do func(a agent.ID, slot int, value float64)) {
	for k, a := range o.Agents {
		for n := range ro.Envs {
			m := o.Forget()
			for i, name := range []string{"h", "c"} {
				copy(m[i].V, o.Memory[k][name].V[n*o.LSTM:(n+1)*o.LSTM])
			}
			for t := range ro.Steps {
				step, slot, next := ro.Step(a, t, n), ro.Slot(a, t, n), ro.Slot(a, t+1, n)
				if !ro.Alive[slot] || !ro.Own[step] {
					continue
				}
				if ro.Start[ro.Moment(t, n)] {
					m = o.Forget()
				}
				if o.Recall(net, ro.ObsAt(slot), m); ro.End[step] == batch.Cut {
					then := [2]*Mat{NewMat(1, o.LSTM), NewMat(1, o.LSTM)}
					copy(then[0].V, m[0].V)
					copy(then[1].V, m[1].V)
					_, v := o.Recall(net, ro.ObsAt(next), then)
					do(a, next, v)
				}
			}
		}
	}
}

// Forget is a memory in which nothing is.
func (a Actor) Forget() [2]*Mat { return [2]*Mat{NewMat(1, a.LSTM), NewMat(1, a.LSTM)} }

// Recall is At for an agent that may remember: it moves the memory on.
func (a Actor) Recall(net Net, obs []float32, memory [2]*Mat) (logits []float64, value float64) {
	if a.LSTM == 0 {
		return a.At(net, obs, nil)
	}
	t, x := &Tape{}, rowOf(a.Row(obs, nil))
	h, c := t.LSTM(net, "lstm", a.below(t, net, "trunk", x), memory[0], memory[1])
	copy(memory[0].V, h.V)
	copy(memory[1].V, c.V)
	l, v := a.heads(t, net, h, x)
	return t.acts(l, [][]int32{a.look(obs).acts}).V, v.V[0]
}

// sequences runs the LSTM over the picked sequences and returns the heads' outputs
// and the rows that they belong to.
func (o Own) sequences(t *Tape, l *Learnt, ro *batch.Rollout, pick []int) (logits, value *Mat, rows []int) {
	n := len(pick)
	h, c := NewMat(n, o.LSTM), NewMat(n, o.LSTM)
	for i, p := range pick {
		copy(h.Row(i), l.seqs[p].before[0])
		copy(c.Row(i), l.seqs[p].before[1])
	}
	var out []*Mat
	for step := range o.SeqLen {
		x, keep, fresh := make([][]float64, n), make([]bool, n), make([]bool, n)
		var at []int
		for i, p := range pick {
			s := &l.seqs[p]
			x[i] = make([]float64, len(l.x[0]))
			fresh[i] = s.lo+step < ro.Steps && ro.Start[ro.Moment(s.lo+step, s.n)]
			if r := s.rows[step]; r >= 0 {
				x[i], keep[i] = l.x[r], true
				at, rows = append(at, i), append(rows, r)
			}
		}
		h, c = reset(t, h, fresh), reset(t, c, fresh)
		h1, c1 := t.LSTM(l.Net, "lstm", o.below(t, l.Net, "trunk", rowsOf(x)), h, c)
		h, c = t.Choose(keep, h1, h), t.Choose(keep, c1, c)
		if len(at) > 0 {
			out = append(out, t.Pick(h1, at))
		}
	}
	logits, value = o.heads(t, l.Net, t.Stack(out), nil)
	return logits, value, rows
}

// reset sets rows to zero.
func reset(t *Tape, x *Mat, rows []bool) *Mat {
	return t.Choose(rows, NewMat(x.Rows, x.Cols), x)
}

// LSTM is one step of one (Hochreiter and Schmidhuber 1997, with forget gate) from a state h
// and c, [rows][LSTM] each. Its weights in net begin with name.
func (t *Tape) LSTM(net Net, name string, x, h, c *Mat) (*Mat, *Mat) {
	n := h.Cols
	z := t.Add(t.Affine(x, net[name+"/wx"], net[name+"/b"]), t.Affine(h, net[name+"/wh"], nil))
	gate := func(i int) *Mat { return t.Slice(z, i*n, (i+1)*n) }
	c = t.Add(t.Mul(t.Sigmoid(gate(1)), c), t.Mul(t.Sigmoid(gate(0)), t.Tanh(gate(2))))
	return t.Mul(t.Sigmoid(gate(3)), t.Tanh(c)), c
}

// GRU is one step of one (Cho et al. 2014, the reset gate applied to the product): gates r
// and z, then n = tanh(x + r h), h' = (1-z) n + z h.
func (t *Tape) GRU(net Net, name string, x, h *Mat) *Mat {
	n := h.Cols
	a, b := t.Affine(x, net[name+"/wx"], net[name+"/bx"]), t.Affine(h, net[name+"/wh"], net[name+"/bh"])
	part := func(m *Mat, i int) *Mat { return t.Slice(m, i*n, (i+1)*n) }
	reset := t.Sigmoid(t.Add(part(a, 0), part(b, 0)))
	keep := t.Sigmoid(t.Add(part(a, 1), part(b, 1)))
	fresh := t.Tanh(t.Add(part(a, 2), t.Mul(reset, part(b, 2))))
	return t.Add(fresh, t.Mul(keep, t.Sub(h, fresh)))
}
