package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// step is one of a recurrent layer.
type step func(t *reference.Tape, x *reference.Mat, state []*reference.Mat) []*reference.Mat

// unroll runs a recurrent layer over sequences: its state is zero where one begins, and stays
// as it is where nobody is alive.
func unroll(s nn.Seq, x []float64, state []*reference.Mat, step step) (y []float64) {
	tape, each := &reference.Tape{}, len(x)/s.T
	for t := range s.T {
		now := slices.Clone(state)
		for i, h := range now {
			if s.Reset != nil {
				now[i] = tape.Choose(s.Reset[t*s.N:(t+1)*s.N], reference.NewMat(h.Rows, h.Cols), h)
			}
		}
		state = step(tape, mat(x[t*each:(t+1)*each], s.N), now)
		for i := range state {
			if s.Alive != nil {
				state[i] = tape.Choose(s.Alive[t*s.N:(t+1)*s.N], state[i], now[i])
			}
		}
		y = append(y, state[0].V...)
	}
	return y
}

func lstmTwin(l nn.LSTM, at func(string) []float64, s nn.Seq) []float64 {
	net := reference.Net{"l/wx": mat(at("l/wx"), l.In), "l/wh": mat(at("l/wh"), l.H), "l/b": mat(at("l/b"), 1)}
	return unroll(s, at("x"), []*reference.Mat{mat(at("h0"), s.N), mat(at("c0"), s.N)},
		func(t *reference.Tape, x *reference.Mat, now []*reference.Mat) []*reference.Mat {
			h, c := t.LSTM(net, "l", x, now[0], now[1])
			return []*reference.Mat{h, c}
		})
}

func gruTwin(l nn.GRU, at func(string) []float64, s nn.Seq) []float64 {
	net := reference.Net{"l/wx": mat(at("l/wx"), l.In), "l/wh": mat(at("l/wh"), l.H), "l/bx": mat(at("l/bx"), 1), "l/bh": mat(at("l/bh"), 1)}
	return unroll(s, at("x"), []*reference.Mat{mat(at("h0"), s.N)},
		func(t *reference.Tape, x *reference.Mat, now []*reference.Mat) []*reference.Mat {
			return []*reference.Mat{t.GRU(net, "l", x, now[0])}
		})
}

// seqs are sequences without and with resets and dead rows.
func seqs(steps, rows int) []nn.Seq {
	s := nn.Seq{T: steps, N: rows, Reset: make([]bool, steps*rows), Alive: make([]bool, steps*rows)}
	for i := range s.Reset {
		s.Reset[i] = i%7 == 3
		s.Alive[i] = i%5 != 2
	}
	return []nn.Seq{{T: steps, N: rows}, s}
}

// jitter moves all weights, so that no bias is at its plain first value.
func jitter(p *nn.Params) {
	for i, v := range random(len(p.W), "jitter") {
		p.W[i] += 0.1 * v
	}
}

// recurrent is a layer with its workspace: what LSTM and GRU are tested for alike.
type recurrent struct {
	name       string
	p          *nn.Params
	states     []string    // their names in the twin
	first, dif [][]float32 // [states] at the start of a sequence, and their gradients
	forward    func(x []float32, s nn.Seq) []float32
	backward   func(dx, x, dy []float32, s nn.Seq)
	carry      func() // the last state becomes the first
	step       func(state [][]float32, x []float32, rows int)
	twin       func(at func(string) []float64, s nn.Seq) []float64
}

func recurrents(steps, rows, in, hidden int) []recurrent {
	p, q := &nn.Params{}, &nn.Params{}
	l, g := p.LSTM("l", in, hidden), q.GRU("l", in, hidden)
	p.Init(rng.New(1))
	q.Init(rng.New(1))
	lw, gw := l.Work(steps, rows), g.Work(steps, rows)
	return []recurrent{
		{"LSTM", p, []string{"h0", "c0"}, [][]float32{lw.H0, lw.C0}, [][]float32{lw.DH, lw.DC},
			func(x []float32, s nn.Seq) []float32 { l.Forward(p, lw, x, s); return lw.Y },
			func(dx, x, dy []float32, s nn.Seq) { copy(lw.DY, dy); l.Backward(p, lw, dx, x, s) },
			func() { copy(lw.H0, lw.HN); copy(lw.C0, lw.CN) },
			func(state [][]float32, x []float32, rows int) { l.Step(p, lw, state[0], state[1], x, rows) },
			func(at func(string) []float64, s nn.Seq) []float64 { return lstmTwin(l, at, s) }},
		{"GRU", q, []string{"h0"}, [][]float32{gw.H0}, [][]float32{gw.DH},
			func(x []float32, s nn.Seq) []float32 { g.Forward(q, gw, x, s); return gw.Y },
			func(dx, x, dy []float32, s nn.Seq) { copy(gw.DY, dy); g.Backward(q, gw, dx, x, s) },
			func() { copy(gw.H0, gw.HN) },
			func(state [][]float32, x []float32, rows int) { g.Step(q, gw, state[0], x, rows) },
			func(at func(string) []float64, s nn.Seq) []float64 { return gruTwin(g, at, s) }},
	}
}

func TestRecurrentGradients(t *testing.T) {
	const steps, rows, in, hidden = 4, 3, 5, 6
	for i, s := range seqs(steps, rows) {
		for _, l := range recurrents(steps+1, rows+1, in, hidden) {
			jitter(l.p)
			x, dx, c := random(steps*rows*in, "x"), make([]float32, steps*rows*in), random(steps*rows*hidden, "c")
			inputs := []nntest.Input{input("x", x, dx)}
			for k, name := range l.states {
				copy(l.first[k], random(rows*hidden, name))
				inputs = append(inputs, input(name, l.first[k][:rows*hidden], l.dif[k]))
			}
			l.forward(x, nn.Seq{T: steps, N: rows}) // a used workspace must do too
			l.backward(dx, x, c, nn.Seq{T: steps, N: rows})
			t.Run(fmt.Sprint(l.name, " masks ", i == 1), func(t *testing.T) {
				nntest.Check(t, nntest.Model{
					Params: []*nn.Params{l.p},
					Inputs: inputs,
					Loss:   func() float64 { return weigh(l.forward(x, s), c) },
					Grad:   func() { l.forward(x, s); l.backward(dx, x, c, s) },
					Twin:   func(at func(string) []float64) float64 { return weigh64(l.twin(at, s), c) },
				})
			})
		}
	}
}

// Playing step by step gives the bits of the whole sequence, and a sequence cut in
// two, with the state carried over, gives those of the whole.
func TestStepsAndCutsEqualTheSequence(t *testing.T) {
	const steps, rows, in, hidden, cut = 6, 3, 5, 16, 4
	x := random(steps*rows*in, "x")
	s := seqs(steps, rows)[1]
	part := func(lo, hi int) nn.Seq {
		return nn.Seq{T: hi - lo, N: rows, Reset: s.Reset[lo*rows : hi*rows], Alive: s.Alive[lo*rows : hi*rows]}
	}
	for _, l := range recurrents(steps, rows, in, hidden) {
		want := slices.Clone(l.forward(x, s))
		got := slices.Clone(l.forward(x, part(0, cut)))
		l.carry()
		if got = append(got, l.forward(x[cut*rows*in:], part(cut, steps))...); !slices.Equal(got, want) {
			t.Errorf("%s, cut: got %v, want %v", l.name, got, want)
		}
		var state [][]float32
		for _, first := range l.first {
			clear(first)
			state = append(state, make([]float32, rows*hidden))
		}
		want = slices.Clone(l.forward(x, nn.Seq{T: steps, N: rows}))
		for i := range steps {
			l.step(state, x[i*rows*in:], rows)
			if !slices.Equal(state[0], want[i*rows*hidden:(i+1)*rows*hidden]) {
				t.Errorf("%s: step %d differs from the sequence", l.name, i)
			}
		}
	}
}

// Sparse rows give what the same rows give densely: outputs and gradients.
func TestSparseSequencesEqualDense(t *testing.T) {
	const steps, rows, in, hidden = 4, 3, 9, 16
	s := seqs(steps, rows)[1]
	p := &nn.Params{}
	l := p.LSTM("l", in, hidden)
	p.Init(rng.New(1))
	lw, x := l.Work(steps, rows), random(steps*rows*in, "x")
	var sparse f32.Sparse
	sparse.Reset(in)
	for i := range steps * rows {
		for j := range in {
			if (i+j)%3 > 0 {
				x[i*in+j] = 0
			}
		}
		sparse.AppendRow(x[i*in : (i+1)*in])
	}
	c := random(steps*rows*hidden, "c")
	l.Forward(p, lw, x, s)
	want := slices.Clone(lw.Y)
	copy(lw.DY, c)
	l.Backward(p, lw, nil, x, s)
	want = append(want, p.G...)
	p.ZeroGrad()
	l.ForwardSparse(p, lw, &sparse, s)
	got := slices.Clone(lw.Y)
	copy(lw.DY, c)
	l.BackwardSparse(p, lw, &sparse, s)
	got = append(got, p.G...)
	for i := range got {
		if math.Abs(float64(got[i]-want[i])) > 1e-5*math.Max(1, math.Abs(float64(want[i]))) {
			t.Fatalf("element %d: %v sparse, %v dense", i, got[i], want[i])
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		l.ForwardSparse(p, lw, &sparse, s)
		l.InferSparse(p, lw, &sparse, s)
		l.BackwardSparse(p, lw, &sparse, s)
	}); n != 0 {
		t.Errorf("sparse sequences allocate %v times, want 0", n)
	}
}

// A sequence gives the same bytes alone as in a batch of any size, and with InferSparse
// as with ForwardSparse: packing, blocks and chunks of steps change nothing.
func TestSequencesDoNotDependOnTheBatch(t *testing.T) {
	const steps, in, hidden = 5, 6, 7
	p := &nn.Params{}
	l := p.LSTM("l", in, hidden)
	p.Init(rng.New(1))
	for _, rows := range []int{1, 25, 26, 130, 300, 600} {
		for i, s := range seqs(steps, rows) {
			where := fmt.Sprintf("%d sequences, masks %v", rows, i == 1)
			ws, one := l.Work(steps, rows), l.Work(steps, 1)
			copy(ws.H0, random(rows*hidden, "h0"))
			copy(ws.C0, random(rows*hidden, "c0"))
			x := random(steps*rows*in, "x")
			l.Forward(p, ws, x, s)
			y := slices.Clone(ws.Y)
			var sparse f32.Sparse
			sparse.Reset(in)
			for i := range steps * rows {
				sparse.AppendRow(x[i*in : (i+1)*in])
			}
			l.ForwardSparse(p, ws, &sparse, s)
			ys, hn, cn := slices.Clone(ws.Y), slices.Clone(ws.HN), slices.Clone(ws.CN)
			l.InferSparse(p, ws, &sparse, s)
			if !slices.Equal(ws.Y, ys) || !slices.Equal(ws.HN, hn) || !slices.Equal(ws.CN, cn) {
				t.Errorf("%s: InferSparse gives other numbers than ForwardSparse", where)
			}
			r := rows - 1
			a := nn.Seq{T: steps, N: 1}
			var xa []float32
			for k := range steps {
				xa = append(xa, x[(k*rows+r)*in:(k*rows+r+1)*in]...)
				if s.Reset != nil {
					a.Reset, a.Alive = append(a.Reset, s.Reset[k*rows+r]), append(a.Alive, s.Alive[k*rows+r])
				}
			}
			copy(one.H0, ws.H0[r*hidden:])
			copy(one.C0, ws.C0[r*hidden:])
			l.Forward(p, one, xa, a)
			for k := range steps {
				got, want := y[(k*rows+r)*hidden:(k*rows+r+1)*hidden], one.Y[k*hidden:(k+1)*hidden]
				if !slices.Equal(got, want) {
					t.Errorf("%s: step %d of the last: got %v, want %v as alone", where, k, got, want)
				}
			}
		}
	}
}

func TestRecurrentLayersDoNotAllocate(t *testing.T) {
	const steps, rows, in, hidden = 3, 50, 5, 16
	x, s := random(steps*rows*in, "x"), seqs(steps, rows)[1]
	for _, l := range recurrents(steps, rows, in, hidden) {
		if n := testing.AllocsPerRun(10, func() {
			l.forward(x, s)
			l.backward(nil, x, nil, s)
			l.step(l.first, x, rows)
		}); n != 0 {
			t.Errorf("%s allocates %v times, want 0", l.name, n)
		}
	}
}
