// Package imagine is learning from steps that a world model makes up.
//
// The model is a game like any other (game.go): states are what it predicts, and
// package rollout plays the run's own minds on it: all together, or each for itself
// among others who act as it expects them to (others.go). The model learns from the run's newest
// steps (world.go), is scored on every window before it learns from it, and is
// used only where it foresaw enough. Nothing imagined is ever written where played
// steps are.
package imagine

import (
	"fmt"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// Config sets learning from steps that a world model makes up.
type Config struct {
	On        bool         `yaml:"on" doc:"agents also learn from imagined steps: they play on in a world model, from real states"`
	RealRatio float64      `yaml:"real_ratio" doc:"share of really played rows in a minibatch; the others are imagined" range:"0<..1"`
	Length    int          `yaml:"length" doc:"imagined steps of a copy before it is cut; episodes that end sooner are followed by others" unit:"steps" range:"1..4096"`
	From      string       `yaml:"from" doc:"where imagination starts: at real episodes' first states, or at any state of the last window" oneof:"starts|slots"`
	Refresh   int          `yaml:"refresh" doc:"times a real window is followed by new imagination, by the policies of then, and learning from both" range:"1..100"`
	Trust     float64      `yaml:"trust" doc:"imagine only after a window of which the model foresaw this share of the steps exactly, before learning from it" range:"0..1"`
	Others    string       `yaml:"others" doc:"how co-players act in imagination: by their own brains, so that all agents imagine together; or by the model of others of the agent that imagines, each for itself" oneof:"brains|model"`
	World     string       `yaml:"world" doc:"a world model that hop pretrain world made, used as it is; empty: one that learns from the run's own steps"`
	Model     world.Config `yaml:"model"`
	Rows      int          `yaml:"rows" doc:"newest real steps that the model learns from" range:"256..1000000"`
	Steps     int          `yaml:"steps" doc:"gradient steps of the model after a window while it is not trusted; a quarter of them once it is" range:"1..10000"`
	Batch     int          `yaml:"batch" doc:"real steps in a gradient step of the model" range:"16..65536"`
	LR        float64      `yaml:"lr" doc:"the model's learning rate at its first step; it halves by step 1000 and falls on" range:"0<..1"`
}

// Default returns the settings that a spec starts from, switched off.
func Default() Config {
	c := Config{
		RealRatio: 0.5, Length: 32, From: "starts", Refresh: 1, Trust: 0.95, Others: "brains", Model: world.Default(),
		Rows: 32768, Steps: 120, Batch: 256, LR: 3e-3,
	}
	c.Model.Hidden = []int{32}
	return c
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	if err := config.Check(c); err != nil {
		return err
	}
	if c.On && c.RealRatio == 1 {
		return config.Bad("real_ratio", c.RealRatio, "below 1, because imagine.on is true")
	}
	return config.At(c.Model.Validate(), "model", nil)
}

// Imagination fills windows by letting minds play on in a world model.
type Imagination struct {
	cfg       Config
	key       rng.Key
	world     *rulesLearner
	game      *imagined
	envs      *rollout.Envs
	players   [][]rollout.Player // [worker][A]
	imaginers []*imaginer        // [worker][A] where each imagines for itself
	recall    []func()           // lets minds that remember know their co-players
	ro        *batch.Rollout
}

// Share lets the workers of a pool play imagined steps and compute shards, while it is open.
func (m *Imagination) Share(pool *cores.Pool) {
	m.envs.Cores, m.world.cores = pool, pool
	if m.world.train != nil {
		m.world.train.Share(pool)
	}
}

// New prepares imagination beside real windows of that shape, for minds of which
// of[a] is agent a's. runs reads the world model, if one is named.
func New(cfg Config, runs *runlog.Reader, spec game.Spec, played batch.Shape, minds []learner.Mind, of []int, key rng.Key, workers int,
) (*Imagination, error) {
	for _, m := range minds {
		i, ok := learner.As[learner.Imagining](m)
		if !ok {
			return nil, fmt.Errorf("imagine: a mind of agents %v does not learn from imagined windows; set imagine.on to false", m.Agents())
		}
		if err := i.Imagines(); err != nil {
			return nil, err
		}
	}
	key = key.Child("imagine")
	w, err := newRulesLearner(cfg, runs, spec, key)
	if err != nil {
		return nil, err
	}
	m := &Imagination{cfg: cfg, key: key, world: w}
	want := float64(played.Envs*played.Steps) * (1 - cfg.RealRatio) / (cfg.RealRatio * float64(cfg.Length))
	shape := played
	shape.Steps, shape.Envs = cfg.Length, max(int(want+0.999), 1)
	m.game = &imagined{spec: spec, rules: w}
	if cfg.Others == "model" {
		m.game.copies = shape.Envs
		shape.Envs *= spec.Seats
	}
	m.ro = batch.New(shape)
	if m.envs, err = rollout.New(rollout.Config{Game: m.game, Envs: shape.Envs, Key: key, Workers: max(workers, 1),
		FixSeat: true, Imagined: true}); err != nil {
		return nil, err
	}
	return m, m.hire(minds, of)
}

// hire makes the players of all agents.
func (m *Imagination) hire(minds []learner.Mind, of []int) error {
	workers, shape := m.envs.Workers, m.ro.Shape
	m.players = make([][]rollout.Player, workers)
	all := make([][]*imaginer, workers)
	for a := range agent.ID(shape.Agents) {
		who := minds[of[a]]
		if d, ok := learner.As[learner.ImaginationPlayer](who); ok {
			there, recall := d.InImagination(shape.Envs)
			who, m.recall = there, append(m.recall, recall)
			m.world.remembersEyes()
		}
		list, err := who.Players(a, workers, shape.Envs)
		if err != nil {
			return err
		}
		for i, p := range list {
			if m.game.copies == 0 {
				m.players[i] = append(m.players[i], p)
				continue
			}
			q, ok := p.(learner.Foreseeing)
			if !ok {
				return fmt.Errorf("imagine: agent %d has no model of others to imagine with; set imagine.others to brains", a)
			}
			d := newImaginer(q, a, shape.Agents, shape.Actions, shape.Envs)
			all[i], m.imaginers = append(all[i], d), append(m.imaginers, d)
		}
	}
	for i := range all {
		for _, d := range all[i] {
			m.players[i] = append(m.players[i], &seat{agent: d.me, copies: m.game.copies, imaginers: all[i]})
		}
	}
	return nil
}

// Learn scores the model by a new window and lets it learn from it. It returns how
// often minds are to learn from imagination now: not at all if the model was not
// right often enough.
func (m *Imagination) Learn(ro *batch.Rollout, update int) (rounds int, err error) {
	trusted := m.world.score(ro) >= m.cfg.Trust
	anew, err := m.world.learn(ro, update, trusted)
	if err != nil {
		return 0, fmt.Errorf("the world model: %w; lower imagine.lr", err)
	}
	if !trusted || anew || !m.game.look(ro, m.cfg.From == "slots") {
		return 0, nil
	}
	return m.cfg.Refresh, nil
}

// Imagine fills a window from the states of the last one that Learn took, for the
// round-th time after it. The window is valid until the next call.
func (m *Imagination) Imagine(update, round int) *learner.Imagined {
	for _, recall := range m.recall {
		recall()
	}
	for _, d := range m.imaginers {
		d.forget()
	}
	if err := m.envs.Restart(m.key.Child("round", update*m.cfg.Refresh+round)); err != nil {
		panic("imagine: a model failed as only other programs do")
	}
	if err := m.envs.Collect(m.ro, m.players); err != nil {
		panic("imagine: a model failed as only other programs do")
	}
	return &learner.Imagined{Rollout: m.ro, RealRatio: m.cfg.RealRatio, Again: round > 0}
}

// Stats reports how far the model can be trusted.
func (m *Imagination) Stats() []agent.Stat { return m.world.stats() }

// Rows returns how many real steps the world model learns from: through agent a's eyes,
// or all if it does not remember whose they were.
func (m *Imagination) Rows(a agent.ID) (n int, own bool) {
	all := min(m.world.seen, m.world.data.Rows)
	if m.world.whose == nil {
		return all, false
	}
	for _, b := range m.world.whose[:all] {
		if agent.ID(b) == a {
			n++
		}
	}
	return n, true
}

// Model returns the world model and its weights, nil before there is one. It is for
// audits: nobody else may look.
func (m *Imagination) Model() (*world.Model, *nn.Params) { return m.world.model, m.world.net }

// Save adds the model and its steps to a checkpoint.
func (m *Imagination) Save(f *safetensors.File, prefix string) error {
	m.world.save(f, prefix)
	return nil
}

// Load restores what Save stored.
func (m *Imagination) Load(f *safetensors.File, prefix string) error { return m.world.load(f, prefix) }

var _ learner.Saver = (*Imagination)(nil)
