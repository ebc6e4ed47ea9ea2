package ppo_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/rng"
)

// Players fold weights once a window: a window is played with the weights that
// its start found, not with those of the window before.
func TestPlayersActByTheWindowsWeights(t *testing.T) {
	for _, net := range []actor.Config{actor.Default(), {Net: "dense", Frame: "egof", Hidden: []int{16}, Act: "tanh", Separate: true}} {
		w := newWorld(t, net, ppo.Default())
		for _, b := range w.brains {
			for i := range b.Params.W {
				b.Params.W[i] *= 1.5
			}
		}
		w.envs.Collect(w.ro, w.play)
		for a, b := range w.brains {
			ws, n := b.Model.Work(w.ro.Envs), 0
			for tt := range w.ro.Steps {
				ws.Reset()
				var slots []int
				for e := range w.ro.Envs {
					if slot := w.ro.Slot(agent.ID(a), tt, e); w.ro.Alive[slot] {
						slots = append(slots, slot)
						ws.Add(w.ro.ObsAt(slot), nil)
					}
				}
				ws.Forward(b.Params)
				for i, slot := range slots {
					n++
					if got, want := w.ro.Value[slot], ws.Value[i]; math.Abs(float64(got-want)) > 1e-4 {
						t.Fatalf("agent %d, slot %d of the second window: value %v, want %v by the new weights", a, tt, got, want)
					}
				}
			}
			if n == 0 {
				t.Fatalf("agent %d was never alive", a)
			}
		}
	}
}

// However many blocks and shards a minibatch goes through the network in, it is
// one gradient step with the same gradient.
func TestBlocksAndShardsAddUp(t *testing.T) {
	cfg := ppo.Default()
	cfg.Epochs, cfg.Minibatch, cfg.MaxGrad = 1, 100000, 0
	w := newWorld(t, actor.Default(), cfg)
	var base []float32
	for _, shards := range []int{1, 7} {
		b, err := ppo.New(cfg, actor.Default(), w.brains[0].Model.Input, []agent.ID{0}, shards, rng.New(7).Child("brain", 0))
		if err != nil {
			t.Fatal(err)
		}
		stats, err := b.Learn(w.window())
		if err != nil {
			t.Fatal(err)
		}
		if c := b.Counts(); c.Steps != 1 || c.Rows <= 240 {
			t.Fatalf("%d gradient steps on %d rows, want 1 on more than two blocks", c.Steps, c.Rows)
		}
		got := make([]float32, len(stats))
		for i, s := range stats {
			got[i] = float32(s.Value)
		}
		if base == nil {
			base = got
			continue
		}
		for i, s := range stats {
			if d := math.Abs(float64(got[i] - base[i])); d > 1e-4*math.Abs(float64(base[i]))+1e-7 {
				t.Errorf("%s: %v with %d shards, %v with one", s.Name, got[i], shards, base[i])
			}
		}
	}
}
