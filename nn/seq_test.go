package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hop/f32"
	"hop/nn"
	"hop/nn/nntest"
	"hop/rng"
)

// enterTwin returns row i's state before step t.
func enterTwin(s nn.Seq, state []float64, t, i, h int) []float64 {
	if s.Reset != nil && s.Reset[t*s.N+i] {
		return make([]float64, h)
	}
	return slices.Clone(state[i*h : (i+1)*h])
}

func lstmTwin(l nn.LSTM, at func(string) []float64, s nn.Seq) []float64 {
	h, c := slices.Clone(at("h0")), slices.Clone(at("c0"))
	var y []float64
	for t := range s.T {
		for i := range s.N {
			hp, cp := enterTwin(s, h, t, i, l.H), enterTwin(s, c, t, i, l.H)
			x := at("x")[(t*s.N+i)*l.In : (t*s.N+i+1)*l.In]
			g := affineTwin(x, at("l/wx"), at("l/b"), 1, l.In, 4*l.H)
			for j, v := range affineTwin(hp, at("l/wh"), nil, 1, l.H, 4*l.H) {
				g[j] += v
			}
			for j := range l.H {
				hn, cn := hp[j], cp[j]
				if s.Alive == nil || s.Alive[t*s.N+i] {
					cn = sigmoid64(g[l.H+j])*cp[j] + sigmoid64(g[j])*math.Tanh(g[2*l.H+j])
					hn = sigmoid64(g[3*l.H+j]) * math.Tanh(cn)
				}
				h[i*l.H+j], c[i*l.H+j] = hn, cn
			}
		}
		y = append(y, h...)
	}
	return y
}

func gruTwin(l nn.GRU, at func(string) []float64, s nn.Seq) []float64 {
	h := slices.Clone(at("h0"))
	var y []float64
	for t := range s.T {
		for i := range s.N {
			hp := enterTwin(s, h, t, i, l.H)
			x := at("x")[(t*s.N+i)*l.In : (t*s.N+i+1)*l.In]
			gx := affineTwin(x, at("l/wx"), at("l/bx"), 1, l.In, 3*l.H)
			gh := affineTwin(hp, at("l/wh"), at("l/bh"), 1, l.H, 3*l.H)
			for j := range l.H {
				r, z := sigmoid64(gx[j]+gh[j]), sigmoid64(gx[l.H+j]+gh[l.H+j])
				n := math.Tanh(gx[2*l.H+j] + r*gh[2*l.H+j])
				h[i*l.H+j] = hp[j]
				if s.Alive == nil || s.Alive[t*s.N+i] {
					h[i*l.H+j] = (1-z)*n + z*hp[j]
				}
			}
		}
		y = append(y, h...)
	}
	return y
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

func TestLSTMGradients(t *testing.T) {
	const steps, rows, in, hidden = 4, 3, 5, 6
	for i, s := range seqs(steps, rows) {
		p := &nn.Params{}
		l := p.LSTM("l", in, hidden)
		p.Init(rng.New(1))
		jitter(p)
		ws := l.Work(steps+1, rows+1)
		copy(ws.H0, random(rows*hidden, "h0"))
		copy(ws.C0, random(rows*hidden, "c0"))
		x, dx, c := random(steps*rows*in, "x"), make([]float32, steps*rows*in), random(steps*rows*hidden, "c")
		l.Forward(p, ws, x, nn.Seq{T: steps, N: rows}) // a used workspace must do too
		copy(ws.DY, c)
		l.Backward(p, ws, dx, x, nn.Seq{T: steps, N: rows})
		t.Run(fmt.Sprint("masks ", i == 1), func(t *testing.T) {
			nntest.Check(t, nntest.Model{
				Params: []*nn.Params{p},
				Inputs: []nntest.Input{input("x", x, dx), input("h0", ws.H0[:rows*hidden], ws.DH), input("c0", ws.C0[:rows*hidden], ws.DC)},
				Loss:   func() float64 { l.Forward(p, ws, x, s); return weigh(ws.Y, c) },
				Grad: func() {
					l.Forward(p, ws, x, s)
					copy(ws.DY, c)
					l.Backward(p, ws, dx, x, s)
				},
				Twin: func(at func(string) []float64) float64 { return weigh64(lstmTwin(l, at, s), c) },
			})
		})
	}
}

func TestGRUGradients(t *testing.T) {
	const steps, rows, in, hidden = 4, 3, 5, 6
	for i, s := range seqs(steps, rows) {
		p := &nn.Params{}
		l := p.GRU("l", in, hidden)
		p.Init(rng.New(1))
		jitter(p)
		ws := l.Work(steps+1, rows+1)
		copy(ws.H0, random(rows*hidden, "h0"))
		x, dx, c := random(steps*rows*in, "x"), make([]float32, steps*rows*in), random(steps*rows*hidden, "c")
		l.Forward(p, ws, x, nn.Seq{T: steps, N: rows}) // a used workspace must do too
		copy(ws.DY, c)
		l.Backward(p, ws, dx, x, nn.Seq{T: steps, N: rows})
		t.Run(fmt.Sprint("masks ", i == 1), func(t *testing.T) {
			nntest.Check(t, nntest.Model{
				Params: []*nn.Params{p},
				Inputs: []nntest.Input{input("x", x, dx), input("h0", ws.H0[:rows*hidden], ws.DH)},
				Loss:   func() float64 { l.Forward(p, ws, x, s); return weigh(ws.Y, c) },
				Grad: func() {
					l.Forward(p, ws, x, s)
					copy(ws.DY, c)
					l.Backward(p, ws, dx, x, s)
				},
				Twin: func(at func(string) []float64) float64 { return weigh64(gruTwin(l, at, s), c) },
			})
		})
	}
}

// Playing step by step gives the bits of the whole sequence, and a sequence cut in
// two, with the state carried over, gives those of the whole.
func TestStepsAndCutsEqualTheSequence(t *testing.T) {
	const steps, rows, in, hidden, cut = 6, 3, 5, 16, 4
	x := random(steps*rows*in, "x")
	s := seqs(steps, rows)[1]
	part := func(s nn.Seq, lo, hi int) nn.Seq {
		return nn.Seq{T: hi - lo, N: rows, Reset: s.Reset[lo*rows : hi*rows], Alive: s.Alive[lo*rows : hi*rows]}
	}
	t.Run("LSTM", func(t *testing.T) {
		p := &nn.Params{}
		l := p.LSTM("l", in, hidden)
		p.Init(rng.New(1))
		ws := l.Work(steps, rows)
		l.Forward(p, ws, x, s)
		want := slices.Clone(ws.Y)
		l.Forward(p, ws, x, part(s, 0, cut))
		got := slices.Clone(ws.Y)
		copy(ws.H0, ws.HN)
		copy(ws.C0, ws.CN)
		l.Forward(p, ws, x[cut*rows*in:], part(s, cut, steps))
		if got = append(got, ws.Y...); !slices.Equal(got, want) {
			t.Errorf("cut: got %v, want %v", got, want)
		}
		clear(ws.H0)
		clear(ws.C0)
		l.Forward(p, ws, x, nn.Seq{T: steps, N: rows})
		want = slices.Clone(ws.Y)
		h, c := make([]float32, rows*hidden), make([]float32, rows*hidden)
		for i := range steps {
			l.Step(p, ws, h, c, x[i*rows*in:], rows)
			if !slices.Equal(h, want[i*rows*hidden:(i+1)*rows*hidden]) {
				t.Errorf("step %d differs from the sequence", i)
			}
		}
	})
	t.Run("GRU", func(t *testing.T) {
		p := &nn.Params{}
		l := p.GRU("l", in, hidden)
		p.Init(rng.New(1))
		ws := l.Work(steps, rows)
		l.Forward(p, ws, x, s)
		want := slices.Clone(ws.Y)
		l.Forward(p, ws, x, part(s, 0, cut))
		got := slices.Clone(ws.Y)
		copy(ws.H0, ws.HN)
		l.Forward(p, ws, x[cut*rows*in:], part(s, cut, steps))
		if got = append(got, ws.Y...); !slices.Equal(got, want) {
			t.Errorf("cut: got %v, want %v", got, want)
		}
		clear(ws.H0)
		l.Forward(p, ws, x, nn.Seq{T: steps, N: rows})
		want = slices.Clone(ws.Y)
		h := make([]float32, rows*hidden)
		for i := range steps {
			l.Step(p, ws, h, x[i*rows*in:], rows)
			if !slices.Equal(h, want[i*rows*hidden:(i+1)*rows*hidden]) {
				t.Errorf("step %d differs from the sequence", i)
			}
		}
	})
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
	p := &nn.Params{}
	l, g := p.LSTM("l", in, hidden), p.GRU("g", in, hidden)
	p.Init(rng.New(1))
	lw, gw, x := l.Work(steps, rows), g.Work(steps, rows), random(steps*rows*in, "x")
	s := seqs(steps, rows)[1]
	if n := testing.AllocsPerRun(10, func() {
		l.Forward(p, lw, x, s)
		l.Backward(p, lw, nil, x, s)
		l.Step(p, lw, lw.H0, lw.C0, x, rows)
		g.Forward(p, gw, x, s)
		g.Backward(p, gw, nil, x, s)
		g.Step(p, gw, gw.H0, x, rows)
	}); n != 0 {
		t.Errorf("recurrent layers allocate %v times, want 0", n)
	}
}
