package pr2

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"

	"example.org/baselines/windowtest"
)

const (
	features, actions, seats = 5, 3, 3
	others                   = seats - 1
	gamma, alpha             = 0.9, 0.3
	me                       = agent.ID(1)
)

// layers are a network's weights in float64: one hidden layer, then outputs and a value.
type layers struct {
	w               []float64
	in, hidden, out int
}

func of(p *nn.Params, in, hidden, out int) layers {
	l := layers{in: in, hidden: hidden, out: out}
	for _, part := range p.Parts {
		w, _ := p.At(part.Span)
		for _, x := range w {
			l.w = append(l.w, float64(x))
		}
	}
	return l
}

func (l layers) run(w []float64, x ...float64) []float64 {
	h, y := make([]float64, l.hidden), make([]float64, l.out+1)
	for j := range h {
		h[j] = w[l.in*l.hidden+j]
		for i, v := range x {
			h[j] += v * w[i*l.hidden+j]
		}
		h[j] = max(h[j], 0)
	}
	from := l.in*l.hidden + l.hidden
	for k := range y {
		y[k] = w[from+l.hidden*(l.out+1)+k]
		for j, v := range h {
			y[k] += v * w[from+j*(l.out+1)+k]
		}
	}
	return y
}

// step is the first step of Adam, with an epsilon of 1, along the gradient of loss.
func (l layers) step(lr float64, loss func(w []float64) float64) []float64 {
	out, w := slices.Clone(l.w), slices.Clone(l.w)
	for i := range w {
		const h = 1e-6
		w[i] = l.w[i] + h
		up := loss(w)
		w[i] = l.w[i] - h
		g := (up - loss(w)) / (2 * h)
		w[i] = l.w[i]
		out[i] -= lr * g / (math.Abs(g) + 1)
	}
	return out
}

func (l layers) far(w []float64, p *nn.Params) (far float64) {
	for i, x := range of(p, l.in, l.hidden, l.out).w {
		far = max(far, math.Abs(x-w[i]))
		if math.IsNaN(x) {
			return x
		}
	}
	return far
}

// logs are the log-probabilities of logits over the legal actions, counted from even chances if even is true.
func logs(logits []float64, legal []bool, even bool) []float64 {
	z, n, out := 0., 0., make([]float64, len(legal))
	for k, ok := range legal {
		if ok {
			z += math.Exp(logits[k])
			n++
		}
	}
	for k, ok := range legal {
		if out[k] = math.Inf(-1); ok {
			if out[k] = logits[k] - math.Log(z); even {
				out[k] += math.Log(n)
			}
		}
	}
	return out
}

// definition is PR2 in float64, from the window alone.
type definition struct {
	ro          *batch.Rollout
	q, rho, own layers
}

func (d *definition) obs(t, n int) (x []float64) {
	for _, v := range d.ro.ObsAt(d.ro.Slot(me, t, n)) {
		x = append(x, float64(v))
	}
	return x
}

// who sits so many places behind the agent and is alive; -1: nobody.
func (d *definition) who(t, n, place int) agent.ID {
	for a := range agent.ID(seats) {
		slot := d.ro.Slot(a, t, n)
		if d.ro.Alive[slot] && int(d.ro.Seat[slot]) == (int(d.ro.Seat[d.ro.Slot(me, t, n)])+1+place)%seats {
			return a
		}
	}
	return -1
}

// answers are the log-probabilities of each co-player's answers to an action.
func (d *definition) answers(w []float64, t, n, action int, even bool) (out [others][]float64) {
	x := append(d.obs(t, n), make([]float64, actions)...)
	x[features+action] = 1
	y := d.rho.run(w, x...)
	for place := range others {
		if a := d.who(t, n, place); a >= 0 {
			out[place] = logs(y[place*actions:], d.ro.LegalAt(d.ro.Slot(a, t, n)), even)
		}
	}
	return out
}

// joint is Q(s, ., b).
func (d *definition) joint(w []float64, t, n int, b []int8) []float64 {
	x := append(d.obs(t, n), make([]float64, others*actions)...)
	for place, k := range b {
		if k >= 0 {
			x[features+place*actions+int(k)] = 1
		}
	}
	return d.q.run(w, x...)
}

// trial returns a mind, and its definition for a window.
func trial(t *testing.T, samples int, lambda float64) (*Mind, *learner.Window, *definition) {
	t.Helper()
	lrn := ppo.Default()
	lrn.LR, lrn.Gamma, lrn.ValueCoef, lrn.MaxGrad, lrn.AdamEps = 0.1, gamma, 0.7, 0, 1
	lrn.Epochs, lrn.Minibatch = 1, 1<<20
	c := Default()
	c.PR2.Alpha, c.PR2.AlphaEnd, c.PR2.Samples, c.PR2.Lambda, c.PR2.Hidden, c.PR2.LR = alpha, -1, samples, lambda, []int{4}, 0.1
	in := actor.Input{Input: frame.Input{Rest: features}, Actions: actions}
	net := actor.Config{Net: "dense", Frame: "board", Hidden: []int{4}, Act: "relu"}
	b, err := ppo.New(lrn, net, in, []agent.ID{me}, 1, rng.New(3))
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMind(c.PR2, lrn, net.Frame, in, seats, b, rng.New(4))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range m.nets() {
		for j := range n.Params.W { // away from even chances
			n.Params.W[j] += float32(0.7 * math.Sin(float64(3*j+i)))
		}
	}
	r := rng.New(8).Rand()
	w := windowtest.Draw(batch.Shape{Agents: seats, Steps: 8, Envs: 6, ObsLen: features, Actions: actions}, gamma, &r)
	return m, w, &definition{w.Rollout, of(m.q.Params, features+others*actions, 4, actions),
		of(m.rho.Params, features+actions, 4, others*actions), of(m.own.Params, features, 4, actions)}
}

// One window moves Q, the model of answers and the policy as their definitions do, given
// the answers that were drawn.
func TestAWindowFollowsTheDefinition(t *testing.T) {
	for _, lambda := range []float64{0, 0.6} {
		const draws = 3
		m, w, d := trial(t, draws, lambda)
		ro := d.ro
		if _, err := m.Learn(w); err != nil {
			t.Fatal(err)
		}
		policy := func(w []float64, s, n int, even bool) []float64 {
			return logs(d.own.run(w, d.obs(s, n)...), ro.LegalAt(ro.Slot(me, s, n)), even)
		}
		var target func(s, n int) float64
		target = func(s, n int) float64 {
			step := ro.Step(me, s, n)
			r := float64(ro.Reward[step])
			switch {
			case ro.End[step] == batch.Exited:
				return r
			case ro.End[step] == batch.Cut:
				return r + gamma*float64(ro.Value[ro.Slot(me, s+1, n)])
			}
			followed := target(s+1, n) - alpha*policy(d.own.w, s+1, n, true)[ro.Action[ro.Step(me, s+1, n)]]
			return r + gamma*((1-lambda)*float64(ro.Value[ro.Slot(me, s+1, n)])+lambda*followed)
		}
		type at struct{ s, n int }
		var rows []at
		for s := range ro.Steps {
			for n := range ro.Envs {
				if ro.Alive[ro.Slot(me, s, n)] && ro.Own[ro.Step(me, s, n)] {
					rows = append(rows, at{s, n})
				}
			}
		}
		q := d.q.step(0.1, func(w []float64) float64 {
			sum := 0.
			for _, r := range rows {
				b := []int8{-1, -1}
				for place := range b {
					if a := d.who(r.s, r.n, place); a >= 0 {
						b[place] = int8(ro.Action[ro.Step(a, r.s, r.n)])
					}
				}
				off := d.joint(w, r.s, r.n, b)[ro.Action[ro.Step(me, r.s, r.n)]] - target(r.s, r.n)
				sum += off * off / 2 / float64(len(rows))
			}
			return sum
		})
		// What each draw is worth by the Q that has learnt, by the mind's pairs; then Q(s, a) and V(s).
		worths, worth, soft := map[[4]int]float64{}, map[[3]int]float64{}, map[[2]int]float64{}
		for i, p := range m.pairs {
			s, n := int(m.states[p.state].t), int(m.states[p.state].n)
			even := d.answers(d.rho.w, s, n, int(p.action), true)
			for j := range draws {
				b := m.drawn[(i*draws+j)*others:][:others]
				x := d.joint(q, s, n, b)[p.action]
				for place, k := range b {
					if (k < 0) != (d.who(s, n, place) < 0) {
						t.Fatalf("an answer of nobody, or none of somebody, at step %d of env %d", s, n)
					}
					if k >= 0 {
						x -= alpha * even[place][k]
					}
				}
				worths[[4]int{s, n, int(p.action), j}] = x
				worth[[3]int{s, n, int(p.action)}] += x / draws
			}
		}
		for _, s := range m.states {
			at := [2]int{int(s.t), int(s.n)}
			for k, lp := range policy(d.own.w, at[0], at[1], false) {
				if ro.LegalAt(int(s.slot))[k] {
					soft[at] += math.Exp(lp) * (worth[[3]int{at[0], at[1], k}] - alpha*policy(d.own.w, at[0], at[1], true)[k])
				}
			}
		}
		rho := d.rho.step(0.1, func(w []float64) float64 {
			sum := 0.
			for i, p := range m.pairs {
				s, n := int(m.states[p.state].t), int(m.states[p.state].n)
				now := d.answers(w, s, n, int(p.action), false)
				for j := range draws {
					better := worths[[4]int{s, n, int(p.action), j}] * draws / (draws - 1)
					better -= worth[[3]int{s, n, int(p.action)}] * draws / (draws - 1)
					for place, k := range m.drawn[(i*draws+j)*others:][:others] {
						if k >= 0 {
							sum -= better * now[place][k] / draws / float64(len(m.pairs))
						}
					}
				}
			}
			return sum
		})
		own := d.own.step(0.1, func(w []float64) float64 {
			sum := 0.
			for _, r := range rows {
				y := d.own.run(w, d.obs(r.s, r.n)...)
				for k, lp := range policy(w, r.s, r.n, false) {
					if !math.IsInf(lp, -1) {
						sum += math.Exp(lp) * (alpha*lp - worth[[3]int{r.s, r.n, k}]) / float64(len(rows))
					}
				}
				off := y[actions] - soft[[2]int{r.s, r.n}]
				sum += 0.7 * off * off / 2 / float64(len(rows))
			}
			return sum
		})
		for _, c := range []struct {
			name string
			far  float64
		}{{"joint Q", d.q.far(q, m.q.Params)}, {"model of answers", d.rho.far(rho, m.rho.Params)}, {"policy", d.own.far(own, m.own.Params)}} {
			if !(c.far < 1e-5) {
				t.Errorf("lambda %v: after a window a weight of the %s is %.2g from its definition", lambda, c.name, c.far)
			}
		}
	}
}

// On average over the draws the model of answers follows the exact gradient of its
// divergence from exp(Q / alpha) / Z, summed over all joint answers.
func TestAnswersAreDrawnToWhatSuitsTheAgent(t *testing.T) {
	m, w, d := trial(t, 64, 0)
	m.gather(w.Rollout)
	exact := d.rho.step(0.1, func(w []float64) float64 {
		sum := 0.
		for _, p := range m.pairs {
			s, n := int(m.states[p.state].t), int(m.states[p.state].n)
			now := d.answers(w, s, n, int(p.action), false)
			for i := range actions * actions {
				b, lp := []int8{int8(i % actions), int8(i / actions)}, 0.
				for place := range b {
					if now[place] != nil {
						lp += now[place][b[place]]
					} else if b[place] > 0 {
						lp = math.Inf(-1) // nobody has one answer
					} else {
						b[place] = -1
					}
				}
				if !math.IsInf(lp, -1) {
					sum += math.Exp(lp) * (alpha*lp - d.joint(d.q.w, s, n, b)[p.action]) / float64(len(m.pairs))
				}
			}
		}
		return sum
	})
	mean, start := make([]float64, len(d.rho.w)), m.rho.Params.Clone()
	const runs = 40
	for range runs {
		m.rho.Params.CopyFrom(start)
		m.rho.Adam = nn.NewAdam(m.rho.Params, nn.AdamConfig{Eps: 1})
		m.recurse(w.Rollout, alpha)
		if err := m.learnAnswers(w.Rollout); err != nil {
			t.Fatal(err)
		}
		for i, x := range of(m.rho.Params, d.rho.in, d.rho.hidden, d.rho.out).w {
			mean[i] += (x - d.rho.w[i]) / runs
		}
	}
	dot, gg, ww := 0., 0., 0.
	for i, x := range exact {
		x -= d.rho.w[i]
		dot, gg, ww = dot+mean[i]*x, gg+mean[i]*mean[i], ww+x*x
	}
	if cos, ratio := dot/math.Sqrt(gg*ww), math.Sqrt(gg/ww); !(cos > 0.99) || math.Abs(ratio-1) > 0.1 {
		t.Errorf("the drawn gradient has cosine %.3f to the exact one and %.3f times its length, want about 1 and 1", cos, ratio)
	}
}
