package reference

import (
	"math"

	"github.com/hop-marl/hop/game/frame"
)

// Coding is what codes of states are learnt by (docs/opponents.md): z is drawn from a normal distribution that an encoder of the
// state gives; loss a asks a decoder of z for the state, loss b a model that reads an observation and z for the action, and z
// alone for the last action of the episode, while the decoder reads along without moving z. Both draw z to the standard normal.
type Coding struct {
	Loss, Frame, Reads, Agents string
	Things, Outcome, KL        float64 // weights of planes that are no agent's, of the last action and of the divergence
	Input                      frame.Input
	Players, Actions           int
}

// CodeRow is a state, a step of the same agent, the same or a later one, and the agent's last action.
type CodeRow struct {
	State, Obs   []float32
	Legal        []bool
	Action, Last int32
}

// Gradient adds the gradients of the mean loss of the rows to net. noise draws from the standard normal.
func (c Coding) Gradient(net Net, rows []CodeRow, noise func() float64) {
	t, n := &Tape{}, len(rows)
	var states [][]float32
	var obs [][]float64
	var legal []bool
	action, last := make([]int32, n), make([]int32, n)
	for i, r := range rows {
		states, obs = append(states, r.State), append(obs, encode(frame.Egof, c.Input, r.Obs, nil))
		legal = append(legal, r.Legal...)
		action[i], last[i] = r.Action, r.Last
	}
	mu, logvar := c.encoded(t, net, states)
	eps := NewMat(n, mu.Cols)
	for i := range eps.V {
		eps.V[i] = noise()
	}
	z := t.Add(mu, t.Mul(t.Exp(t.Scale(logvar, 0.5)), eps))
	loss := t.Scale(t.Mean(t.Add(t.Add(t.Mul(mu, mu), t.Exp(logvar)), t.Scale(logvar, -1)), n), 0.5*c.KL)
	likely := func(logits *Mat, legal []bool, at []int32) *Mat {
		return t.Mean(t.At(t.LogSoftmax(logits, legal), at), n)
	}
	if c.Loss == "b" {
		see := t.ReLU(t.Affine(rowsOf(obs), net["moa/see/w"], net["moa/see/b"]))
		mix := t.ReLU(t.Affine(t.Concat(see, z), net["moa/mix/w"], net["moa/mix/b"]))
		loss = t.Sub(loss, likely(t.Affine(mix, net["moa/act/w"], net["moa/act/b"]), legal, action))
		if c.Outcome > 0 {
			loss = t.Sub(loss, t.Scale(likely(t.Affine(z, net["outcome/w"], net["outcome/b"]), nil, last), c.Outcome))
		}
		z = &Mat{n, z.Cols, z.V, make([]float64, len(z.V))} // what the decoder says does not come back
	}
	t.Backward(t.Add(loss, c.rebuilt(t, net, layers(t, net, "dec", z), rows)))
}

// encoded is the normal distributions of the codes of states.
func (c Coding) encoded(t *Tape, net Net, states [][]float32) (mu, logvar *Mat) {
	seen := c.Input
	if c.Reads == "planes" {
		seen.Rest = 0
	}
	var x [][]float64
	for _, s := range states {
		x = append(x, encode(c.Frame, seen, s, nil))
	}
	y := layers(t, net, "enc", rowsOf(x))
	return t.Affine(y, net["mu/w"], net["mu/b"]), t.Affine(y, net["logvar/w"], net["logvar/b"])
}

// Means are those of the codes of states.
func (c Coding) Means(net Net, states [][]float32) (list [][]float64) {
	mu, _ := c.encoded(&Tape{}, net, states)
	for i := range states {
		list = append(list, mu.Row(i))
	}
	return list
}

// Reached returns, for each step of an agent's episode with these rewards, the later steps, at most so many ahead, from which on it
// earned most, discounted: several where rounding decides; the step itself where there is none.
func Reached(reward []float32, gamma float64, horizon int) [][]int {
	n := len(reward)
	earned, out := make([]float64, n+1), make([][]int, n)
	for t := n - 1; t >= 0; t-- {
		earned[t] = float64(reward[t]) + gamma*earned[t+1]
		most := math.Inf(-1)
		for at := t + 1; at < min(n, t+1+horizon); at++ {
			most = max(most, earned[at])
		}
		for at := t + 1; at < min(n, t+1+horizon); at++ {
			if earned[at] > most-1e-5*max(1, math.Abs(most)) {
				out[t] = append(out[t], at)
			}
		}
		if out[t] == nil {
			out[t] = []int{t}
		}
	}
	return out
}

// rebuilt is the mean loss of the states that a decoder's last layer stands for.
func (c Coding) rebuilt(t *Tape, net Net, y *Mat, rows []CodeRow) *Mat {
	cells, soft := c.Input.Height*c.Input.Width, 0
	loss := NewMat(1, 1)
	if c.Agents == "cells" {
		soft = c.Players
		at := make([]int32, 0, len(rows)*soft)
		for _, r := range rows {
			for a := range soft {
				cell := int32(cells)
				for k := range cells {
					if r.State[k*c.Input.Planes+a] > 0.5 {
						cell = int32(k)
					}
				}
				at = append(at, cell)
			}
		}
		logits := t.Affine(y, net["cells/w"], net["cells/b"]).shaped(len(at))
		loss = t.Sub(loss, t.Mean(t.At(t.LogSoftmax(logits, nil), at), len(rows)))
	}
	if soft == c.Input.Planes {
		return loss
	}
	logits := t.Affine(y, net["bits/w"], net["bits/b"])
	bits := t.Map(logits, func(x float64) float64 { return math.Log1p(math.Exp(-math.Abs(x))) + max(x, 0) },
		func(x, _ float64) float64 { return logistic(x) })
	full := NewMat(bits.Rows, bits.Cols)
	for i, r := range rows {
		k := 0
		for at, v := range r.State[:cells*c.Input.Planes] {
			if at%c.Input.Planes >= soft {
				full.Row(i)[k] = math.Floor(float64(v) + 0.5)
				k++
			}
		}
	}
	return t.Add(loss, t.Scale(t.Mean(t.Sub(bits, t.Mul(full, logits)), len(rows)), c.Things))
}

// Moved is by how much two optimisers' mean gradients say that a step's gradient was, as a change from nothing.
func (before *Adam) Moved(after *Adam) (zero, gradient Net) {
	zero, gradient = Net{}, Net{}
	for name, m := range after.Mean {
		zero[name], gradient[name] = NewMat(m.Rows, m.Cols), NewMat(m.Rows, m.Cols)
		for i, v := range m.V {
			gradient[name].V[i] = (v - 0.9*before.Mean[name].V[i]) / 0.1
		}
	}
	return zero, gradient
}
