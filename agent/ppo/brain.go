package ppo

import (
	"errors"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Brain learns for one or more agents.
type Brain struct {
	Model  *actor.Model
	Params *nn.Params

	agents         []agent.ID // whose rows it learns from
	counts         learner.Counts
	frozen, greedy bool // how its players play
	behind         bool // they play while it learns, by copies of its weights

	cfg     Config
	trainer *nn.Trainer[*work, sums]
	held    Held // who takes the gradient steps; nil: the trainer
	orders  []int32
	rand    rng.Rand

	// What the window under way comes to.
	rewards, adv, ret []float32 // [agents of this brain][T][N]
	theirs            []float32 // [T][N] the others' advantages, to align with
	scratch           []float32 // [3][T][N]
	rows              rows
	x                 f32.Sparse // all rows, encoded
	order             []int      // of a pass
	pick              []int32    // a minibatch

	gathering, joining cores.Job
	encode             []*actor.Work // [workers] whose memory rows are encoded in
	parts              []f32.Sparse  // [workers] rows that were gathered in parts
	columns            f32.Cutting   // by which the rows are cut

	memory []*Memory  // [agents of this brain], with an LSTM
	seqs   []sequence // the window's
	rowAt  []int32    // [agents of this brain][T][N] the row there, or -1

	trial    int       // episodes of a trial; 0: it does not live through trials
	rowsEach int       // that a shard's memory holds
	beyond   []float32 // [N] what follows an agent's last step in a window
	starts   []int     // [N] slots of first boards
	waiting  []wait
}

// work is the memory that a shard is computed in.
type work struct {
	ws              *actor.Work
	policy          policy
	rows            []int32 // the rows, by their place in Brain.rows; below 0: none
	legal           []bool  // [rows][Actions]
	target          nn.Probs
	ret             []float32
	logratio, ratio []float32 // [rows] of the new policy to the old one

	// With an LSTM.
	seq          nn.Seq
	h0, c0       []float32 // [sequences][LSTM]
	reset, alive []bool    // [steps][sequences]
	picked       []int32   // [steps][sequences] the rows
}

// Shards returns into how many parts a minibatch of a run with so many brains is cut:
// enough for 64 cores over all brains, of some 128 rows at least, so that one core
// loses little by adding up their gradients, and of a block of rows at most, if that
// takes no more than 64; with an LSTM of as many sequences as products take together.
// It follows from the spec alone.
func Shards(cfg Config, net actor.Config, brains int) int {
	most, least := (cfg.Minibatch+shardRows/2)/shardRows, (cfg.Minibatch+actor.Block-1)/actor.Block
	if net.LSTM > 0 {
		most, least = cfg.Minibatch/cfg.SeqLen/actor.Grain, 1
	}
	return max(1, min(max((maxShards+brains-1)/max(1, brains), least), most, maxShards))
}

const (
	maxShards = 64  // of all brains
	shardRows = 128 // of a shard, at least
)

// New returns a brain for agents, with weights drawn from key. shards is the
// number of parts that a minibatch is split into, to learn on several cores;
// it is part of the numbers, so it must not depend on the machine.
func New(cfg Config, net actor.Config, in actor.Input, agents []agent.ID, shards int, key rng.Key) (*Brain, error) {
	m, p, err := actor.New(net, in, key.Child("init"))
	if err != nil {
		return nil, err
	}
	b := &Brain{Model: m, Params: p, agents: agents, cfg: cfg, rand: key.Child("learn").Rand()}
	b.trainer = actor.NewTrainer[*work, sums](m, p, nn.TrainerConfig{Adam: nn.AdamConfig{Eps: cfg.AdamEps}, Clip: cfg.MaxGrad},
		actor.Minibatch{Rows: cfg.Minibatch, SeqLen: cfg.SeqLen, Shards: shards}, b.work)
	return b, nil
}

// work returns memory for a shard of so many rows.
func (b *Brain) work(rows int) *work {
	m := b.Model
	b.rowsEach = rows
	return &work{
		ws: m.Work(rows), policy: newPolicy(m, rows), legal: make([]bool, rows*m.Actions),
		target: make(nn.Probs, rows*m.Actions), ret: make([]float32, rows),
		logratio: make([]float32, rows), ratio: make([]float32, rows),
	}
}

// check panics if the brain cannot learn as it is asked to.
func (b *Brain) check(u *Update) {
	if (u.Goal != nil || u.Reward != nil || u.Adv != nil) && (len(b.agents) != 1 || b.Model.LSTM > 0) {
		panic("ppo: only a brain of one agent without an LSTM can learn with something added")
	}
	if u.Imagined != nil && b.Model.LSTM > 0 {
		panic("ppo: an LSTM cannot learn from imagined rows")
	}
}

// Behind makes players that play by a copy of the weights as a window begins, so that the brain can learn
// meanwhile. What they would remember is not copied.
func (b *Brain) Behind() { b.behind = true }

// Agents returns whose rows it learns from.
func (b *Brain) Agents() []agent.ID { return b.agents }

// Counts returns the counters.
func (b *Brain) Counts() learner.Counts { return b.counts }

// Reads declares what it learns from others' rows: what a team earns together, or what they gained
// and expected.
func (b *Brain) Reads(w *learner.Window) learner.Reads {
	switch {
	case b.cfg.Align > 0:
		return learner.Reads{Why: "the others' advantages", Reward: true, Value: true, Reached: w.Rewards.Weighed()}
	case w.Rewards.Prosocial != 0:
		return learner.Reads{Why: "the team's rewards", Reward: true, Reached: w.Rewards.Weighed()}
	}
	return learner.Reads{}
}

// Skip counts a window that there was nothing to learn from.
func (b *Brain) Skip() { b.counts.Updates++ }

// Actor returns the network that acts.
func (b *Brain) Actor() (*actor.Model, *nn.Params) { return b.Model, b.Params }

// Networks returns the network that acts.
func (b *Brain) Networks() []learner.Network {
	return []learner.Network{{Name: "network", Module: "ppo", Params: b.Params}}
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
func (b *Brain) Adapt(w *learner.Window, _, own bool) error {
	if !own {
		return nil
	}
	_, err := b.Learn(w)
	return err
}

var _ interface {
	learner.Mind
	learner.Rememberer
	learner.Announcing
	learner.Behind
	learner.Trials
	learner.GoalReading
	learner.Saver
	learner.Weighted
	learner.Freezer
	learner.Networked
	learner.Acting
	learner.Counting
	learner.Imagining
	learner.Adapter
} = (*Brain)(nil)
