package world_test

import (
	"math"
	"testing"

	"hop/game"
	"hop/game/cleanup"
	"hop/game/coin"
	"hop/game/gametest"
	"hop/game/tag"
	"hop/model/world"
	"hop/nn"
	"hop/nn/nntest"
	"hop/rng"
)

// coins, river and tagged are games whose rules draw, on small boards.
var (
	coins = coin.Config{Size: 3, Agents: 2, Horizon: 9, Pays: 1, Harm: 2, Take: "action", Pause: 1}
	river = cleanup.Config{Size: 3, Agents: 2, Horizon: 9, River: 1, Orchard: 1, Pollution: .5, Growth: .3, Depletion: .9, Start: .5, Pays: 1}
)

// drawing is what a model reads of a game whose rules draw.
func drawing(g game.Game, appear ...int) world.Input {
	in := inputOf(g)
	in.Appear, in.Jumps = appear, in.Features > 0
	return in
}

// far makes a model sure of things and moves, so that a difference does not change
// which is likelier.
func far(p *nn.Params) {
	bias, _ := p.Find("things/head/b")
	w, _ := p.At(bias.Span)
	for i := range w {
		w[i] = -3
	}
}

func TestGradientsOfDraws(t *testing.T) {
	for _, c := range []struct {
		g       game.Game
		appear  []int
		weights []float64
	}{
		{gametest.New(t, tag.New, tagged), []int{1}, nil},
		{gametest.New(t, coin.New, coins), []int{0, 1}, []float64{1, 2, .5, 3}},
		{gametest.New(t, cleanup.New, river), []int{1, 3}, nil},
	} {
		b := recorded(c.g, 12, 1)
		conf := world.Config{Variant: world.Heads, Hidden: []int{3}, Dense: []int{4}, Fault: world.NoFault, Weights: c.weights}
		m, p, err := world.New(conf, drawing(c.g, c.appear...), rng.New(1))
		must(t, err)
		far(p)
		ws := m.Work()
		nntest.Check(t, nntest.Model{
			Params: []*nn.Params{p},
			Loss: func() float64 {
				l := ws.Loss(p, &b)
				return (l.Things.Sum + l.Move.Sum + l.Reward.Sum + l.Over.Sum + l.Legal.Sum + l.Features.Sum + l.Appear.Sum) / float64(b.Rows)
			},
			Grad: func() { ws.Learn(p, &b, b.Rows) },
		})
	}
}

// What Nats says of a board is its probability: over all boards that a kind of thing
// can make they sum to 1, and Sample draws each as often.
func TestDrawsAreAsLikelyAsTheyAreSaidToBe(t *testing.T) {
	g := gametest.New(t, coin.New, coin.Config{Size: 2, Agents: 2, Horizon: 9, Pays: 1, Harm: 2, Take: "action", Pause: 1})
	in := drawing(g, 0, 1)
	c := world.Default()
	c.Hidden = []int{8}
	m, p, err := world.New(c, in, rng.New(3))
	must(t, err)
	r := rng.New(8).Rand() // weights of any size, so that nothing is even
	for i := range p.W {
		p.W[i] += float32(r.Norm()) * .3
	}
	one := recorded(g, 1, 5)
	one = one.Part(in, 0, 1)
	ws, cells, width := m.Work(), 4, in.NatsCols()
	// All boards of coins, with the agents where the likeliest moves lead.
	dst := next(in, 1)
	stream := rng.New(2).Rand()
	rs := []*rng.Rand{&stream}
	const draws = 20000
	counts := map[string]int{}
	for range draws {
		ws.Sample(p, dst, one.Obs, one.Joint, 1, rs)
		counts[string(bytesOf(dst.Obs[0][:in.Height*in.Width*in.Planes]))]++
	}
	nats := make([]float64, width)
	total := 0.
	for a0 := range cells {
		for a1 := range cells {
			for set := range 1 << (2 * cells) {
				b := one
				b.Next = make([]float32, cells*in.Planes)
				b.Next[a0*in.Planes], b.Next[a1*in.Planes+1] = 1, 1
				for cell := range cells {
					b.Next[cell*in.Planes+2], b.Next[cell*in.Planes+3] = float32(set>>(2*cell)&1), float32(set>>(2*cell+1)&1)
				}
				ws.Nats(p, &b, nats)
				q := math.Exp(-nats[0] - nats[1] - nats[2] - nats[3])
				total += q
				got, want := float64(counts[string(bytesOf(b.Next))]), q*draws
				if d := math.Abs(got - want); d > 5*math.Sqrt(want)+1 {
					t.Fatalf("agents on %d and %d, coins %b: drawn %v times of %d, said to be drawn %.1f times", a0, a1, set, got, draws, want)
				}
			}
		}
	}
	gone := 0. // an agent may also be said to leave
	for key, n := range counts {
		seen := [2]bool{}
		for i, v := range []byte(key) {
			if i%in.Planes < 2 && v != 0 {
				seen[i%in.Planes] = true
			}
		}
		if !seen[0] || !seen[1] {
			gone += float64(n) / draws
		}
	}
	if math.Abs(total+gone-1) > .02 {
		t.Errorf("all boards together have probability %v and someone leaves in %v, want 1", total, gone)
	}
}

func bytesOf(xs []float32) []byte {
	out := make([]byte, len(xs))
	for i, x := range xs {
		out[i] = byte(x)
	}
	return out
}
