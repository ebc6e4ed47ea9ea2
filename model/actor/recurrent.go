package actor

import "github.com/hop-marl/hop/num/nn"

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
