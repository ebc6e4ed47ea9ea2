// Package actor is the network that acts: it turns an observation into logits
// over the actions and a value.
//
// It sees arrays, never games, each row as the list of its nonzeros in a frame.
// A Model is layers and frame; weights are in nn.Params and scratch memory in a
// Work, one for each goroutine.
package actor

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
	Net      string `yaml:"net" doc:"dense: layers of the widths in hidden; conv: three 3x3 convolutions, then a layer of 512 (HOP's net); picture: the convolutions of Mnih et al. (2015), then a layer of 512, for environments whose observations are pictures, where it is chosen in place of dense" oneof:"dense|conv|picture"`
	Frame    string `yaml:"frame" doc:"board: planes as they are; ego: centred on oneself; egof: ego, with row and column offsets apart as well" oneof:"board|ego|egof"`
	Hidden   []int  `yaml:"hidden" doc:"widths of the dense layers" range:"1..4096"`
	Act      string `yaml:"act" doc:"activation of the layers" oneof:"relu|tanh"`
	Separate bool   `yaml:"separate" doc:"policy and value have layers of their own instead of sharing them"`
	LSTM     int    `yaml:"lstm" doc:"width of an LSTM after the layers; 0: none" range:"0..1024"`

	Turn      bool `yaml:"turn" doc:"look at the board turned and mirrored so that oneself is always in the same eighth of it, where the game can be turned: what is learnt in one corner is known in all"`
	Unordered bool `yaml:"unordered" doc:"tell co-players apart by who they are, not by their places, where observations allow it: equals are interchangeable"`
	Distances bool `yaml:"distances" doc:"also read, where there is a board with things on it, how far everyone walks, around blocks, to the things nearest to oneself and to each co-player, which moves lead there and how many steps will be left: a function of the observation"`
}

// For returns the settings for a game's observations, of seats and actions of those names: boards
// are turned, and co-players told apart by what is said of them, where that can be.
func (c Config) For(l frame.Layout, seats, horizon int, actions []string) Config {
	if len(l.Planes) == 0 {
		c.Frame = frame.Board
	}
	means := l.Meaning(seats, horizon, actions)
	c.Turn = c.Turn && means.CanTurn(l.Input())
	c.Distances = c.Distances && means.HasDistances(l.Input())
	c.Unordered = c.Unordered && means.CanForgetOrder(l.Input()) && l.Features == 0 // which may say something of each
	return c
}

// SenseOf returns what a frame makes of such observations.
func (c Config) SenseOf(l frame.Layout, seats, horizon int, actions []string) frame.Sense {
	return frame.Sense{Turn: c.Turn, Unordered: c.Unordered, Distances: c.Distances}.Of(l, seats, horizon, actions)
}

// Default returns a dense network of two layers of 64 in the ego frame.
func Default() Config {
	return Config{Net: "dense", Frame: "egof", Hidden: []int{64, 64}, Act: "relu"}
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	errs := []error{config.Check(c), model.CheckLayers("hidden", c.Hidden)}
	if c.Net == "dense" && len(c.Hidden) == 0 {
		errs = append(errs, config.Bad("hidden", c.Hidden, "at least one layer"))
	}
	if c.Net == "conv" && c.Frame != "board" {
		errs = append(errs, config.Bad("frame", c.Frame, "board, because net is conv"))
	}
	if c.Frame == "board" && (c.Turn || c.Unordered || c.Distances) {
		errs = append(errs, config.Bad("frame", c.Frame, "ego or egof, because turn, unordered or distances is true"))
	}
	if c.LSTM > 0 && (c.Separate || c.convolves()) {
		errs = append(errs, config.Bad("lstm", c.LSTM, "0, because net is conv or picture, or separate is true"))
	}
	if c.Net == "picture" && (c.Frame != "board" || c.Separate) {
		errs = append(errs, config.Bad("net", c.Net, "another one, or frame board and separate false"))
	}
	return errors.Join(errs...)
}

// Pictured returns the settings for observations that are pictures.
func (c Config) Pictured() Config {
	if c.Net == "dense" && c.LSTM == 0 && !c.Separate {
		c.Net = "picture"
	}
	return c
}

// convolves reports whether convolutions stand in place of the trunk.
func (c Config) convolves() bool { return c.Net == "conv" || c.Net == "picture" }

// Input says in numbers what the model reads, frame.Input with the goal as its
// Extra, how many actions there are, and what a frame makes of a board.
type Input struct {
	frame.Input
	Actions    int
	Sense      frame.Sense `json:",omitzero"`
	Picture    [3]int      `json:",omitzero"` // height, width and channels of what a row begins with
	Continuous bool        `json:",omitzero"` // an action is a vector of so many numbers, and Logits are their means
}

// Validate returns what is wrong with it.
func (in Input) Validate() error {
	if in.Actions < 1 || in.Actions > 1<<10 {
		return fmt.Errorf("actor: %d actions, want 1 to %d", in.Actions, 1<<10)
	}
	return in.Input.Validate()
}

// Model is the network's layers. Its weights are elsewhere: see New.
type Model struct {
	Input
	Config

	frame  *frame.Frame
	first  []nn.Span // the weights of the layers that read rows, where a frame folds
	trunk  nn.MLP
	critic nn.MLP // with Separate
	conv   model.Conv
	dense  nn.Dense // after the convolutions
	lstm   nn.LSTM
	head   nn.Dense // [hidden][Actions+1]: logits, then the value
	value  nn.Dense // with Separate: [hidden][1]
	logStd nn.Span  // with Continuous: [Actions] of the policy, the same for all rows
}

// New returns the model and its weights, drawn from key.
func New(c Config, in Input, key rng.Key) (*Model, *nn.Params, error) {
	return model.New(c, in, key, Layers)
}

// Layers returns the model and its weights, for which there is no memory yet: it takes
// little, however large they are.
func Layers(c Config, in Input) (*Model, *nn.Params, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	if err := in.Validate(); err != nil {
		return nil, nil, err
	}
	if c.Frame != "board" && in.Planes == 0 {
		return nil, nil, config.Bad("frame", c.Frame, "board, because the game has no planes")
	}
	if h, w, ch := in.Picture[0], in.Picture[1], in.Picture[2]; c.Net == "picture" &&
		(min(h, w) < model.SmallestPicture || max(h, w) > 1<<10 || ch < 1 || h*w*ch > in.Rest) {
		return nil, nil, config.Bad("net", c.Net, fmt.Sprintf("dense, because observations are no pictures with sides of %d to %d cells",
			model.SmallestPicture, 1<<10))
	}
	f, err := newFrame(c, in)
	if err != nil {
		return nil, nil, err
	}
	m := &Model{Input: in, Config: c, frame: f}
	p := &nn.Params{}
	act := map[string]nn.Act{"relu": nn.ReLU, "tanh": nn.Tanh}[c.Act]
	sizes := append([]int{m.frame.Cols}, c.Hidden...)
	width := sizes[len(sizes)-1]
	switch {
	case c.Net == "conv":
		m.conv, width = model.NewConv(p, "conv", in.Input), 512
		m.dense = p.Dense("dense", m.conv.Out, width, nn.ReLU)
	case c.Net == "picture":
		m.conv, width = model.NewPicture(p, "conv", in.Picture[0], in.Picture[1], in.Picture[2], in.Input), 512
		m.dense = p.Dense("dense", m.conv.Out, width, nn.ReLU)
	default:
		m.trunk = p.MLP("trunk", act, sizes...)
	}
	if c.LSTM > 0 {
		m.lstm = p.LSTM("lstm", width, c.LSTM)
		width = c.LSTM
	}
	if c.Separate {
		m.critic = p.MLP("critic", act, sizes...)
		m.head = p.Dense("head", width, in.Actions, nn.None, nn.Orthogonal(0.01))
		m.value = p.Dense("value", width, 1, nn.None, nn.Orthogonal(1))
	} else {
		m.head = p.Dense("head", width, in.Actions+1, nn.None, headInit)
	}
	if in.Continuous {
		m.logStd = p.Add("logstd", nn.Zeros, in.Actions)
	}
	for _, name := range []string{"trunk/0/w", "critic/0/w"} {
		if part, ok := p.Find(name); ok && m.Folds() {
			m.first = append(m.first, part.Span)
		}
	}
	return m, p, nil
}

// newFrame returns the frame that settings and input ask for, or why there is none.
func newFrame(c Config, in Input) (*frame.Frame, error) {
	s := in.Sense
	if !s.On() {
		return frame.New(c.Frame, in.Input), nil
	}
	if err := s.Validate(in.Input, in.Actions); err != nil {
		return nil, err
	}
	switch {
	case c.Frame == "board":
		return nil, config.Bad("frame", c.Frame, "ego or egof, because turn, unordered or distances is true")
	case s.Turn && !s.CanTurn(in.Input):
		return nil, config.Bad("turn", true, "false, because observations of this game cannot be turned: they need planes, four moves, "+
			"the mask and the last joint action, and no other features")
	case s.Unordered && !s.CanForgetOrder(in.Input):
		return nil, config.Bad("unordered", true, "false, because there are no co-players on planes of whom as much is said of each")
	case s.Distances && !s.HasDistances(in.Input):
		return nil, config.Bad("distances", true, "false, because the game has no board with moves and things on it")
	}
	return frame.NewScene(c.Frame, in.Input, in.Actions, s), nil
}

// headInit starts the policy near uniform and the value at the usual scale.
func headInit(dst []float32, shape []int, r *rng.Rand) {
	nn.Orthogonal(1)(dst, shape, r)
	out := shape[len(shape)-1]
	for i := range dst {
		if i%out != out-1 {
			dst[i] *= 0.01
		}
	}
}

// Work is one goroutine's memory for up to a number of rows.
type Work struct {
	X      f32.Sparse // the rows, in the model's frame, unless others were picked
	Logits nn.Logits  // [rows][Actions] after Forward; means where actions are vectors
	Value  []float32  // [rows] after Forward

	DLogits []float32 // [rows][Actions] where the caller puts the gradients
	DValue  []float32 // [rows]
	DLogStd []float32 // [Actions] where actions are vectors; Backward clears it

	m           *Model
	rows        int
	x           *f32.Sparse // the rows: X or picked
	picked      f32.Sparse
	enc         *frame.Encoder
	trunk, crit *nn.MLPWork
	conv        *model.ConvWork
	y, dy       []float32 // [rows][512] after the convolutions
	head, dhead []float32 // [rows][Actions+1]
	turned      []float32 // [Actions]
	rec         recurrent
}

// Work allocates memory for up to rows rows.
func (m *Model) Work(rows int) *Work {
	ws := &Work{m: m, rows: rows, enc: m.frame.Encoder(), turned: make([]float32, m.Actions)}
	ws.Reset()
	ws.Logits, ws.DLogits = make(nn.Logits, rows*m.Actions), make([]float32, rows*m.Actions)
	ws.Value, ws.DValue = make([]float32, rows), make([]float32, rows)
	if m.Continuous {
		ws.DLogStd = make([]float32, m.Actions)
	}
	if m.convolves() {
		ws.conv, ws.y, ws.dy = m.conv.Work(rows), make([]float32, rows*m.dense.Out), make([]float32, rows*m.dense.Out)
	} else {
		ws.trunk = m.trunk.Work(rows)
	}
	if m.Separate {
		ws.crit = m.critic.Work(rows)
	} else {
		ws.head, ws.dhead = make([]float32, rows*(m.Actions+1)), make([]float32, rows*(m.Actions+1))
	}
	return ws
}

// Reset forgets the rows.
func (ws *Work) Reset() {
	ws.X.Reset(ws.m.frame.Cols)
	ws.x = &ws.X
}

// Pick makes the rows those of src with these indices, in their order, until
// Reset. They stay where they are: neither slice may change until then.
func (ws *Work) Pick(src *f32.Sparse, rows []int32) {
	ws.picked.View(src, 0, src.Rows())
	ws.picked.Pick = rows
	ws.x = &ws.picked
}

// Add appends a row: an observation and, where the model has one, a goal. It is for the
// weights themselves; see Encode.
func (ws *Work) Add(obs, goal []float32) {
	ws.enc.Add(&ws.X, obs, goal)
}

// Forward computes Logits and Value of the rows. It panics if there are more
// rows than the Work was made for.
func (ws *Work) Forward(p *nn.Params) {
	rows := ws.x.Rows()
	if rows > ws.rows {
		panic("actor: more rows than the workspace holds")
	}
	m := ws.m
	y := ws.features(p)
	if m.Separate {
		m.head.Forward(p, ws.Logits, y, rows)
		m.critic.ForwardSparse(p, ws.crit, ws.x)
		m.value.Forward(p, ws.Value, ws.crit.Y, rows)
		ws.turn(ws.Logits, false)
		return
	}
	ws.heads(p, y, rows)
}

// turn brings x [rows][Actions] from the views that rows were written in to the game's own
// actions, or the other way.
func (ws *Work) turn(x []float32, back bool) {
	if !ws.m.frame.Turns() {
		return
	}
	k := ws.m.Actions
	for i := range ws.x.Rows() {
		idx, _ := ws.x.Row(i)
		acts := ws.m.frame.Turned(idx)
		if acts == nil {
			continue
		}
		row := x[i*k : (i+1)*k]
		copy(ws.turned, row)
		for a, to := range acts {
			if back {
				row[to] = ws.turned[a]
			} else {
				row[a] = ws.turned[to]
			}
		}
	}
}

// features runs the layers below the heads.
func (ws *Work) features(p *nn.Params) []float32 {
	if ws.m.convolves() {
		ws.m.conv.ForwardSparse(p, ws.conv, ws.x)
		ws.m.dense.Forward(p, ws.y, ws.conv.Y, ws.x.Rows())
		return ws.y
	}
	ws.m.trunk.ForwardSparse(p, ws.trunk, ws.x)
	return ws.trunk.Y
}

func (ws *Work) heads(p *nn.Params, y []float32, rows int) {
	m, k := ws.m, ws.m.Actions
	m.head.Forward(p, ws.head, y, rows)
	for i := range rows {
		row := ws.head[i*(k+1) : (i+1)*(k+1)]
		copy(ws.Logits[i*k:], row[:k])
		ws.Value[i] = row[k]
	}
	ws.turn(ws.Logits, false)
}

// ZeroGrad clears DLogits and DValue for the rows.
func (ws *Work) ZeroGrad() {
	rows := ws.x.Rows()
	clear(ws.DLogits[:rows*ws.m.Actions])
	clear(ws.DValue[:rows])
}

// Backward adds the gradients of the last Forward's rows to p.G, from DLogits
// and DValue.
func (ws *Work) Backward(p *nn.Params) {
	m, rows := ws.m, ws.x.Rows()
	ws.backLogStd(p)
	ws.turn(ws.DLogits, true)
	defer ws.turn(ws.DLogits, false)
	if m.Separate {
		m.head.Backward(p, ws.trunk.DY, ws.DLogits, ws.trunk.Y, ws.Logits, rows)
		m.trunk.BackwardSparse(p, ws.trunk, ws.x)
		m.value.Backward(p, ws.crit.DY, ws.DValue, ws.crit.Y, ws.Value, rows)
		m.critic.BackwardSparse(p, ws.crit, ws.x)
		return
	}
	ws.mergeHeads(rows)
	if m.convolves() {
		m.head.Backward(p, ws.dy, ws.dhead, ws.y, ws.head, rows)
		m.dense.Backward(p, ws.conv.DY, ws.dy, ws.conv.Y, ws.y, rows)
		m.conv.Backward(p, ws.conv, rows)
		return
	}
	m.head.Backward(p, ws.trunk.DY, ws.dhead, ws.trunk.Y, ws.head, rows)
	m.trunk.BackwardSparse(p, ws.trunk, ws.x)
}

// LogStd returns the logarithms of the policy's deviations where actions are vectors.
func (m *Model) LogStd(p *nn.Params) []float32 {
	w, _ := p.At(m.logStd)
	return w
}

// backLogStd adds DLogStd to the gradient of the deviations.
func (ws *Work) backLogStd(p *nn.Params) {
	if !ws.m.Continuous {
		return
	}
	_, g := p.At(ws.m.logStd)
	f32.Add(g, g, ws.DLogStd)
	clear(ws.DLogStd)
}

func (ws *Work) mergeHeads(rows int) {
	k := ws.m.Actions
	for i := range rows {
		row := ws.dhead[i*(k+1) : (i+1)*(k+1)]
		copy(row, ws.DLogits[i*k:(i+1)*k])
		row[k] = ws.DValue[i]
	}
}

// Describe says in a few words what the model is.
func (m *Model) Describe(p *nn.Params) string {
	s := fmt.Sprintf("%s %v %s, %s frame", m.Net, m.Hidden, m.Act, m.Config.Frame)
	if m.LSTM > 0 {
		s += fmt.Sprintf(", LSTM %d", m.LSTM)
	}
	return s + fmt.Sprintf(", %d weights", p.Len())
}
