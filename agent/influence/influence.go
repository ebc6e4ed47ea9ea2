// Package influence is social influence as a reward: agents that are paid for
// changing what the others do.
package influence

import (
	"errors"
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Config is the part of a spec that sets it.
type Config struct {
	Influence Reward `yaml:"influence"`
}

// Reward is what influence is worth, and the model that measures it.
type Reward struct {
	Weight    float64 `yaml:"weight" doc:"reward of one nat of influence on one co-player, in scaled reward" range:"0.."`
	WeightEnd float64 `yaml:"weight_end" doc:"weight at the end of the run; -1: as weight" range:"-1.."`
	Hidden    []int   `yaml:"hidden" doc:"widths of the layers of the model of others" range:"1..4096"`
	LR        float64 `yaml:"lr" doc:"its learning rate" range:"0<.."`
	Epochs    int     `yaml:"epochs" doc:"its passes over a window" range:"1..100"`
}

// Default returns a small reward.
func Default() Config {
	return Config{Reward{Weight: 0.1, WeightEnd: -1, Hidden: []int{64}, LR: 1e-3, Epochs: 1}}
}

// Validate returns everything that is wrong, joined.
func (c *Config) Validate() error {
	errs := []error{config.Check(*c)}
	if h := c.Influence.Hidden; len(h) == 0 {
		errs = append(errs, config.Bad("influence.hidden", h, "at least one layer"))
	}
	return errors.Join(errs...)
}

// Mind is the mind of one agent that is paid, besides the game's reward, for
// its influence on each co-player j (Jaques et al. 2019, equation 2, with the
// model of other agents of their section 6):
//
//	c_t = sum_j KL( p(a^j_{t+1} | a_t, s_t) || sum_a' pi(a' | s_t) p(a^j_{t+1} | a', s_t) )
//
// p is a network of its own, learnt online from what it sees: its observation, its
// own action, j's action and who j is. Nobody else's weights are read.
type Mind struct {
	*ppo.Brain
	cfg    Reward
	me     agent.ID
	others []agent.ID
	seats  int

	model  *actor.Model
	params *nn.Params
	train  *nn.Trainer[*actor.Work, nn.Loss]
	rand   rng.Rand

	ws, own  *actor.Work
	cat, pol *nn.Categorical
	legal    []bool
	seen     []meeting
	ask      []question
	extra    []float32
	pay      []float32 // [T][N]
	order    []int
	marginal []float64
	given    []float64
}

// meeting is one step of the agent at which co-player j goes on.
type meeting struct {
	t, n, j int32
	next    int32 // what j played next; game.NoAction if the window does not show it
}

// question is one row for the model: what would j do next if the agent played
// action?
type question struct {
	meeting int32
	action  int32
	prob    float32 // with which the agent plays it
}

// influenceRows is how many rows go through the model at a time.
const influenceRows = 1024

// New returns the mind of the agent that the brain belongs to. net gives
// the frame in which its model sees the board.
func New(c Config, net actor.Config, in actor.Input, seats int, b *ppo.Brain, key rng.Key) (*Mind, error) {
	if len(b.Agents()) != 1 || b.Model.LSTM > 0 {
		return nil, errors.New("influence: agents paid for influence need a brain of their own without an LSTM; use " +
			"train.brains [] and actor.lstm 0")
	}
	f := &Mind{Brain: b, cfg: c.Influence, me: b.Agents()[0], seats: seats, rand: key.Child("learn").Rand()}
	for a := range agent.ID(seats) {
		if a != f.me {
			f.others = append(f.others, a)
		}
	}
	if len(f.others) == 0 {
		return nil, errors.New("influence: there is nobody to influence in a game of one seat")
	}
	in.Extra = 2*in.Actions + 2*(seats-1)
	var err error
	if f.model, f.params, err = actor.New(actor.Config{Net: "dense", Frame: net.Frame, Hidden: c.Influence.Hidden, Act: "relu"}, in,
		key.Child("init")); err != nil {
		return nil, err
	}
	f.ws, f.cat = f.model.Work(influenceRows), nn.NewCategorical(in.Actions, influenceRows)
	f.train = nn.NewTrainer[*actor.Work, nn.Loss](f.params, nn.TrainerConfig{Adam: nn.AdamConfig{Eps: 1e-5}, Clip: 1},
		nn.Constant(f.cfg.LR), []*actor.Work{f.ws})
	f.own, f.pol = b.Model.Work(1), nn.NewCategorical(in.Actions, 1)
	f.extra, f.legal = make([]float32, in.Extra), make([]bool, in.Actions)
	f.marginal, f.given = make([]float64, in.Actions), make([]float64, in.Actions)
	return f, nil
}

// Learn takes one window: pay for influence by the model as it was, then the
// model learns, then the agent.
func (f *Mind) Learn(w *learner.Window) ([]agent.Stat, error) {
	f.look(w.Rollout)
	mean := f.reward(w.Rollout, w.Share)
	stats := []agent.Stat{{Name: "influence/nats", Value: mean, N: len(f.seen)}}
	learnt, err := f.learn(w.Rollout)
	if err != nil {
		return nil, err
	}
	own, err := f.Update(ppo.Update{Window: w, Reward: f.pay})
	return append(append(own, stats...), learnt...), err
}

// Reads declares what it learns from others' rows: what they do, which it is paid
// for changing.
func (f *Mind) Reads(w *learner.Window) learner.Reads {
	r := f.Brain.Reads(w)
	if f.cfg.Weight > 0 || f.cfg.WeightEnd > 0 {
		r.Why, r.Action = "influence on what the others do", true
	}
	return r
}

// Imagines says why it does not learn from imagined windows.
func (f *Mind) Imagines() error {
	return errors.New("influence: nobody is influenced in an imagined window; set imagine.on to false")
}

// look lists the steps at which somebody can be influenced: the agent acted, and
// j was there and still is.
func (f *Mind) look(ro *batch.Rollout) {
	f.seen = f.seen[:0]
	for t := range ro.Steps {
		for n := range ro.Envs {
			if !ro.Alive[ro.Slot(f.me, t, n)] || !ro.Own[ro.Step(f.me, t, n)] || ro.Start[ro.Moment(t+1, n)] {
				continue
			}
			for j, a := range f.others {
				if !ro.Alive[ro.Slot(a, t, n)] || !ro.Alive[ro.Slot(a, t+1, n)] {
					continue
				}
				next := game.NoAction
				if t+1 < ro.Steps {
					next = ro.Action[ro.Step(a, t+1, n)]
				}
				f.seen = append(f.seen, meeting{int32(t), int32(n), int32(j), next})
			}
		}
	}
}

// add puts a row into the model's workspace.
func (f *Mind) add(ro *batch.Rollout, s meeting, action int32) {
	t, n, k := int(s.t), int(s.n), f.model.Actions
	a := f.others[s.j]
	slot := ro.Slot(f.me, t, n)
	place := (int(ro.Seat[ro.Slot(a, t, n)])-int(ro.Seat[slot])+f.seats)%f.seats - 1
	clear(f.extra)
	f.extra[action] = 1
	f.extra[k+int(ro.Action[ro.Step(a, t, n)])] = 1
	f.extra[2*k+place] = 1
	f.extra[2*k+f.seats-1+int(s.j)] = 1
	f.ws.Add(ro.ObsAt(slot), f.extra)
}

// reward writes what the agent is paid for influence, [T][N], and returns the
// mean influence in nats.
func (f *Mind) reward(ro *batch.Rollout, share float64) float64 {
	size := ro.Steps * ro.Envs
	if len(f.pay) != size {
		f.pay = make([]float32, size)
	}
	clear(f.pay)
	weight := f.cfg.Weight
	if f.cfg.WeightEnd >= 0 {
		weight += (f.cfg.WeightEnd - weight) * min(max(share, 0), 1)
	}
	f.questions(ro)
	sum := 0.
	for lo := 0; lo < len(f.ask); {
		hi := lo
		f.ws.Reset()
		for hi < len(f.ask) && hi-lo < influenceRows-f.model.Actions || hi < len(f.ask) && f.ask[hi].meeting == f.ask[hi-1].meeting {
			q := f.ask[hi]
			f.add(ro, f.seen[q.meeting], q.action)
			hi++
		}
		f.ws.Forward(f.params)
		f.cat.Set(f.ws.Logits, nil, hi-lo)
		for i := lo; i < hi; {
			end := i
			for end < hi && f.ask[end].meeting == f.ask[i].meeting {
				end++
			}
			s := f.seen[f.ask[i].meeting]
			c := f.divergence(ro, s, lo, i, end)
			sum += c
			f.pay[int(s.t)*ro.Envs+int(s.n)] += float32(weight * c)
			i = end
		}
		lo = hi
	}
	return sum / float64(max(len(f.seen), 1))
}

// questions lists the rows to ask: every legal action of every meeting, with the
// probability that the agent plays it.
func (f *Mind) questions(ro *batch.Rollout) {
	f.ask = f.ask[:0]
	slot := -1
	for i, s := range f.seen {
		if at := ro.Slot(f.me, int(s.t), int(s.n)); at != slot { // meetings of one step follow each other
			slot = at
			copy(f.legal, ro.LegalAt(slot))
			f.own.Reset()
			f.own.Add(ro.ObsAt(slot), nil)
			f.own.Forward(f.Params)
			f.pol.Set(f.own.Logits, f.legal, 1)
		}
		for k, ok := range f.legal {
			if ok {
				f.ask = append(f.ask, question{int32(i), int32(k), f.pol.P[k]})
			}
		}
	}
}

// divergence is the influence of what was played, from questions i to end, whose
// rows start at lo.
func (f *Mind) divergence(ro *batch.Rollout, s meeting, lo, i, end int) float64 {
	played := ro.Action[ro.Step(f.me, int(s.t), int(s.n))]
	clear(f.marginal)
	for ; i < end; i++ {
		_, p := f.cat.Row(i - lo)
		for k, x := range p {
			f.marginal[k] += float64(f.ask[i].prob) * float64(x)
			if f.ask[i].action == played {
				f.given[k] = float64(x)
			}
		}
	}
	c := 0.
	for k, p := range f.given {
		if p > 0 {
			c += p * math.Log(p/max(f.marginal[k], 1e-12))
		}
	}
	return max(c, 0) // below 0 by rounding only
}

// learn scores the model on the window, then learns from it.
func (f *Mind) learn(ro *batch.Rollout) ([]agent.Stat, error) {
	rows := f.order[:0]
	for i, s := range f.seen {
		if s.next != game.NoAction {
			rows = append(rows, i)
		}
	}
	f.order = rows
	if len(rows) == 0 {
		return nil, nil
	}
	var first nn.Loss
	hits := 0
	target := make([]int32, influenceRows)
	for pass := range f.cfg.Epochs {
		rng.Shuffle(rows, &f.rand)
		for lo := 0; lo < len(rows); lo += influenceRows {
			part := rows[lo:min(lo+influenceRows, len(rows))]
			var loss nn.Loss
			if _, err := f.train.Step(len(part), &loss, func(*nn.Shard[*actor.Work]) nn.Loss {
				return f.gradient(ro, part, target)
			}); err != nil {
				return nil, err
			}
			if pass == 0 {
				first = first.Plus(loss)
				for i := range part {
					if f.cat.Mode(i) == target[i] {
						hits++
					}
				}
			}
		}
	}
	return []agent.Stat{
		{Name: "influence/ce", Value: first.Mean(), N: len(rows)},
		{Name: "influence/top1", Value: float64(hits) / float64(len(rows)), N: len(rows)},
	}, nil
}

// gradient adds the gradient of the cross-entropy of some meetings, whose targets it writes.
func (f *Mind) gradient(ro *batch.Rollout, part []int, target []int32) nn.Loss {
	f.ws.Reset()
	for i, row := range part {
		s := f.seen[row]
		f.add(ro, s, ro.Action[ro.Step(f.me, int(s.t), int(s.n))])
		target[i] = s.next
	}
	f.ws.Forward(f.params)
	f.cat.Set(f.ws.Logits, nil, len(part))
	f.ws.ZeroGrad()
	loss := f.cat.CrossEntropy(f.ws.DLogits, target[:len(part)], nil, nn.Rows{N: len(part), Scale: 1, Total: float64(len(part))})
	f.ws.Backward(f.params)
	return loss
}

// Save adds everything to file under prefix.
func (f *Mind) Save(file *safetensors.File, prefix string) error {
	if err := f.Brain.Save(file, prefix); err != nil {
		return err
	}
	f.train.Save(file, prefix+"influence/")
	return file.PutBinary(prefix+"influence/stream", &f.rand)
}

// Load restores what Save stored, exactly.
func (f *Mind) Load(file *safetensors.File, prefix string) error {
	if err := f.Brain.Load(file, prefix); err != nil {
		return err
	}
	if err := f.train.Load(file, prefix+"influence/"); err != nil {
		return err
	}
	return file.Binary(&f.rand, prefix+"influence/stream")
}

var _ learner.Mind = (*Mind)(nil)

// Reference adds the pay for influence to the definition of an update, for audits, and the
// model by which it is measured, which learns beside the own network.
func Reference(c Config, o *reference.Own, in reference.Adding) (err error) {
	r := c.Influence
	f := reference.Influence{Weight: r.Weight, WeightEnd: r.WeightEnd, LR: r.LR, Hidden: r.Hidden, Epochs: r.Epochs, Own: o.Actor,
		Seats: in.Seats, Me: o.Agents[0]}
	var nats float64
	if o.Reward, nats, err = f.Pay(in.Saved, in.Window); err != nil {
		return err
	}
	o.Stats = map[string]float64{"influence/nats": nats}
	o.Beside = &reference.Beside{
		Prefix: "influence/net/", Learn: func() (before, after reference.Net, err error) { return f.Learn(in.Saved, in.Window) },
		Check: "the model of influence learns by its definition",
		Good:  "Updates of the model by which influence is measured agree in direction and length.",
		Bad:   "the model by which influence is measured does not learn by its cross-entropy",
		Next:  "mind/influence: look and add (its rows), learn",
	}
	return nil
}
