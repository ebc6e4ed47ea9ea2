package hop

import (
	"errors"
	"testing"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/rng"
	fast "github.com/hop-marl/hop/search/hunt"
)

// KeepFewAnswers makes a mind's caches keep hardly anything.
func (m *Mind) KeepFewAnswers() { m.cacheLog = 4 }

// hunt is a stag hunt of four on 4 by 4.
func hunt(t testing.TB, horizon int) game.Game {
	c := staghunt.Default()
	c.Size, c.Horizon = 4, horizon
	return game.With(gametest.New(t, staghunt.New, c), fast.Fast{})
}

// makeMind returns an agent's mind that remembers envs copies, and a player of
// theirs, with small networks as they were drawn.
func makeMind(t testing.TB, g game.Game, me agent.ID, envs int, set func(c *Config)) (*Mind, *player) {
	t.Helper()
	c := Default()
	c.Search.Trees, c.Search.Sims, c.MOA.Hidden = 2, 4, []int{8, 8}
	set(&c)
	spec := g.Spec()
	l, k := spec.Obs, len(spec.Actions)
	in := frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen()}
	var m pretrained.Models
	var failed [3]error
	if c.Goals.Kind == "context" {
		c.MOA.Config.Hidden = []int{8, 8}
		q := sequence.Config{History: "attention", Across: true, Width: 4, Layers: 2, Heads: 2, Up: 8, Window: 9, Head: c.MOA.Config}
		in := sequence.Input{Input: moaInput(spec), Goals: spec.Goals, Kinds: c.Leaf.Partners}
		m.Sequence, m.Lifetimes, failed[0] = sequence.New(q, in, rng.New(1))
		part, _ := m.Lifetimes.Find("kind/w")
		for i := range part.Len {
			m.Lifetimes.W[part.Off+i] *= 200 // kinds differ
		}
	} else if c.Goals.learnt() {
		v := vae.Default()
		v.Loss, v.Hidden, v.Dim, v.MOA, v.Outcome = "b", []int{8}, 3, 8, 0.5
		if c.Goals.Kind == "classes" {
			v.Discrete = 4
		}
		m.VAE, m.Codes, failed[0] = vae.New(v, vae.Input{Input: in, Agents: spec.Seats, Actions: k}, rng.New(1))
		q := cvae.Config{Dim: 3, Frame: frame.Egof, Feature: 4, GRU: 5, Hidden: []int{6}}
		m.CVAE, m.Infer, failed[1] = cvae.New(q, cvae.Input{Input: in, Seats: spec.Seats, Actions: k}, rng.New(2))
	}
	if c.Leaf.Kind == "response" {
		r := in
		r.Extra, m.ResponseScale = (spec.Seats-1)*len(c.Leaf.Partners), 1
		m.Response, m.Answers, failed[2] = actor.New(actor.Default(), actor.Input{Input: r, Actions: k}, rng.New(1))
	}
	in.Extra = c.GoalLen(spec, m)
	b, err := ppo.New(ppo.Default(), actor.Default(), actor.Input{Input: in, Actions: k}, []agent.ID{me}, 1, rng.New(2))
	h, wrong := New(c, g, m, b, 1, rng.New(3))
	if err := errors.Join(append(failed[:], err, wrong)...); err != nil {
		t.Fatal(err)
	}
	h.Remember(envs, 40)
	p, err := h.player(envs)
	if err != nil {
		t.Fatal(err)
	}
	return h, p
}

// labelled returns an update by a window, once its steps are labelled.
func labelled(m *Mind, w *learner.Window) *update {
	u := m.update(w)
	m.goals.Label(u)
	return u
}

// inferrer returns the latent goals of agent 0 in a small stag hunt.
func inferrer(t testing.TB, gate, envs int) (*latent, *latentInference, game.Game) {
	g := hunt(t, 12)
	m, p := makeMind(t, g, 0, envs, func(c *Config) { c.Goals.Kind, c.Goals.Gate = "latent", gate })
	return m.goals.play.(*latent), p.goals.(*latentInference), g
}

// collect plays a window; in places without a bot's name sits mine.
func collect(t testing.TB, c rollout.Config, shape batch.Shape, bots []string, mine rollout.Player) *batch.Rollout {
	t.Helper()
	c.Envs, c.Key, c.Workers = shape.Envs, rng.New(4), 1
	e, err := rollout.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var players []rollout.Player
	for _, name := range bots {
		p := mine
		if name != "" {
			p = bot(t, c.Game, name, shape.Envs)
		}
		players = append(players, p)
	}
	ro := batch.New(e.Shape(shape.Steps, shape.GoalLen))
	e.Collect(ro, [][]rollout.Player{players})
	return ro
}

func bot(t testing.TB, g game.Game, name string, envs int) rollout.Player {
	t.Helper()
	b, err := rollout.NewBots(g, name, envs)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// KeepFewAnswers makes the caches of all of them keep hardly anything.
func (s *Shared) KeepFewAnswers() {
	for _, m := range s.minds {
		m.KeepFewAnswers()
	}
}
