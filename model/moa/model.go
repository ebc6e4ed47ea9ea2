// Package moa models others: it predicts what a co-player does next, from that
// co-player's own view of the game.
//
// Rows are ego-first, the modelled agent being the ego. A model may be told what
// the agent wants: nothing (HOP's direct-OM), a hand-made goal, a latent z or a
// discrete code, all as GoalLen numbers; and it may remember the agent's steps
// so far, through a GRU. Probabilities are over the legal actions. An agent that
// has left has an empty mask: its rows are zero in every prediction and reach no
// loss.
//
// A Model is layers only; weights are in nn.Params and scratch memory in a Work,
// one for each goroutine. A Learner adds an optimiser. Package moa sees arrays,
// never games.
package moa

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Config chooses the network.
type Config struct {
	Net       string `yaml:"net" doc:"dense: layers of the widths in hidden; conv: three 3x3 convolutions, then a layer of 512 (HOP's net)" oneof:"dense|conv"`
	Frame     string `yaml:"frame" doc:"board: planes as they are; ego: centred on oneself; egof: ego, with row and column offsets apart as well" oneof:"board|ego|egof"`
	Hidden    []int  `yaml:"hidden" doc:"widths of the dense layers, at least two: the goal joins after the first" range:"1..4096"`
	Distances bool   `yaml:"distances" doc:"also read, for each kind of thing on the board, which moves are on a shortest path around blocks to the nearest: a function of the observation that says how to get anywhere"`
	History   int    `yaml:"history" doc:"width of a GRU over the modelled agent's steps so far; 0: none" range:"0..1024"`
}

// Default returns a dense network in the ego frame without history.
func Default() Config {
	return Config{Net: "dense", Frame: "egof", Hidden: []int{128, 128, 128}}
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	errs := []error{config.Check(c)}
	if c.Net == "dense" && len(c.Hidden) < 2 {
		errs = append(errs, config.Bad("hidden", c.Hidden, "at least two layers"))
	}
	if c.Net == "conv" && c.Frame != "board" {
		errs = append(errs, config.Bad("frame", c.Frame, "board, because net is conv"))
	}
	return errors.Join(errs...)
}

// Input says in numbers what a model reads. Extra of the frame is not used; the
// goal comes apart, because it may carry a gradient.
type Input struct {
	frame.Input
	Actions int
	GoalLen int     // width of the condition; 0: none
	LegalAt int     // where in an observation the mask [Actions] lies; -1: nowhere, all actions are legal
	LastAt  int     // where the last joint action [Seats][Actions] lies, one-hot, own first; -1: nowhere
	Seats   int     // how many play; the first planes are theirs, own first
	Moves   []int32 // the actions up, down, left, right; nil: actions have no direction
	Blocks  []int   // planes of what cannot be entered
}

// NewInput says what a model reads in a game of this layout, with a condition of
// goalLen numbers. Actions called up, down, left and right are moves; nobody enters
// what the plane block shows.
func NewInput(l frame.Layout, seats int, actions []string, goalLen int) Input {
	m := l.Meaning(seats, 0, actions)
	in := Input{Input: l.Input(), Actions: len(actions), GoalLen: goalLen, LegalAt: m.LegalAt, LastAt: m.LastAt, Seats: m.Seats}
	if m.Directed() {
		in.Moves = m.Moves[:]
	}
	if m.Block > 0 {
		in.Blocks = []int{m.Block}
	}
	return in
}

// Model is the network's layers. Its weights are elsewhere: see New.
type Model struct {
	Input
	Config

	frame *frame.Frame
	first nn.Dense // dense net: the sparse row to Hidden[0]
	conv  model.Conv
	sense nn.Dense // what of a step is worth remembering
	gru   nn.GRU
	body  nn.MLP   // [features, history, goal] to the last width
	head  nn.Dense // logits
	feat  int      // width of the features
	cat   int      // width of what the body reads
}

// New returns the model and its weights, drawn from key.
func New(c Config, in Input, key rng.Key) (*Model, *nn.Params, error) {
	return model.New(c, in, key, Layers)
}

// Layers returns the model and its weights, for which there is no memory yet: it takes
// little, however large they are.
func Layers(c Config, in Input) (*Model, *nn.Params, error) {
	p := &nn.Params{}
	m, err := On(p, "", c, in)
	if err != nil {
		return nil, nil, err
	}
	return m, p, nil
}

// On adds the model's layers to p, under names that begin with prefix: for models that
// are a part of another.
func On(p *nn.Params, prefix string, c Config, in Input) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := in.Validate(); err != nil {
		return nil, err
	}
	if in.Actions < 1 || in.Actions > 1<<10 || in.GoalLen < 0 || in.GoalLen > 1<<20 {
		return nil, fmt.Errorf("moa: the input has %d actions and goals of %d numbers; want 1 to %d actions and goals of 0 to %d",
			in.Actions, in.GoalLen, 1<<10, 1<<20)
	}
	if c.Frame != frame.Board && in.Planes == 0 {
		return nil, config.Bad("frame", c.Frame, "board, because the game has no planes")
	}
	in.Extra = 0
	if c.Distances {
		if !in.HasDistances() {
			return nil, config.Bad("distances", c.Distances, "false, because the game has no board with moves and things on it")
		}
		in.Extra = 4 * len(in.thingsOf())
	}
	m := &Model{Input: in, Config: c, frame: frame.New(c.Frame, in.Input)}
	rest := []int{512}
	if c.Net == "conv" {
		m.conv = model.NewConv(p, prefix+"conv", in.Input)
		m.feat = m.conv.Out
	} else {
		m.first = p.Dense(prefix+"first", m.frame.Cols, c.Hidden[0], nn.ReLU)
		m.feat = c.Hidden[0]
		rest = c.Hidden[1:]
	}
	m.cat = m.feat + c.History + in.GoalLen
	if c.History > 0 {
		m.sense = p.Dense(prefix+"sense", m.feat, c.History, nn.ReLU)
		m.gru = p.GRU(prefix+"gru", c.History, c.History)
	}
	m.body = p.MLP(prefix+"body", nn.ReLU, append([]int{m.cat}, rest...)...)
	m.head = p.Dense(prefix+"head", rest[len(rest)-1], in.Actions, nn.None, nn.Orthogonal(0.01))
	return m, nil
}

// Cols returns the width of encoded rows.
func (m *Model) Cols() int { return m.frame.Cols }

// Encoder returns a new encoder of observations, for one goroutine.
func (m *Model) Encoder() *frame.Encoder { return m.frame.Encoder() }

// Describe says in a few words what the model is.
func (m *Model) Describe(p *nn.Params) string {
	s := fmt.Sprintf("dense %v, %s frame", m.Hidden, m.Config.Frame)
	if m.Net == "conv" {
		s = "conv 16-32-32, dense 512"
	}
	if m.Distances {
		s += ", distances"
	}
	if m.History > 0 {
		s += fmt.Sprintf(", GRU %d", m.History)
	}
	if m.GoalLen > 0 {
		s += fmt.Sprintf(", goal of %d", m.GoalLen)
	}
	return s + fmt.Sprintf(", %d weights", p.Len())
}

// Work is one goroutine's memory for up to a number of rows. Fill X with Add,
// and Goals and, with history, the GRU's states; then Forward.
type Work struct {
	X      f32.Sparse // the rows, in the model's frame
	Goals  []float32  // [rows][GoalLen]
	Logits nn.Logits  // [rows][Actions] after Forward

	DLogits []float32 // [rows][Actions] where the caller puts the gradients
	DGoals  []float32 // [rows][GoalLen] after Backward, for models that make the goals

	m         *Model
	rows      int
	enc       *frame.Encoder
	distances *distances
	f, df     []float32 // [rows][feat]
	e, de     []float32 // [rows][History] what the GRU reads
	conv      *model.ConvWork
	gru       *nn.GRUWork
	cat, dcat []float32 // [rows][feat+History+GoalLen]
	body      *nn.MLPWork
	dist      *nn.Categorical
	legal     []bool    // [rows][Actions]
	at        []int32   // [rows] which of the caller's rows these are; of rows asked, which of X
	asked     int       // rows that wait for an answer
	hidden    []float32 // [rows][History] for Predict with history
}

// Work allocates memory for up to rows rows.
func (m *Model) Work(rows int) *Work {
	k := m.Actions
	ws := &Work{
		m: m, rows: rows, enc: m.frame.Encoder(), distances: m.newDistances(),
		Goals: make([]float32, rows*m.GoalLen), DGoals: make([]float32, rows*m.GoalLen),
		Logits: make(nn.Logits, rows*k), DLogits: make([]float32, rows*k),
		cat: make([]float32, rows*m.cat), dcat: make([]float32, rows*m.cat),
		body: m.body.Work(rows), dist: nn.NewCategorical(k, rows),
		legal: make([]bool, rows*k), at: make([]int32, rows),
	}
	if m.Net == "conv" {
		ws.conv = m.conv.Work(rows)
		ws.f, ws.df = ws.conv.Y, ws.conv.DY
	} else {
		ws.f, ws.df = make([]float32, rows*m.feat), make([]float32, rows*m.feat)
	}
	if m.History > 0 {
		ws.gru = m.gru.Work(1, rows) // any T by N of at most rows
		ws.e, ws.de = make([]float32, rows*m.History), make([]float32, rows*m.History)
		ws.hidden = make([]float32, rows*m.History)
	}
	ws.Reset()
	return ws
}

// Reset forgets the rows.
func (ws *Work) Reset() { ws.X.Reset(ws.m.frame.Cols) }

// Rows returns how many rows have been added.
func (ws *Work) Rows() int { return ws.X.Rows() }

// Add appends a row: an observation and the goal [GoalLen].
func (ws *Work) Add(obs, goal []float32) {
	i := ws.X.Rows()
	ws.room(i)
	ws.enc.Add(&ws.X, obs, ws.distances.of(obs))
	copy(ws.Goals[i*ws.m.GoalLen:(i+1)*ws.m.GoalLen], goal)
}

// AddFrom appends row i of rows that were encoded before; i < 0 appends an
// empty one, for steps after a sequence's end.
func (ws *Work) AddFrom(src *f32.Sparse, i int, goal []float32) { ws.addTurned(src, i, goal, nil) }

// addTurned is AddFrom with the columns renumbered, unless turn is nil.
func (ws *Work) addTurned(src *f32.Sparse, i int, goal []float32, turn []int32) {
	at := ws.X.Rows()
	ws.room(at)
	if i < 0 {
		ws.X.EndRow()
	} else {
		ws.X.AppendFrom(src, i)
		row, _ := ws.X.Row(at)
		for k := 0; turn != nil && k < len(row); k++ {
			row[k] = turn[row[k]]
		}
	}
	g := ws.Goals[at*ws.m.GoalLen : (at+1)*ws.m.GoalLen]
	clear(g)
	copy(g, goal)
}

func (ws *Work) room(i int) {
	if i >= ws.rows {
		panic("moa: more rows than the workspace holds")
	}
}

// Forward computes the Logits of the rows, for models without history.
func (ws *Work) Forward(p *nn.Params) {
	if ws.m.History > 0 {
		panic("moa: a model with history needs ForwardSeq or Step")
	}
	ws.features(p)
	ws.top(p, nil)
}

// Step is Forward for a model with history in play: one step of every row. h
// [rows][History] holds the state before it, zero at an episode's start, and is
// advanced.
func (ws *Work) Step(p *nn.Params, h []float32) {
	ws.features(p)
	ws.remember(p, h, ws.X.Rows())
	ws.top(p, h)
}

// remember advances h[rows][History] by the features.
func (ws *Work) remember(p *nn.Params, h []float32, rows int) {
	ws.m.sense.Forward(p, ws.e, ws.f, rows)
	ws.m.gru.Step(p, ws.gru, h, ws.e, rows)
}

// ForwardSeq is Forward for whole sequences: the rows are [T][N] as seq says,
// and every sequence starts from nothing.
func (ws *Work) ForwardSeq(p *nn.Params, seq nn.Seq) {
	ws.features(p)
	clear(ws.gru.H0[:seq.N*ws.m.History])
	ws.m.sense.Forward(p, ws.e, ws.f, seq.T*seq.N)
	ws.m.gru.Forward(p, ws.gru, ws.e, seq)
	ws.top(p, ws.gru.Y)
}

func (ws *Work) features(p *nn.Params) {
	if ws.m.Net == "conv" {
		ws.m.conv.ForwardSparse(p, ws.conv, &ws.X)
		return
	}
	ws.m.first.ForwardSparse(p, ws.f, &ws.X)
}

// top joins features, history and goal, and runs what is above.
func (ws *Work) top(p *nn.Params, h []float32) {
	m, rows := ws.m, ws.X.Rows()
	for i := range rows {
		c := ws.cat[i*m.cat : (i+1)*m.cat]
		copy(c, ws.f[i*m.feat:(i+1)*m.feat])
		if m.History > 0 {
			copy(c[m.feat:], h[i*m.History:(i+1)*m.History])
		}
		copy(c[m.feat+m.History:], ws.Goals[i*m.GoalLen:(i+1)*m.GoalLen])
	}
	m.body.Forward(p, ws.body, ws.cat, rows)
	m.head.Forward(p, ws.Logits, ws.body.Y, rows)
}

// ZeroGrad clears DLogits for the rows.
func (ws *Work) ZeroGrad() { clear(ws.DLogits[:ws.X.Rows()*ws.m.Actions]) }

// Backward adds the gradients of the last Forward's rows to p.G, from DLogits,
// and writes DGoals.
func (ws *Work) Backward(p *nn.Params) {
	ws.down(p)
	ws.bottom(p)
}

// BackwardSeq is Backward after ForwardSeq.
func (ws *Work) BackwardSeq(p *nn.Params, seq nn.Seq) {
	m, rows := ws.m, seq.T*seq.N
	ws.down(p)
	for i := range rows {
		copy(ws.gru.DY[i*m.History:(i+1)*m.History], ws.dcat[i*m.cat+m.feat:])
	}
	m.gru.Backward(p, ws.gru, ws.de, ws.e, seq)
	m.sense.BackwardAdd(p, ws.df, ws.de, ws.f, ws.e, rows)
	ws.bottom(p)
}

func (ws *Work) down(p *nn.Params) {
	m, rows := ws.m, ws.X.Rows()
	m.head.Backward(p, ws.body.DY, ws.DLogits, ws.body.Y, ws.Logits, rows)
	m.body.Backward(p, ws.body, ws.dcat, ws.cat, rows)
	for i := range rows {
		d := ws.dcat[i*m.cat : (i+1)*m.cat]
		copy(ws.df[i*m.feat:(i+1)*m.feat], d)
		copy(ws.DGoals[i*m.GoalLen:(i+1)*m.GoalLen], d[m.feat+m.History:])
	}
}

func (ws *Work) bottom(p *nn.Params) {
	m := ws.m
	if m.Net == "conv" {
		m.conv.Backward(p, ws.conv, ws.X.Rows())
		return
	}
	m.first.BackwardSparse(p, ws.df, &ws.X, ws.f)
}

// Reached is where a checkpoint holds how often agents of each kind reached each goal in
// the end, [kinds][goals], of a model that is given kinds.
const Reached = "reached"
