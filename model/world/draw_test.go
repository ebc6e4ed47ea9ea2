package world_test

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/tag"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// coins, river and tagged are games whose rules draw, on small boards.
var (
	coins = coin.Config{Size: 3, Agents: 2, Horizon: 9, Pays: 1, Harm: 2, Take: "action", Pause: 1, Memory: true}
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
		count   int
		seed    uint64
		appear  []int
		weights []float64
	}{
		{gametest.New(t, tag.New, tagged), 4, 2, []int{1}, nil},
		{gametest.New(t, coin.New, coins), 6, 1, []int{0, 1}, []float64{1, 2, .5, 3}},
		{gametest.New(t, cleanup.New, river), 4, 1, []int{1, 3}, nil},
	} {
		b := recorded(c.g, c.count, c.seed)
		conf := world.Config{Variant: world.Heads, Hidden: []int{3}, Dense: []int{4}, Fault: world.NoFault, Weights: c.weights}
		m, p, err := world.New(conf, drawing(c.g, c.appear...), rng.New(1))
		must(t, err)
		far(p)
		ws := m.Work()
		jumped, appeared := 0, 0 // else there is nothing to test by
		for i := range b.Rows {
			board := m.Height * m.Width * m.Planes
			was, now := b.Obs[i*m.Len():i*m.Len()+board], b.Next[i*board:(i+1)*board]
			for k, v := range now {
				if e := k%m.Planes - m.Agents; e >= 0 && v != 0 && was[k] == 0 {
					appeared++
				}
			}
			if slices.Contains(b.Reward[i*m.Agents:(i+1)*m.Agents], -1) {
				jumped++
			}
		}
		if appeared == 0 || m.Jumps && jumped == 0 {
			t.Fatalf("%s: in these steps %d things appear and %d rows have a catch", c.g.Spec().Name, appeared, jumped)
		}
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
	g := gametest.New(t, coin.New, coin.Config{Size: 2, Agents: 2, Horizon: 9, Pays: 1, Harm: 2, Take: "action", Pause: 1, Memory: true})
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

// After learning, a coin that is missing is put back: exactly one, on a cell without
// agents, of either owner as often; likeliest steps never put one back. Streams alone
// decide, whatever the rows beside; nothing allocates.
func TestOneCoinComesBack(t *testing.T) {
	g := gametest.New(t, coin.New, coins)
	in, b := drawing(g, 0, 1), recorded(g, 2500, 1)
	m, p, err := world.New(world.Config{Variant: world.Heads, Hidden: []int{24}, Dense: []int{4}, Fault: world.NoFault}, in, rng.New(1))
	must(t, err)
	opt := nn.NewAdam(p, nn.AdamConfig{})
	ws := m.Work()
	const train, rows = 700, 64
	for i := range train {
		lo := i * rows % (b.Rows - rows)
		part := b.Part(in, lo, lo+rows)
		ws.Learn(p, &part, rows)
		_, err := opt.Step(8e-3*(1-float64(i)/train), 1)
		must(t, err)
	}
	board := in.Height * in.Width * in.Planes
	coinsOf := func(planes []float32) (n, own, onAgent int) {
		for i := 0; i < board; i += in.Planes {
			for k := 2; k < 4; k++ {
				if planes[i+k] != 0 {
					n++
					own += 3 - k
					if planes[i] != 0 || planes[i+1] != 0 {
						onAgent++
					}
				}
			}
		}
		return n, own, onAgent
	}
	const copies = 64
	dst, one := next(in, copies), next(in, 1)
	obs, joint := make([]float32, copies*in.Len()), make([]int32, copies*in.Agents)
	streams, rs := rng.New(4).Rands("draws", copies), make([]*rng.Rand, copies)
	for i := range rs {
		rs[i] = &streams[i]
	}
	all, right, own := 0, 0, 0
	for row := 0; row < b.Rows && all < 2000; row++ {
		if n, _, _ := coinsOf(b.Obs[row*in.Len():]); n > 0 {
			continue
		}
		for i := range copies {
			copy(obs[i*in.Len():], b.Obs[row*in.Len():(row+1)*in.Len()])
			copy(joint[i*in.Agents:], b.Joint[row*in.Agents:(row+1)*in.Agents])
		}
		ws.Step(p, dst, obs, joint, 1)
		if n, _, _ := coinsOf(dst.Obs[0]); n > 0 {
			t.Fatalf("the likeliest step puts %d coins on the board", n)
		}
		last := streams[copies-1]
		ws.Sample(p, dst, obs, joint, copies, rs)
		ws.Sample(p, one, obs, joint, 1, []*rng.Rand{&last})
		if !slices.Equal(one.Obs[0], dst.Obs[0][(copies-1)*in.Len():]) {
			t.Fatal("a row draws something else when others stand before it")
		}
		for i := range copies {
			n, mine, under := coinsOf(dst.Obs[0][i*in.Len():])
			all++
			own += mine
			if n == 1 && under == 0 {
				right++
			}
		}
	}
	if share := float64(own) / float64(all); float64(right) < .97*float64(all) || math.Abs(share-.5) > .08 {
		t.Errorf("of %d draws %d put one coin on a cell without agents, %.2f of them one's own; want all, half", all, right, share)
	}
	if n := testing.AllocsPerRun(5, func() { ws.Sample(p, dst, obs, joint, copies, rs) }); n != 0 {
		t.Errorf("Sample allocates %v times, want 0", n)
	}
	part := b.Part(in, 0, rows)
	if n := testing.AllocsPerRun(5, func() { ws.Learn(p, &part, rows) }); n != 0 {
		t.Errorf("Learn allocates %v times, want 0", n)
	}
}
