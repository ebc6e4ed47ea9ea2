package onnx

import (
	"fmt"
	"strconv"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// Names of inputs and outputs.
const (
	Obs    = "obs"    // observations as the game writes them
	Legal  = "legal"  // 1 for actions that may be taken, where observations do not say it
	Goals  = "goals"  // what the network is told of goals
	Hidden = "h"      // what is remembered, zero at an episode's start
	Cell   = "c"      // of an LSTM
	Logits = "logits" // illegal actions have Illegal
	Probs  = "probs"  // illegal actions have 0
	Worth  = "value"
)

// Illegal is the logit of an action that may not be taken.
const Illegal = f32.LogZero

// Next is the name of the output that is to be put in again as an input at the next step.
func Next(name string) string { return name + "_next" }

// Actor adds a network that acts: logits, probabilities and the value, which is divided by
// scale, that of the rewards that it learnt from. legalAt is where in an observation the mask
// lies; -1: nowhere, and it is an input of its own.
func Actor(name string, m *actor.Model, p *nn.Params, legalAt int, scale float64) (*Graph, error) {
	g := newGraph(name)
	n := &net{Graph: g, p: p}
	if err := walkable(m.Input.Input, m.Sense.Distances); err != nil {
		return nil, err
	}
	obs := g.takes(Obs, "observations as the game writes them", m.Len())
	legal := n.mask(obs, legalAt, m.Actions)
	extra := Value("")
	if m.Extra > 0 {
		extra = g.takes(Goals, "what the network is told of the others' goals, by place", m.Extra)
	}
	x, acts := g.rows(m.Config.Frame, m.Input.Input, m.Actions, m.Sense, obs, extra)
	act := m.Act
	var y Value
	if m.Net == "conv" {
		y = n.dense("dense", n.conv("conv", m.Input.Input, x), "relu")
	} else {
		y = n.mlp("trunk", len(m.Hidden), x, act)
	}
	if m.LSTM > 0 {
		y = n.lstm("lstm", m.LSTM, y)
	}
	logits, value := n.dense("head", y, ""), Value("")
	if m.Separate {
		value = n.dense("value", n.mlp("critic", len(m.Hidden), x, act), "")
	} else {
		value = g.columns(logits, m.Actions, m.Actions+1)
		logits = g.columns(logits, 0, m.Actions)
	}
	if acts != "" {
		logits = g.do("GatherElements", []Value{logits, acts}, one("axis", 1))
	}
	n.policy(logits, legal, m.Actions)
	value = g.do("Div", []Value{value, g.number(float32(scale))})
	g.gives(Worth, g.do("Reshape", []Value{value, g.ints(-1)}), "the return that the network expects")
	return g, n.err
}

// Others adds a model of others: what the one from whose place an observation is does next.
func Others(name string, m *moa.Model, p *nn.Params) (*Graph, error) {
	g := newGraph(name)
	n := &net{Graph: g, p: p}
	if err := walkable(m.Input.Input, m.Distances); err != nil {
		return nil, err
	}
	obs := g.takes(Obs, "observations of the modelled agent, as the game writes them for its place", m.Len())
	legal := n.mask(obs, m.LegalAt, m.Actions)
	extra := Value("")
	if m.Distances {
		e := &encoding{Graph: g, Input: m.Input.Input, cells: m.Height * m.Width}
		planes := g.reshape(g.columns(obs, 0, e.cells*m.Planes), int64(e.cells), int64(m.Planes))
		extra = e.nearer(planes, frame.Meaning{Seats: m.Seats, Block: first(m.Blocks)}.Things(m.Planes), m.Blocks)
	}
	x, _ := g.rows(m.Config.Frame, m.Input.Input, m.Actions, frame.Sense{}, obs, extra)
	layers := 1
	var y Value
	if m.Net == "conv" {
		y = n.conv("conv", m.Input.Input, x)
	} else {
		y = n.dense("first", x, "relu")
		layers = len(m.Config.Hidden) - 1
	}
	joined := []Value{y}
	if m.History > 0 {
		joined = append(joined, n.gru("gru", m.History, n.dense("sense", y, "relu")))
	}
	if m.GoalLen > 0 {
		joined = append(joined, g.takes(Goals, "what the agent is taken to be after, and which co-player it is", m.GoalLen))
	}
	y = n.mlp("body", layers, g.concat(joined...), "relu")
	n.policy(n.dense("head", y, ""), legal, m.Actions)
	return g, n.err
}

// walkable refuses boards that are too large for walking distances in a graph, which has nodes
// for each step that a walk may have.
func walkable(in frame.Input, distances bool) error {
	const most = 400
	if n := in.Height * in.Width; distances && n > most {
		return fmt.Errorf("onnx: the network reads walking distances on a board of %d cells; up to %d can be written as a graph: "+
			"train one without, with distances=false", n, most)
	}
	return nil
}

// first returns the first of a list, 0 of none.
func first(list []int) int {
	if len(list) == 0 {
		return 0
	}
	return list[0]
}

// net turns layers into nodes, by the names of their weights.
type net struct {
	*Graph
	p   *nn.Params
	err error
}

// weights returns a part of the network.
func (n *net) weights(name string) (Value, []int) {
	part, ok := n.p.Find(name)
	if !ok && n.err == nil {
		n.err = fmt.Errorf("onnx: the network has no part %s", name)
	}
	if !ok {
		return "", []int{0, 0, 0, 0}
	}
	w, _ := n.p.At(part.Span)
	return n.numbers(name, w, part.Shape...), part.Shape
}

// mask returns which actions may be taken, as truths.
func (n *net) mask(obs Value, at, actions int) Value {
	legal := Value("")
	if at >= 0 {
		legal = n.columns(obs, at, at+actions)
	} else {
		legal = n.takes(Legal, "1 for actions that may be taken, else 0", actions)
	}
	return n.do("Not", []Value{n.do("Equal", []Value{legal, n.number(0)})})
}

// policy puts out logits and probabilities of the legal actions.
func (n *net) policy(logits, legal Value, actions int) {
	logits = n.do("Where", []Value{legal, logits, n.number(Illegal)})
	n.gives(Logits, logits, "unnormalised log-probabilities of the actions; illegal ones are very low", actions)
	probs := n.mul(n.do("Softmax", []Value{logits}, one("axis", -1)), n.asFloat(legal))
	n.gives(Probs, probs, "probabilities of the actions; illegal ones have none", actions)
}

func (n *net) dense(name string, x Value, act string) Value {
	w, _ := n.weights(name + "/w")
	b, _ := n.weights(name + "/b")
	y := n.add(n.matMul(x, w), b)
	switch act {
	case "relu":
		return n.do("Relu", []Value{y})
	case "tanh":
		return n.do("Tanh", []Value{y})
	}
	return y
}

func (n *net) mlp(name string, layers int, x Value, act string) Value {
	for i := range layers {
		x = n.dense(name+"/"+strconv.Itoa(i), x, act)
	}
	return x
}

// conv is the lower half of HOP's networks: three convolutions over the planes, flattened as
// [Height][Width][channels] and followed by the rest of the row.
func (n *net) conv(name string, in frame.Input, x Value) Value {
	planes := in.Height * in.Width * in.Planes
	y := n.reshape(n.columns(x, 0, planes), int64(in.Height), int64(in.Width), int64(in.Planes))
	y = n.do("Transpose", []Value{y}, many("perm", 0, 3, 1, 2))
	channels := 0
	for i := range 3 {
		layer := name + "/" + strconv.Itoa(i)
		w, shape := n.weights(layer + "/w") // [3][3][in][out]
		b, _ := n.weights(layer + "/b")
		channels = shape[3]
		w = n.do("Transpose", []Value{w}, many("perm", 3, 2, 0, 1))
		y = n.do("Relu", []Value{n.do("Conv", []Value{y, w, b}, many("kernel_shape", 3, 3), many("pads", 1, 1, 1, 1))})
	}
	y = n.do("Transpose", []Value{y}, many("perm", 0, 2, 3, 1))
	y = n.reshape(y, int64(in.Height*in.Width*channels))
	if in.Rest+in.Extra == 0 {
		return y
	}
	return n.concat(y, n.columns(x, planes, planes+in.Rest+in.Extra))
}

// state declares something that is remembered from step to step.
func (n *net) state(name string, width int) Value {
	return n.takes(name, "what is remembered: zero at an episode's start, then "+Next(name)+" of the step before", width)
}

// lstm is one step of an LSTM, its gates in the order in, forget, cell, out.
func (n *net) lstm(name string, width int, x Value) Value {
	h, c := n.state(Hidden, width), n.state(Cell, width)
	wx, _ := n.weights(name + "/wx")
	wh, _ := n.weights(name + "/wh")
	b, _ := n.weights(name + "/b")
	gate := n.split(n.add(n.add(n.matMul(x, wx), n.matMul(h, wh)), b), 4)
	sigmoid := func(v Value) Value { return n.do("Sigmoid", []Value{v}) }
	tanh := func(v Value) Value { return n.do("Tanh", []Value{v}) }
	c = n.add(n.mul(sigmoid(gate[1]), c), n.mul(sigmoid(gate[0]), tanh(gate[2])))
	h = n.mul(sigmoid(gate[3]), tanh(c))
	n.gives(Next(Hidden), h, "h of the next step", width)
	n.gives(Next(Cell), c, "c of the next step", width)
	return h
}

// gru is one step of a GRU, its gates in the order reset, update, new.
func (n *net) gru(name string, width int, x Value) Value {
	h := n.state(Hidden, width)
	wx, _ := n.weights(name + "/wx")
	wh, _ := n.weights(name + "/wh")
	bx, _ := n.weights(name + "/bx")
	bh, _ := n.weights(name + "/bh")
	gx, gh := n.split(n.add(n.matMul(x, wx), bx), 3), n.split(n.add(n.matMul(h, wh), bh), 3)
	sigmoid := func(v Value) Value { return n.do("Sigmoid", []Value{v}) }
	r, z := sigmoid(n.add(gx[0], gh[0])), sigmoid(n.add(gx[1], gh[1]))
	fresh := n.do("Tanh", []Value{n.add(gx[2], n.mul(r, gh[2]))})
	h = n.add(fresh, n.mul(z, n.sub(h, fresh)))
	n.gives(Next(Hidden), h, "h of the next step", width)
	return h
}
