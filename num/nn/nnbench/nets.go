package nnbench

import (
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// The sizes of the nets.
const (
	planes, extras = 112, 32 // the actor's and the LSTM's input
	obs            = planes + extras
	width          = 128
	actions        = 7

	side, channels = 8, 7 // the conv net's board
	convExtras     = 3    // time and a goal of two
	convWidth      = 512

	hidden, steps = 256, 20
)

// net is one of the benchmarked networks with a batch in its workspace. m counts
// rows, for the LSTM sequences.
type net interface {
	params() *nn.Params
	input() []float32 // [max rows][floats a row]
	forward(m int)
	infer(m int)    // forward alone
	backward(m int) // after forward: losses and gradients
	rows(m int) int // rows of the heads
	flops(m int) (forward, train float64)
	heads() *heads
}

// heads are policy and value on a trunk's output, with the losses that the
// comparison uses: cross-entropy plus half the squared error.
type heads struct {
	pi, v         nn.Dense
	cat           *nn.Categorical
	logits        nn.Logits
	value, dl, dv []float32
	target        []int32
	ret           []float32
	loss          float64
}

func newHeads(p *nn.Params, in int) heads {
	return heads{pi: p.Dense("pi", in, actions, nn.None), v: p.Dense("v", in, 1, nn.None)}
}

// allocate makes room for rows and fills in targets.
func (h *heads) allocate(rows int) {
	h.cat = nn.NewCategorical(actions, rows)
	h.logits, h.dl = make(nn.Logits, rows*actions), make([]float32, rows*actions)
	h.value, h.dv = make([]float32, rows), make([]float32, rows)
	h.target, h.ret = make([]int32, rows), make([]float32, rows)
	r := rng.New(1).Child("targets").Rand()
	for i := range rows {
		h.target[i], h.ret[i] = int32(r.IntN(actions)), float32(r.Norm())
	}
}

func (h *heads) forward(p *nn.Params, y []float32, m int) {
	h.pi.Forward(p, h.logits, y, m)
	h.v.Forward(p, h.value, y, m)
}

func (h *heads) backward(p *nn.Params, dy, y []float32, m int) {
	clear(h.dl[:m*actions])
	clear(h.dv[:m])
	h.cat.Set(h.logits, nil, m)
	h.loss = h.cat.CrossEntropy(h.dl, h.target, nil, nn.Rows{N: m}).Mean()
	h.loss += 0.5 * nn.MSE(h.dv, h.value, h.ret, 1, nn.Rows{N: m, Scale: 0.5}).Mean()
	h.pi.Backward(p, dy, h.dl, y, h.logits, m)
	h.v.BackwardAdd(p, dy, h.dv, y, h.value, m)
}

// dense returns the operations of a layer forward, and for weights and input back.
func dense(rows, in, out int) float64 { return 2 * float64(rows) * float64(in) * float64(out) }

// sparseBits fills x with observations of n numbers: about one in seven is a one.
func sparseBits(x []float32, name string) {
	r := rng.New(1).Child(name).Rand()
	for i := range x {
		if r.IntN(7) == 0 {
			x[i] = 1
		}
	}
}

// base is what all nets have.
type base struct {
	p    *nn.Params
	x    []float32
	s    f32.Sparse // of x, for those that read it so
	h    heads
	each int // rows of the heads for each of the input
}

func (n *base) params() *nn.Params { return n.p }
func (n *base) input() []float32   { return n.x }
func (n *base) heads() *heads      { return &n.h }
func (n *base) rows(m int) int     { return n.each * m }

// fill sets s to the first rows of x.
func (n *base) fill(rows int) {
	n.s.Reset(obs)
	for i := range rows {
		n.s.AppendRow(n.x[i*obs : (i+1)*obs])
	}
}

// actor is the net that plays: 112 planes and 32 numbers, 128, 128, 7 and 1.
type actor struct {
	base
	trunk nn.MLP
	ws    *nn.MLPWork
}

func newActor(rows int) *actor {
	p := &nn.Params{}
	n := &actor{trunk: p.MLP("trunk", nn.ReLU, obs, width, width), base: base{p: p, h: newHeads(p, width), each: 1}}
	p.Init(rng.New(1).Child("actor"))
	n.ws, n.x = n.trunk.Work(rows), make([]float32, rows*obs)
	n.h.allocate(rows)
	sparseBits(n.x, "actor")
	return n
}

func (n *actor) forward(m int) {
	n.fill(m)
	n.trunk.ForwardSparse(n.p, n.ws, &n.s)
	n.h.forward(n.p, n.ws.Y, m)
}

func (n *actor) infer(m int) { n.forward(m) }

func (n *actor) backward(m int) {
	n.h.backward(n.p, n.ws.DY, n.ws.Y, m)
	n.trunk.BackwardSparse(n.p, n.ws, &n.s)
}

func (n *actor) flops(m int) (forward, train float64) {
	first := 2 * float64(len(n.s.Idx)) * width
	rest := dense(m, width, width+actions+1)
	return first + rest, 2*first + 3*rest
}

// conv is the net of the planner: 3x3 convolutions 16-32-32 on 8x8, time and goal
// beside them, 512, 7 and 1.
type conv struct {
	base
	layers    [3]nn.Conv3x3
	fc        nn.Dense
	scratch   *nn.ConvWork
	extra     []float32
	y, d      [3][]float32
	flat      []float32 // [rows][64*32+convExtras]
	dflat     []float32
	out, dout []float32
}

func newConv(rows int) *conv {
	p := &nn.Params{}
	n := &conv{base: base{p: p, each: 1}}
	in := channels
	for i, out := range []int{16, 32, 32} {
		n.layers[i] = p.Conv3x3("conv/"+string(rune('0'+i)), side, side, in, out, nn.ReLU)
		in = out
		n.y[i], n.d[i] = make([]float32, rows*side*side*out), make([]float32, rows*side*side*out)
	}
	n.fc = p.Dense("fc", side*side*in+convExtras, convWidth, nn.ReLU, nn.Kaiming(1.41))
	n.h = newHeads(p, convWidth)
	p.Init(rng.New(1).Child("conv"))
	n.scratch = nn.NewConvWork(n.layers[0], n.layers[1], n.layers[2])
	n.x, n.extra = make([]float32, rows*side*side*channels), make([]float32, rows*convExtras)
	n.flat, n.dflat = make([]float32, rows*n.fc.In), make([]float32, rows*n.fc.In)
	n.out, n.dout = make([]float32, rows*convWidth), make([]float32, rows*convWidth)
	n.h.allocate(rows)
	sparseBits(n.x, "conv")
	sparseBits(n.extra, "extra")
	return n
}

func (n *conv) forward(m int) {
	x := n.x
	for i, l := range n.layers {
		l.Forward(n.p, n.scratch, n.y[i], x, m)
		x = n.y[i]
	}
	images := n.fc.In - convExtras
	for i := range m {
		row := n.flat[i*n.fc.In : (i+1)*n.fc.In]
		copy(row, x[i*images:(i+1)*images])
		copy(row[images:], n.extra[i*convExtras:(i+1)*convExtras])
	}
	n.fc.Forward(n.p, n.out, n.flat, m)
	n.h.forward(n.p, n.out, m)
}

func (n *conv) infer(m int) { n.forward(m) }

func (n *conv) backward(m int) {
	n.h.backward(n.p, n.dout, n.out, m)
	n.fc.Backward(n.p, n.dflat, n.dout, n.flat, n.out, m)
	images := n.fc.In - convExtras
	for i := range m {
		copy(n.d[2][i*images:(i+1)*images], n.dflat[i*n.fc.In:])
	}
	n.layers[2].Backward(n.p, n.scratch, n.d[1], n.d[2], n.y[1], n.y[2], m)
	n.layers[1].Backward(n.p, n.scratch, n.d[0], n.d[1], n.y[0], n.y[1], m)
	n.layers[0].Backward(n.p, n.scratch, nil, n.d[0], n.x, n.y[0], m)
}

func (n *conv) flops(m int) (forward, train float64) {
	cells := m * side * side
	first := dense(cells, 9*channels, 16)
	rest := dense(cells, 9*16, 32) + dense(cells, 9*32, 32) + dense(m, n.fc.In, convWidth) + dense(m, convWidth, actions+1)
	return first + rest, 2*first + 3*rest
}

// recurrent is an LSTM of 256 over 20 steps with heads on every step.
type recurrent struct {
	base // its x is [steps][m][obs]
	lstm nn.LSTM
	ws   *nn.LSTMWork
}

func newRecurrent(rows int) *recurrent {
	p := &nn.Params{}
	n := &recurrent{lstm: p.LSTM("lstm", obs, hidden), base: base{p: p, h: newHeads(p, hidden), each: steps}}
	p.Init(rng.New(1).Child("lstm"))
	n.ws, n.x = n.lstm.Work(steps, rows), make([]float32, steps*rows*obs)
	n.h.allocate(steps * rows)
	sparseBits(n.x, "lstm")
	return n
}

func (n *recurrent) forward(m int) {
	n.fill(steps * m)
	n.lstm.ForwardSparse(n.p, n.ws, &n.s, nn.Seq{T: steps, N: m})
	n.h.forward(n.p, n.ws.Y, steps*m)
}

func (n *recurrent) infer(m int) {
	n.fill(steps * m)
	n.lstm.InferSparse(n.p, n.ws, &n.s, nn.Seq{T: steps, N: m})
	n.h.forward(n.p, n.ws.Y, steps*m)
}

func (n *recurrent) backward(m int) {
	n.h.backward(n.p, n.ws.DY, n.ws.Y, steps*m)
	n.lstm.BackwardSparse(n.p, n.ws, &n.s, nn.Seq{T: steps, N: m})
}

func (n *recurrent) flops(m int) (forward, train float64) {
	first := 2 * float64(len(n.s.Idx)) * 4 * hidden
	rest := dense(steps*m, hidden, 4*hidden) + dense(steps*m, hidden, actions+1)
	return first + rest, 2*first + 3*rest
}

// attention is a transformer of two blocks of 64 numbers and four heads, with heads on
// every step. It learns from sequences of 20 steps and plays as it does in a run: a step
// for each sequence, with the last 64 kept.
type attention struct {
	base  // its x is [m][steps][obs]
	first nn.Dense
	net   nn.Transformer
	ws    *nn.TransformerWork
	cache *nn.TransformerCache
	seqs  []nn.Span
	place []int
}

// The sizes of the transformer.
const (
	tokenWidth, tokenUp, tokenHeads = 64, 128, 4
	kept                            = 64
)

func newAttention(rows int) *attention {
	p := &nn.Params{}
	n := &attention{first: p.Dense("first", obs, tokenWidth, nn.None), net: p.Transformer("net", 2, tokenWidth, tokenUp, tokenHeads, kept),
		base: base{p: p, h: newHeads(p, tokenWidth), each: steps}}
	p.Init(rng.New(1).Child("transformer"))
	n.ws, n.cache, n.x = n.net.Work(steps*rows, steps), n.net.Cache(rows), make([]float32, steps*rows*obs)
	n.h.allocate(steps * rows)
	sparseBits(n.x, "transformer")
	for i := range rows {
		n.seqs, n.place = append(n.seqs, nn.Span{Off: i * steps, Len: steps}), append(n.place, i)
	}
	for range kept { // the rings are full
		n.infer(rows)
	}
	return n
}

func (n *attention) forward(m int) {
	n.fill(steps * m)
	n.first.ForwardSparse(n.p, n.ws.X, &n.s)
	n.net.Forward(n.p, n.ws, n.seqs[:m])
	n.h.forward(n.p, n.ws.Y, steps*m)
}

func (n *attention) infer(m int) {
	n.fill(m)
	n.first.ForwardSparse(n.p, n.ws.X, &n.s)
	n.net.Step(n.p, n.ws, n.cache, n.place[:m])
	n.h.forward(n.p, n.ws.Y, m)
}

func (n *attention) backward(m int) {
	n.h.backward(n.p, n.ws.DY, n.ws.Y, steps*m)
	n.net.Backward(n.p, n.ws, n.seqs[:m])
	n.first.BackwardSparse(n.p, n.ws.DX, &n.s, n.ws.X)
}

func (n *attention) flops(m int) (forward, train float64) {
	layers := func(rows int) float64 {
		return 2*dense(rows, tokenWidth, 4*tokenWidth+2*tokenUp) + dense(rows, tokenWidth, actions+1)
	}
	first := 2 * float64(len(n.s.Idx)) * tokenWidth
	play := first + layers(m) + 2*2*dense(m, tokenWidth, kept)
	return play, 2*first + 3*(layers(steps*m)+2*2*dense(steps*m, tokenWidth, steps/2))
}
