// Package reinforce is REINFORCE (Williams 1992) with a linear softmax policy:
//
//	w <- w + rate (G_t - baseline) grad log pi(a_t | o_t)
//
// It is a template: a mind needs three methods, the rest are abilities of package
// mind. This one can be saved, so that runs resume to the byte, and play again.
package reinforce

import (
	"errors"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec"
)

// Config is the mind's part of a spec: blocks beside ppo and train.
type Config struct {
	Reinforce Settings `yaml:"reinforce"`
}

// Settings are documented and checked by their tags.
type Settings struct {
	Rate float64 `yaml:"rate" doc:"step along the policy gradient" range:"0<.."`
}

// Default returns a rate that learns in seconds.
func Default() Config { return Config{Settings{Rate: 0.002}} }

// New makes the minds of a run, one for each group of agents.
func New(c Config, m spec.Making) ([]learner.Mind, error) {
	sp := m.Game.Spec()
	k := len(sp.Actions)
	var minds []learner.Mind
	for _, agents := range m.Agents {
		minds = append(minds, &Mind{
			agents: agents, rate: float32(c.Reinforce.Rate), gamma: float32(m.PPO.Gamma), actions: k,
			w: make([]float32, k*sp.Obs.Len()), baseline: make([]float32, 1),
		})
	}
	return minds, nil
}

// Mind is one policy, which all of its agents play by and learn.
type Mind struct {
	agents      []agent.ID
	rate, gamma float32
	actions     int
	w           []float32 // [actions][ObsLen]
	baseline    []float32 // [1] running mean of G
}

// Agents returns whose rows it learns from.
func (m *Mind) Agents() []agent.ID { return m.agents }

// Players returns a player for each worker; workers play side by side.
func (m *Mind) Players(_ agent.ID, workers, _ int) ([]rollout.Player, error) {
	return learner.Workers(workers, func() rollout.Player { return &player{m, nn.NewCategorical(m.actions, 1)} }), nil
}

// player reads the mind's weights and writes memory of its own.
type player struct {
	m   *Mind
	cat *nn.Categorical
}

// Act draws an action in each env. Own says that the row is the mind's to learn from.
func (p *player) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		step, slot := v.StepOf(int(n)), v.SlotOf(int(n))
		p.m.policy(p.cat, v.ObsAt(slot), v.LegalAt(slot))
		v.Action[step], v.Own[step] = p.cat.Sample(0, v.Rand(int(n))), true
	}
}

// Evaluate writes values where a window cuts an episode: it has none.
func (p *player) Evaluate(*rollout.View, []int32) {}

// policy sets cat to softmax(w obs) over the legal actions.
func (m *Mind) policy(cat *nn.Categorical, obs []float32, legal []bool) {
	var logits [game.MaxActions]float32
	for k := range m.actions {
		for i, x := range obs {
			logits[k] += m.w[k*len(obs)+i] * x
		}
	}
	cat.Set(logits[:m.actions], legal, 1)
}

// Learn takes one window: only rows at which an agent was alive and acted itself.
func (m *Mind) Learn(w *learner.Window) ([]agent.Stat, error) {
	cat, rewards := nn.NewCategorical(m.actions, 1), make([]float32, w.Steps*w.Envs)
	rows := 0
	for _, a := range m.agents {
		w.Rewards.Apply(rewards, w.Rollout, a) // as the spec shapes them
		for n := range w.Envs {
			g, known := float32(0), false // known: the window shows how the episode ends
			for t := w.Steps - 1; t >= 0; t-- {
				step, slot := w.Step(a, t, n), w.Slot(a, t, n)
				if w.End[step] != batch.Going {
					g, known = 0, w.End[step] == batch.Exited
				}
				if !known || !w.Alive[slot] || !w.Own[step] {
					continue
				}
				g = rewards[t*w.Envs+n] + m.gamma*g
				m.policy(cat, w.ObsAt(slot), w.LegalAt(slot))
				m.step(cat, w.ObsAt(slot), w.Action[step], g)
				rows++
			}
		}
	}
	return []agent.Stat{{Name: "reinforce/baseline", Value: float64(m.baseline[0]), N: rows}}, nil
}

// step follows the gradient of log pi(action), by how much better g is than usual.
func (m *Mind) step(cat *nn.Categorical, obs []float32, action int32, g float32) {
	scale := m.rate * (g - m.baseline[0])
	for k, p := range cat.P[:m.actions] {
		grad := -p
		if int32(k) == action {
			grad++
		}
		for i, x := range obs {
			m.w[k*len(obs)+i] += scale * grad * x
		}
	}
	m.baseline[0] += 0.001 * (g - m.baseline[0])
}

// Save adds what a resumed run needs, to the byte.
func (m *Mind) Save(f *safetensors.File, prefix string) error {
	f.PutFloat32(prefix+"w", m.w, len(m.w))
	f.PutFloat32(prefix+"baseline", m.baseline, 1)
	return nil
}

// Load restores it.
func (m *Mind) Load(f *safetensors.File, prefix string) error {
	return errors.Join(f.Float32(m.baseline, prefix+"baseline", 1), m.LoadWeights(f, prefix))
}

// LoadWeights restores what playing needs.
func (m *Mind) LoadWeights(f *safetensors.File, prefix string) error {
	return f.Float32(m.w, prefix+"w", len(m.w))
}
