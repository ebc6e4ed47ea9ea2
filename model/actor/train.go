package actor

import (
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// A frame may list a thing several times, by offsets of which some follow from the others.
// Encoded rows leave those out, and are read with folded weights, which have them added:
// the same results but for rounding, with less work for each row. See package frame.

// Encode appends a row to dst, for Pick or AddFrom or, if dst is X, as Add does. It is for the
// weights of a View or of a Trainer's shards.
func (ws *Work) Encode(dst *f32.Sparse, obs, goal []float32) { ws.enc.AddNarrow(dst, obs, goal) }

// AddFrom appends row i of rows that were encoded before.
func (ws *Work) AddFrom(src *f32.Sparse, i int32) { ws.X.AppendFrom(src, int(i)) }

// Cols returns the width of encoded rows.
func (m *Model) Cols() int { return m.frame.Cols }

// Folds reports whether encoded rows need other weights than the model's own.
func (m *Model) Folds() bool { return m.frame.Folds() }

// Fold writes weights for encoded rows to dst, of the length of p.W: one of several parts.
func (m *Model) Fold(dst []float32, p *nn.Params, part, parts int) {
	from := 0
	for _, l := range m.first {
		if part == 0 {
			copy(dst[from:l.Off], p.W[from:])
		}
		from = l.Off + l.Len
		w, _ := p.At(l)
		m.frame.Fold(dst[l.Off:from], w, m.Hidden[0], part, parts)
	}
	if part == 0 {
		copy(dst[from:], p.W[from:])
	}
}

// Unfold turns gradients of what Fold wrote into gradients of the weights: one of several parts.
func (m *Model) Unfold(p *nn.Params, part, parts int) {
	for _, l := range m.first {
		_, g := p.At(l)
		m.frame.Unfold(g, m.Hidden[0], part, parts)
	}
}

// View is weights as encoded rows read them.
type View struct {
	Copies bool // they are a copy in any case, which stays as it is when the weights change

	model  *Model
	params *nn.Params
	folded *nn.Params // nil: not needed so far
}

// View returns a view of weights.
func (m *Model) View(p *nn.Params) *View { return &View{model: m, params: p} }

// Update returns the weights as they are now, until the next call. Gradients are those of
// the weights that are viewed, folded.
func (v *View) Update() *nn.Params {
	if !v.model.Folds() && !v.Copies {
		return v.params
	}
	if v.folded == nil {
		q := *v.params
		q.W = make([]float32, len(q.W))
		v.folded = &q
	}
	v.model.Fold(v.folded.W, v.params, 0, 1)
	return v.folded
}

// Minibatch is what a Trainer's gradient steps are taken on.
type Minibatch struct {
	Rows   int // with an LSTM of whole sequences
	SeqLen int // rows of a sequence
	Shards int // that it is cut into
}

const (
	Block = 132 // rows that go through the network at a time: few enough to stay near, and a multiple of Grain
	Grain = 12  // rows that products take together; shards are multiples of it
)

// NewTrainer returns a trainer of the network on encoded rows. work makes the memory of a
// shard for a number of rows.
func NewTrainer[W any, T interface{ Plus(T) T }](
	m *Model, p *nn.Params, c nn.TrainerConfig, b Minibatch, work func(rows int) W,
) *nn.Trainer[W, T] {
	c.Fold, c.Grain = m, Grain
	rows := min(b.Rows, Block)
	if m.LSTM > 0 { // whole sequences, as many as a shard gets
		seqs := max(1, b.Rows/b.SeqLen)
		rows = min(seqs, ((seqs+Grain-1)/Grain+b.Shards-1)/b.Shards*Grain) * b.SeqLen
	} else if c.Block = Block; b.Rows <= b.Shards*Block {
		c.First = m.firstLayers()
	}
	works := make([]W, b.Shards)
	for i := range works {
		works[i] = work(rows)
	}
	return nn.NewTrainer[W, T](p, c, nil, works)
}

// firstLayers returns the weights of the layers that read sparse rows; none of networks that
// read dense ones.
func (m *Model) firstLayers() []nn.Span {
	switch {
	case m.convolves():
		return nil
	case m.Separate:
		return []nn.Span{m.trunk.First(), m.critic.First()}
	}
	return []nn.Span{m.trunk.First()}
}

// recurrent is a Work's memory for models with an LSTM.
type recurrent struct {
	lstm *nn.LSTMWork
	h, c []float32 // [rows][LSTM] for Step
}

// reserve allocates the LSTM's memory for up to rows rows in all.
func (ws *Work) reserve() {
	if m := ws.m; ws.rec.lstm == nil {
		ws.rec.lstm = m.lstm.Work(1, ws.rows) // any T by N of at most rows
		ws.rec.h, ws.rec.c = make([]float32, ws.rows*m.LSTM), make([]float32, ws.rows*m.LSTM)
	}
}

// State returns where the caller puts the LSTM's state of each row before Step,
// and finds it after: h and c, [rows][LSTM].
func (ws *Work) State() (h, c []float32) {
	ws.reserve()
	return ws.rec.h, ws.rec.c
}

// Step is Forward for a model with an LSTM in play: one step of every row from
// the states in State, which advance.
func (ws *Work) Step(p *nn.Params) {
	ws.reserve()
	rows := ws.x.Rows()
	y := ws.features(p)
	ws.m.lstm.Step(p, ws.rec.lstm, ws.rec.h, ws.rec.c, y, rows)
	ws.heads(p, ws.rec.h, rows)
}

// ForwardSeq is Forward for sequences: the rows are [T][N] as seq says, and h0
// and c0 [N][LSTM] are the states before the first step.
func (ws *Work) ForwardSeq(p *nn.Params, seq nn.Seq, h0, c0 []float32) {
	ws.reserve()
	y := ws.features(p)
	copy(ws.rec.lstm.H0, h0)
	copy(ws.rec.lstm.C0, c0)
	ws.m.lstm.Forward(p, ws.rec.lstm, y, seq)
	ws.heads(p, ws.rec.lstm.Y, seq.T*seq.N)
}

// BackwardSeq is Backward after ForwardSeq.
func (ws *Work) BackwardSeq(p *nn.Params, seq nn.Seq) {
	m, rows := ws.m, seq.T*seq.N
	ws.backLogStd(p)
	ws.turn(ws.DLogits, true)
	defer ws.turn(ws.DLogits, false)
	ws.mergeHeads(rows)
	m.head.Backward(p, ws.rec.lstm.DY, ws.dhead, ws.rec.lstm.Y, ws.head, rows)
	m.lstm.Backward(p, ws.rec.lstm, ws.trunk.DY, ws.trunk.Y, seq)
	m.trunk.BackwardSparse(p, ws.trunk, ws.x)
}

// Leaves is a network that evaluates states as a search asks it (search.Net): rows are
// added, then computed together. Values are in the game's own reward.
type Leaves struct {
	ws     *Work
	params *nn.Params
	scale  float32 // of rewards in its values
}

// Leaves returns the network with weights, for up to rows states at a time.
func (m *Model) Leaves(p *nn.Params, scale float32, rows int) *Leaves {
	return &Leaves{m.Work(rows), p, scale}
}

// Add adds a state.
func (n *Leaves) Add(obs, goal []float32) { n.ws.Add(obs, goal) }

// Run computes the rows that were added and forgets them; the results are views.
func (n *Leaves) Run() (logits, value []float32) {
	n.ws.Forward(n.params)
	rows := n.ws.X.Rows()
	value = n.ws.Value[:rows]
	for i := range value {
		value[i] /= n.scale
	}
	n.ws.Reset()
	return n.ws.Logits[:rows*n.ws.m.Actions], value
}
