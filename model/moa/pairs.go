package moa

import (
	"fmt"

	"hop/agent"
	"hop/field"
	"hop/nn"
	"hop/rng"
	"hop/safetensors"
)

// Online says how models are trained while agents play (HOP, appendix).
type Online struct {
	Capacity int `yaml:"capacity" doc:"steps after which a buffer is learnt from and emptied" range:"1.."`
	Passes   int `yaml:"passes" doc:"passes over a full buffer" range:"1.."`
}

// DefaultOnline returns HOP's settings.
func DefaultOnline() Online { return Online{Capacity: 1000, Passes: 10} }

// Validate returns everything that is wrong, joined.
func (c Online) Validate() error { return field.Check(c) }

// Buffer gathers the trajectories of one co-player until there are enough to
// learn from. Each is labelled in hindsight with the goal it reached; those that
// reached none say nothing about goals and are left out.
type Buffer struct {
	Pushed  int // trajectories taken in, ever
	Aimless int // trajectories without a goal, left out, ever

	m        *Model
	capacity int
	obs      []float32 // [steps][ObsLen]
	goals    []float32 // [steps][GoalLen]
	action   []int32   // [steps]
	seqs     []Span
}

// NewBuffer returns an empty buffer for models of this shape.
func (m *Model) NewBuffer(capacity int) *Buffer { return &Buffer{m: m, capacity: capacity} }

// Len returns the steps in the buffer.
func (b *Buffer) Len() int { return len(b.action) }

// Full reports that there is enough to learn from.
func (b *Buffer) Full() bool { return b.Len() > b.capacity }

// Push takes in a whole trajectory: obs [steps][ObsLen] from the co-player's own
// place, its actions, and the goal it reached in the end, -1 for none. A model
// without goals learns from trajectories without one too.
func (b *Buffer) Push(obs []float32, actions []int32, goal int) {
	if goal < 0 && b.m.GoalLen > 0 {
		b.Aimless++
		return
	}
	lo := len(b.goals)
	b.goals = append(b.goals, make([]float32, len(actions)*b.m.GoalLen)...)
	if b.m.GoalLen > 0 {
		for i := range actions {
			b.goals[lo+i*b.m.GoalLen+goal] = 1
		}
	}
	b.push(obs, actions)
}

// PushLatent is Push for goals that are not one-hot: goals is [steps][GoalLen].
func (b *Buffer) PushLatent(obs []float32, actions []int32, goals []float32) {
	if len(goals) != len(actions)*b.m.GoalLen {
		panic("moa: goals do not fit the steps")
	}
	b.goals = append(b.goals, goals...)
	b.push(obs, actions)
}

func (b *Buffer) push(obs []float32, actions []int32) {
	if len(obs) != len(actions)*b.m.Len() {
		panic("moa: observations do not fit the steps")
	}
	n := int32(len(b.action))
	b.obs, b.action = append(b.obs, obs...), append(b.action, actions...)
	b.seqs = append(b.seqs, Span{n, n + int32(len(actions))})
	b.Pushed++
}

// Rows encodes what the buffer holds into dst.
func (b *Buffer) Rows(dst *Rows) {
	dst.Reset()
	n, g := b.m.Len(), b.m.GoalLen
	for _, s := range b.seqs {
		dst.Begin()
		for i := int(s.Lo); i < int(s.Hi); i++ {
			dst.Add(b.obs[i*n:(i+1)*n], b.goals[i*g:(i+1)*g], b.action[i])
		}
	}
}

// Empty forgets everything but the counters.
func (b *Buffer) Empty() {
	b.obs, b.goals, b.action, b.seqs = b.obs[:0], b.goals[:0], b.action[:0], b.seqs[:0]
}

// TrainOn learns from a buffer in some passes and empties it. The loss is that
// of the last pass; before is that of the first, on the way.
func (l *Learner) TrainOn(b *Buffer, passes int, rows *Rows, r *rng.Rand) (before, after nn.Loss, err error) {
	b.Rows(rows)
	b.Empty()
	seqs := make([]int32, len(rows.Seqs))
	for i := range seqs {
		seqs[i] = int32(i)
	}
	for pass := range passes {
		if after, err = l.Epoch(rows, seqs, l.cfg.LR, r, nil); err != nil {
			return before, after, err
		}
		if pass == 0 {
			before = after
		}
	}
	return before, after, nil
}

// Pairs are the models that every agent has of every other one. There is no
// first agent: each has its own weights, optimiser, buffers and streams, and all
// of them learn.
type Pairs struct {
	Agents int
	cfg    Online
	pairs  []pair // [Agents][Agents-1]
}

type pair struct {
	of, about agent.ID
	learner   *Learner
	buffer    *Buffer
	rows      *Rows
	rand      rng.Rand
	trained   int // times a full buffer was learnt from
}

// NewPairs returns models of all others for each of agents agents.
func NewPairs(agents int, net Config, learning Learning, online Online, in Input, key rng.Key) (*Pairs, error) {
	if err := online.Validate(); err != nil {
		return nil, err
	}
	p := &Pairs{Agents: agents, cfg: online}
	for a := range agents {
		for o := range agents {
			if a == o {
				continue
			}
			k := key.Child("moa", a, o)
			l, err := NewLearner(net, learning, in, k.Child("init"))
			if err != nil {
				return nil, err
			}
			p.pairs = append(p.pairs, pair{
				of: agent.ID(a), about: agent.ID(o), learner: l, buffer: l.Model.NewBuffer(online.Capacity),
				rows: l.Model.NewRows(), rand: k.Child("learn").Rand(),
			})
		}
	}
	return p, nil
}

func (p *Pairs) at(of, about agent.ID) *pair {
	i := int(about)
	if about > of {
		i--
	}
	if of == about || of < 0 || about < 0 || int(of) >= p.Agents || int(about) >= p.Agents {
		panic("moa: no such pair of agents")
	}
	return &p.pairs[int(of)*(p.Agents-1)+i]
}

// Learner returns what agent of has learnt about another.
func (p *Pairs) Learner(of, about agent.ID) *Learner { return p.at(of, about).learner }

// Buffer returns what agent of has seen of another since it last learnt.
func (p *Pairs) Buffer(of, about agent.ID) *Buffer { return p.at(of, about).buffer }

// Trained returns how often that buffer has been learnt from.
func (p *Pairs) Trained(of, about agent.ID) int { return p.at(of, about).trained }

// Learn trains every pair whose buffer is full, and reports for each agent what
// its models came to. It reads and writes nothing across pairs.
func (p *Pairs) Learn() ([]Report, error) {
	var out []Report
	for i := range p.pairs {
		q := &p.pairs[i]
		if !q.buffer.Full() {
			continue
		}
		before, after, err := q.learner.TrainOn(q.buffer, p.cfg.Passes, q.rows, &q.rand)
		if err != nil {
			return out, fmt.Errorf("moa: agent %d's model of agent %d: %w", q.of, q.about, err)
		}
		q.trained++
		out = append(out, Report{
			Of: q.of, About: q.about,
			Stats: []agent.Stat{
				{Name: fmt.Sprintf("moa/%d/ce", q.about), Value: before.Mean(), N: before.Rows},
				{Name: fmt.Sprintf("moa/%d/ce_after", q.about), Value: after.Mean(), N: after.Rows},
				{Name: fmt.Sprintf("moa/%d/left", q.about), Value: float64(q.rows.Left), N: before.Rows},
			},
		})
	}
	return out, nil
}

// Report is what one model came to in one round of learning. ce is measured on
// the first pass, mostly before the steps that fit it.
type Report struct {
	Of, About agent.ID
	Stats     []agent.Stat
}

// Save adds all models, buffers and streams to f under prefix.
func (p *Pairs) Save(f *safetensors.File, prefix string) error {
	for i := range p.pairs {
		q := &p.pairs[i]
		at := fmt.Sprintf("%s%d/%d/", prefix, q.of, q.about)
		q.learner.Save(f, at)
		stream, err := q.rand.MarshalBinary()
		if err != nil {
			return err
		}
		f.PutBytes(at+"stream", stream)
		q.buffer.save(f, at+"buffer/", q.trained)
	}
	return nil
}

// Load restores what Save stored, exactly.
func (p *Pairs) Load(f *safetensors.File, prefix string) error {
	for i := range p.pairs {
		q := &p.pairs[i]
		at := fmt.Sprintf("%s%d/%d/", prefix, q.of, q.about)
		if err := q.learner.Load(f, at); err != nil {
			return err
		}
		stream, err := f.Bytes(at + "stream")
		if err != nil {
			return err
		}
		if err := q.rand.UnmarshalBinary(stream); err != nil {
			return fmt.Errorf("moa: loading %sstream: %w", at, err)
		}
		if q.trained, err = q.buffer.load(f, at+"buffer/"); err != nil {
			return err
		}
	}
	return nil
}

func (b *Buffer) save(f *safetensors.File, prefix string, trained int) {
	f.PutInt64(prefix+"counters", []int64{int64(b.Pushed), int64(b.Aimless), int64(trained), int64(len(b.action)), int64(len(b.seqs))}, 5)
	f.PutFloat32(prefix+"obs", b.obs, len(b.obs))
	f.PutFloat32(prefix+"goals", b.goals, len(b.goals))
	action, ends := make([]int64, len(b.action)), make([]int64, len(b.seqs))
	for i, a := range b.action {
		action[i] = int64(a)
	}
	for i, s := range b.seqs {
		ends[i] = int64(s.Hi)
	}
	f.PutInt64(prefix+"action", action, len(action))
	f.PutInt64(prefix+"ends", ends, len(ends))
}

func (b *Buffer) load(f *safetensors.File, prefix string) (trained int, err error) {
	var c [5]int64
	if err := f.Int64(c[:], prefix+"counters", 5); err != nil {
		return 0, err
	}
	steps, seqs := int(c[3]), int(c[4])
	if most := 1 << 24; steps < 0 || seqs < 0 || steps > most || seqs > most {
		return 0, fmt.Errorf("moa: loading %scounters: %d steps in %d trajectories; the checkpoint is damaged", prefix, steps, seqs)
	}
	obs, goals := make([]float32, steps*b.m.Len()), make([]float32, steps*b.m.GoalLen)
	action, ends := make([]int64, steps), make([]int64, seqs)
	for _, err := range []error{
		f.Float32(obs, prefix+"obs", len(obs)), f.Float32(goals, prefix+"goals", len(goals)),
		f.Int64(action, prefix+"action", steps), f.Int64(ends, prefix+"ends", seqs),
	} {
		if err != nil {
			return 0, err
		}
	}
	b.Empty()
	b.Pushed, b.Aimless = int(c[0]), int(c[1])
	b.obs, b.goals = append(b.obs, obs...), append(b.goals, goals...)
	for _, a := range action {
		b.action = append(b.action, int32(a))
	}
	lo := int32(0)
	for _, e := range ends {
		if e < int64(lo) || e > int64(steps) {
			return 0, fmt.Errorf("moa: loading %sends: %d after %d of %d; the checkpoint is damaged", prefix, e, lo, steps)
		}
		b.seqs = append(b.seqs, Span{lo, int32(e)})
		lo = int32(e)
	}
	return int(c[2]), nil
}
