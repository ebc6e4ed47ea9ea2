// Package ppo learns by proximal policy optimisation (Schulman et al. 2017).
//
// A Brain is one set of weights with its optimiser; the agents that share it
// give it their rows. It learns only from rows at which its own agents were
// alive. Everything it draws comes from its own stream, and no brain reads what
// another writes, so brains learn side by side in any order with the same
// result.
package ppo

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"hop/agent"
	"hop/f32"
	"hop/internal/cores"
	"hop/mind"
	"hop/model/actor"
	"hop/nn"
	"hop/rng"
	"hop/safetensors"
)

// Brain learns for one or more agents.
type Brain struct {
	Model  *actor.Model
	Params *nn.Params

	agents         []agent.ID // whose rows it learns from
	counts         mind.Counts
	frozen, greedy bool // how its players play

	cfg       Config
	opt       *nn.Adam
	rand      rng.Rand
	shards    *nn.Shards
	works     []*shardWork // as many as there are shards
	parts     []part       // [shards]
	taking    sync.Mutex   // of works
	folded    []float32    // the weights for narrow rows, of this step
	narrow    []*nn.Params // [shards] on them; on the weights themselves where a frame does not fold
	gathering cores.Job
	later     bool // the first layer's gradient is computed when the shards are

	rewards, adv, ret []float32 // [agents of this brain][T][N]
	rows              rows
	x                 f32.Sparse // all rows, narrow, in the model's frame
	order             []int
	memory            []*Memory // [agents of this brain], with an LSTM

	trial    int       // episodes of a trial; 0: it does not live through trials
	rowsEach int       // that a shard's memory holds
	beyond   []float32 // [N] what follows an agent's last step in a window
	starts   []int     // [N] slots of first boards
	waiting  []wait
}

// rows are the alive rows of a window, gathered.
type rows struct {
	action            []int32
	logp, value       []float32
	adv, ret          []float32
	legal             []bool // [rows][Actions]
	begins            []bool // the row is a trial's first
	steps, slots, src []int32
	target            nn.Probs // [rows][Actions] the search's policy, to learn from a search
	real              int      // how many come first that were played; the others are imagined
}

// part is what a shard leaves behind.
type part struct {
	sums
	kept *actor.Kept
	pick []int32    // its rows
	x    f32.Sparse // rows that were gathered in parts
	_    [64]byte
}

// sums are what the losses of a shard add up to.
type sums struct {
	policy, values, entropy, kl nn.Loss
	imagined                    nn.Loss // the values' loss on imagined rows
	clipped                     int
}

// shardWork is the memory that a shard is computed in.
type shardWork struct {
	taken bool
	sums
	ws              *actor.Work
	cat             *nn.Categorical
	legal           []bool
	target          nn.Probs
	ret             []float32
	logratio, ratio []float32 // [rows] of the new policy to the old one
	h0, c0          []float32
	reset, alive    []bool
	pick            []int32 // the rows, by their place in Brain.rows; below 0: none
}

// Shards returns into how many parts a minibatch of a run with so many brains is cut:
// enough for 64 cores over all brains, of some 128 rows at least, so that one core
// loses little by adding up their gradients, and of a block of rows at most, if that
// takes no more than 64; with an LSTM of as many sequences as products take together.
// It follows from the spec alone.
func Shards(cfg Config, net actor.Config, brains int) int {
	most, least := (cfg.Minibatch+shardRows/2)/shardRows, (cfg.Minibatch+block-1)/block
	if net.LSTM > 0 {
		most, least = cfg.Minibatch/cfg.SeqLen/grain, 1
	}
	return max(1, min(max((maxShards+brains-1)/max(1, brains), least), most, maxShards))
}

const (
	maxShards = 64  // of all brains
	shardRows = 128 // of a shard, at least
	grain     = 12  // rows that products take together; shards are multiples of it
)

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
	b := &Brain{Model: m, Params: p, agents: agents, cfg: cfg, opt: opt, rand: key.Child("learn").Rand()}
	b.shards = nn.NewShards(p, shards)
	b.shards.Grain = grain
	if m.LSTM == 0 {
		b.shards.Most = block
	}
	b.narrow = slices.Clone(b.shards.Params)
	if m.LSTM == 0 && len(m.Later()) > 0 && shards > 1 && cfg.Minibatch <= shards*block {
		b.narrow, b.later = b.shards.Later(m.Later()), true
	}
	if m.Folds() {
		b.folded = make([]float32, len(p.W))
		for i, s := range b.narrow {
			q := *s
			q.W = b.folded
			b.narrow[i] = &q
		}
	}
	per := min(cfg.Minibatch, block)
	if m.LSTM > 0 { // whole sequences, as many as a shard gets
		seqs := max(1, cfg.Minibatch/cfg.SeqLen)
		per = min(seqs, ((seqs+grain-1)/grain+shards-1)/shards*grain) * cfg.SeqLen
	}
	b.rowsEach = per
	for range shards {
		b.works = append(b.works, &shardWork{
			ws: m.Work(per), cat: nn.NewCategorical(m.Actions, per), legal: make([]bool, per*m.Actions),
			target: make(nn.Probs, per*m.Actions), ret: make([]float32, per),
			logratio: make([]float32, per), ratio: make([]float32, per), pick: make([]int32, 0, per),
		})
		part := part{pick: make([]int32, 0, per)}
		if b.later {
			part.kept = m.Kept(per)
		}
		b.parts = append(b.parts, part)
	}
	return b, nil
}

// take returns memory to compute a shard in, which the worker had before if it can be; who
// takes it gives it back.
func (b *Brain) take(worker int) *shardWork {
	b.taking.Lock()
	defer b.taking.Unlock()
	for b.works[worker%len(b.works)].taken {
		worker++
	}
	w := b.works[worker%len(b.works)]
	w.taken = true
	return w
}

func (b *Brain) giveBack(w *shardWork) {
	b.taking.Lock()
	defer b.taking.Unlock()
	w.taken = false
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
	for i, r := range ret {
		mr += float64(r)
		me += float64(r - value[i])
	}
	mr, me = mr/float64(len(ret)), me/float64(len(ret))
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

// Agents returns whose rows it learns from.
func (b *Brain) Agents() []agent.ID { return b.agents }

// Counts returns the counters.
func (b *Brain) Counts() mind.Counts { return b.counts }

// Reads declares what it learns from others' rows: what a team earns together.
func (b *Brain) Reads(w *mind.Window) mind.Reads {
	if w.Rewards.Prosocial == 0 {
		return mind.Reads{}
	}
	return mind.Reads{Why: "the team's rewards", Reward: true, Reached: w.Rewards.Weighed()}
}

// Skip counts a window that there was nothing to learn from.
func (b *Brain) Skip() { b.counts.Updates++ }

// Actor returns the network that acts.
func (b *Brain) Actor() (*actor.Model, *nn.Params) { return b.Model, b.Params }

// Networks returns the network that acts.
func (b *Brain) Networks() []mind.Network {
	return []mind.Network{{Name: "network", Module: "ppo", Params: b.Params}}
}

// Imagines says why the brain cannot learn from imagined rows.
func (b *Brain) Imagines() error {
	if b.Model.LSTM > 0 {
		return errors.New("ppo: an LSTM cannot learn from imagined rows; set actor.lstm to 0")
	}
	return nil
}

// Adapts says that there is a network of its own to learn with, but no model of
// others.
func (b *Brain) Adapts() (others, own bool) { return false, b.Model.LSTM == 0 }

// Adapt learns from a window among strangers.
func (b *Brain) Adapt(w *mind.Window, _, own bool) error {
	if !own {
		return nil
	}
	_, err := b.Learn(w)
	return err
}

// LoadWeights restores the network alone, to play.
func (b *Brain) LoadWeights(f *safetensors.File, prefix string) error {
	return b.Params.Load(f, prefix+"net/")
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
	f.PutInt64(prefix+"counters", []int64{int64(b.counts.Updates), int64(b.counts.Steps), int64(b.counts.Rows)}, 3)
	for i, m := range b.memory {
		f.PutFloat32(fmt.Sprintf("%smemory/%d/h", prefix, i), m.h, len(m.h))
		f.PutFloat32(fmt.Sprintf("%smemory/%d/c", prefix, i), m.c, len(m.c))
		m.last.save(f, prefix, i)
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
	b.counts = mind.Counts{Updates: int(c[0]), Steps: int(c[1]), Rows: int(c[2])}
	for i, m := range b.memory {
		if err := f.Float32(m.h, fmt.Sprintf("%smemory/%d/h", prefix, i), len(m.h)); err != nil {
			return err
		}
		if err := f.Float32(m.c, fmt.Sprintf("%smemory/%d/c", prefix, i), len(m.c)); err != nil {
			return err
		}
		if err := m.last.load(f, prefix, i); err != nil {
			return err
		}
	}
	return nil
}

var _ interface {
	mind.Mind
	mind.Rememberer
	mind.Trials
	mind.GoalReading
	mind.Saver
	mind.Weighted
	mind.Freezer
	mind.Networked
	mind.Acting
	mind.Counting
	mind.Imagining
	mind.Adapter
} = (*Brain)(nil)
