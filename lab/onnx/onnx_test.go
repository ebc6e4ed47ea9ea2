package onnx

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// layout is a made-up board game: three seats, things, blocks and whatever else.
func layout(height, width, features int) frame.Layout {
	return frame.Layout{Height: height, Width: width, Planes: []string{"self", "b", "c", "stag", "hare", "block"}, Features: features,
		Legal: len(moves), Time: 1, Last: 3}
}

var moves = []string{"stay", "up", "down", "left", "right", "hunt"}

// draw returns observations of a layout: boards with everyone somewhere, or gone, things and
// blocks here and there, masks, times and last actions.
func draw(l frame.Layout, rows int, r *rng.Rand) []float32 {
	in := l.Input()
	n, cells, planes := in.Len(), l.Height*l.Width, len(l.Planes)
	out := make([]float32, rows*n)
	for i := range rows {
		obs := out[i*n : (i+1)*n]
		for p := range planes {
			if p < 3 {
				if r.IntN(8) > 0 {
					obs[r.IntN(cells)*planes+p] = 1
				}
				continue
			}
			for range r.IntN(4) {
				obs[r.IntN(cells)*planes+p] = 1
			}
		}
		rest := obs[cells*planes:]
		for k := range l.Features {
			rest[k] = float32(r.Norm())
		}
		rest = rest[l.Features:]
		for k := range l.Legal {
			rest[k] = float32(r.IntN(2))
		}
		rest[r.IntN(max(1, l.Legal))] = 1
		rest[l.Legal] = float32(r.IntN(12)) / 12
		for s := range l.Last {
			rest[l.Legal+1+s*l.Legal+r.IntN(l.Legal)] = 1
		}
	}
	return out
}

// strong makes weights large, so that what an action is worth shows in the logits.
func strong(p *nn.Params, key rng.Key) {
	r := key.Child("strong").Rand()
	for _, part := range p.Parts {
		w, _ := p.At(part.Span)
		for i := range w {
			w[i] = float32(r.Norm()) * 0.3
		}
	}
}

func wide(x []float32, rows int) array {
	a := array{dims: []int{rows, len(x) / rows}}
	for _, v := range x {
		a.x = append(a.x, float64(v))
	}
	return a
}

// hold compares an output with what it must be.
func hold(t *testing.T, what string, got array, want []float32) {
	t.Helper()
	if len(got.x) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got.x), len(want))
		return
	}
	for i, w := range want {
		if d := math.Abs(got.x[i] - float64(w)); !(d <= 1e-4*(1+math.Abs(float64(w)))) {
			t.Errorf("%s: number %d of %d is %v, want %v", what, i, len(want), got.x[i], w)
			return
		}
	}
}

// masked puts Illegal where an observation's mask is 0.
func masked(logits []float32, obs []float32, rows, length, actions, legalAt int) []float32 {
	out := slices.Clone(logits[:rows*actions])
	for i := range out {
		if obs[i/actions*length+legalAt+i%actions] == 0 {
			out[i] = Illegal
		}
	}
	return out
}

// Every kind of network that acts, in every frame, computes in its file what it computes here.
func TestAFileOfAnActorComputesWhatTheActorDoes(t *testing.T) {
	const rows = 12
	net := actor.Config{Net: "dense", Frame: "egof", Hidden: []int{9, 7}, Act: "relu"}
	with := func(change func(c *actor.Config)) actor.Config {
		c := net
		change(&c)
		return c
	}
	for _, c := range []struct {
		name          string
		net           actor.Config
		height, width int
		features      int
		said          int // numbers said of each co-player
		sense         frame.Sense
	}{
		{"egof", net, 3, 4, 2, 1, frame.Sense{}},
		{"ego, tanh", with(func(c *actor.Config) { c.Frame, c.Act = "ego", "tanh" }), 4, 3, 0, 0, frame.Sense{}},
		{"board", with(func(c *actor.Config) { c.Frame = "board" }), 2, 3, 1, 2, frame.Sense{}},
		{"separate", with(func(c *actor.Config) { c.Separate = true }), 3, 3, 0, 0, frame.Sense{}},
		{"LSTM", with(func(c *actor.Config) { c.LSTM = 5 }), 3, 3, 0, 0, frame.Sense{}},
		{"conv", with(func(c *actor.Config) { c.Net, c.Frame = "conv", "board" }), 3, 4, 1, 1, frame.Sense{}},
		{"turned, square", net, 3, 3, 0, 2, frame.Sense{Turn: true}},
		{"turned, not square", net, 2, 4, 0, 0, frame.Sense{Turn: true}},
		{"unordered", with(func(c *actor.Config) { c.Frame = "ego" }), 3, 3, 1, 3, frame.Sense{Unordered: true}},
		{"unordered, nothing said", net, 3, 3, 0, 0, frame.Sense{Unordered: true}},
		{"distances", net, 3, 4, 0, 1, frame.Sense{Distances: true}},
		{"all of it", with(func(c *actor.Config) { c.Separate = true }), 4, 4, 0, 2, frame.Sense{Turn: true, Unordered: true, Distances: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			key := rng.New(3).Child(c.name)
			r := key.Rand()
			l := layout(c.height, c.width, c.features)
			in := actor.Input{Input: l.Input(), Actions: len(moves), Sense: c.sense.Of(l, 3, 12, moves)}
			in.Extra = 2 * c.said
			m, p, err := actor.New(c.net, in, key)
			if err != nil {
				t.Fatal(err)
			}
			strong(p, key)
			legalAt := l.Height*l.Width*len(l.Planes) + l.Features
			g, err := Actor("net", m, p, legalAt, 0.5)
			if err != nil {
				t.Fatal(err)
			}
			obs := draw(l, rows, &r)
			some := func(n int) []float32 {
				list := make([]float32, rows*n)
				for i := range list {
					if r.IntN(3) > 0 {
						list[i] = float32(r.Norm())
					}
				}
				return list
			}
			goals := some(m.Extra)
			given := map[string]array{Obs: wide(obs, rows), Goals: wide(goals, rows)}
			ws := m.Work(rows)
			for i := range rows {
				ws.Add(obs[i*m.Len():(i+1)*m.Len()], goals[i*m.Extra:(i+1)*m.Extra])
			}
			if m.LSTM > 0 {
				h, cell := ws.State()
				copy(h, some(m.LSTM))
				copy(cell, some(m.LSTM))
				given[Hidden], given[Cell] = wide(h[:rows*m.LSTM], rows), wide(cell[:rows*m.LSTM], rows)
				ws.Step(p)
				out := run(g.Bytes(), given)
				hold(t, "h", out[Next(Hidden)], h[:rows*m.LSTM])
				hold(t, "c", out[Next(Cell)], cell[:rows*m.LSTM])
			} else {
				ws.Forward(p)
			}
			out := run(g.Bytes(), given)
			hold(t, Logits, out[Logits], masked(ws.Logits, obs, rows, m.Len(), m.Actions, legalAt))
			value := slices.Clone(ws.Value[:rows])
			for i := range value {
				value[i] *= 2 // of rewards at half their size
			}
			hold(t, Worth, out[Worth], value)
			for i := range rows {
				sum := 0.
				for k := range m.Actions {
					q := out[Probs].x[i*m.Actions+k]
					sum += q
					if obs[i*m.Len()+legalAt+k] == 0 && q != 0 {
						t.Fatalf("row %d: illegal action %d has probability %v", i, k, q)
					}
				}
				if math.Abs(sum-1) > 1e-9 {
					t.Fatalf("row %d: probabilities sum to %v", i, sum)
				}
			}
		})
	}
}

// So do models of others, with walking distances and with a memory.
func TestAFileOfAModelOfOthersComputesWhatTheModelDoes(t *testing.T) {
	const rows = 12
	for _, c := range []moa.Config{
		{Net: "dense", Frame: "egof", Hidden: []int{8, 6, 5}},
		{Net: "dense", Frame: "ego", Hidden: []int{8, 6}, Distances: true},
		{Net: "dense", Frame: "board", Hidden: []int{8, 6}, History: 5},
		{Net: "conv", Frame: "board"},
	} {
		name := fmt.Sprint(c)
		key := rng.New(4).Child(name)
		r := key.Rand()
		l := layout(4, 3, 1)
		m, p, err := moa.New(c, moa.NewInput(l, 3, moves, 4), key)
		if err != nil {
			t.Fatal(name, err)
		}
		strong(p, key)
		g, err := Others("net", m, p)
		if err != nil {
			t.Fatal(name, err)
		}
		obs, goals, h := draw(l, rows, &r), make([]float32, rows*m.GoalLen), make([]float32, rows*c.History)
		for i := range goals {
			goals[i] = float32(r.Norm())
		}
		for i := range h {
			h[i] = float32(r.Norm())
		}
		given := map[string]array{Obs: wide(obs, rows), Goals: wide(goals, rows), Hidden: wide(h, rows)}
		ws := m.Work(rows)
		for i := range rows {
			ws.Add(obs[i*m.Len():(i+1)*m.Len()], goals[i*m.GoalLen:(i+1)*m.GoalLen])
		}
		out := run(g.Bytes(), given)
		if c.History > 0 {
			ws.Step(p, h)
			hold(t, name+" h", out[Next(Hidden)], h)
		} else {
			ws.Forward(p)
		}
		hold(t, name, out[Logits], masked(ws.Logits, obs, rows, m.Len(), m.Actions, m.LegalAt))
	}
}

// A mask that observations do not hold is an input of its own.
func TestAMaskThatIsNotObservedIsAnInput(t *testing.T) {
	in := actor.Input{Input: frame.Input{Rest: 4}, Actions: 3}
	m, p, err := actor.New(actor.Config{Net: "dense", Frame: "board", Hidden: []int{4}, Act: "relu"}, in, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	g, err := Actor("net", m, p, -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Inputs) != 2 || g.Inputs[1].Name != Legal {
		t.Fatalf("inputs are %v, want obs and legal", g.Inputs)
	}
	out := run(g.Bytes(), map[string]array{Obs: zeros(1, 4), Legal: {[]int{1, 3}, []float64{1, 0, 1}}})
	if q := out[Probs].x; q[1] != 0 || q[0] < 0.4 || q[2] < 0.4 {
		t.Errorf("probabilities %v, want half for the legal two", q)
	}
}

// The file is what the format says: its version, its operators' version, what it says of itself,
// and a batch of any size. The same network gives the same bytes.
func TestAFileSaysWhatItIs(t *testing.T) {
	file := func() []byte {
		in := actor.Input{Input: layout(3, 3, 0).Input(), Actions: len(moves)}
		m, p, err := actor.New(actor.Default(), in, rng.New(1))
		if err != nil {
			t.Fatal(err)
		}
		g, err := Actor("net", m, p, -1, 1)
		if err != nil {
			t.Fatal(err)
		}
		g.Say("game", "staghunt")
		return g.Bytes()
	}
	b := file()
	if !bytes.Equal(b, file()) {
		t.Error("the same network gives other bytes")
	}
	var got []string
	for _, f := range fields(b) {
		switch f.num {
		case 1:
			got = append(got, fmt.Sprint("ir ", f.int))
		case 2:
			got = append(got, "by "+string(f.raw))
		case 7:
			for _, p := range fields(f.raw) {
				if p.num == 11 || p.num == 12 {
					shape := fields(fields(fields(fields(p.raw)[1].raw)[0].raw)[1].raw)
					dims := string(fields(shape[0].raw)[0].raw)
					for _, d := range shape[1:] {
						dims += fmt.Sprint(" ", fields(d.raw)[0].int)
					}
					got = append(got, text(fields(p.raw), 1)+" "+dims)
				}
			}
		case 8:
			got = append(got, fmt.Sprint("opset ", fields(f.raw)[1].int))
		case 14:
			got = append(got, strings.Join(append(texts(fields(f.raw), 1), texts(fields(f.raw), 2)...), " "))
		}
	}
	want := []string{"ir 8", "by hop", "obs batch 79", "legal batch 6", "logits batch 6", "probs batch 6", "value batch",
		"opset 17", "game staghunt"}
	if !slices.Equal(got, want) {
		t.Errorf("the file says\n%q, want\n%q", got, want)
	}
}

// Walking distances on a board that is too large are refused in a sentence.
func TestTooLargeABoardIsRefused(t *testing.T) {
	l := layout(21, 21, 0)
	m, p, err := moa.Layers(moa.Config{Net: "dense", Frame: "board", Hidden: []int{2, 2}, Distances: true}, moa.NewInput(l, 3, moves, 0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Others("net", m, p); err == nil || !strings.Contains(err.Error(), "441 cells") {
		t.Errorf("got %v, want a word about 441 cells", err)
	}
}
