package reference

import (
	"fmt"

	"github.com/hop-marl/hop/game/frame"
)

// Actor is the network that acts: logits over the actions, and a value. Its
// settings say which layers it has (docs/ppo.md); the weights' names are theirs.
type Actor struct {
	Net, Frame, Act string
	Hidden          []int
	Separate        bool // policy and value have layers of their own
	LSTM            int  // width of the memory; 0: none
	Actions         int
	frame.Input
	Sense frame.Sense // what it makes of a board beyond numbering it
}

// encode writes an observation and what is added to it as a row, in the network's
// frame: as it stands on the board, or each thing by its offset from oneself, once
// by cell, with "egof" once more by row and by column, and oneself by row and
// column.
func encode(kind string, in frame.Input, obs, extra []float32) []float64 {
	h, w, planes := in.Height, in.Width, in.Planes
	board := h * w * planes
	var row []float64
	if kind == frame.Board {
		row = Wide(obs[:board])
	} else {
		row = around(kind, h, w, planes, obs[:board])
	}
	row = append(row, Wide(obs[board:board+in.Rest])...)
	more := make([]float64, in.Extra)
	for i, x := range extra {
		more[i] = float64(x)
	}
	return append(row, more...)
}

// around is encode's planes seen from oneself, who is on plane 0.
func around(kind string, h, w, planes int, obs []float32) []float64 {
	tall, broad, things := 2*h-1, 2*w-1, planes-1
	cells := make([]float64, tall*broad*things)
	rows, cols := make([]float64, tall*things), make([]float64, broad*things)
	own := make([]float64, h+w)
	my, mx := 0, 0
	for y := range h {
		for x := range w {
			if v := obs[(y*w+x)*planes]; v != 0 {
				my, mx = y, x
				own[y] += float64(v)
				own[h+x] += float64(v)
			}
		}
	}
	for y := range h {
		for x := range w {
			for c := 1; c < planes; c++ {
				v := float64(obs[(y*w+x)*planes+c])
				dy, dx := y-my+h-1, x-mx+w-1
				cells[(dy*broad+dx)*things+c-1] += v
				rows[dy*things+c-1] += v
				cols[dx*things+c-1] += v
			}
		}
	}
	out := append(cells, own...)
	if kind == frame.Egof {
		out = append(append(out, rows...), cols...)
	}
	return out
}

// Wide returns numbers in float64.
func Wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// Row encodes an observation and a goal. A network that reads no goals may play
// among those that do.
func (a Actor) Row(obs, goal []float32) []float64 {
	goal, obs = goal[:min(a.Extra, len(goal))], a.look(obs).obs
	row := []float64(nil)
	if a.Sense.Unordered {
		row = a.alike(obs, goal)
	} else {
		row = encode(a.Frame, a.Input, obs, goal)
	}
	if a.Sense.Distances {
		row = append(row, a.walks(obs)...)
	}
	return row
}

// rowOf makes a matrix of one row.
func rowOf(x []float64) *Mat { return rowsOf([][]float64{x}) }

// rowsOf makes a matrix of rows of one length.
func rowsOf(rows [][]float64) *Mat {
	m := NewMat(len(rows), len(rows[0]))
	for i, r := range rows {
		copy(m.Row(i), r)
	}
	return m
}

// Forward returns logits [rows][Actions], of the actions as they look to the network, and values
// [rows][1].
func (a Actor) Forward(t *Tape, net Net, x *Mat) (logits, value *Mat) {
	return a.heads(t, net, a.below(t, net, "trunk", x), x)
}

// At returns the logits and the value of one observation.
func (a Actor) At(net Net, obs, goal []float32) (logits []float64, value float64) {
	t := &Tape{}
	l, v := a.Forward(t, net, rowOf(a.Row(obs, goal)))
	return t.acts(l, [][]int32{a.look(obs).acts}).V, v.V[0]
}

// heads are the policy's and the value's.
func (a Actor) heads(t *Tape, net Net, y, x *Mat) (logits, value *Mat) {
	out := t.Affine(y, net["head/w"], net["head/b"])
	if a.Separate {
		return out, t.Affine(a.below(t, net, "critic", x), net["value/w"], net["value/b"])
	}
	return t.Slice(out, 0, a.Actions), t.Slice(out, a.Actions, a.Actions+1)
}

// below is what stands below the heads.
func (a Actor) below(t *Tape, net Net, name string, x *Mat) *Mat {
	if a.Net == "conv" {
		return a.convolved(t, net, x)
	}
	bend := t.ReLU
	if a.Act == "tanh" {
		bend = t.Tanh
	}
	y := bend(t.Input(x, net[name+"/0/w"], net[name+"/0/b"]))
	for i := 1; i < len(a.Hidden); i++ {
		y = bend(t.Affine(y, net[fmt.Sprintf("%s/%d/w", name, i)], net[fmt.Sprintf("%s/%d/b", name, i)]))
	}
	return y
}

// convolved is HOP's network: three convolutions, then a layer that reads them and
// the rest of the row.
func (a Actor) convolved(t *Tape, net Net, x *Mat) *Mat {
	return t.ReLU(t.Affine(convolutions(t, net, "conv", x, a.Input), net["dense/w"], net["dense/b"]))
}

// convolutions runs three of them over the board, and puts the rest of the row beside it.
func convolutions(t *Tape, net Net, name string, x *Mat, in frame.Input) *Mat {
	planes, board := in.Planes, in.Height*in.Width*in.Planes
	y := t.Slice(x, 0, board)
	for i := range 3 {
		w := net[fmt.Sprintf("%s/%d/w", name, i)]
		y = t.ReLU(t.Conv3x3(y, w, net[fmt.Sprintf("%s/%d/b", name, i)], in.Height, in.Width, planes))
		planes = w.Cols
	}
	return t.Concat(y, t.Slice(x, board, x.Cols))
}
