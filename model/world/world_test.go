package world_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/rng"
)

// played is a played stag hunt as arrays.
type played struct {
	g     *staghunt.Game
	in    world.Input
	batch world.Batch
	seats []game.Seat // [rows] whose eyes
}

// play records steps of random hunters, one row for every living seat.
func play(t testing.TB, c staghunt.Config, rows int, seed uint64) *played {
	t.Helper()
	g := gametest.New(t, staghunt.New, c)
	spec := g.Spec()
	in := world.Input{
		Height: c.Size, Width: c.Size, Planes: len(spec.Obs.Planes), Agents: spec.Seats, Actions: len(spec.Actions),
		Horizon: spec.Horizon, Legal: spec.Obs.Legal, Time: spec.Obs.Time, Last: spec.Obs.Last,
		Rewards: []float32{0, 0.25, 1. / 3, 0.5, 1, 2.5, 10. / 3, 5},
	}
	p := &played{g: g, in: in}
	n, r := spec.Seats, rng.New(seed).Rand()
	st, was := g.New(), g.New()
	bot, obs := game.Random{Actions: in.Actions}, make([]float32, in.Len())
	acts, rewards := make([]int32, n), make([]float32, n)
	for st.Reset(&r); p.batch.Rows < rows; {
		if st.Over() {
			st.Reset(&r)
		}
		was.CopyFrom(st)
		for s := range acts {
			acts[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				acts[s] = bot.Act(st, game.Seat(s), &r)
			}
		}
		st.Step(acts, rewards, &r)
		for s := range n {
			if acts[s] == game.NoAction || p.batch.Rows == rows {
				continue
			}
			b := &p.batch
			was.Observe(game.Seat(s), obs)
			b.Obs = append(b.Obs, obs...)
			st.Observe(game.Seat(s), obs)
			b.Next = append(b.Next, obs[:spec.Obs.PlanesLen()]...)
			for i := range n {
				b.Joint = append(b.Joint, acts[(s+i)%n])
				b.Reward = append(b.Reward, rewards[(s+i)%n])
			}
			b.Over = append(b.Over, st.Over())
			p.seats = append(p.seats, game.Seat(s))
			b.Rows++
		}
	}
	return p
}

// next allocates room for everything Step can write.
func next(in world.Input, rows int) *world.Next {
	d := &world.Next{
		Over: make([]bool, rows), Doubt: make([]float32, rows),
		Planes: make([]float32, rows*in.Height*in.Width*in.Planes),
	}
	for range in.Agents {
		d.Obs = append(d.Obs, make([]float32, rows*in.Len()))
		d.Reward = append(d.Reward, make([]float32, rows))
		d.Mean = append(d.Mean, make([]float32, rows))
		d.Gone = append(d.Gone, make([]float32, rows))
		d.End = append(d.End, make([]bool, rows))
		d.Legal = append(d.Legal, make([]bool, rows*in.Actions))
	}
	return d
}

var small = staghunt.Config{Size: 3, Agents: 3, Stags: 1, Hares: 2, Horizon: 9, StagPays: 10, HarePays: 1}

func TestGradients(t *testing.T) {
	many, few := play(t, small, 66, 1), play(t, small, 20, 1) // more than a block of rows, where the layers are as usual
	for _, c := range []world.Config{
		{Variant: world.Heads, Hidden: []int{6, 5}, Dense: []int{5}, Fault: world.NoFault},
		{Variant: world.Heads, Hidden: []int{6}, Dense: []int{5}, Fault: world.MeanPool, Weights: []float64{2, 2, 2, 1, .5, 3}},
		{Variant: world.Heads, Hidden: []int{6}, Dense: []int{5}, Fault: world.NoEnd},
		{Variant: world.Planes, Hidden: []int{4}, Dense: []int{6, 5}, Fault: world.NoFault},
		{Variant: world.Planes, Hidden: []int{4}, Dense: []int{6}, Fault: world.NoFault, Weights: []float64{2, 2, 2, 1, .5, 3}},
	} {
		t.Run(c.Variant+" "+c.Fault, func(t *testing.T) {
			data := few
			if c.Fault == world.NoFault && c.Weights == nil {
				data = many
			}
			m, p, err := world.New(c, data.in, rng.New(1))
			must(t, err)
			ws := m.Work()
			total := data.batch.Rows
			nntest.Check(t, nntest.Model{
				Params: []*nn.Params{p},
				Loss: func() float64 {
					l := ws.Loss(p, &data.batch)
					return (l.Things.Sum + l.Move.Sum + l.Reward.Sum + l.Over.Sum + l.Legal.Sum + l.Planes.Sum) / float64(total)
				},
				Grad: func() { ws.Learn(p, &data.batch, total) },
			})
		})
	}
}

func TestViewIsWhatTheOtherSeatObserves(t *testing.T) {
	c := small
	data := play(t, c, 1, 1)
	g, in := data.g, data.in
	r := rng.New(3).Rand()
	st := g.New()
	bot := game.Random{Actions: in.Actions}
	acts, rewards := make([]int32, in.Agents), make([]float32, in.Agents)
	obs, want, got, legal := make([]float32, in.Len()), make([]float32, in.Len()), make([]float32, in.Len()), make([]bool, in.Actions)
	st.Reset(&r)
	for step := range 200 {
		for s := range in.Agents {
			st.Observe(game.Seat(s), obs)
			for k := range in.Agents {
				other := game.Seat((s + k) % in.Agents)
				st.Observe(other, want)
				st.Legal(other, legal)
				in.View(got, obs, k, legal)
				if !slices.Equal(got, want) {
					t.Fatalf("step %d: seat %d seen from seat %d:\ngot  %v\nwant %v", step, other, s, got, want)
				}
			}
		}
		if st.Over() {
			st.Reset(&r)
			continue
		}
		for s := range acts {
			acts[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				acts[s] = bot.Act(st, game.Seat(s), &r)
			}
		}
		st.Step(acts, rewards, &r)
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	data := play(t, small, 100, 1)
	for _, variant := range []string{world.Heads, world.Planes} {
		c := world.Default()
		c.Variant = variant
		m, p, err := world.New(c, data.in, rng.New(1))
		must(t, err)
		ws, dst := m.Work(), next(data.in, 100)
		if n := testing.AllocsPerRun(10, func() { ws.Step(p, dst, data.batch.Obs, data.batch.Joint, 100) }); n != 0 {
			t.Errorf("%s: Step allocates %v times, want 0", variant, n)
		}
		if n := testing.AllocsPerRun(10, func() { ws.Learn(p, &data.batch, 100) }); n != 0 {
			t.Errorf("%s: Learn allocates %v times, want 0", variant, n)
		}
	}
}

// BenchmarkStep is one step of 256 games on 4x4 with everything asked for.
func BenchmarkStep(b *testing.B) {
	data := play(b, staghunt.Default(), 256, 1)
	for name, hidden := range map[string][]int{"64-64": {64, 64}, "32": {32}} {
		b.Run(name, func(b *testing.B) {
			c := world.Default()
			c.Hidden = hidden
			m, p, err := world.New(c, data.in, rng.New(1))
			must(b, err)
			ws, dst := m.Work(), next(data.in, 256)
			for b.Loop() {
				ws.Step(p, dst, data.batch.Obs, data.batch.Joint, 256)
			}
			b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
