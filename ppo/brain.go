// Package ppo learns by proximal policy optimisation (Schulman et al. 2017).
//
// A Brain is one set of weights with its optimiser; the agents that share it
// give it their rows. It learns only from rows at which its own agents were
// alive. Everything it draws comes from its own stream, and no brain reads what
// another writes, so brains learn side by side in any order with the same
// result.
package ppo

import (
	"fmt"
	"math"

	"hop/agent"
	"hop/batch"
	"hop/f32"
	"hop/model/actor"
	"hop/nn"
	"hop/rng"
	"hop/safetensors"
)

// Brain learns for one or more agents.
type Brain struct {
	Model  *actor.Model
	Params *nn.Params
	Agents []agent.ID // whose rows it learns from

	// Counters, for reports and audits.
	Updates  int // windows learnt from
	Steps    int // gradient steps
	RowsSeen int // alive rows, each counted once a window

	cfg    Config
	opt    *nn.Adam
	rand   rng.Rand
	shards *nn.Shards
	works  []shardWork
	folded []float32    // the weights for narrow rows, of this step
	narrow []*nn.Params // [shards] on them; the shards themselves where a frame does not fold

	rewards, adv, ret []float32 // [agents of this brain][T][N]
	rows              rows
	x                 f32.Sparse // all rows, narrow, in the model's frame
	order             []int
	memory            []*Memory // [agents of this brain], with an LSTM
}

// rows are the alive rows of a window, gathered.
type rows struct {
	action            []int32
	logp, value       []float32
	adv, ret          []float32
	legal             []bool // [rows][Actions]
	steps, slots, src []int32
	target            nn.Probs // [rows][Actions] the search's policy, for Distil
	real              int      // how many come first that were played; the others are imagined
}

// shardWork is one shard's memory.
type shardWork struct {
	ws                          *actor.Work
	cat                         *nn.Categorical
	legal                       []bool
	target                      nn.Probs
	ret                         []float32
	logratio, ratio             []float32 // [rows] of the new policy to the old one
	policy, values, entropy, kl nn.Loss
	imagined                    nn.Loss // the values' loss on imagined rows
	clipped                     int
	h0, c0                      []float32
	reset, alive                []bool
	pick                        []int32 // the rows, by their place in Brain.rows; below 0: none
}

// New returns a brain for agents, with weights drawn from key. shards is the
// number of parts that a minibatch is split into, to learn on several cores;
// it is part of the numbers, so it must not depend on the machine.
func New(cfg Config, net actor.Config, in actor.Input, agents []agent.ID, shards int, key rng.Key) (*Brain, error) {
	m, p, err := actor.New(net, in, key.Child("init"))
	if err != nil {
		return nil, err
	}
	opt, err := nn.NewAdam(nn.AdamConfig{Eps: cfg.AdamEps}, p)
	if err != nil {
		return nil, fmt.Errorf("ppo: %w", err)
	}
	if err := opt.Check(p); err != nil {
		return nil, fmt.Errorf("ppo: %w", err)
	}
	b := &Brain{Model: m, Params: p, Agents: agents, cfg: cfg, opt: opt, rand: key.Child("learn").Rand()}
	b.shards = nn.NewShards(p, shards)
	b.narrow = b.shards.Params
	if m.Folds() {
		b.folded, b.narrow = make([]float32, len(p.W)), nil
		for _, s := range b.shards.Params {
			q := *s
			q.W = b.folded
			b.narrow = append(b.narrow, &q)
		}
	}
	per := min(cfg.Minibatch, block)
	if m.LSTM > 0 {
		per = max(cfg.Minibatch, cfg.SeqLen) + cfg.SeqLen
	}
	for range shards {
		b.works = append(b.works, shardWork{
			ws: m.Work(per), cat: nn.NewCategorical(m.Actions, per), legal: make([]bool, per*m.Actions),
			target: make(nn.Probs, per*m.Actions), ret: make([]float32, per),
			logratio: make([]float32, per), ratio: make([]float32, per), pick: make([]int32, 0, per),
		})
	}
	return b, nil
}

// Learn takes one window. share is how much of the run lies behind; shape turns
// true rewards into what is learnt from. The statistics carry the number of
// alive rows behind them.
func (b *Brain) Learn(ro *batch.Rollout, shape Shape, share float64) ([]agent.Stat, error) {
	b.gather(ro, shape)
	n := len(b.rows.steps)
	if n == 0 {
		return nil, nil
	}
	b.RowsSeen += n
	b.Updates++
	lr := at(b.cfg.LR, b.cfg.LREnd, share)
	ent := at(b.cfg.Entropy, b.cfg.EntropyEnd, share)
	var total passStats
	var err error
	if b.Model.LSTM > 0 {
		total, err = b.passesSeq(ro, lr, ent)
	} else {
		total, err = b.passes(lr, ent)
	}
	if err != nil {
		return nil, err
	}
	return b.report(total, lr), nil
}

// report names what the gradient steps of a window added up.
func (b *Brain) report(total passStats, lr float64) []agent.Stat {
	n := b.rows.real
	return []agent.Stat{
		{Name: "ppo/policy_loss", Value: total.policy.Mean(), N: n},
		{Name: "ppo/value_loss", Value: total.value.Mean(), N: n},
		{Name: "ppo/entropy", Value: total.entropy.Mean(), N: n},
		{Name: "ppo/kl", Value: total.kl.Mean(), N: n},
		{Name: "ppo/clipped", Value: float64(total.clipped) / float64(max(total.policy.Rows, 1)), N: n},
		{Name: "ppo/grad_norm", Value: total.norm / float64(max(total.steps, 1)), N: total.steps},
		{Name: "ppo/explained", Value: b.explained(0, n), N: n},
		{Name: "ppo/lr", Value: lr, N: n},
	}
}

// gather computes advantages and collects the alive rows of the brain's agents.
func (b *Brain) gather(ro *batch.Rollout, shape Shape) {
	r := &b.rows
	r.steps, r.slots, r.src = r.steps[:0], r.slots[:0], r.src[:0]
	r.action, r.logp, r.value, r.adv, r.ret, r.legal = r.action[:0], r.logp[:0], r.value[:0], r.adv[:0], r.ret[:0], r.legal[:0]
	b.x.Reset(b.Model.Cols())
	b.collect(ro, shape)
	r.real = len(r.steps)
}

// collect appends the rows of one rollout, with advantages and returns that
// depend on nothing else.
func (b *Brain) collect(ro *batch.Rollout, shape Shape) {
	size := ro.Steps * ro.Envs
	if all := size * len(b.Agents); cap(b.adv) < all {
		b.rewards, b.adv, b.ret = make([]float32, all), make([]float32, all), make([]float32, all)
	}
	b.rewards, b.adv, b.ret = b.rewards[:size*len(b.Agents)], b.adv[:size*len(b.Agents)], b.ret[:size*len(b.Agents)]
	r := &b.rows
	begin := len(r.steps)
	ws := b.works[0].ws
	for k, a := range b.Agents {
		lo, hi := k*size, (k+1)*size
		shape.Apply(b.rewards[lo:hi], ro, a)
		Advantages(b.adv[lo:hi], b.ret[lo:hi], ro, a, b.rewards[lo:hi], float32(b.cfg.Gamma), float32(b.cfg.Lambda))
		first := len(r.steps)
		r.steps, r.slots = ro.OwnRows(a, r.steps, r.slots)
		base := int32(ro.Step(a, 0, 0))
		for i := first; i < len(r.steps); i++ {
			step, slot := int(r.steps[i]), int(r.slots[i])
			at := int32(lo) + r.steps[i] - base
			r.src = append(r.src, at)
			r.action = append(r.action, ro.Action[step])
			r.logp = append(r.logp, ro.LogProb[step])
			r.value = append(r.value, ro.Value[slot])
			r.adv = append(r.adv, b.adv[at])
			r.ret = append(r.ret, b.ret[at])
			r.legal = append(r.legal, ro.LegalAt(slot)...)
			ws.EncodeNarrow(&b.x, ro.ObsAt(slot), ro.GoalAt(slot))
		}
	}
	if b.cfg.NormAdv {
		normalise(r.adv[begin:])
	}
}

// normalise scales x to mean 0 and deviation 1.
func normalise(x []float32) {
	if len(x) < 2 {
		return
	}
	mean, m2 := 0., 0.
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		m2 += d * d
	}
	scale := 1 / (math.Sqrt(m2/float64(len(x))) + 1e-8)
	for i, v := range x {
		x[i] = float32((float64(v) - mean) * scale)
	}
}

// explained returns how much of the variance of the returns of rows lo to hi the
// values explained when they were collected: 1 all of it, 0 none, below 0 worse
// than a constant.
func (b *Brain) explained(lo, hi int) float64 {
	ret, value := b.rows.ret[lo:hi], b.rows.value[lo:hi]
	var mr, me float64
	n := float64(len(ret))
	for i, r := range ret {
		mr += float64(r) / n
		me += float64(r-value[i]) / n
	}
	var vr, ve float64
	for i, r := range ret {
		vr += (float64(r) - mr) * (float64(r) - mr)
		e := float64(r-value[i]) - me
		ve += e * e
	}
	if vr == 0 {
		return 0
	}
	return 1 - ve/vr
}

// Save adds weights, optimiser, stream and counters to f under prefix.
func (b *Brain) Save(f *safetensors.File, prefix string) error {
	b.Params.Save(f, prefix+"net/")
	b.opt.Save(f, prefix+"adam/")
	stream, err := b.rand.MarshalBinary()
	if err != nil {
		return err
	}
	f.PutBytes(prefix+"stream", stream)
	f.PutInt64(prefix+"counters", []int64{int64(b.Updates), int64(b.Steps), int64(b.RowsSeen)}, 3)
	for i, m := range b.memory {
		f.PutFloat32(fmt.Sprintf("%smemory/%d/h", prefix, i), m.h, len(m.h))
		f.PutFloat32(fmt.Sprintf("%smemory/%d/c", prefix, i), m.c, len(m.c))
	}
	return nil
}

// Load restores what Save stored, exactly.
func (b *Brain) Load(f *safetensors.File, prefix string) error {
	if err := b.Params.Load(f, prefix+"net/"); err != nil {
		return err
	}
	if err := b.opt.Load(f, prefix+"adam/"); err != nil {
		return err
	}
	stream, err := f.Bytes(prefix + "stream")
	if err != nil {
		return err
	}
	if err := b.rand.UnmarshalBinary(stream); err != nil {
		return fmt.Errorf("ppo: loading %sstream: %w", prefix, err)
	}
	var c [3]int64
	if err := f.Int64(c[:], prefix+"counters", 3); err != nil {
		return err
	}
	b.Updates, b.Steps, b.RowsSeen = int(c[0]), int(c[1]), int(c[2])
	for i, m := range b.memory {
		if err := f.Float32(m.h, fmt.Sprintf("%smemory/%d/h", prefix, i), len(m.h)); err != nil {
			return err
		}
		if err := f.Float32(m.c, fmt.Sprintf("%smemory/%d/c", prefix, i), len(m.c)); err != nil {
			return err
		}
	}
	return nil
}
