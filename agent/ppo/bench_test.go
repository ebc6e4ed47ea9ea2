package ppo_test

import (
	"testing"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// BenchmarkUpdate is one brain's update from a window of 40 steps in 16 envs.
func BenchmarkUpdate(b *testing.B) {
	lstm := actor.Config{Net: "dense", Frame: "egof", Hidden: []int{64}, Act: "relu", LSTM: 32}
	apart := actor.Default()
	apart.Separate = true
	for _, c := range []struct {
		name    string
		net     actor.Config
		workers int
		search  bool
	}{
		{"dense", actor.Default(), 1, false},
		{"dense-2cores", actor.Default(), 2, false},
		{"separate", apart, 1, false},
		{"lstm", lstm, 1, false},
		{"search", actor.Default(), 1, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg := ppo.Default()
			w := newWorld(b, c.net, cfg)
			brain, err := ppo.New(cfg, c.net, w.brains[0].Model.Input, []agent.ID{0}, ppo.Shards(cfg, c.net, 4), rng.New(7))
			if err != nil {
				b.Fatal(err)
			}
			brain.Remember(w.ro.Envs, w.ro.Steps)
			window := w.window()
			window.Cores = cores.New(c.workers, nil)
			window.Cores.Open()
			defer window.Cores.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := brain.Update(ppo.Update{Window: window, Search: c.search}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
