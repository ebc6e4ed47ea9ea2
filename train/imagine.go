package train

import (
	"fmt"
	"sync"

	"hop/agent"
	"hop/batch"
	"hop/field"
	"hop/game"
	"hop/model/actor"
	"hop/model/world"
	"hop/nn"
	"hop/ppo"
	"hop/rng"
)

// Imagining sets learning from steps that a world model makes up.
type Imagining struct {
	On        bool         `yaml:"on" doc:"agents also learn from imagined steps: all of them play on in a world model, from real states"`
	RealRatio float64      `yaml:"real_ratio" doc:"share of really played rows in a minibatch; the others are imagined" range:"0<..1"`
	Length    int          `yaml:"length" doc:"imagined steps of a copy before it is cut; episodes that end sooner are followed by others" unit:"steps" range:"1..4096"`
	From      string       `yaml:"from" doc:"where imagination starts: at real episodes' first states, or at any state of the last window" oneof:"starts|slots"`
	Refresh   int          `yaml:"refresh" doc:"times a real window is followed by new imagination, by the policies of then, and learning from both" range:"1..100"`
	Trust     float64      `yaml:"trust" doc:"imagine only after a window of which the model foresaw this share of the steps exactly, before learning from it" range:"0..1"`
	World     string       `yaml:"world" doc:"a world model that hop pretrain world made, used as it is; empty: one that learns from the run's own steps"`
	Model     world.Config `yaml:"model"`
	Rows      int          `yaml:"rows" doc:"newest real steps that the model learns from" range:"256..1000000"`
	Steps     int          `yaml:"steps" doc:"gradient steps of the model after a window while it is not trusted; a quarter of them once it is" range:"1..10000"`
	Batch     int          `yaml:"batch" doc:"real steps in a gradient step of the model" range:"16..65536"`
	LR        float64      `yaml:"lr" doc:"the model's learning rate at its first step; it halves by step 1000 and falls on" range:"0<..1"`
}

// DefaultImagining returns the settings of docs/world.md, switched off.
func DefaultImagining() Imagining {
	c := Imagining{RealRatio: 0.5, Length: 32, From: "starts", Refresh: 1, Trust: 0.95, Model: world.Default(), Rows: 32768, Steps: 120, Batch: 256, LR: 3e-3}
	c.Model.Hidden = []int{32}
	return c
}

// Validate returns everything that is wrong, joined.
func (c Imagining) Validate() error {
	if err := field.Check(c); err != nil {
		return err
	}
	if c.On && c.RealRatio == 1 {
		return field.Bad("real_ratio", c.RealRatio, "below 1, because imagine.on is true")
	}
	return field.At(c.Model.Validate(), "model", nil)
}

// imagination fills rollouts by playing on in a world model. The rollouts are
// its own: nothing imagined is ever written where played steps are.
type imagination struct {
	cfg    Imagining
	key    rng.Key
	brains []*ppo.Brain
	of     []int // [A] each agent's brain
	world  *rulesLearner

	ro      *batch.Rollout
	workers []dreamer
	rands   []rng.Rand // [envs]
	starts  []moment   // of the last window
}

// moment is a slot of all agents in a real window.
type moment struct{ t, n int32 }

// dreamer is one worker's memory, for its envs lo to hi.
type dreamer struct {
	lo, hi int
	acts   []*actor.Work // [brain]
	cat    *nn.Categorical
	legal  []bool
	rows   []int32
	works  *world.Work // made when there is a model
	next   world.Next  // by seat, [hi-lo] rows
	base   []float32   // [hi-lo][Len] what seat 0 observes
	joint  []int32     // [hi-lo][A] by seat
}

// newImagination prepares imagination beside real windows of that shape.
func newImagination(cfg Imagining, spec game.Spec, real batch.Shape, parts Parts) (*imagination, error) {
	w, err := newRulesLearner(cfg, spec, parts.Key.Child("imagine"))
	if err != nil {
		return nil, err
	}
	m := &imagination{cfg: cfg, key: parts.Key.Child("imagine"), brains: parts.Brains, of: parts.BrainOf, world: w}
	shape := real
	shape.Steps = cfg.Length
	want := float64(real.Envs*real.Steps) * (1 - cfg.RealRatio) / (cfg.RealRatio * float64(cfg.Length))
	shape.Envs = max(int(want+0.999), 1)
	m.ro = batch.New(shape)
	m.rands = make([]rng.Rand, shape.Envs)
	workers := min(max(parts.Workers, 1), shape.Envs)
	for i := range workers {
		m.workers = append(m.workers, m.newDreamer(i*shape.Envs/workers, (i+1)*shape.Envs/workers))
	}
	return m, nil
}

func (m *imagination) newDreamer(lo, hi int) dreamer {
	rows, k, agents := hi-lo, m.ro.Actions, m.ro.Agents
	d := dreamer{lo: lo, hi: hi, cat: nn.NewCategorical(k, rows), legal: make([]bool, rows*k), base: make([]float32, rows*m.ro.ObsLen), joint: make([]int32, rows*agents)}
	for _, b := range m.brains {
		d.acts = append(d.acts, b.Model.Work(rows))
	}
	for range agents {
		d.next.Obs = append(d.next.Obs, make([]float32, rows*m.ro.ObsLen))
		d.next.Reward = append(d.next.Reward, make([]float32, rows))
		d.next.End = append(d.next.End, make([]bool, rows))
		d.next.Legal = append(d.next.Legal, make([]bool, rows*k))
	}
	return d
}

// look finds the states of a real window to start from and reports whether there
// are any.
func (m *imagination) look(real *batch.Rollout) bool {
	m.starts = m.starts[:0]
	for t := range real.Steps + 1 {
		for n := range real.Envs {
			if (m.cfg.From == "slots" || real.Start[real.Moment(t, n)]) && anyAlive(real, t, n) {
				m.starts = append(m.starts, moment{int32(t), int32(n)})
			}
		}
	}
	return len(m.starts) > 0
}

// imagine fills the rollout from the states found in a real window, for the
// round-th time in the run.
func (m *imagination) imagine(real *batch.Rollout, round int) {
	key := m.key.Child("round", round)
	for e := range m.rands {
		m.rands[e] = key.Child("env", e).Rand()
	}
	var wg sync.WaitGroup
	for i := range m.workers {
		d := &m.workers[i]
		if d.works == nil || m.world.fresh {
			d.works = m.world.model.Work()
		}
		wg.Go(func() { m.unroll(d, real) })
	}
	wg.Wait()
	m.world.fresh = false
}

func anyAlive(ro *batch.Rollout, t, n int) bool {
	for a := range agent.ID(ro.Agents) {
		if ro.Alive[ro.Slot(a, t, n)] {
			return true
		}
	}
	return false
}

// unroll plays one worker's envs.
func (m *imagination) unroll(d *dreamer, real *batch.Rollout) {
	ro := m.ro
	for e := d.lo; e < d.hi; e++ {
		m.start(d, real, e, 0)
	}
	for t := range ro.Steps + 1 {
		for a := range agent.ID(ro.Agents) {
			m.act(d, a, t)
		}
		if t == ro.Steps {
			break
		}
		d.works.Step(m.world.net, &d.next, d.base, d.joint, d.hi-d.lo)
		for e := d.lo; e < d.hi; e++ {
			m.step(d, real, e, t)
		}
	}
}

// start puts env e at a drawn real state, agents on their real seats.
func (m *imagination) start(d *dreamer, real *batch.Rollout, e, t int) {
	ro, in := m.ro, m.world.in
	from := m.starts[m.rands[e].IntN(len(m.starts))]
	ro.Start[ro.Moment(t, e)] = true
	for a := range agent.ID(ro.Agents) {
		src, dst := real.Slot(a, int(from.t), int(from.n)), ro.Slot(a, t, e)
		copy(ro.ObsAt(dst), real.ObsAt(src))
		copy(ro.LegalAt(dst), real.LegalAt(src))
		ro.Alive[dst], ro.Seat[dst], ro.Value[dst] = real.Alive[src], real.Seat[src], 0
		if seat := int(real.Seat[src]); real.Alive[src] {
			row := e - d.lo
			in.View(d.base[row*ro.ObsLen:(row+1)*ro.ObsLen], real.ObsAt(src), (ro.Agents-seat)%ro.Agents, nil)
		}
	}
}

// act lets agent a's brain judge what a cut left, then play where it is alive.
func (m *imagination) act(d *dreamer, a agent.ID, t int) {
	ro, ws, p := m.ro, d.acts[m.of[a]], m.brains[m.of[a]].Params
	d.rows = d.rows[:0]
	ws.Reset()
	for e := d.lo; e < d.hi; e++ {
		if t > 0 && ro.End[ro.Step(a, t-1, e)] == batch.Cut {
			d.rows = append(d.rows, int32(e))
			ws.Add(ro.ObsAt(ro.Slot(a, t, e)), nil)
		}
	}
	if len(d.rows) > 0 {
		ws.Forward(p)
		for i, e := range d.rows {
			ro.Value[ro.Slot(a, t, int(e))] = ws.Value[i]
		}
	}
	if t == ro.Steps {
		return
	}
	k := ro.Actions
	d.rows = d.rows[:0]
	ws.Reset()
	for e := d.lo; e < d.hi; e++ {
		slot, step := ro.Slot(a, t, e), ro.Step(a, t, e)
		if !ro.Alive[slot] {
			ro.Action[step], ro.LogProb[step], ro.Own[step] = game.NoAction, 0, false
			d.joint[(e-d.lo)*ro.Agents+int(ro.Seat[slot])] = game.NoAction
			continue
		}
		copy(d.legal[len(d.rows)*k:], ro.LegalAt(slot))
		d.rows = append(d.rows, int32(e))
		ws.Add(ro.ObsAt(slot), nil)
	}
	if len(d.rows) == 0 {
		return
	}
	ws.Forward(p)
	d.cat.Set(ws.Logits, d.legal, len(d.rows))
	for i, row := range d.rows {
		e := int(row)
		slot, step := ro.Slot(a, t, e), ro.Step(a, t, e)
		act := d.cat.Sample(i, &m.rands[e])
		ro.Action[step], ro.LogProb[step], ro.Own[step] = act, d.cat.LogProb(i, act), true
		ro.Value[slot] = ws.Value[i]
		d.joint[(e-d.lo)*ro.Agents+int(ro.Seat[slot])] = act
	}
}

// step writes what the model says of env e's step from slot t.
func (m *imagination) step(d *dreamer, real *batch.Rollout, e, t int) {
	ro, row, k := m.ro, e-d.lo, m.ro.Actions
	over := !anyAlive(ro, t, e)
	for a := range agent.ID(ro.Agents) {
		i, was, now := ro.Step(a, t, e), ro.Slot(a, t, e), ro.Slot(a, t+1, e)
		ro.Reward[i], ro.End[i], ro.Reached[i] = 0, batch.Going, game.NoGoal
		if over {
			continue
		}
		ro.Alive[now], ro.Seat[now], ro.Value[now] = false, ro.Seat[was], 0
		clear(ro.ObsAt(now))
		clear(ro.LegalAt(now))
		if !ro.Alive[was] {
			continue
		}
		s := int(ro.Seat[was])
		copy(ro.ObsAt(now), d.next.Obs[s][row*ro.ObsLen:(row+1)*ro.ObsLen])
		copy(ro.LegalAt(now), d.next.Legal[s][row*k:(row+1)*k])
		ro.Reward[i] = d.next.Reward[s][row]
		switch {
		case d.next.End[s][row]:
			ro.End[i] = batch.Exited
		case !anyLegal(ro.LegalAt(now)): // the model has lost the agent: imagine no further
			ro.End[i] = batch.Cut
		default:
			ro.Alive[now] = true
			if t == ro.Steps-1 {
				ro.End[i] = batch.Cut
			}
		}
	}
	if over {
		m.start(d, real, e, t+1)
		return
	}
	ro.Start[ro.Moment(t+1, e)] = false
	copy(d.base[row*ro.ObsLen:(row+1)*ro.ObsLen], d.next.Obs[0][row*ro.ObsLen:])
}

func anyLegal(mask []bool) bool {
	for _, ok := range mask {
		if ok {
			return true
		}
	}
	return false
}

// learnImagining is learn with imagination: judge the model by the new window,
// let it learn, and, if it was right often enough, imagine and learn from both.
func (s *SelfPlay) learnImagining() ([][]agent.Stat, error) {
	m := s.imagine
	trusted := m.world.judge(s.ro) >= m.cfg.Trust
	var anew bool
	var err error
	s.timed("world", func() { anew, err = m.world.learn(s.ro, s.update, trusted) })
	if err != nil {
		return nil, fmt.Errorf("train: the world model at env step %d: %w; lower imagine.lr", s.step, err)
	}
	if !trusted || anew || !m.look(s.ro) {
		return s.learnBy(func(i int, shape ppo.Shape, share float64) ([]agent.Stat, error) {
			return s.parts.Minds[i].Learn(s.ro, shape, share)
		})
	}
	var stats [][]agent.Stat
	for round := range m.cfg.Refresh {
		s.timed("imagine", func() { m.imagine(s.ro, s.update*m.cfg.Refresh+round) })
		s.show(m.ro, true)
		stats, err = s.learnBy(func(i int, shape ppo.Shape, share float64) ([]agent.Stat, error) {
			return m.brains[i].LearnMixed(s.ro, ppo.Mixture{Imagined: m.ro, RealRatio: m.cfg.RealRatio, Again: round > 0}, shape, share)
		})
		if err != nil {
			return nil, err
		}
	}
	return stats, nil
}

// valueLossLimit is how many times the values' loss on played rows that on
// imagined ones may be. Right ones are of the same order.
const valueLossLimit = 10

// complaint says what is wrong with imagined value targets, if they are far
// harder to meet than played ones; "" if they are not.
func complaint(stats [][]agent.Stat) string {
	for i, list := range stats {
		played, imagined := -1., -1.
		for _, st := range list {
			switch st.Name {
			case "ppo/value_loss":
				played = st.Value
			case "ppo/value_loss_imagined":
				imagined = st.Value
			}
		}
		if played >= 0 && imagined > valueLossLimit*max(played, 1e-3) {
			return fmt.Sprintf("brain %d: the value loss is %.3g on imagined rows and %.3g on played ones: imagined rewards do not fit the returns (fault 7), or the world model is wrong", i, imagined, played)
		}
	}
	return ""
}
