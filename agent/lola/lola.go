// Package lola is opponent-learning awareness: agents that reckon with the others'
// next learning step.
package lola

import (
	"errors"
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
)

// Config is the part of a spec that sets it.
type Config struct {
	LOLA Step `yaml:"lola"`
}

// Step is the others' learning step.
type Step struct {
	Eta float64 `yaml:"eta" doc:"length of the others' learning step that is reckoned with, along their policy gradient a game; 0: plain PPO" range:"0.."`
}

// Default returns the length that finds tit for tat.
func Default() Config { return Config{Step{Eta: 1}} }

// Mind is the mind of one agent with opponent-learning awareness (Foerster et
// al. 2018, section 4.2). With J_i the return of agent i, it follows
//
//	grad_i J_i + eta sum_j grad_i [ (grad_j J_i) . (grad_j J_j) ]
//
// in which grad_j J_i is held fixed. The second term's policy-gradient form is an
// addition to agent i's advantages. With v = grad_j J_i and, for each step l of
// j, s_l = grad_j log pi_j(a_l) . v, the cross derivative of J_j along v is
//
//	E sum_l grad_i log pi_i(a_l) W_l,
//	W_l = A^j_l sum_{k <= l} s_k + sum_{k > l} gamma^(k-l) A^j_k s_k
//
// so PPO's loss takes A^i + eta W for A^i. s is one product of a Jacobian and a
// vector a row, by a central difference of log pi_j along v: two passes through
// j's network and no second derivative. As policy gradients mostly do, this drops
// the factor gamma^l, and A are generalised advantage estimates. Sums start at
// the window where an episode began in an earlier one.
//
// It reads the weights with which the others played the window, as the paper
// does, from a page of Weights: never those that another mind is writing.
type Mind struct {
	*ppo.Brain
	eta           float32
	gamma, lambda float32
	me            agent.ID
	index         int // of its brain
	all           *Weights

	adv     [][]float32 // [A][T][N]
	rewards []float32   // [T][N]
	scratch []float32   // [T][N]
	along   []float32   // [T][N] s of one co-player
	plus    []float32   // [T][N]
	steps   []int32
	slots   []int32
	look    []*lookahead // [brain]; nil for its own
}

// Weights are copies of all brains' weights. There are two pages: in window u
// everyone reads page u mod 2 and writes its own weights to the other, so minds
// that learn side by side never meet.
type Weights struct {
	models []*actor.Model
	pages  [2][]*nn.Params // [brain]
}

// lookahead is memory for one co-player's network.
type lookahead struct {
	who   agent.ID
	model *actor.Model
	at    *nn.Params // the weights of the page, with gradients of its own
	moved *nn.Params // the same, moved along v
	ws    *actor.Work
	cat   *nn.Categorical
	legal []bool
}

// lolaRows is how many rows go through a co-player's network at a time.
const lolaRows = 512

// New returns a mind for each brain.
func New(cfg Config, lrn ppo.Config, brains []*ppo.Brain) ([]learner.Mind, error) {
	all := &Weights{}
	for _, b := range brains {
		if len(b.Agents()) != 1 || b.Model.LSTM > 0 {
			return nil, errors.New("lola: agents with opponent-learning awareness need a brain of their own without an LSTM; use " +
				"train.brains [] and actor.lstm 0")
		}
		all.models = append(all.models, b.Model)
		for page := range all.pages {
			all.pages[page] = append(all.pages[page], b.Params.Clone())
		}
	}
	var minds []learner.Mind
	for i, b := range brains {
		l := &Mind{
			Brain: b, eta: float32(cfg.LOLA.Eta), gamma: float32(lrn.Gamma), lambda: float32(lrn.Lambda),
			me: b.Agents()[0], index: i, all: all,
		}
		for j, m := range all.models {
			if j == i {
				l.look = append(l.look, nil)
				continue
			}
			l.look = append(l.look, &lookahead{
				who: brains[j].Agents()[0], model: m, at: all.pages[0][j].Clone(), moved: all.pages[0][j].Clone(), ws: m.Work(lolaRows),
				cat: nn.NewCategorical(m.Actions, lolaRows), legal: make([]bool, lolaRows*m.Actions),
			})
		}
		minds = append(minds, l)
	}
	return minds, nil
}

// Learn takes one window.
func (l *Mind) Learn(w *learner.Window) ([]agent.Stat, error) {
	l.lookAhead(w)
	own, extra, n := l.size(w.Rollout)
	turn := l.Counts().Updates
	stats, err := l.Update(ppo.Update{Window: w, Adv: l.plus})
	if l.Counts().Updates == turn {
		l.Skip() // a window without own rows is a turn too, or pages would part
	}
	l.publish(l.Counts().Updates % 2)
	if n > 0 {
		stats = append(stats,
			agent.Stat{Name: "lola/term", Value: extra, N: n},
			agent.Stat{Name: "lola/advantage", Value: own, N: n})
	}
	return stats, err
}

// Reads declares what it learns from others' rows: all that their learning step
// follows from.
func (l *Mind) Reads(w *learner.Window) learner.Reads {
	r := l.Brain.Reads(w)
	if l.eta == 0 {
		return r
	}
	r.Why, r.Obs, r.Action, r.Reward, r.Value = "the others' next learning step", true, true, true, true
	r.Reached = w.Rewards.Weighed()
	return r
}

// Imagines says why it does not learn from imagined windows.
func (l *Mind) Imagines() error {
	return errors.New("lola: imagined windows do not show how the others learn; set imagine.on to false")
}

// publish copies the weights to a page.
func (l *Mind) publish(page int) { l.all.pages[page][l.index].CopyFrom(l.Params) }

// lookAhead computes eta W for every step of the window, [T][N], a view.
func (l *Mind) lookAhead(w *learner.Window) []float32 {
	ro := w.Rollout
	size := ro.Steps * ro.Envs
	if len(l.plus) != size || len(l.adv) != ro.Agents {
		l.rewards, l.scratch, l.along, l.plus = make([]float32, size), make([]float32, size), make([]float32, size), make([]float32, size)
		l.adv = make([][]float32, ro.Agents)
		for a := range l.adv {
			l.adv[a] = make([]float32, size)
		}
	}
	for a := range agent.ID(ro.Agents) {
		w.Rewards.Apply(l.rewards, ro, a)
		ppo.Advantages(l.adv[a], l.scratch, ro, a, l.rewards, l.gamma, l.lambda)
	}
	clear(l.plus)
	if l.eta == 0 {
		return l.plus
	}
	games := episodes(ro)
	page := l.all.pages[l.Counts().Updates%2]
	for i, look := range l.look {
		if look == nil {
			continue
		}
		look.at.CopyFrom(page[i])
		j := look.who
		l.steps, l.slots = ro.OwnRows(j, l.steps[:0], l.slots[:0])
		if look.gradient(ro, l.steps, l.slots, int32(ro.Step(j, 0, 0)), l.adv[l.me], games) {
			look.slope(l.along, ro, l.steps, l.slots, int32(ro.Step(j, 0, 0)))
			l.cross(ro, j)
		}
	}
	return l.plus
}

// episodes counts the games that a window holds parts of.
func episodes(ro *batch.Rollout) float32 {
	n := ro.Envs
	for t := 1; t < ro.Steps; t++ {
		for e := range ro.Envs {
			if ro.Start[ro.Moment(t, e)] {
				n++
			}
		}
	}
	return float32(n)
}

// gradient leaves v = grad_j J_i, a game's, in at.G: the policy gradient of the
// co-player's network by the advantages of somebody else. It reports whether
// there is any.
func (k *lookahead) gradient(ro *batch.Rollout, steps, slots []int32, base int32, adv []float32, games float32) bool {
	k.at.ZeroGrad()
	k.each(ro, slots, k.at, func(lo, n int) {
		k.ws.ZeroGrad()
		for i := range n {
			step := steps[lo+i]
			k.cat.Grad(k.ws.DLogits[i*k.model.Actions:], i, ro.Action[step], adv[step-base]/games, 0)
		}
		k.ws.Backward(k.at)
	})
	return nn.GradNorm(k.at) > 0
}

// slope writes s = grad_j log pi_j(a) . v for each of the co-player's rows, dst
// [T][N], zero elsewhere, by a central difference along v.
func (k *lookahead) slope(dst []float32, ro *batch.Rollout, steps, slots []int32, base int32) {
	const reach = 0.02 // how far the weights move, as a norm: log-probabilities are near linear and rounding is far below
	clear(dst)
	h := reach / float32(nn.GradNorm(k.at))
	for _, sign := range []float32{1, -1} {
		for i, w := range k.at.W {
			k.moved.W[i] = w + sign*h*k.at.G[i]
		}
		k.each(ro, slots, k.moved, func(lo, n int) {
			for i := range n {
				step := steps[lo+i]
				dst[step-base] += sign * k.cat.LogProb(i, ro.Action[step]) / (2 * h)
			}
		})
	}
}

// each runs the rows through the network, some at a time.
func (k *lookahead) each(ro *batch.Rollout, slots []int32, p *nn.Params, do func(lo, n int)) {
	actions := k.model.Actions
	for lo := 0; lo < len(slots); lo += lolaRows {
		part := slots[lo:min(lo+lolaRows, len(slots))]
		k.ws.Reset()
		for i, slot := range part {
			k.ws.Add(ro.ObsAt(int(slot)), nil)
			copy(k.legal[i*actions:(i+1)*actions], ro.LegalAt(int(slot)))
		}
		k.ws.Forward(p)
		k.cat.Set(k.ws.Logits, k.legal, len(part))
		do(lo, len(part))
	}
}

// cross adds eta W of co-player j.
func (l *Mind) cross(ro *batch.Rollout, j agent.ID) {
	n, eta := ro.Envs, l.eta
	adv := l.adv[j]
	for e := range n {
		sum := float32(0)
		for t := range ro.Steps {
			if ro.Start[ro.Moment(t, e)] {
				sum = 0
			}
			i := t*n + e
			sum += l.along[i]
			l.plus[i] += eta * adv[i] * sum
		}
		tail := float32(0)
		for t := ro.Steps - 1; t >= 0; t-- {
			i := t*n + e
			l.plus[i] += eta * tail
			if ro.Start[ro.Moment(t, e)] {
				tail = 0
				continue
			}
			tail = l.gamma * (tail + adv[i]*l.along[i])
		}
	}
}

// size returns the root mean squares of the own advantages and of what is added,
// over the agent's rows.
func (l *Mind) size(ro *batch.Rollout) (own, extra float64, n int) {
	l.steps, l.slots = ro.OwnRows(l.me, l.steps[:0], l.slots[:0])
	base := int32(ro.Step(l.me, 0, 0))
	for _, step := range l.steps {
		a, x := float64(l.adv[l.me][step-base]), float64(l.plus[step-base])
		own += a * a
		extra += x * x
	}
	n = len(l.steps)
	return math.Sqrt(own / float64(max(n, 1))), math.Sqrt(extra / float64(max(n, 1))), n
}

// Load restores what Save stored, and the pages: after a window the others'
// weights are those that they play the next with.
func (l *Mind) Load(f *safetensors.File, prefix string) error {
	if err := l.Brain.Load(f, prefix); err != nil {
		return err
	}
	l.publish(0)
	l.publish(1)
	return nil
}

var _ learner.Mind = (*Mind)(nil)
