package reference

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// LOLA returns what opponent-learning awareness (Foerster et al. 2018, section 4.2)
// adds to the advantages of agent me, [T][N]:
//
//	eta sum_j W^j_l,  W^j_l = A^j_l sum_{k <= l} s_k + sum_{k > l} gamma^(k-l) A^j_k s_k
//
// over the steps k of l's episode that the window shows, where s_k is the slope of
// log pi_j(a_k) along v = grad_j J_me, a game's. nets are the weights with which
// everybody played.
//
// shaken is the seed of what moves the weights by rounding before; 0: nothing does.
func (w *Window) LOLA(a Actor, c PPO, eta float64, me agent.ID, nets []Net, shaken uint64) []float64 {
	ro := w.Rollout
	adv := make([][]float64, ro.Agents)
	for b := range agent.ID(ro.Agents) {
		adv[b], _ = w.Advantages(b, c)
	}
	games := float64(ro.Envs)
	for t := 1; t < ro.Steps; t++ {
		for n := range ro.Envs {
			if ro.Start[ro.Moment(t, n)] {
				games++
			}
		}
	}
	out := make([]float64, ro.Steps*ro.Envs)
	for j := range agent.ID(ro.Agents) {
		if j == me || nets[j] == nil {
			continue
		}
		net := nets[j].Clone()
		net.shake(rounding, shaken)
		s := slope(a, net, ro, j, adv[me], games, shaken)
		for n := range ro.Envs {
			for l := range ro.Steps {
				first, last := l, l
				for first > 0 && !ro.Start[ro.Moment(first, n)] {
					first--
				}
				for last+1 < ro.Steps && !ro.Start[ro.Moment(last+1, n)] {
					last++
				}
				sum := 0.
				for k := first; k <= l; k++ {
					sum += adv[j][l*ro.Envs+n] * s[k*ro.Envs+n]
				}
				for k := l + 1; k <= last; k++ {
					sum += math.Pow(c.Gamma, float64(k-l)) * adv[j][k*ro.Envs+n] * s[k*ro.Envs+n]
				}
				out[l*ro.Envs+n] += eta * sum
			}
		}
	}
	return out
}

// RootMean is the root mean square of x [T][N] over an agent's own rows.
func (w *Window) RootMean(a agent.ID, x []float64) float64 {
	ro, sum, n := w.Rollout, 0., 0
	for i := range x {
		if t, e := i/ro.Envs, i%ro.Envs; ro.Alive[ro.Slot(a, t, e)] && ro.Own[ro.Step(a, t, e)] {
			sum += x[i] * x[i]
			n++
		}
	}
	return math.Sqrt(sum / float64(max(n, 1)))
}

// slope returns s of agent j at each of its own steps, [T][N], 0 elsewhere.
func slope(a Actor, net Net, ro *batch.Rollout, j agent.ID, adv []float64, games float64, shaken uint64) []float64 {
	var x [][]float64
	var at []int
	var action []int32
	var legal []bool
	var weight []float64
	for t := range ro.Steps {
		for n := range ro.Envs {
			slot, step := ro.Slot(j, t, n), ro.Step(j, t, n)
			if ro.Alive[slot] && ro.Own[step] {
				x, at = append(x, a.Row(ro.ObsAt(slot), ro.GoalAt(slot))), append(at, t*ro.Envs+n)
				action, legal = append(action, ro.Action[step]), append(legal, ro.LegalAt(slot)...)
				weight = append(weight, adv[t*ro.Envs+n]/games)
			}
		}
	}
	out := make([]float64, ro.Steps*ro.Envs)
	if len(x) == 0 {
		return out
	}
	logp := func(t *Tape, net Net) *Mat {
		logits, _ := a.Forward(t, net, rowsOf(x))
		return t.At(t.LogSoftmax(logits, legal), action)
	}
	v, t := net.Clone(), &Tape{round: ulps(shaken)}
	t.Backward(t.Weigh(logp(t, v), weight))
	norm := 0.
	for _, m := range v {
		for _, g := range m.G {
			norm += g * g
		}
	}
	if norm == 0 {
		return out
	}
	h := 1e-5 / math.Sqrt(norm)
	for _, sign := range []float64{1, -1} {
		moved := net.Clone()
		for name, m := range moved {
			for i, g := range v[name].G {
				m.V[i] += sign * h * g
			}
		}
		for i, p := range logp(&Tape{}, moved).V {
			out[at[i]] += sign * p / (2 * h)
		}
	}
	return out
}

// Influence is an agent that is paid for its influence (Jaques et al. 2019, equation
// 2), and its model of the others.
type Influence struct {
	Weight, WeightEnd, LR float64
	Hidden                []int // of the model of the others
	Epochs                int
	Own                   Actor // its own network
	Seats                 int
	Me                    agent.ID
}

// meeting is a step at which somebody can be influenced: both are there, and the other
// still is at the next.
type meeting struct {
	t, n, j int
	who     agent.ID
	next    int32 // what it plays then; game.NoAction: the window does not show it
}

func (f Influence) meetings(ro *batch.Rollout) []meeting {
	var out []meeting
	for t := range ro.Steps {
		for n := range ro.Envs {
			if !ro.Alive[ro.Slot(f.Me, t, n)] || !ro.Own[ro.Step(f.Me, t, n)] || ro.Start[ro.Moment(t+1, n)] {
				continue
			}
			j := 0
			for b := range agent.ID(ro.Agents) {
				if b == f.Me {
					continue
				}
				if ro.Alive[ro.Slot(b, t, n)] && ro.Alive[ro.Slot(b, t+1, n)] {
					next := game.NoAction
					if t+1 < ro.Steps {
						next = ro.Action[ro.Step(b, t+1, n)]
					}
					out = append(out, meeting{t, n, j, b, next})
				}
				j++
			}
		}
	}
	return out
}

// model is the network that predicts what another does next.
func (f Influence) model() Actor {
	m := Actor{Net: "dense", Frame: f.Own.Frame, Hidden: f.Hidden, Act: "relu", Actions: f.Own.Actions, Input: f.Own.Input}
	m.Extra = 2*m.Actions + 2*(f.Seats-1)
	return m
}

// row is what the model reads: the agent's view, what it plays, what the other
// plays, where the other sits and who it is.
func (f Influence) row(m Actor, ro *batch.Rollout, s meeting, action int32) []float64 {
	slot, k := ro.Slot(f.Me, s.t, s.n), m.Actions
	extra := make([]float32, m.Extra)
	place := (int(ro.Seat[ro.Slot(s.who, s.t, s.n)]) - int(ro.Seat[slot]) + f.Seats) % f.Seats
	extra[action] = 1
	extra[k+int(ro.Action[ro.Step(s.who, s.t, s.n)])] = 1
	extra[2*k+place-1] = 1
	extra[2*k+f.Seats-1+s.j] = 1
	return m.Row(ro.ObsAt(slot), extra)
}

// Pay returns what the agent is paid for influence, [T][N], and the mean influence in
// nats of all steps at which somebody could be influenced.
func (f Influence) Pay(saved *safetensors.File, w *Window) (pay []float64, nats float64, err error) {
	own, err := LoadNet(saved, "net/")
	if err != nil {
		return nil, 0, err
	}
	net, err := LoadNet(saved, "influence/net/")
	if err != nil {
		return nil, 0, err
	}
	seen := f.meetings(w.Rollout)
	ro, m := w.Rollout, f.model()
	weight := between(f.Weight, f.WeightEnd, w.Share)
	out := make([]float64, ro.Steps*ro.Envs)
	for _, s := range seen {
		slot := ro.Slot(f.Me, s.t, s.n)
		legal := ro.LegalAt(slot)
		logits, _ := f.Own.Forward(&Tape{}, own, rowOf(f.Own.Row(ro.ObsAt(slot), ro.GoalAt(slot))))
		policy := (&Tape{}).LogSoftmax(logits, legal)
		var x [][]float64
		var prob []float64
		played := -1
		for k, ok := range legal {
			if !ok {
				continue
			}
			if int32(k) == ro.Action[ro.Step(f.Me, s.t, s.n)] {
				played = len(x)
			}
			x, prob = append(x, f.row(m, ro, s, int32(k))), append(prob, math.Exp(policy.V[k]))
		}
		answers, _ := m.Forward(&Tape{}, net, rowsOf(x))
		logp := (&Tape{}).LogSoftmax(answers, nil)
		for k := range m.Actions {
			mixed := 0.
			for i, p := range prob {
				mixed += p * math.Exp(logp.Row(i)[k])
			}
			given := math.Exp(logp.Row(played)[k])
			divergence := given * math.Log(given/max(mixed, 1e-12))
			out[s.t*ro.Envs+s.n] += weight * divergence
			nats += divergence / float64(len(seen))
		}
	}
	return out, nats, nil
}

// influenceBatch is how many rows one gradient step of the model takes.
const influenceBatch = 1024

// Learn returns the model's weights before and after it learns from a window.
func (f Influence) Learn(saved *safetensors.File, w *Window) (before, after Net, err error) {
	if before, err = LoadNet(saved, "influence/net/"); err != nil {
		return nil, nil, err
	}
	adam := &Adam{Eps: 1e-5}
	err = adam.Load(saved, "influence/adam/")
	if err != nil {
		return nil, nil, err
	}
	var r rng.Rand
	if err := saved.Binary(&r, "influence/stream"); err != nil {
		return nil, nil, err
	}
	after = before.Clone()
	var rows []meeting
	for _, s := range f.meetings(w.Rollout) {
		if s.next != game.NoAction {
			rows = append(rows, s)
		}
	}
	m := f.model()
	for range f.Epochs {
		shuffle(rows, &r)
		for lo := 0; lo < len(rows); lo += influenceBatch {
			part := rows[lo:min(lo+influenceBatch, len(rows))]
			var x [][]float64
			var next []int32
			for _, s := range part {
				x = append(x, f.row(m, w.Rollout, s, w.Action[w.Step(f.Me, s.t, s.n)]))
				next = append(next, s.next)
			}
			t := &Tape{round: 1}
			logits, _ := m.Forward(t, after, rowsOf(x))
			t.Backward(t.Scale(t.Mean(t.At(t.LogSoftmax(logits, nil), next), len(part)), -1))
			adam.Step(after, f.LR, 1)
		}
	}
	return before, after, nil
}

// shuffle is Fisher and Yates's.
func shuffle[T any](x []T, r *rng.Rand) {
	for i := len(x) - 1; i > 0; i-- {
		j := r.IntN(i + 1)
		x[i], x[j] = x[j], x[i]
	}
}
