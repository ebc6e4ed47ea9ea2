// Package cvae infers a co-player's subgoal from its history, as OMG does.
//
// The model reads an agent's observations and the joint actions before them, all
// from that agent's own viewpoint, and puts out a normal distribution
// q(g | history, s). It is trained towards p(g | s'), the code that a VAE gives to
// a state s' which the agent really reached within the next few steps and which a
// Selector chose. So g tells where the agent is going, as far as its history can
// tell; at play only q is used.
//
// Where the VAE's goals are discrete, so is g: Dim/Classes variables of Classes
// classes each, and q is their probabilities. Draws are one-hot, by Gumbel's trick
// while learning.
//
// An agent's history ends when it leaves: no state after its last one is a subgoal,
// padding reaches no loss, and its memory is forgotten.
//
// A Model is layers; weights are in nn.Params and scratch memory in a Work, one
// for each goroutine. It sees arrays, never games.
package cvae

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// Config chooses the model. The defaults are those of hop+types.
type Config struct {
	Dim     int    `yaml:"dim" doc:"dimensions of g, those of the VAE" range:"1..256"`
	Classes int    `yaml:"classes" json:",omitempty" doc:"classes of each of g's variables, those of the VAE; 0: g is continuous" range:"0..64"`
	Frame   string `yaml:"frame" doc:"how observations are numbered" oneof:"board|ego|egof"`
	Feature int    `yaml:"feature" doc:"width of an observation's feature" range:"1..4096"`
	GRU     int    `yaml:"gru" doc:"width of the memory" range:"1..1024"`
	Hidden  []int  `yaml:"hidden" doc:"widths of the layers between memory and g" range:"1..4096"`
}

// Default returns the sizes of hop+types.
func Default() Config {
	return Config{Dim: 16, Frame: frame.Egof, Feature: 32, GRU: 96, Hidden: []int{128, 128}}
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	if len(c.Hidden) == 0 {
		return config.Bad("hidden", c.Hidden, "at least one layer")
	}
	if c.Classes == 1 || c.Classes > 1 && c.Dim%c.Classes != 0 {
		return config.Bad("classes", c.Classes, fmt.Sprintf("0, or at least 2 of which dim %d is a multiple", c.Dim))
	}
	return errors.Join(config.Check(c), model.CheckLayers("hidden", c.Hidden))
}

// Input says in numbers what the model reads: observations, and the last joint
// action of so many seats.
type Input struct {
	frame.Input
	Seats, Actions int
}

// Model is the layers. Its weights are elsewhere: see New.
type Model struct {
	Input
	Config

	obs        *frame.Frame
	feature    nn.Dense
	gru        nn.GRU   // reads the feature before and the joint action before
	trunk      nn.MLP   // reads the memory and the feature
	mu, logvar nn.Dense // discrete goals: mu gives logits, and there is no logvar
	dec, out   nn.Dense // read g and the memory, give the feature
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
	if in.Seats < 1 || in.Seats > 1<<10 || in.Actions < 1 || in.Actions > 1<<10 || in.Extra != 0 {
		return nil, nil, fmt.Errorf("cvae: the input has %d seats, %d actions and %d extra numbers; want seats, actions and no extra", in.Seats,
			in.Actions, in.Extra)
	}
	if c.Frame != frame.Board && in.Planes == 0 {
		return nil, nil, config.Bad("frame", c.Frame, "board, because the game has no planes")
	}
	m := &Model{Input: in, Config: c, obs: frame.New(c.Frame, in.Input)}
	p := &nn.Params{}
	m.feature = p.Dense("feature", m.obs.Cols, c.Feature, nn.Tanh)
	m.gru = p.GRU("gru", m.step(), c.GRU)
	m.trunk = p.MLP("trunk", nn.ReLU, append([]int{c.GRU + c.Feature}, c.Hidden...)...)
	last := c.Hidden[len(c.Hidden)-1]
	m.mu = p.Dense("mu", last, c.Dim, nn.None)
	if c.Classes == 0 {
		m.logvar = p.Dense("logvar", last, c.Dim, nn.None, nn.Orthogonal(0.01))
	}
	m.dec = p.Dense("dec", c.Dim+c.GRU, last, nn.ReLU)
	m.out = p.Dense("out", last, c.Feature, nn.None)
	return m, p, nil
}

// step returns the width of what the memory reads at each step.
func (m *Model) step() int { return m.Feature + m.Seats*m.Actions }

// Describe says in a few words what the model is.
func (m *Model) Describe(p *nn.Params) string {
	g := fmt.Sprintf("g of %d dimensions", m.Dim)
	if m.Classes > 0 {
		g = fmt.Sprintf("g of %d x %d classes", m.Dim/m.Classes, m.Classes)
	}
	return fmt.Sprintf("%s, feature %d, GRU %d, layers %v, %s frame, %d weights", g, m.Feature, m.GRU, m.Hidden,
		m.Config.Frame, p.Len())
}

// Sequences are agents' histories in the form that the model learns from: each is
// one agent's rows of one episode, from its first to the last at which it was
// alive.
type Sequences struct {
	m   *Model
	enc *frame.Encoder

	Lo []int // [n+1] first row of each sequence
	X  f32.Sparse
	// Last is the joint action before each row, from the agent's own viewpoint, -1
	// for none: [rows][Seats].
	Last []int32
	// Mu and LogVar are the VAE's code of the state selected for each row:
	// [rows][Dim], filled by the caller before learning. Of discrete goals Mu is the
	// classes' probabilities, and LogVar says nothing.
	Mu, LogVar []float32
}

// Sequences returns an empty set.
func (m *Model) Sequences() *Sequences {
	s := &Sequences{m: m, enc: m.obs.Encoder(), Lo: []int{0}}
	s.X.Reset(m.obs.Cols)
	return s
}

// Len returns the number of sequences.
func (s *Sequences) Len() int { return len(s.Lo) - 1 }

// Rows returns the number of rows.
func (s *Sequences) Rows() int { return s.X.Rows() }

// Steps returns how many rows sequence i has.
func (s *Sequences) Steps(i int) int { return s.Lo[i+1] - s.Lo[i] }

// Add appends a row to the sequence that is being built.
func (s *Sequences) Add(obs []float32, last []int32) {
	s.enc.Add(&s.X, obs, nil)
	s.Last = append(s.Last, last[:s.m.Seats]...)
}

// End ends the sequence.
func (s *Sequences) End() { s.Lo = append(s.Lo, s.X.Rows()) }

// Load returns the model of a folder of hop pretrain cvae with its best weights.
func Load(runs *runlog.Reader, dir string) (*Model, *nn.Params, error) {
	return model.Load(runs, dir, "cvae", Layers)
}

// Save adds all memories to f under prefix.
func (mem *Memory) Save(f *safetensors.File, prefix string) {
	f.PutFloat32(prefix+"h", mem.h, len(mem.h))
	f.PutFloat32(prefix+"f", mem.f, len(mem.f))
}

// Load restores what Save stored for as many places, exactly.
func (mem *Memory) Load(f *safetensors.File, prefix string) error {
	if err := f.Float32(mem.h, prefix+"h", len(mem.h)); err != nil {
		return err
	}
	return f.Float32(mem.f, prefix+"f", len(mem.f))
}

// Memory is what is remembered of each modelled agent, one place for each pair of
// env and co-player.
type Memory struct {
	h []float32 // [places][GRU]
	f []float32 // [places][Feature] of the observation before
}

// Memory returns empty memories for a number of places.
func (m *Model) Memory(places int) *Memory {
	return &Memory{make([]float32, places*m.GRU), make([]float32, places*m.Feature)}
}

// Forget empties one place: at an episode's start, or when its agent has left.
func (mem *Memory) Forget(m *Model, place int) {
	clear(mem.h[place*m.GRU : (place+1)*m.GRU])
	clear(mem.f[place*m.Feature : (place+1)*m.Feature])
}

// Add appends a row for Infer: what the modelled agent sees, and the joint action
// before it from that agent's viewpoint, -1 for none. It panics if the memory is
// full.
func (ws *Work) Add(obs []float32, last []int32) {
	at := ws.x.Rows()
	if at >= ws.rows {
		panic("cvae: more rows than the workspace holds")
	}
	ws.enc.Add(&ws.x, obs, nil)
	copy(ws.last[at*ws.m.Seats:(at+1)*ws.m.Seats], last)
}

// Infer advances the memory of each row's place by one step and computes q of the
// rows added since Reset. No place may come twice.
func (ws *Work) Infer(p *nn.Params, mem *Memory, places []int) {
	m, rows := ws.m, ws.x.Rows()
	if len(places) != rows {
		panic("cvae: as many places as rows are wanted")
	}
	clear(ws.in[:rows*m.step()])
	for i, at := range places {
		copy(ws.h[i*m.GRU:(i+1)*m.GRU], mem.h[at*m.GRU:])
		ws.before(i, mem.f[at*m.Feature:(at+1)*m.Feature])
	}
	m.gru.Step(p, ws.gru, ws.h, ws.in, rows)
	m.feature.ForwardSparse(p, ws.f[:rows*m.Feature], &ws.x)
	ws.head(p, ws.h, rows)
	for i, at := range places {
		copy(mem.h[at*m.GRU:(at+1)*m.GRU], ws.h[i*m.GRU:])
		copy(mem.f[at*m.Feature:(at+1)*m.Feature], ws.f[i*m.Feature:])
	}
}
