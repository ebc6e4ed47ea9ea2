package ppo

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
)

// Memory is what an agent with an LSTM remembers in each env.
type Memory struct {
	h, c   []float32 // [N][LSTM] now
	h0, c0 []float32 // [T/SeqLen][N][LSTM] at the slots where training sequences start
	noted  []stretch // [N] whose start was noted last
	last   last      // of agents that live through trials; nil
}

// stretch is a training sequence of a window.
type stretch struct {
	window rollout.Window
	chunk  int
}

// Player acts by a network, here or on a device. One for each worker; weights are read only.
type Player struct {
	Greedy bool // take the likeliest action instead of drawing one
	Frozen bool // its rows are not to be learnt from
	// Goals is what it reads about goals, [N][Extra] by env; nil: what the window holds.
	Goals []float32

	model  *actor.Model
	params *nn.Params
	view   *actor.View // of params
	now    *nn.Params  // the view in this window: its own, or another worker's player's
	window rollout.Window
	ws     *actor.Work
	device Question // who computes in place of the processor; nil: nobody
	picked []int32  // rows that it acts by
	asked  []int32  // envs that a device was asked about, for Act to come
	policy policy
	legal  []bool
	mem    *Memory
	seqLen int

	trial int       // episodes of a trial; 0: it does not live through trials
	scale float32   // of the rewards that it reads
	extra []float32 // [Extra] what it reads beside an observation
}

var (
	_ learner.Deciding  = (*Player)(nil)
	_ rollout.Preparing = (*Player)(nil)
	_ rollout.Asking    = (*Player)(nil)
)

// NewPlayer returns a player of a network for up to envs envs at a time. Agents
// with an LSTM need a Memory of their own, shared by their workers.
func NewPlayer(m *actor.Model, p *nn.Params, envs int, mem *Memory, seqLen int) *Player {
	return &Player{
		model: m, params: p, view: m.View(p), now: p, ws: m.Work(envs), policy: newPolicy(m, envs),
		legal: make([]bool, envs*m.Actions), mem: mem, seqLen: seqLen,
	}
}

// NewMemory returns an empty memory for envs envs and windows of steps steps, or
// nil if the model needs none.
func NewMemory(m *actor.Model, envs, steps, seqLen int) *Memory {
	if m.LSTM == 0 {
		return nil
	}
	chunks := (steps + seqLen - 1) / seqLen
	f := func(n int) []float32 { return make([]float32, n*envs*m.LSTM) }
	return &Memory{h: f(1), c: f(1), h0: f(chunks), c0: f(chunks), noted: make([]stretch, envs)}
}

// Players returns a player of agent a for each worker.
func (b *Brain) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	return learner.Workers(workers, func() rollout.Player { return b.Player(a, envs) }), nil
}

// Player returns a player of agent a.
func (b *Brain) Player(a agent.ID, envs int) *Player {
	var mem *Memory
	if b.memory != nil {
		mem = b.memory[slices.Index(b.agents, a)]
	}
	p := NewPlayer(b.Model, b.Params, envs, mem, b.cfg.SeqLen)
	p.Greedy, p.Frozen, p.view.Copies = b.greedy, b.frozen, b.behind
	if b.held != nil && !b.behind { // a device has no copy of the weights
		p.device = b.held.Question()
	}
	if b.trial > 0 {
		p.trial, p.scale, p.extra = b.trial, float32(b.cfg.RewardScale), make([]float32, b.Model.Extra)
	}
	return p
}

// Weights returns what the brain plays by; nil with an LSTM, which plays by what
// it remembers too.
func (b *Brain) Weights() *nn.Params {
	if b.Model.LSTM > 0 {
		return nil
	}
	return b.Params
}

// Past returns a player of an earlier self.
func (b *Brain) Past(w *nn.Params, envs int) rollout.Player {
	p := NewPlayer(b.Model, w, envs, nil, 1)
	p.Frozen = true
	return p
}

// Freeze makes players whose rows are not to be learnt from.
func (b *Brain) Freeze(greedy bool) { b.frozen, b.greedy = true, greedy }

// Sure reports that players take the likeliest action in any case: they do not.
func (b *Brain) Sure() bool { return false }

// AppendBinary appends what a frozen player with an LSTM remembers; a learner's
// memory is saved with its brain, and other players have none.
func (p *Player) AppendBinary(b []byte) (_ []byte, err error) {
	for _, x := range p.remembered() {
		if b, err = binary.Append(b, binary.LittleEndian, x); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// UnmarshalBinary restores what AppendBinary wrote.
func (p *Player) UnmarshalBinary(b []byte) error {
	want := 0
	for _, x := range p.remembered() {
		want += binary.Size(x)
	}
	if len(b) != want {
		return fmt.Errorf("ppo: loading a frozen agent's memory: %d bytes, want %d", len(b), want)
	}
	for _, x := range p.remembered() {
		n, err := binary.Decode(b, binary.LittleEndian, x)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// remembered returns what a frozen player with an LSTM remembers, in the order of its binary form.
func (p *Player) remembered() []any {
	if p.mem == nil || !p.Frozen {
		return nil
	}
	return []any{p.mem.h, p.mem.c, []lastStep(p.mem.last)}
}

// Ask asks the device, if the network is on one, for what Act needs.
func (p *Player) Ask(v *rollout.View, envs []int32) {
	if p.device == nil {
		return
	}
	p.encode(v, envs)
	p.device.Ask(&p.ws.X)
	p.asked = append(p.asked[:0], envs...)
}

// answered waits for what the device says about envs, about which it is asked now if it was not before.
func (p *Player) answered(v *rollout.View, envs []int32) {
	if len(p.asked) == 0 {
		p.Ask(v, envs)
	}
	if !slices.Equal(p.asked, envs) {
		panic("ppo: an agent acts in other envs than it asked about")
	}
	p.asked = p.asked[:0]
	out, err := p.device.Answer()
	if err != nil {
		panic(&game.Failure{Err: fmt.Errorf("the device cannot say what to do: %w", err)})
	}
	k := p.model.Actions
	for i := range envs {
		row := out[i*(k+1) : (i+1)*(k+1)]
		copy(p.ws.Logits[i*k:], row[:k])
		p.ws.Value[i] = row[k]
	}
}

// Act draws an action for each env and writes its log-probability and the value.
func (p *Player) Act(v *rollout.View, envs []int32) {
	p.forward(v, envs, true)
	for i, n := range envs {
		step := v.StepOf(int(n))
		vector := v.VectorAt(step)
		a := p.policy.choose(i, vector, p.Greedy, v.Rand(int(n)))
		v.Action[step], v.Own[step] = a, !p.Frozen
		v.LogProb[step] = p.policy.logProb(i, a, vector)
		v.Value[v.SlotOf(int(n))] = p.ws.Value[i]
		if p.trial > 0 {
			p.mem.last[n].Action, p.mem.last[n].Episode = a, int64(v.EpisodeOf(int(n)))
		}
	}
}

// Decision returns how the player decided in the i-th of the envs that it was handed last;
// nil in place of probabilities where actions are vectors.
func (p *Player) Decision(i int) (probs []float32, value float32) {
	if p.model.Continuous {
		return nil, p.ws.Value[i]
	}
	_, q := p.policy.cat.Row(i)
	return q, p.ws.Value[i]
}

// Evaluate writes the values alone.
func (p *Player) Evaluate(v *rollout.View, envs []int32) {
	p.forward(v, envs, false)
	for i, n := range envs {
		v.Value[v.SlotOf(int(n))] = p.ws.Value[i]
	}
}

// Prepare looks at the weights as they are when a window begins; a device has them.
func (p *Player) Prepare(w rollout.Window) {
	if p.device != nil {
		return
	}
	if p.window == w {
		return
	}
	p.window, p.now = w, p.view.Update()
}

// Shares reports whether another player acts by the same weights.
func (p *Player) Shares(other rollout.Player) bool {
	q, ok := other.(*Player)
	return ok && q.params == p.params && q.model == p.model
}

// Follow takes what another player of the same weights has prepared.
func (p *Player) Follow(first rollout.Player) {
	if p.Shares(first) {
		q := first.(*Player)
		p.window, p.now = q.window, q.now
	}
}

func (p *Player) forward(v *rollout.View, envs []int32, act bool) {
	p.Prepare(v.Window())
	switch {
	case p.device != nil:
		p.answered(v, envs)
	case p.mem == nil && act && p.keeps(v):
		p.encodeInto(v, envs)
		p.ws.Forward(p.now)
	case p.mem == nil:
		p.encode(v, envs)
		p.ws.Forward(p.now)
	default:
		p.encode(v, envs)
		p.recall(v, envs, act)
		p.ws.Step(p.now)
		if act {
			p.remember(envs)
		}
	}
	p.policy.set(p.ws, p.now, p.legal, len(envs))
}

// keeps reports whether the rows that it acts by are those to learn from: its own, of nothing but observations.
func (p *Player) keeps(v *rollout.View) bool {
	return len(v.Encoded) > 0 && !p.Frozen && p.trial == 0 && p.model.Extra == 0
}

// encodeInto is encode into the window, where who learns finds the rows.
func (p *Player) encodeInto(v *rollout.View, envs []int32) {
	x, k := v.EncodedOf(v.Agent, int(envs[0])), p.model.Actions
	if x.Rows() == 0 {
		x.Reset(p.model.Cols())
	}
	p.picked = p.picked[:0]
	for i, n := range envs {
		slot := v.SlotOf(int(n))
		p.picked = append(p.picked, int32(x.Rows()))
		p.ws.Encode(x, v.ObsAt(slot), nil)
		v.Row[v.StepOf(int(n))] = int32(x.Rows())
		copy(p.legal[i*k:(i+1)*k], v.LegalAt(slot))
	}
	p.ws.Pick(x, p.picked)
}

// encode writes the rows that the network reads, and which actions are legal there.
func (p *Player) encode(v *rollout.View, envs []int32) {
	p.ws.Reset()
	k := p.model.Actions
	for i, n := range envs {
		slot := v.SlotOf(int(n))
		extra := v.GoalAt(slot)[:min(p.model.Extra, v.GoalLen)] // a network that reads no goals may play among those that do
		switch {
		case p.trial > 0:
			extra = p.lastStep(v, int(n))
		case p.Goals != nil:
			extra = p.Goals[int(n)*p.model.Extra:][:p.model.Extra]
		}
		p.ws.Encode(&p.ws.X, v.ObsAt(slot), extra)
		copy(p.legal[i*k:(i+1)*k], v.LegalAt(slot))
	}
}
