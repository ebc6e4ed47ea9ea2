// Package pr2 is probabilistic recursive reasoning (Wen et al. 2019): agents that
// reckon with how the others would answer each of their actions.
//
// It is the paper's actor-critic, PR2-AC, for discrete actions. What the paper samples
// with a network trained by Stein's method is a product of categorical distributions
// here, one for each co-player, and expectations over the agent's own actions are
// exact. See Mind for the equations.
package pr2

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec"
)

// Config is the part of a spec that sets it. The policy's learning rate, the discount,
// passes, minibatches, the largest gradient and what is made of rewards are those of
// the block ppo.
type Config struct {
	PR2 Settings `yaml:"pr2"`
}

// Settings are what PR2 has beside PPO's.
type Settings struct {
	Alpha    float64 `yaml:"alpha" doc:"temperature of the own policy and of the others' assumed answers, in scaled reward" range:"0<.."`
	AlphaEnd float64 `yaml:"alpha_end" doc:"temperature at the end of the run; -1: as alpha" range:"-1.."`
	Samples  int     `yaml:"samples" doc:"answers of the others drawn for each own action" range:"2..64"`
	Lambda   float64 `yaml:"lambda" doc:"share of what was really earned later in the targets of Q; 0: the paper's targets of one step" range:"0..1"`
	Hidden   []int   `yaml:"hidden" doc:"widths of the layers of Q and of the model of answers" range:"1..4096"`
	LR       float64 `yaml:"lr" doc:"their learning rate" range:"0<.."`
}

// Default returns settings that find the stag.
func Default() Config {
	return Config{Settings{Alpha: 0.1, AlphaEnd: 0.01, Samples: 2, Lambda: 0.5, Hidden: []int{64, 64}, LR: 2e-3}}
}

// Validate returns everything that is wrong, joined.
func (c *Config) Validate() error {
	errs := []error{config.Check(*c)}
	if h := c.PR2.Hidden; len(h) == 0 {
		errs = append(errs, config.Bad("pr2.hidden", h, "at least one layer"))
	}
	if c.PR2.AlphaEnd == 0 {
		errs = append(errs, config.Bad("pr2.alpha_end", c.PR2.AlphaEnd, "above 0, or -1 for as alpha"))
	}
	return errors.Join(errs...)
}

// Mind is the mind of one agent i. It decomposes the joint policy as
// pi(a, b | s) = pi(a | s) rho(b | s, a), with a its own action and b the others':
// level-1 recursion, in which the others answer what it does. Its parts are
//
//   - Q(s, a, b), the value of joint actions, learnt by squared error to soft targets
//     y = r + gamma V(s'),
//   - rho(b | s, a), drawn to exp(Q(s, a, b) / alpha) / Z (the paper's theorem 1) by its
//     Kullback-Leibler divergence from that,
//   - Q(s, a) = E_rho[Q(s, a, b) - alpha log rho(b | s, a)], what an action is worth under
//     the answers, which at the optimum is alpha log sum_b exp(Q(s, a, b) / alpha),
//   - pi(a | s), drawn to exp(Q(s, a) / alpha) / Z likewise,
//   - V(s), the value that the policy's network gives, drawn to E_pi[Q(s, a) - alpha log pi(a | s)]
//     by squared error. Targets take it as it was when the window was played.
//
// Logarithms of rho and pi count from even chances over the legal actions, so that living
// longer does not pay by itself. The answers that are reckoned with are those that would
// suit the agent, not those that it has seen: that is the paper's.
type Mind struct {
	*ppo.Brain
	cfg     Settings
	learner ppo.Config
	me      agent.ID
	seats   int
	k       int // actions
	counts  learner.Counts
	rand    rng.Rand

	q, rho net
	own    net // the brain's network with an optimiser of this mind's
	answer *nn.Categorical
	policy *nn.Categorical

	states []state
	at     []int32   // [T][N] the state of a slot; -1: none
	here   []int16   // [states][seats-1] who sits there and is alive; -1: nobody
	pi     []float32 // [states][k]
	logpi  []float32 // [states][k]
	worth  []float32 // [states][k] Q(s, a); 0 for illegal actions
	soft   []float32 // [states] what V(s) is drawn to
	pairs  []pair
	drawn  []int8    // [pairs][samples][seats-1] the answers; -1: nobody
	worths []float32 // [pairs][samples] Q(s, a, b) - alpha log rho(b | s, a)
	rows   []row

	rewards []float32 // [T][N]
	extra   []float32
	legal   []bool
	order   []int
	sums    sums
}

// net is a network that learns, in one shard.
type net struct {
	*nn.Trainer[*actor.Work, sums]
	name string // in a checkpoint
	ws   *actor.Work
}

// state is a slot of the agent that is looked at.
type state struct{ t, n, slot int32 }

// pair is a state and a legal action of the agent.
type pair struct{ state, action int32 }

// row is a step of the agent, and the target of its Q.
type row struct {
	state, step int32
	target      float32
}

// sums is what a window adds up to.
type sums struct {
	q, entropy, ce, hits, norm float64
	others, steps              int
}

// Plus returns both together.
func (s sums) Plus(o sums) sums {
	return sums{s.q + o.q, s.entropy + o.entropy, s.ce + o.ce, s.hits + o.hits, s.norm + o.norm, s.others + o.others, s.steps + o.steps}
}

// chunk is how many rows go through a network at a time.
const chunk = 512

// New makes the minds of a run.
func New(c Config, m spec.Making) ([]learner.Mind, error) {
	var minds []learner.Mind
	for i := range m.Agents {
		b, err := m.Brain(i, 0)
		if err != nil {
			return nil, err
		}
		sp := m.Game.Spec()
		x, err := newMind(c.PR2, m.PPO, m.Actor.Frame, spec.Input(sp), sp.Seats, b, m.Stream(i))
		if err != nil {
			return nil, fmt.Errorf("mind %d: %w", i, err)
		}
		minds = append(minds, x)
	}
	return minds, nil
}

// newMind returns the mind of the agent that the brain belongs to, in a game of two seats or
// more. Q and the model of answers see the board in that frame.
func newMind(c Settings, p ppo.Config, frame string, in actor.Input, seats int, b *ppo.Brain, key rng.Key) (*Mind, error) {
	m := &Mind{Brain: b, cfg: c, learner: p, me: b.Agents()[0], seats: seats, k: in.Actions, rand: key.Child("learn").Rand()}
	others := seats - 1
	shape := actor.Config{Net: "dense", Frame: frame, Hidden: c.Hidden, Act: "relu"}
	network := func(name string, extra, out int) (net, error) {
		in := in
		in.Extra, in.Actions = extra, out
		model, params, err := actor.New(shape, in, key.Child("init").Child(name))
		if err != nil {
			return net{}, err
		}
		return m.learning(name, model, params), nil
	}
	var errs [2]error
	m.q, errs[0] = network("q/", others*m.k, m.k)
	m.rho, errs[1] = network("rho/", m.k, others*m.k)
	m.own = m.learning("net/", b.Model, b.Params)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.buffers(others)
	return m, nil
}

// learning gives a network what it needs to learn.
func (m *Mind) learning(name string, model *actor.Model, params *nn.Params) net {
	cfg := nn.TrainerConfig{Adam: nn.AdamConfig{Eps: m.learner.AdamEps}, Clip: m.learner.MaxGrad, Block: chunk, Fold: model}
	ws := model.Work(chunk)
	return net{nn.NewTrainer[*actor.Work, sums](params, cfg, nn.Constant(m.cfg.LR), []*actor.Work{ws}), name, ws}
}

func (m *Mind) buffers(others int) {
	m.answer, m.policy = nn.NewCategorical(m.k, chunk*others), nn.NewCategorical(m.k, chunk)
	m.extra, m.legal = make([]float32, others*m.k), make([]bool, chunk*others*m.k)
}

// Learn takes one window.
func (m *Mind) Learn(w *learner.Window) ([]agent.Stat, error) {
	m.gather(w.Rollout)
	if len(m.rows) == 0 {
		return nil, nil
	}
	m.counts.Updates++
	m.counts.Rows += len(m.rows)
	m.sums = sums{}
	alpha := float32(ppo.Anneal(m.cfg.Alpha, m.cfg.AlphaEnd, w.Share))
	m.look(w.Rollout)
	m.targets(w, alpha)
	for range m.learner.Epochs {
		if err := m.learnQ(w.Rollout); err != nil {
			return nil, err
		}
	}
	m.recurse(w.Rollout, alpha)
	m.values(w.Rollout, alpha)
	if err := m.learnAnswers(w.Rollout); err != nil {
		return nil, err
	}
	lr := ppo.Anneal(m.learner.LR, m.learner.LREnd, w.Share)
	m.own.Rate = nn.Constant(lr)
	for range m.learner.Epochs {
		if err := m.learnPolicy(w.Rollout, alpha); err != nil {
			return nil, err
		}
	}
	return m.report(lr, alpha), nil
}

// report names what the window added up.
func (m *Mind) report(lr float64, alpha float32) []agent.Stat {
	n, others := len(m.rows), m.sums.others
	value, mean, spread := 0., 0., 0.
	for _, r := range m.rows {
		value += float64(m.soft[r.state])
		mean += float64(r.target) / float64(n)
	}
	for _, r := range m.rows {
		spread += (float64(r.target) - mean) * (float64(r.target) - mean)
	}
	explained := 0.
	if spread > 0 {
		explained = 1 - 2*m.sums.q/spread
	}
	stats := []agent.Stat{
		{Name: "pr2/q_loss", Value: m.sums.q / float64(n), N: n},
		{Name: "pr2/explained", Value: explained, N: n},
		{Name: "pr2/value", Value: value / float64(n), N: n},
		{Name: "pr2/entropy", Value: m.sums.entropy / float64(n), N: n},
		{Name: "pr2/grad_norm", Value: m.sums.norm / float64(max(m.sums.steps, 1)), N: m.sums.steps},
		{Name: "pr2/lr", Value: lr, N: n},
		{Name: "pr2/alpha", Value: float64(alpha), N: n},
	}
	if others > 0 {
		stats = append(stats,
			agent.Stat{Name: "pr2/answer_ce", Value: m.sums.ce / float64(others), N: others},
			agent.Stat{Name: "pr2/answer_top1", Value: m.sums.hits / float64(others), N: others})
	}
	return stats
}

// Counts returns the counters.
func (m *Mind) Counts() learner.Counts { return m.counts }

// Networks returns all networks, the one that acts first.
func (m *Mind) Networks() []learner.Network {
	return []learner.Network{
		{Name: "network", Module: "pr2", Params: m.Params},
		{Name: "joint Q", Module: "pr2", Params: m.q.Params},
		{Name: "model of answers", Module: "pr2", Params: m.rho.Params},
	}
}

// Reads declares what it learns from others' rows: what they did. What they could have
// done, which it reads too, follows from the state that it sees itself.
func (m *Mind) Reads(w *learner.Window) learner.Reads {
	r := m.Brain.Reads(w)
	r.Why, r.Action = "the value of joint actions", true
	return r
}

// Imagines says why it does not learn from imagined windows.
func (m *Mind) Imagines() error {
	return errors.New("pr2: its Q is of joint actions that were played; set imagine.on to false")
}

// Adapt learns from a window among strangers.
func (m *Mind) Adapt(w *learner.Window, _, own bool) error {
	if !own {
		return nil
	}
	_, err := m.Learn(w)
	return err
}

// nets are the networks, as a checkpoint names them, in a fixed order.
func (m *Mind) nets() []net { return []net{m.own, m.q, m.rho} }

// Save adds networks, optimisers, stream and counters to f under prefix.
func (m *Mind) Save(f *safetensors.File, prefix string) error {
	for _, n := range m.nets() {
		n.Params.Save(f, prefix+n.name)
		n.Adam.Save(f, prefix+"adam/"+n.name)
	}
	err := f.PutBinary(prefix+"stream", &m.rand)
	m.counts.Save(f, prefix)
	return err
}

// Load restores what Save stored, exactly.
func (m *Mind) Load(f *safetensors.File, prefix string) error {
	for _, n := range m.nets() {
		if err := errors.Join(n.Params.Load(f, prefix+n.name), n.Adam.Load(f, prefix+"adam/"+n.name)); err != nil {
			return err
		}
	}
	return errors.Join(f.Binary(&m.rand, prefix+"stream"), m.counts.Load(f, prefix))
}

var _ interface {
	learner.Mind
	learner.Saver
	learner.Declares
	learner.Imagining
	learner.Adapter
} = (*Mind)(nil)

// resize returns x with n elements, which may hold anything.
func resize[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// gather lists the states that are looked at, the steps that are learnt from: those at
// which the agent was alive and acted itself.
func (m *Mind) gather(ro *batch.Rollout) {
	m.states, m.rows, m.pairs = m.states[:0], m.rows[:0], m.pairs[:0]
	m.at = resize(m.at, ro.Steps*ro.Envs)
	for t := range ro.Steps {
		for n := range ro.Envs {
			slot, step := ro.Slot(m.me, t, n), ro.Step(m.me, t, n)
			m.at[t*ro.Envs+n] = -1
			if !ro.Alive[slot] || !ro.Own[step] {
				continue
			}
			s := int32(len(m.states))
			m.at[t*ro.Envs+n] = s
			m.states = append(m.states, state{int32(t), int32(n), int32(slot)})
			m.rows = append(m.rows, row{state: s, step: int32(step)})
			for k, ok := range ro.LegalAt(slot) {
				if ok {
					m.pairs = append(m.pairs, pair{s, int32(k)})
				}
			}
		}
	}
	others := m.seats - 1
	m.here = resize(m.here, len(m.states)*others)
	for i, s := range m.states {
		here := m.here[i*others : (i+1)*others]
		for p := range here {
			here[p] = -1
		}
		for a := range agent.ID(ro.Agents) {
			at := ro.Slot(a, int(s.t), int(s.n))
			if a != m.me && ro.Alive[at] {
				here[(int(ro.Seat[at])-int(ro.Seat[s.slot])+m.seats)%m.seats-1] = int16(a)
			}
		}
	}
}
