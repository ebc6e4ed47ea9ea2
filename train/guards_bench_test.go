package train

import (
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/rng"
)

// BenchmarkGuards is one look at a window of 64 envs and 32 steps; compare with
// the time that such a window takes to play and learn from (hop bench train).
func BenchmarkGuards(b *testing.B) {
	g := gametest.New(b, staghunt.New, staghunt.Default())
	l, key := g.Spec().Obs, rng.New(3)
	parts := Parts{Game: g, Key: key, Workers: 2, MindOf: []int{0, 1, 2, 3}}
	in := actor.Input{Input: frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen()}, Actions: 7}
	for a := range agent.ID(4) {
		brain, err := ppo.New(ppo.Default(), actor.Default(), in, []agent.ID{a}, 1, key.Child("brain", int(a)))
		if err != nil {
			b.Fatal(err)
		}
		parts.Minds = append(parts.Minds, brain)
	}
	cfg := Default()
	cfg.Envs, cfg.Window = 64, 32
	s, err := NewSelfPlay(cfg, Rewards{Scale: 1, Gamma: 1}, parts)
	if err == nil {
		err = s.prepare()
	}
	if err != nil {
		b.Fatal(err)
	}
	s.collect()
	stats, err := s.learnFrom(&learner.Window{Rollout: s.ro, Rewards: s.shaped(0)})
	if err != nil {
		b.Fatal(err)
	}
	p := s.progress(stats)
	for b.Loop() {
		s.guards.look(s, p)
	}
}
