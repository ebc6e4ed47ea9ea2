// Package vae turns a state into a short code z and back: the learnt goals of HOP+ with types.
//
// An encoder reads the state that an agent sees and puts out a distribution of z,
// a normal one or, for discrete goals, categories drawn by Gumbel's trick. Loss A
// asks that a decoder can rebuild the state from z; loss B that a model of the
// agent's action, which reads its observation and z, predicts what it does. The
// two are different quantities and are never added up or shown under one name.
//
// z is a function of what the encoder reads, one state or one observation, so it
// cannot tell more about the agent's goal than that does.
//
// A Model is layers; weights are in nn.Params and scratch memory in a Work, one
// for each goroutine. It sees arrays, never games.
package vae

import (
	"errors"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
)

// Config chooses the model.
type Config struct {
	Loss     string  `yaml:"loss" doc:"a: reconstruction and KL; b: cross-entropy of the agent's action given observation and z, and KL" oneof:"a|b"`
	Net      string  `yaml:"net" doc:"encoder: dense layers of the widths in hidden, or three 3x3 convolutions (16, 32, 32 channels)" oneof:"dense|conv"`
	Frame    string  `yaml:"frame" doc:"how the encoder numbers the state" oneof:"board|ego|egof"`
	Reads    string  `yaml:"reads" doc:"planes: the board alone; observation: mask, time and last joint action too" oneof:"planes|observation"`
	Hidden   []int   `yaml:"hidden" doc:"widths of the encoder's layers; the decoder has them in reverse" range:"1..4096"`
	Dim      int     `yaml:"dim" doc:"dimensions of a continuous z" range:"1..256"`
	Discrete int     `yaml:"discrete" doc:"classes of a discrete goal; 0: z is continuous" range:"0..64"`
	Groups   int     `yaml:"groups" doc:"how many discrete goals z holds" range:"1..16"`
	Agents   string  `yaml:"agents" doc:"cells: one softmax an agent over the cells and gone; bits: each cell apart" oneof:"cells|bits"`
	Things   float64 `yaml:"things" doc:"weight of the planes that are not agents' in the reconstruction" range:"0<..100"`
	Outcome  float64 `yaml:"outcome" doc:"loss b: weight of a term that asks z alone for the agent's last action of the episode; 0: none, as in the notes" range:"0..100"`
	MOA      int     `yaml:"moa" doc:"width of the two layers that predict the action in loss b" range:"1..4096"`
}

// Default returns loss A with 16 dimensions. The frame egof gives every agent's row
// and column apart, from which cells are rebuilt twice as fast as from board.
func Default() Config {
	return Config{Loss: "a", Net: "dense", Frame: frame.Egof, Reads: "planes", Hidden: []int{256, 128}, Dim: 16, Groups: 1, Agents: "cells",
		Things: 0.25, MOA: 128}
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	errs := []error{config.Check(c), model.CheckLayers("hidden", c.Hidden)}
	if len(c.Hidden) == 0 {
		errs = append(errs, config.Bad("hidden", c.Hidden, "at least one layer"))
	}
	if c.Net == "conv" && c.Frame != frame.Board {
		errs = append(errs, config.Bad("frame", c.Frame, "board, because net is conv"))
	}
	if c.Discrete == 1 {
		errs = append(errs, config.Bad("discrete", c.Discrete, "0, or at least 2 classes"))
	}
	return errors.Join(errs...)
}

// Input says in numbers what the model reads: observations laid out as
// frame.Input says, whose first Agents planes each show one agent, and how many
// actions there are. Extra must be 0.
type Input struct {
	frame.Input
	Agents, Actions int
}

// Model is the layers. Its weights are elsewhere: see New.
type Model struct {
	Input
	Config

	state, obs *frame.Frame
	conv       model.Conv
	trunk      nn.MLP
	mu, logvar nn.Dense
	logits     nn.Dense // of discrete goals, [hidden][Groups*Discrete]
	dec        nn.MLP
	cells      nn.Dense // [hidden][Agents*(cells+1)]
	bits       nn.Dense // [hidden][Bits]
	look, mix  nn.Dense // the model of the action: observation, then that and z
	act        nn.Dense
	outcome    nn.Dense // with Outcome: z to the last action
}

// New returns the model and its weights, drawn from key.
func New(c Config, in Input, key rng.Key) (*Model, *nn.Params, error) {
	m, p, err := model.New(c, in, key, Layers)
	if err != nil {
		return nil, nil, err
	}
	if q, ok := p.Find("logvar/b"); ok {
		w, _ := p.At(q.Span)
		f32.Fill(w, startLogVar)
	}
	return m, p, nil
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
	if in.Planes == 0 || in.Agents < 1 || in.Agents > in.Planes || in.Extra != 0 {
		return nil, nil, fmt.Errorf("vae: the input has %d planes, %d of them agents', and %d extra numbers; want planes, at least one of "+
			"them an agent's, and no extra", in.Planes, in.Agents, in.Extra)
	}
	if c.Loss == "b" && (in.Actions < 2 || in.Actions > 1<<10) {
		return nil, nil, fmt.Errorf("vae: loss b predicts actions, but there are %d", in.Actions)
	}
	m := &Model{Input: in, Config: c}
	seen := in.Input
	if c.Reads == "planes" {
		seen.Rest = 0
	}
	m.state, m.obs = frame.New(c.Frame, seen), frame.New(frame.Egof, in.Input)
	p := &nn.Params{}
	width := c.Hidden[len(c.Hidden)-1]
	if c.Net == "conv" {
		m.conv = model.NewConv(p, "enc", seen)
		width = m.conv.Out
	} else {
		m.trunk = p.MLP("enc", nn.ReLU, append([]int{m.state.Cols}, c.Hidden...)...)
	}
	if c.Discrete > 0 {
		m.logits = p.Dense("logits", width, c.Groups*c.Discrete, nn.None)
	} else {
		m.mu = p.Dense("mu", width, c.Dim, nn.None)
		m.logvar = p.Dense("logvar", width, c.Dim, nn.None, nn.Orthogonal(0.01))
	}
	sizes := []int{m.Width()}
	for i := range c.Hidden {
		sizes = append(sizes, c.Hidden[len(c.Hidden)-1-i])
	}
	m.dec = p.MLP("dec", nn.ReLU, sizes...)
	last := sizes[len(sizes)-1]
	if m.softAgents() > 0 {
		m.cells = p.Dense("cells", last, m.softAgents()*(m.Cells()+1), nn.None)
	}
	if m.Bits() > 0 {
		m.bits = p.Dense("bits", last, m.Bits(), nn.None)
	}
	if c.Loss == "b" {
		m.look = p.Dense("moa/see", m.obs.Cols, c.MOA, nn.ReLU)
		m.mix = p.Dense("moa/mix", c.MOA+m.Width(), c.MOA, nn.ReLU)
		m.act = p.Dense("moa/act", c.MOA, in.Actions, nn.None, nn.Orthogonal(0.01))
		if c.Outcome > 0 {
			m.outcome = p.Dense("outcome", m.Width(), in.Actions, nn.None)
		}
	}
	return m, p, nil
}

// startLogVar is where the log-variance of z starts. The KL weight is tiny, so the
// noise shrinks anyway; starting at a standard deviation of 0.14 and not of 1 saves
// the epochs that this takes.
const startLogVar = -4

// Width returns how many numbers z has.
func (m *Model) Width() int {
	if m.Discrete > 0 {
		return m.Groups * m.Discrete
	}
	return m.Dim
}

// ClassCount returns how many classes the groups of a discrete goal make together, at
// most so many.
func (m *Model) ClassCount(most int) int {
	n := 1
	for range m.Groups {
		n = min(n*m.Discrete, most)
	}
	return n
}

// Cells returns the number of the board's cells.
func (m *Model) Cells() int { return m.Height * m.Input.Input.Width }

// softAgents returns how many agents have a softmax over the cells.
func (m *Model) softAgents() int {
	if m.Config.Agents == "cells" {
		return m.Input.Agents
	}
	return 0
}

// Bits returns how many cells of planes are each a bit.
func (m *Model) Bits() int { return m.Cells() * (m.Planes - m.softAgents()) }

// Rows are states and steps in the form that the model learns from. Only rows of
// agents that were alive belong in it.
type Rows struct {
	m          *Model
	enc, all   *frame.Encoder
	State, Obs f32.Sparse // what the encoder and the model of the action read
	Cell       []int32    // [n][Agents] each agent's cell, Cells() if it is gone
	Bit        []uint8    // [n][Bits]
	Legal      []bool     // [n][Actions]
	Action     []int32    // [n]
	Outcome    []int32    // [n] the agent's last action, nn.NoClass if unknown; the caller may set it
}

// Rows returns an empty set of rows.
func (m *Model) Rows() *Rows {
	r := &Rows{m: m, enc: m.state.Encoder(), all: m.obs.Encoder()}
	r.State.Reset(m.state.Cols)
	r.Obs.Reset(m.obs.Cols)
	return r
}

// Reset empties the rows and keeps their memory.
func (r *Rows) Reset() {
	r.State.Reset(r.State.Cols)
	r.Obs.Reset(r.Obs.Cols)
	r.Cell, r.Bit, r.Legal, r.Action, r.Outcome = r.Cell[:0], r.Bit[:0], r.Legal[:0], r.Action[:0], r.Outcome[:0]
}

// Len returns the number of rows.
func (r *Rows) Len() int { return r.State.Rows() }

// Add appends an observation and what the agent did there. For a state alone,
// legal and action may be nil and nn.NoClass: such rows serve loss A and Encode.
func (r *Rows) Add(obs []float32, legal []bool, action int32) {
	m := r.m
	seen := obs
	if m.Reads == "planes" {
		seen = obs[:m.Cells()*m.Planes]
	}
	r.enc.Add(&r.State, seen, nil)
	agents := m.Input.Agents
	at := len(r.Cell)
	for range agents {
		r.Cell = append(r.Cell, int32(m.Cells()))
	}
	for i, v := range obs[:m.Cells()*m.Planes] {
		if c := i % m.Planes; v > 0.5 && c < agents {
			r.Cell[at+c] = int32(i / m.Planes)
		}
	}
	soft := m.softAgents()
	for i, v := range obs[:m.Cells()*m.Planes] {
		if i%m.Planes >= soft {
			r.Bit = append(r.Bit, uint8(v+0.5))
		}
	}
	if m.Config.Loss != "b" {
		return
	}
	r.all.Add(&r.Obs, obs, nil)
	r.Action, r.Outcome = append(r.Action, action), append(r.Outcome, nn.NoClass)
	if legal == nil {
		for range m.Actions {
			r.Legal = append(r.Legal, true)
		}
		return
	}
	r.Legal = append(r.Legal, legal...)
}

// Each fills a workspace with all rows, 512 at a time.
func (m *Model) Each(rows *Rows, do func(ws *Work)) {
	const batch = 512
	ws := m.Work(batch)
	for lo := 0; lo < rows.Len(); lo += batch {
		ws.Reset()
		for i := lo; i < min(lo+batch, rows.Len()); i++ {
			ws.Add(rows, i)
		}
		do(ws)
	}
}

// Load returns the model of a folder of hop pretrain vae with its best weights.
func Load(runs *runlog.Reader, dir string) (*Model, *nn.Params, error) {
	return model.Load(runs, dir, "vae", Layers)
}

// Describe says in a few words what the model is.
func (m *Model) Describe(p *nn.Params) string {
	z := fmt.Sprintf("z of %d dimensions", m.Dim)
	if m.Discrete > 0 {
		z = fmt.Sprintf("z of %d x %d classes", m.Groups, m.Discrete)
	}
	return fmt.Sprintf("loss %s, %s, %s %v encoder of the %s, %s frame, %d weights", m.Config.Loss, z, m.Net, m.Hidden, m.Reads,
		m.Config.Frame, p.Len())
}

// Outcomes writes dst [rows][Actions], what z [rows][Width] alone says about the
// agent's last action of the episode. It panics unless Outcome is above 0.
func (m *Model) Outcomes(p *nn.Params, dst, z []float32, rows int) {
	if m.Config.Loss != "b" || m.Outcome <= 0 {
		panic("vae: the model was not taught outcomes")
	}
	k := m.Actions
	m.outcome.Forward(p, dst[:rows*k], z[:rows*m.Width()], rows)
	for i := range rows {
		row := dst[i*k : (i+1)*k]
		top, sum := row[0], float32(0)
		for _, x := range row {
			top = max(top, x)
		}
		for a, x := range row {
			row[a] = float32(math.Exp(float64(x - top)))
			sum += row[a]
		}
		for a := range row {
			row[a] /= sum
		}
	}
}

// DecodedCells writes the cell of each agent in the decoded state of row i, or
// Cells() for one that is gone, to dst[Agents]. It takes the likeliest cell of an
// agent's plane. With agents as bits an agent is gone only if hardly any chance is
// left that it is somewhere: below half of one cell in all.
func (ws *Work) DecodedCells(dst []int32, i int) {
	m, n := ws.m, ws.m.Cells()
	soft := m.softAgents()
	for a := range m.Input.Agents {
		if soft > 0 {
			dst[a] = argmax(ws.CellLogits[(i*soft+a)*(n+1) : (i*soft+a+1)*(n+1)])
			continue
		}
		mass, best, at := float32(0), float32(-1), int32(n)
		for c := range n {
			p := ws.Plane(i, a, c)
			mass += p
			if p > best {
				best, at = p, int32(c)
			}
		}
		if mass < 0.5 {
			at = int32(n)
		}
		dst[a] = at
	}
}

// Plane returns the raw probability that cell c of plane k is full in the decoded
// state of row i. It is valid after Learn or Evaluate.
func (ws *Work) Plane(i, k, c int) float32 {
	m, n, soft := ws.m, ws.m.Cells(), ws.m.softAgents()
	if k < soft {
		return ws.cell.P[(i*soft+k)*(n+1)+c]
	}
	return ws.bit.P[i*m.Bits()+c*(m.Planes-soft)+k-soft]
}

// Exact reports, for row i after Evaluate, whether every agent's cell was rebuilt,
// whether the whole state was, and whether rounding each cell at a half, the
// mistake of a threshold, would have hidden an agent that is there.
func (ws *Work) Exact(i int, scratch []int32) (cells, state, hidden bool) {
	m := ws.m
	a, b := m.Input.Agents, m.Bits()
	ws.DecodedCells(scratch, i)
	cells, state = true, true
	for k, want := range ws.Cell[i*a : (i+1)*a] {
		cells = cells && scratch[k] == want
		if want == int32(m.Cells()) {
			continue
		}
		top := float32(0)
		for c := range m.Cells() {
			top = max(top, ws.Plane(i, k, c))
		}
		hidden = hidden || top < 0.5
	}
	for j, x := range ws.BitLogits[i*b : (i+1)*b] {
		if (x > 0) != (ws.Bit[i*b+j] > 0.5) {
			state = false
		}
	}
	return cells, cells && state, hidden
}

func argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}

// DecodeFrom decodes z[rows][Width] as they are, such as goals that another model
// inferred.
func (ws *Work) DecodeFrom(p *nn.Params, z []float32, rows int) {
	copy(ws.Z, z[:rows*ws.m.Width()])
	ws.decode(p, rows)
	m := ws.m
	if a := m.softAgents(); a > 0 {
		n := rows * a
		ws.cell.Set(ws.CellLogits[:n*(m.Cells()+1)], nil, n)
	}
	if b := m.Bits(); b > 0 {
		ws.bit.Set(ws.BitLogits[:rows*b], rows)
	}
}

// LearnConfig sets how a model learns.
type LearnConfig struct {
	LR      float64 `yaml:"lr" doc:"Adam's step size at the start; it falls along half a cosine to a tenth" range:"0<..1"`
	Batch   int     `yaml:"batch" doc:"rows of a gradient step" range:"1..65536"`
	KL      float64 `yaml:"kl" doc:"weight a of the KL term after warm-up: a = kl (1 - exp(-step/warmup))" range:"0..100"`
	Warmup  float64 `yaml:"warmup" doc:"gradient steps of the warm-up" range:"0<..1e9"`
	Blur    float64 `yaml:"blur" doc:"discrete goals: weight of the term that asks for sure classes, all used equally often over a batch; without it one class takes all" range:"0..100"`
	Tau     float64 `yaml:"tau" doc:"temperature of discrete goals at the start" range:"0<..100"`
	TauEnd  float64 `yaml:"tau_end" doc:"and at the end" range:"0<..100"`
	MaxGrad float64 `yaml:"max_grad" doc:"largest norm of a gradient; 0: any" range:"0..1e9"`
	Shards  int     `yaml:"shards" doc:"parts of a batch that may run side by side, part of the numbers; 0: one for every 32 rows" range:"0..64"`
}

// DefaultLearn returns the KL weight and warm-up of hop+types.
func DefaultLearn() LearnConfig {
	return LearnConfig{LR: 2e-3, Batch: 256, KL: 1e-4, Warmup: 20000, Blur: 0.1, Tau: 1, TauEnd: 0.5, MaxGrad: 1}
}

// Learner trains a model: the encoder, the decoder and, in loss B, the model of
// the action are one set of weights under one optimiser.
type Learner struct {
	*Model
	*model.Learner[*Work, Terms]
	cfg LearnConfig
}

// NewLearner prepares to train for a number of steps. Noise comes from key, by
// step and shard.
func NewLearner(m *Model, p *nn.Params, cfg LearnConfig, steps int, key rng.Key) (*Learner, error) {
	if err := config.Check(cfg); err != nil {
		return nil, err
	}
	var works []*Work
	shards := model.Shards(cfg.Shards, 4*cfg.Batch) // its rows are long work
	for range shards {
		works = append(works, m.Work((cfg.Batch+shards-1)/shards))
	}
	return &Learner{m, model.NewLearner[*Work, Terms](p, cfg.LR, cfg.MaxGrad, steps, key, works), cfg}, nil
}

// Weights returns what the terms of the loss weigh at a step.
func (l *Learner) Weights(step int) Weights {
	return Weights{
		KL: l.cfg.KL * (1 - math.Exp(-float64(step)/l.cfg.Warmup)), Blur: l.cfg.Blur,
		Tau: nn.Linear(l.cfg.Tau, l.cfg.TauEnd, l.Total)(step),
	}
}

// Step takes one gradient step on the picked rows, at most a batch of them. ahead,
// unless nil, gives for each the row whose action z shall help to predict.
func (l *Learner) Step(rows *Rows, pick, ahead []int) (Terms, error) {
	if len(pick) > l.cfg.Batch {
		panic("vae: more rows than a batch holds")
	}
	w := l.Weights(l.Steps())
	return l.Learner.Step(len(pick), func(s *nn.Shard[*Work]) Terms {
		s.Work.Reset()
		for n, i := range pick[s.Lo:s.Hi] {
			j := i
			if ahead != nil {
				j = ahead[s.Lo+n]
			}
			s.Work.AddAhead(rows, i, j)
		}
		r := l.Noise(s.Number)
		return s.Work.Learn(s.Params, w, len(pick), &r)
	})
}
