package reference

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
)

// Label is a co-player's step of a window and what it was done for, as it is known
// in hindsight.
type Label struct {
	Other  int // which of the others
	Agent  agent.ID
	T, Env int
	Goal   []float64 // [features], without doubt
}

// Others is a model of others (docs/opponents.md): what a co-player does next, from
// its own view of the game, given its goal and which co-player it is.
type Others struct {
	OthersSettings
	Spec  game.Spec
	Width int // numbers about a goal, doubt the last of them
	Count int // co-players
}

// Reads returns what the model reads about co-player j with a goal.
func (o Others) Reads(j int, goal []float64) []float64 {
	out := make([]float64, o.Width+o.Count)
	copy(out, goal)
	out[o.Width+j] = 1
	return out
}

// Row encodes an observation as the network's lowest layer reads it.
func (o Others) Row(obs []float32) []float64 {
	in := board(o.Spec, true)
	var near []float32
	if o.Distances {
		near = nearer(o.Spec, obs)
		in.Extra = len(near)
	}
	return encode(o.Frame, in, obs, near)
}

// Forward returns logits [rows][Actions] of encoded rows and what is read.
func (o Others) Forward(t *Tape, net Net, x, features *Mat) *Mat {
	var y *Mat
	if o.Net == "conv" {
		y = convolutions(t, net, "conv", x, board(o.Spec, false))
	} else {
		y = t.ReLU(t.Input(x, net["first/w"], net["first/b"]))
	}
	y = layers(t, net, "body", t.Concat(y, features))
	return t.Affine(y, net["head/w"], net["head/b"])
}

// layers runs layers name/0, name/1, ..., each with a positive part.
func layers(t *Tape, net Net, name string, y *Mat) *Mat {
	for i := 0; ; i++ {
		w, ok := net[fmt.Sprintf("%s/%d/w", name, i)]
		if !ok {
			return y
		}
		y = t.ReLU(t.Affine(y, w, net[fmt.Sprintf("%s/%d/b", name, i)]))
	}
}

// Legal returns the mask that the model uses: the one that observations show, or
// all actions in games that show none.
func (o Others) Legal(legal []bool) []bool {
	if o.Spec.Obs.Legal > 0 {
		return legal
	}
	return slices.Repeat([]bool{true}, len(legal))
}

// Predict returns the probabilities of a co-player's actions.
func (o Others) Predict(net Net, obs []float32, legal []bool, features []float64) []float64 {
	return Softmax(o.Forward(&Tape{}, net, rowOf(o.Row(obs)), rowOf(features)).V, o.Legal(legal))
}

// Step is one row to learn from: what a co-player saw, what the model reads about
// it, which actions it could choose and what it did.
type Step struct {
	Obs      []float32
	Features []float64
	Legal    []bool
	Action   int32
}

// Steps returns the rows of labelled steps.
func (o Others) Steps(ro *batch.Rollout, labels []Label) []Step {
	var rows []Step
	for _, l := range labels {
		slot := ro.Slot(l.Agent, l.T, l.Env)
		rows = append(rows, Step{ro.ObsAt(slot), o.Reads(l.Other, l.Goal), o.Legal(ro.LegalAt(slot)), ro.Action[ro.Step(l.Agent, l.T, l.Env)]})
	}
	return rows
}

// Update learns from rows, as often as Passes says: every pass takes them in an
// order drawn from r, batch by batch, along the gradient of the mean cross-entropy.
// net and opt end where they should.
func (o Others) Update(net Net, opt *Adam, rows []Step, r *rng.Rand) {
	class := o.classes(rows)
	turns := turnsOf(o.Augment, o.Spec)
	encoded := map[[2]int][]float64{}
	for range o.Passes {
		order := make([]int, len(rows)*o.Views)
		for i := range order {
			order[i] = i % len(rows)
		}
		shuffle(order, r)
		views := make([]int, len(order))
		for i := range views {
			if len(turns) > 0 {
				views[i] = r.IntN(len(turns))
			}
		}
		for lo := 0; lo < len(order); lo += o.Batch {
			hi := min(lo+o.Batch, len(order))
			var x, features [][]float64
			var legal []bool
			var target []int32
			var weight []float64
			all := 0.
			for i := lo; i < hi; i++ {
				s := rows[order[i]]
				key := [2]int{order[i], views[i]}
				seen := s
				if len(turns) > 0 {
					seen = turns[views[i]].of(s, o.Spec)
				}
				if encoded[key] == nil {
					encoded[key] = o.Row(seen.Obs)
				}
				x, features = append(x, encoded[key]), append(features, s.Features)
				legal, target = append(legal, seen.Legal...), append(target, seen.Action)
				weight = append(weight, class[seen.Action]) // of what it looks like,
				all += class[s.Action]                      // over what was done, as counted
			}
			for i := range weight {
				weight[i] /= -all
			}
			t := &Tape{round: 1}
			logp := t.LogSoftmax(o.Forward(t, net, rowsOf(x), rowsOf(features)), legal)
			t.Backward(t.Weigh(t.At(logp, target), weight))
			for _, m := range net {
				for i := range m.V {
					m.V[i] *= 1 - o.LR*o.Decay // decoupled from the gradient
				}
			}
			opt.Step(net, o.LR, o.Clip)
		}
	}
}

// classes returns what a row of each action weighs: 1, or with Balance inversely to
// how often it occurs, 1 on average.
func (o Others) classes(rows []Step) []float64 {
	out, count, kinds := make([]float64, len(o.Spec.Actions)), make([]int, len(o.Spec.Actions)), 0
	for _, s := range rows {
		if count[s.Action]++; count[s.Action] == 1 {
			kinds++
		}
	}
	for k := range out {
		switch {
		case !o.Balance:
			out[k] = 1
		case count[k] > 0:
			out[k] = float64(len(rows)) / float64(kinds*count[k])
		}
	}
	return out
}

// moves are up, down, left and right as steps of row and column.
var moves = [4][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}

// nearer says, of every kind of thing on the board, which moves are on a shortest
// path to the nearest one, around what cannot be entered: [things][4].
func nearer(spec game.Spec, obs []float32) []float32 {
	l := spec.Obs
	h, w, planes := l.Height, l.Width, len(l.Planes)
	at := func(y, x, p int) bool { return obs[(y*w+x)*planes+p] != 0 }
	shut := func(y, x int) bool {
		if y < 0 || x < 0 || y >= h || x >= w {
			return true
		}
		for p, name := range l.Planes {
			if name == "block" && at(y, x, p) {
				return true
			}
		}
		return false
	}
	var out []float32
	for p := spec.Seats; p < planes; p++ {
		if l.Planes[p] == "block" {
			continue
		}
		const far = 1 << 20
		dist := make([]int, h*w)
		my, mx := -1, -1
		for i := range dist {
			if dist[i] = far; at(i/w, i%w, p) {
				dist[i] = 0
			}
			if at(i/w, i%w, 0) {
				my, mx = i/w, i%w
			}
		}
		for again := true; again; { // until no cell is nearer by way of a neighbour
			again = false
			for i := range dist {
				for _, m := range moves {
					y, x := i/w+m[0], i%w+m[1]
					if !shut(y, x) && dist[i]+1 < dist[y*w+x] {
						dist[y*w+x], again = dist[i]+1, true
					}
				}
			}
		}
		for _, m := range moves {
			y, x := my+m[0], mx+m[1]
			leads := float32(0)
			if my >= 0 && !shut(y, x) && dist[y*w+x] < dist[my*w+mx] {
				leads = 1
			}
			out = append(out, leads)
		}
	}
	return out
}

// turn is a way of looking at a step: rows mirrored (1), columns mirrored (2), then
// both exchanged (4), and the others named in another order.
type turn struct {
	flip  int
	order []int // other i becomes order[i]; nil: as they are
}

// turnsOf returns all ways that an augmentation has, in the order in which they are
// drawn.
func turnsOf(augment string, spec game.Spec) []turn {
	if augment == "none" || augment == "" {
		return nil
	}
	orders := [][]int{nil}
	if n := spec.Seats - 1; augment == "all" && n > 3 {
		orders = nil
		for shift := range n {
			var p []int
			for i := range n {
				p = append(p, (i+shift)%n)
			}
			orders = append(orders, p)
		}
	} else if augment == "all" {
		for i := range n {
			var longer [][]int
			for _, p := range orders {
				for at := range i + 1 {
					longer = append(longer, append(append(append([]int{}, p[:at]...), i), p[at:]...))
				}
			}
			orders = longer
		}
	}
	var out []turn
	for flip := range 8 {
		if flip&4 != 0 && spec.Obs.Height != spec.Obs.Width {
			continue
		}
		for _, o := range orders {
			out = append(out, turn{flip, o})
		}
	}
	return out
}

// cell returns where a cell of a board of h by w lies after the turn.
func (t turn) cell(y, x, h, w int) (int, int) {
	if t.flip&1 != 0 {
		y = h - 1 - y
	}
	if t.flip&2 != 0 {
		x = w - 1 - x
	}
	if t.flip&4 != 0 {
		y, x = x, y
	}
	return y, x
}

// Turned returns a step in all ways in which the augmentation shows it.
func (o Others) Turned(s Step) (list []Step) {
	for _, t := range turnsOf(o.Augment, o.Spec) {
		list = append(list, t.of(s, o.Spec))
	}
	return list
}

// of returns a step as it looks after the turn.
func (t turn) of(s Step, spec game.Spec) Step {
	l, k := spec.Obs, len(spec.Actions)
	act := make([]int, k)
	for a := range act {
		act[a] = a
	}
	names := [4]string{"up", "down", "left", "right"}
	find := func(name string) int { return slices.Index(spec.Actions, name) }
	for d, m := range moves {
		y, x := t.cell(1+m[0], 1+m[1], 3, 3)
		for e, n := range moves {
			if n[0] == y-1 && n[1] == x-1 {
				act[find(names[d])] = find(names[e])
			}
		}
	}
	who := func(i int) int { // the i-th of the agents, oneself being 0
		if i >= 1 && i <= len(t.order) {
			return 1 + t.order[i-1]
		}
		return i
	}
	out := Step{make([]float32, len(s.Obs)), s.Features, make([]bool, k), int32(act[s.Action])}
	copy(out.Obs, s.Obs)
	planes := len(l.Planes)
	for y := range l.Height {
		for x := range l.Width {
			ty, tx := t.cell(y, x, l.Height, l.Width)
			for p := range planes {
				out.Obs[(ty*l.Width+tx)*planes+who(p)] = s.Obs[(y*l.Width+x)*planes+p]
			}
		}
	}
	for a := range k {
		out.Legal[act[a]] = s.Legal[a]
		out.Obs[l.LegalAt()+act[a]] = s.Obs[l.LegalAt()+a]
		for i := range l.Last {
			out.Obs[l.LastAt()+who(i)*k+act[a]] = s.Obs[l.LastAt()+i*k+a]
		}
	}
	return out
}
