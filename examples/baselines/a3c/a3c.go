// Package a3c is the advantage actor-critic of Mnih et al. 2016 ("Asynchronous Methods
// for Deep Reinforcement Learning", algorithm S3), with workers that take turns.
//
// The paper's workers each copy the shared weights, play up to t_max steps, and add
// their gradient to the shared weights whenever they are done: in an order that no
// seed decides, so no run could be repeated. Here a window is cut into parts of n
// steps (t_max). All parts were played by the weights that the window began with, as
// by workers who copied them at the same moment; their gradients, at those weights,
// are applied one after the other in the order of time. A window of n steps is the
// synchronous actor-critic known as A2C.
package a3c

import (
	"errors"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec"
)

// Config is the part of a spec that sets it. The learning rate, discount, entropy
// bonus, weight of the value, largest gradient and what is made of rewards are those
// of the block ppo.
type Config struct {
	A3C Settings `yaml:"a3c"`
}

// Settings are what A3C has beside PPO's.
type Settings struct {
	N     int     `yaml:"n" doc:"steps that a return sums before it is bootstrapped, and between two gradient steps: the paper's t_max" unit:"steps" range:"1..100000"`
	Decay float64 `yaml:"decay" doc:"RMSProp's decay of the mean square, the paper's alpha" range:"0..1"`
	Eps   float64 `yaml:"eps" doc:"RMSProp's epsilon, under the root" range:"0<.."`
}

// Default returns the paper's five steps and decay.
func Default() Config { return Config{Settings{N: 5, Decay: 0.99, Eps: 1e-5}} }

// Validate returns everything that is wrong, joined.
func (c *Config) Validate() error {
	errs := []error{config.Check(*c)}
	if c.A3C.Decay == 1 {
		errs = append(errs, config.Bad("a3c.decay", c.A3C.Decay, "below 1, or the mean square would stay 0"))
	}
	return errors.Join(errs...)
}

// Mind learns for one or more agents. With R_t the return of up to n steps, which ends
// with the part of the window, its loss is the mean over the rows of a part of
//
//	-log pi(a_t | s_t) (R_t - V(s_t)) + c (R_t - V(s_t))^2 / 2 - beta H(pi(s_t))
//
// in which R_t - V is held fixed in the first term. The network and the players are
// PPO's; its loss and its optimiser are not used.
type Mind struct {
	*ppo.Brain
	cfg     Settings
	learner ppo.Config
	counts  learner.Counts
	opt     *rmsProp

	at               *nn.Params // the weights that played the window, for narrow rows, and the gradients of a part
	ws               *actor.Work
	cat              *nn.Categorical
	legal            []bool    // [block][Actions]
	rewards, returns []float32 // [T][N]
	steps, slots     []int32   // the own rows
	ret, value       []float32 // of those
	x                f32.Sparse
	pick             []int32 // the rows of a part
	sums             sums
}

// sums is what the parts of a window add up to.
type sums struct {
	policy, value, entropy, norm float64
	steps                        int
}

// block is how many rows go through the network at a time.
const block = 120

// New makes the minds of a run.
func New(c Config, m spec.Making) ([]learner.Mind, error) {
	var minds []learner.Mind
	for i := range m.Agents {
		b, err := m.Brain(i, 0)
		if err != nil {
			return nil, err
		}
		minds = append(minds, newMind(c.A3C, m.PPO, b))
	}
	return minds, nil
}

// Check refuses networks with an LSTM: parts of a window are learnt from without memory.
func Check(_ any, s *spec.Spec, _ game.Game) error {
	if s.Actor.LSTM > 0 {
		return config.Bad("actor.lstm", s.Actor.LSTM, "0, because mind is "+s.Mind.Name)
	}
	return nil
}

// newMind returns the mind of a brain without an LSTM.
func newMind(c Settings, p ppo.Config, b *ppo.Brain) *Mind {
	return &Mind{
		Brain: b, cfg: c, learner: p, opt: newRMSProp(b.Params, c.Decay, c.Eps), at: b.Params.Clone(),
		ws: b.Model.Work(block), cat: nn.NewCategorical(b.Model.Actions, block), legal: make([]bool, block*b.Model.Actions),
	}
}

// Learn takes one window.
func (m *Mind) Learn(w *learner.Window) ([]agent.Stat, error) {
	m.gather(w)
	if len(m.steps) == 0 {
		return nil, nil
	}
	m.counts.Updates++
	m.counts.Rows += len(m.steps)
	m.Model.Fold(m.at.W, m.Params, 0, 1)
	lr := ppo.Anneal(m.learner.LR, m.learner.LREnd, w.Share)
	bonus := ppo.Anneal(m.learner.Entropy, m.learner.EntropyEnd, w.Share)
	m.sums = sums{}
	for lo := 0; lo < w.Steps; lo += m.cfg.N {
		m.pick = m.pick[:0]
		for i, step := range m.steps {
			if t := int(step) / w.Envs % w.Steps; t >= lo && t < lo+m.cfg.N {
				m.pick = append(m.pick, int32(i))
			}
		}
		if len(m.pick) == 0 {
			continue
		}
		m.gradient(w.Rollout, float32(bonus))
		norm, err := m.opt.step(m.at.G, lr, m.learner.MaxGrad)
		if err != nil {
			return nil, err
		}
		m.sums.norm += norm
		m.sums.steps++
		m.counts.Steps++
	}
	return m.report(lr), nil
}

// gather lists the own rows of the window with their returns.
func (m *Mind) gather(w *learner.Window) {
	size := w.Steps * w.Envs
	if len(m.rewards) != size {
		m.rewards, m.returns = make([]float32, size), make([]float32, size)
	}
	m.steps, m.slots, m.ret, m.value = m.steps[:0], m.slots[:0], m.ret[:0], m.value[:0]
	m.x.Reset(m.Model.Cols())
	for _, a := range m.Agents() {
		w.Rewards.Apply(m.rewards, w.Rollout, a)
		Returns(m.returns, w.Rollout, a, m.rewards, float32(m.learner.Gamma), m.cfg.N)
		m.steps, m.slots = w.OwnRows(a, m.steps, m.slots)
		for i := len(m.ret); i < len(m.steps); i++ {
			slot := int(m.slots[i])
			m.ret = append(m.ret, m.returns[int(m.steps[i])-w.Step(a, 0, 0)])
			m.value = append(m.value, w.Value[slot])
			m.ws.Encode(&m.x, w.ObsAt(slot), w.GoalAt(slot))
		}
	}
}

// Returns writes agent a's returns of up to n steps, ret [T][N]; rewards is [T][N] too,
// what the agent learns from. With the parts of a window beginning at multiples of n,
//
//	R_t = r_t + gamma R_{t+1} within a part, R = V at its end
//
// An exit ends the sum: nothing follows. A cut ends it with the value of the slot
// behind. Rows at which the agent is not alive are zero.
func Returns(ret []float32, ro *batch.Rollout, a agent.ID, rewards []float32, gamma float32, n int) {
	for t := ro.Steps - 1; t >= 0; t-- {
		for e := range ro.Envs {
			i := t*ro.Envs + e
			ret[i] = 0
			if !ro.Alive[ro.Slot(a, t, e)] {
				continue
			}
			ret[i] = rewards[i]
			end := ro.End[ro.Step(a, t, e)]
			switch {
			case end == batch.Exited:
			case end == batch.Cut, (t+1)%n == 0, t+1 == ro.Steps:
				ret[i] += gamma * ro.Value[ro.Slot(a, t+1, e)]
			default:
				ret[i] += gamma * ret[i+ro.Envs]
			}
		}
	}
}

// gradient leaves the gradient of the picked rows' mean loss in at.G.
func (m *Mind) gradient(ro *batch.Rollout, bonus float32) {
	k, unit := m.Model.Actions, 1/float32(len(m.pick))
	m.at.ZeroGrad()
	for lo := 0; lo < len(m.pick); lo += block {
		part := m.pick[lo:min(lo+block, len(m.pick))]
		for i, r := range part {
			copy(m.legal[i*k:(i+1)*k], ro.LegalAt(int(m.slots[r])))
		}
		m.ws.Pick(&m.x, part)
		m.ws.Forward(m.at)
		m.cat.Set(m.ws.Logits, m.legal, len(part))
		for i, r := range part {
			action, adv := ro.Action[m.steps[r]], m.ret[r]-m.value[r]
			h := m.cat.GradTo(m.ws.DLogits[i*k:], i, action, -adv*unit, -bonus*unit)
			off := m.ws.Value[i] - m.ret[r]
			m.ws.DValue[i] = float32(m.learner.ValueCoef) * off * unit
			m.sums.policy -= float64(m.cat.LogProb(i, action) * adv)
			m.sums.value += float64(off*off) / 2
			m.sums.entropy += float64(h)
		}
		m.ws.Backward(m.at)
	}
	m.Model.Unfold(m.at, 0, 1)
}

// report names what the parts of a window added up.
func (m *Mind) report(lr float64) []agent.Stat {
	n, rows := len(m.steps), float64(len(m.steps))
	return []agent.Stat{
		{Name: "a3c/policy_loss", Value: m.sums.policy / rows, N: n},
		{Name: "a3c/value_loss", Value: m.sums.value / rows, N: n},
		{Name: "a3c/entropy", Value: m.sums.entropy / rows, N: n},
		{Name: "a3c/grad_norm", Value: m.sums.norm / float64(max(m.sums.steps, 1)), N: m.sums.steps},
		{Name: "a3c/explained", Value: ppo.Explained(m.ret, m.value), N: n},
		{Name: "a3c/lr", Value: lr, N: n},
	}
}

// Counts returns the counters.
func (m *Mind) Counts() learner.Counts { return m.counts }

// Networks returns the network that acts.
func (m *Mind) Networks() []learner.Network {
	return []learner.Network{{Name: "network", Module: "a3c", Params: m.Params}}
}

// Imagines says why it does not learn from imagined windows.
func (m *Mind) Imagines() error {
	return errors.New("a3c: its gradients are those of the policy that played, which no imagined row has; set imagine.on to false")
}

// Adapt learns from a window among strangers.
func (m *Mind) Adapt(w *learner.Window, _, own bool) error {
	if !own {
		return nil
	}
	_, err := m.Learn(w)
	return err
}

// Save adds weights, mean squares and counters to f under prefix.
func (m *Mind) Save(f *safetensors.File, prefix string) error {
	m.Params.Save(f, prefix+"net/")
	f.PutFloat32(prefix+"rmsprop", m.opt.square, len(m.opt.square))
	m.counts.Save(f, prefix)
	return nil
}

// Load restores what Save stored, exactly.
func (m *Mind) Load(f *safetensors.File, prefix string) error {
	return errors.Join(m.LoadWeights(f, prefix), f.Float32(m.opt.square, prefix+"rmsprop", len(m.opt.square)), m.counts.Load(f, prefix))
}

var _ interface {
	learner.Mind
	learner.Saver
	learner.Imagining
	learner.Adapter
} = (*Mind)(nil)
