// Package sequence predicts what a co-player does next, and what it is after, from the
// joint history of a whole life among it: all the episodes played with the same
// co-players, in context, without changing a weight.
//
// A token is a step of the modelled agent that the observer saw: what the agent saw,
// from its own place, which shows the board, everybody on it and the last joint action;
// what it did; whether it left by that and the goal that it reached; and whether the
// episode began there. A transformer reads the tokens so far, its last output is the
// context. Three heads read the context: the next action and the goal that the agent
// reaches in the end, each together with the observation at which it acts now, and
// which kind of the population it is. The first two are networks of package moa whose
// goal is the context, so a search can ask about any state: the context is that of its
// root. A decision costs one token for each co-player, since what was read is kept.
//
// What stands in the transformer's place are its baselines: a GRU, and nothing.
// Package sequence sees arrays, never games.
package sequence

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
)

// Config chooses the network.
type Config struct {
	History string     `yaml:"history" doc:"what reads the tokens so far: attention (a transformer), gru, or none: the context is always zero" oneof:"attention|gru|none"`
	Across  bool       `yaml:"across" doc:"the context goes on from episode to episode of a life; false: it begins anew with each"`
	Width   int        `yaml:"width" doc:"numbers of a token and of the context" range:"1..1024"`
	Layers  int        `yaml:"layers" doc:"blocks of the transformer" range:"1..64"`
	Heads   int        `yaml:"heads" doc:"heads of a block; they divide width" range:"1..64"`
	Up      int        `yaml:"up" doc:"width between the two dense layers of a block" range:"1..4096"`
	Window  int        `yaml:"window" doc:"tokens that a token can read in each block" unit:"tokens" range:"1..4096"`
	Code    int        `yaml:"code" doc:"numbers of the code that the heads read in place of the context, as small as what there is to know of a co-player; 0: they read the context itself" range:"0..1024"`
	Untyped bool       `yaml:"untyped" doc:"the action's head is never given the type of who acts: what was read must say all"`
	Head    moa.Config `yaml:"head"`
}

// Default returns a transformer of two blocks.
func Default() Config {
	c := Config{History: "attention", Across: true, Width: 64, Layers: 2, Heads: 4, Up: 128, Window: 128, Head: moa.Default()}
	c.Head.Hidden = []int{64, 64}
	return c
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	errs := []error{config.Check(c), config.At(c.Head.Validate(), "head", nil)}
	if c.Heads > 0 && c.Width%c.Heads != 0 {
		errs = append(errs, config.Bad("heads", c.Heads, fmt.Sprintf("a divisor of width, which is %d", c.Width)))
	}
	if c.Code > 0 && c.History == "none" {
		errs = append(errs, config.Bad("code", c.Code, "0, because history is none and there is no context to be coded"))
	}
	if c.Head.History != 0 {
		errs = append(errs, config.Bad("head.history", c.Head.History, "0, because the context is the history"))
	}
	return errors.Join(errs...)
}

// Random is the kind that the action's head is never given: it needs no model.
const Random = "random"

// Input says what a model reads, and which words it answers in.
type Input struct {
	moa.Input          // GoalLen is not used
	Goals     []string // of the game
	Kinds     []string // of the population
}

// Given returns the kinds that the action's head may be given, by number.
func (in Input) Given() (list []int32) {
	for i, name := range in.Kinds {
		if name != Random {
			list = append(list, int32(i))
		}
	}
	return list
}

// Given returns the kinds that the action's head may be given, by number; none if it never is.
func (m *Model) Given() []int32 {
	if m.Untyped {
		return nil
	}
	return m.Input.Given()
}

// Model is the network's layers. Its weights are elsewhere.
type Model struct {
	Input
	Config
	Act  *moa.Model // the next action, of a row and [context, given kind]; the latter zero if it is not known
	Goal *moa.Model // the goal reached in the end, the last class being none, of a row and the context

	first nn.Dense // a token's nonzeros to twice the width
	embed nn.Dense // and to the width
	net   nn.Transformer
	gru   nn.GRU
	code  nn.Dense // the context to its code
	kind  nn.Dense
}

// ReadLen returns how many numbers the heads read of what was read: the code's, or the context's.
func (c Config) ReadLen() int {
	if c.Code > 0 {
		return c.Code
	}
	return c.Width
}

// ActPrefix is where the weights of the action's head lie.
const ActPrefix = "act/"

// New returns the model and its weights, drawn from key.
func New(c Config, in Input, key rng.Key) (*Model, *nn.Params, error) {
	return model.New(c, in, key, Layers)
}

// Layers returns the model and its weights, for which there is no memory yet.
func Layers(c Config, in Input) (*Model, *nn.Params, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	if len(in.Kinds) < 1 || len(in.Kinds) > 127 || len(in.Goals) > 127 {
		return nil, nil, fmt.Errorf("sequence: a population of %d kinds and a game of %d goals, want 1 to 127 and at most 127",
			len(in.Kinds), len(in.Goals))
	}
	m, p := &Model{Input: in, Config: c}, &nn.Params{}
	of := in.Input
	of.GoalLen = c.ReadLen() + len(m.Given())
	var err error
	if m.Act, err = moa.On(p, ActPrefix, c.Head, of); err != nil {
		return nil, nil, err
	}
	of.GoalLen, of.Actions, of.LegalAt, of.LastAt = c.ReadLen(), len(in.Goals)+1, -1, -1
	if m.Goal, err = moa.On(p, "goal/", c.Head, of); err != nil {
		return nil, nil, err
	}
	if c.History != "none" {
		m.first = p.Dense("first", m.cols(), 2*c.Width, nn.ReLU)
		m.embed = p.Dense("embed", 2*c.Width, c.Width, nn.None)
		if c.Code > 0 {
			m.code = p.Dense("code", c.Width, c.Code, nn.Tanh)
		}
		m.kind = p.Dense("kind", c.ReadLen(), len(in.Kinds), nn.None, nn.Orthogonal(0.01))
	}
	switch c.History {
	case "attention":
		m.net = p.Transformer("net", c.Layers, c.Width, c.Up, c.Heads, c.Window)
	case "gru":
		m.gru = p.GRU("gru", c.Width, c.Width)
	}
	return m, p, nil
}

// Load makes the model of a folder of hop pretrain sequence, with its best weights.
func Load(runs *runlog.Reader, dir string) (*Model, *nn.Params, error) {
	return model.Load(runs, dir, "sequence", Layers)
}

// Describe says in a few words what the model is.
func (m *Model) Describe(p *nn.Params) string {
	s := "no history"
	switch m.History {
	case "attention":
		s = fmt.Sprintf("transformer of %d blocks, %d wide, %d heads, window %d", m.Layers, m.Width, m.Heads, m.Window)
	case "gru":
		s = fmt.Sprintf("GRU %d", m.Width)
	}
	if m.History != "none" && !m.Across {
		s += ", forgets at an episode's start"
	}
	if m.Code > 0 {
		s += fmt.Sprintf(", a code of %d numbers", m.Code)
	}
	return s + fmt.Sprintf(", %d weights", p.Len())
}

// Token is a step of the modelled agent as the observer saw it.
type Token struct {
	Obs     []float32 // what the agent saw, from its own place
	Action  int32     // what it did
	Start   bool      // the episode began there
	Left    bool      // it left by that,
	Reached int       // and reached this goal, or game.NoGoal
}

// cols returns the width of a token: an observation as the heads read it, the action,
// whether the episode began and whether the agent left, and the goal that it reached.
func (m *Model) cols() int { return m.Act.Cols() + m.Actions + 2 + len(m.Goals) }

// token appends a token to x, whose observation is row i of seen.
func (m *Model) token(x, seen *f32.Sparse, i int, t Token) {
	idx, val := seen.Row(i)
	for k, at := range idx {
		x.AppendEntry(at, val[k])
	}
	at := int32(m.Act.Cols())
	x.AppendEntry(at+t.Action, 1)
	at += int32(m.Actions)
	if t.Start {
		x.AppendEntry(at, 1)
	}
	if t.Left {
		x.AppendEntry(at+1, 1)
	}
	if t.Left && t.Reached >= 0 {
		x.AppendEntry(at+2+int32(t.Reached), 1)
	}
	x.EndRow()
}

// KindOf returns a kind's number, -1 if there is none of that name.
func (m *Model) KindOf(name string) int { return slices.Index(m.Kinds, name) }
