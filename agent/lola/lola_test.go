package lola

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// dilemma is two networks with a memory of one round at the repeated prisoner's
// dilemma, whose returns are known exactly.
type dilemma struct {
	pays   [][]int
	rounds int
	model  *actor.Model
	ws     *actor.Work
	cat    *nn.Categorical
}

// cooperates returns the probability of cooperating at the start and after CC,
// CD, DC, DD, own action first.
func (d *dilemma) cooperates(p *nn.Params) (c [5]float64) {
	d.ws.Reset()
	for s := range c {
		obs := make([]float32, 5)
		obs[s] = 1
		d.ws.Add(obs, nil)
	}
	d.ws.Forward(p)
	d.cat.Set(d.ws.Logits, nil, 5)
	for s := range c {
		c[s] = math.Exp(float64(d.cat.LogProb(s, 0)))
	}
	return c
}

// returns is the exact expected return of each, by the Markov chain of rounds.
func (d *dilemma) returns(first, second *nn.Params) (j [2]float64) {
	a, b := d.cooperates(first), d.cooperates(second)
	mirror := [5]int{0, 1, 3, 2, 4}
	at := [5]float64{1}
	for range d.rounds {
		var next [5]float64
		for s, p := range at {
			for x := range 2 {
				for y := range 2 {
					q := p * side(a[s], x) * side(b[mirror[s]], y)
					next[1+2*x+y] += q
					j[0] += q * float64(d.pays[x][y])
					j[1] += q * float64(d.pays[y][x])
				}
			}
		}
		at = next
	}
	return j
}

func side(cooperate float64, action int) float64 {
	if action == 0 {
		return cooperate
	}
	return 1 - cooperate
}

// slopes is the exact gradient of f by the weights of p.
func slopes(p *nn.Params, f func() float64) []float64 {
	const h = 4e-3
	g := make([]float64, len(p.W))
	for i, w := range p.W {
		p.W[i] = w + h
		up := f()
		p.W[i] = w - h
		g[i] = (up - f()) / (2 * h)
		p.W[i] = w
	}
	return g
}

// along is the exact derivative of f along v.
func along(p *nn.Params, v []float64, f func() float64) float64 {
	const h = 0.05
	norm := 0.
	for _, x := range v {
		norm += x * x
	}
	norm = math.Sqrt(norm)
	q := p.Clone()
	move := func(sign float64) {
		for i := range p.W {
			p.W[i] = q.W[i] + float32(sign*h/norm*v[i])
		}
	}
	move(1)
	up := f()
	move(-1)
	down := f()
	p.CopyFrom(q)
	return (up - down) / (2 * h) * norm
}

// The sampled term of the paper's equation 4.7 agrees with the exact one, which
// differentiates the exact returns.
func TestLookingAheadAgreesWithExactDerivatives(t *testing.T) {
	cfg := matrix.Default()
	cfg.Rounds, cfg.Time = 5, false
	g := gametest.New(t, matrix.New, cfg)
	lrn := ppo.Default()
	lrn.Gamma, lrn.Lambda, lrn.RewardScale = 1, 1, 1
	in := actor.Input{Input: frame.Input{Rest: 5}, Actions: 2}
	net := actor.Config{Net: "dense", Frame: "board", Hidden: []int{4}, Act: "tanh"}
	key := rng.New(5)
	var brains []*ppo.Brain
	for a := range agent.ID(2) {
		b, err := ppo.New(lrn, net, in, []agent.ID{a}, 1, key.Child("brain", int(a)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Params.W { // away from even policies, where much is zero
			b.Params.W[i] += float32(2.5 * math.Sin(float64(7*i)+float64(a)))
		}
		brains = append(brains, b)
	}
	minds, err := New(Default(), lrn, brains)
	if err != nil {
		t.Fatal(err)
	}
	d := &dilemma{pays: g.Stage().Pays, rounds: cfg.Rounds, model: brains[0].Model, ws: brains[0].Model.Work(5), cat: nn.NewCategorical(2, 5)}
	mine, theirs := brains[0].Params, brains[1].Params

	v := slopes(theirs, func() float64 { return d.returns(mine, theirs)[0] })
	want := slopes(mine, func() float64 {
		return along(theirs, v, func() float64 { return d.returns(mine, theirs)[1] })
	})

	const envs, windows = 4096, 24
	got := make([]float64, len(want))
	l := minds[0].(*Mind)
	me := &lookahead{
		who: 0, model: brains[0].Model, at: mine.Clone(), ws: brains[0].Model.Work(lolaRows),
		cat: nn.NewCategorical(2, lolaRows), legal: make([]bool, 2*lolaRows),
	}
	es, err := rollout.New(rollout.Config{Game: g, Envs: envs, Key: key.Child("play"), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	ro := batch.New(es.Shape(cfg.Rounds+1, 0)) // a whole episode and its reset
	players := [][]rollout.Player{{brains[0].Player(0, envs), brains[1].Player(1, envs)}}
	for range windows {
		es.Collect(ro, players)
		plus := l.lookAhead(&learner.Window{Rollout: ro, Rewards: learner.Rewards{Scale: 1, Gamma: 1}})
		steps, slots := ro.OwnRows(0, nil, nil)
		me.gradient(ro, steps, slots, int32(ro.Step(0, 0, 0)), plus, episodes(ro))
		for i, x := range me.at.G {
			got[i] += float64(x) / windows
		}
	}
	dot, gg, ww := 0., 0., 0.
	for i := range want {
		dot, gg, ww = dot+got[i]*want[i], gg+got[i]*got[i], ww+want[i]*want[i]
	}
	if cos, ratio := dot/math.Sqrt(gg*ww), math.Sqrt(gg/ww); cos < 0.98 || math.Abs(ratio-1) > 0.15 {
		t.Errorf("the sampled term has cosine %.3f to the exact one and %.3f times its length, want about 1 and 1\ngot  %.3v\nwant %.3v",
			cos, ratio, got, want)
	}
}
