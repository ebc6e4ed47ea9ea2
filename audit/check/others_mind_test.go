package check

import (
	"errors"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search/hunt"
)

// watched is a player whose beliefs a study follows.
type watched struct {
	learner.Believing
	s *Study
}

func (p *watched) Act(v *rollout.View, envs []int32) {
	p.Believing.Act(v, envs)
	p.s.Acted(p.Believing, v, envs)
}

func (p *watched) EpisodeOver(v *rollout.View, n int) {
	p.Believing.(rollout.Watcher).EpisodeOver(v, n)
	p.s.Over(v.T, n)
}

// Real minds of every kind of goals, with small networks as they were drawn, do
// what their settings say, and are found not to do what other settings say.
func TestMindsDoAsTheirSettingsSay(t *testing.T) {
	for _, c := range []struct {
		name string
		mind func(c *hop.Config)
		said func(c *hop.Config) // the settings that it is held against differ in this; nil: in nothing
		says string
	}{
		{"hand", func(c *hop.Config) { c.MOA.Augment, c.MOA.Distances, c.MOA.Balance = "all", true, true }, nil, ""},
		{"none", func(c *hop.Config) { c.Goals.Kind, c.MOA.Net, c.MOA.Frame, c.MOA.Decay = "none", "conv", "board", 0.1 }, nil, ""},
		{"classes", func(c *hop.Config) { c.Goals.Kind = "classes" }, nil, ""},
		{"latent", func(c *hop.Config) { c.Goals.Kind, c.Goals.CVAEPasses, c.Goals.Gate = "latent", 2, 1 }, nil, ""},
		{"discrete", func(c *hop.Config) {
			c.Goals.Kind, c.Goals.CVAEPasses, c.Goals.Gate, c.Models.VAE = "latent", 2, 1, "discrete"
		}, nil, ""},
		{"rate of discrete", func(c *hop.Config) { c.Goals.Kind, c.Goals.CVAEPasses, c.Models.VAE = "latent", 1, "discrete" },
			func(c *hop.Config) { c.Goals.Rate *= 2 }, "an update changes the inference of goals in the right direction, but 0.5 times as far"},
		{"kinds", mindKinds, nil, ""},
		{"kinds and doubt", func(c *hop.Config) { mindKinds(c); c.Goals.DoubtStart = 0.3 }, nil, ""},
		{"no doubt", func(c *hop.Config) { mindKinds(c); c.Goals.Doubt = false }, nil, ""},
		{"selector", func(c *hop.Config) { c.Goals.Kind = "latent" },
			func(c *hop.Config) { c.Goals.Selector = "conservative" }, "with the other selector"},
		{"gate", func(c *hop.Config) { c.Goals.Kind = "latent" },
			func(c *hop.Config) { c.Goals.Gate = 0 }, "It agrees without the gate"},
		{"rate", func(c *hop.Config) { c.Goals.Kind, c.Goals.CVAEPasses = "latent", 1 },
			func(c *hop.Config) { c.Goals.Rate *= 2 }, "an update changes the inference of goals in the right direction, but 0.5 times as far"},
		{"doubt", func(c *hop.Config) { c.Goals.Kind = "classes" },
			func(c *hop.Config) { c.Goals.DoubtStart = 0.3 }, "the doubt that it should start with is forgotten"},
		{"smooth", func(c *hop.Config) { c.Belief.Smooth = 0 },
			func(c *hop.Config) { c.Belief.Smooth = 0.2 }, "without the share of uniform play"},
	} {
		s, err := study(t, c.mind, c.said, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		found := ""
		for _, f := range OthersFindings([]*Study{s}) {
			if found += f.Says; f.Status != 0 && c.says == "" {
				t.Errorf("%s: %s: %s", c.name, f.Check, f.Says)
			}
		}
		if s.bayes.rows == 0 || s.predict.rows == 0 || s.labels.rows == 0 || !strings.Contains(found, c.says) {
			t.Errorf("%s: got %q, want %q; %d beliefs, %d predictions, %d labels", c.name, found, c.says, s.bayes.rows, s.predict.rows,
				s.labels.rows)
		}
	}
}

// kinds makes a population of whom one, not the last, acts at random.
func mindKinds(c *hop.Config) {
	c.Goals.Kind, c.Leaf.Kind, c.Leaf.Partners, c.Belief.Count = "latent", "scripts", []string{"ns", "random", "nh"}, "evidence"
}

// Slips in the kinds of labels are found and named.
func TestSlipsInKindsAreNamed(t *testing.T) {
	mislabels := (&reference.Goals{}).Mislabels()
	for _, c := range []struct {
		name, says string
		slip       *reference.Mislabel
		edit       func(goal []float32)
	}{
		{"first", "They agree with kinds by the first step of every episode alone.", &mislabels[4], nil},
		{"even", "They agree with kinds that are drawn as if all were equally likely.", &mislabels[5], nil},
		{"likeliest", "They agree with the likeliest kind in place of a draw.", &mislabels[6], nil},
		{"sure", "They agree with kinds as if nobody acted at random.", &mislabels[7], nil},
		{"none", "of no kind, it is", &mislabels[8], nil},
		{"both", "of the kinds (1, 1) of [ns nh], it is", nil, func(goal []float32) { goal[3], goal[4] = 1, 1 }},
	} {
		s, err := study(t, mindKinds, nil, func(labels []hop.Label, g *reference.Goals, ro *batch.Rollout, stream rng.Rand) {
			if c.slip != nil {
				wrong, _, _ := g.Label(ro, 0.2, &stream, *c.slip)
				for i, l := range wrong {
					for k, x := range l.Goal {
						labels[i].Goal[k] = float32(x)
					}
				}
				return
			}
			for _, l := range labels {
				c.edit(l.Goal)
			}
		})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if s.labels.bad == 0 || !strings.Contains(s.labels.says, c.says) {
			t.Errorf("%s: %d of %d labels are found wrong, %q, want %q", c.name, s.labels.bad, s.labels.rows, s.labels.says, c.says)
		}
	}
}

// study plays two windows of agent 1 among bots and lets it learn from both. slip, if
// there is one, changes the labels of the second before they are looked at.
func study(t *testing.T, set, said func(c *hop.Config), slip func([]hop.Label, *reference.Goals, *batch.Rollout,
	rng.Rand)) (*Study, error) {
	const envs, me, steps = 2, agent.ID(1), 20
	sc := staghunt.Default()
	sc.Size, sc.Horizon = 4, 8
	g := game.With(gametest.New(t, staghunt.New, sc), hunt.Fast{})
	spec := g.Spec()
	c := hop.Default()
	c.Search.Trees, c.Search.Sims, c.MOA.Hidden, c.MOA.Batch = 1, 2, []int{8, 8}, 32
	set(&c)
	l, k := spec.Obs, len(spec.Actions)
	in := frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen()}
	var m pretrained.Models
	var failed [2]error
	if c.Goals.Kind == "latent" || c.Goals.Kind == "classes" {
		v := vae.Default()
		v.Loss, v.Hidden, v.Dim, v.MOA, v.Outcome = "b", []int{8}, 3, 8, 0.5
		if c.Goals.Kind == "classes" {
			v.Discrete = 4
		}
		q := cvae.Config{Dim: 3, Frame: frame.Egof, Feature: 4, GRU: 5, Hidden: []int{6}}
		if c.Models.VAE == "discrete" {
			v.Discrete, v.Groups, q.Dim, q.Classes = 3, 2, 6, 3
		}
		m.VAE, m.Codes, failed[0] = vae.New(v, vae.Input{Input: in, Agents: spec.Seats, Actions: k}, rng.New(1))
		m.CVAE, m.Infer, failed[1] = cvae.New(q, cvae.Input{Input: in, Seats: spec.Seats, Actions: k}, rng.New(2))
	}
	in.Extra = c.GoalLen(spec, m)
	b, err := ppo.New(ppo.Default(), actor.Default(), actor.Input{Input: in, Actions: k}, []agent.ID{me}, 1, rng.New(2))
	h, wrong := hop.New(c, g, m, b, 1, rng.New(3))
	if err := errors.Join(append(failed[:], err, wrong)...); err != nil {
		return nil, err
	}
	h.Remember(envs, steps)
	if c.Leaf.Kind == "scripts" { // the model of others has opinions on kinds
		net := h.Model(me).Params
		head, _ := net.Find("head/w")
		for i := range head.Len {
			net.W[head.Off+i] *= 300
		}
	}
	if said != nil {
		said(&c)
	}
	s := NewStudy(c, spec, me, rng.New(3), false)
	e, err := rollout.New(rollout.Config{Game: g, Envs: envs, Key: rng.New(4), Workers: 1})
	if err != nil {
		return nil, err
	}
	var players []rollout.Player
	for a, name := range []string{"ns", "", "nh", "random"} {
		if agent.ID(a) == me {
			list, err := h.Players(me, 1, envs)
			if err != nil {
				return nil, err
			}
			players = append(players, &watched{list[0].(learner.Believing), s})
			continue
		}
		bot, err := rollout.NewBots(g, name, envs)
		if err != nil {
			return nil, err
		}
		players = append(players, bot)
	}
	ro := batch.New(e.Shape(steps, h.GoalLen()))
	save := func() (*safetensors.File, error) {
		f := &safetensors.File{}
		return f, h.Save(f, "")
	}
	before, err := save()
	if err := errors.Join(err, s.Before(before, envs)); err != nil {
		return nil, err
	}
	for i := range 2 {
		e.Collect(ro, [][]rollout.Player{players})
		w := &learner.Window{Rollout: ro, Rewards: learner.Rewards{Scale: 1}, Share: 0.2}
		start, err := save()
		if err := errors.Join(err, s.Played(w, start)); err != nil {
			return nil, err
		}
		labels := h.Labels(w)
		if err := h.Load(start, ""); err != nil {
			return nil, err
		}
		stats, err := h.Learn(w)
		if err != nil {
			return nil, err
		}
		after, err := save()
		if err != nil {
			return nil, err
		}
		if i == 1 {
			if slip != nil {
				goals, _, _, err := s.loaded(start)
				var stream rng.Rand
				failed := start.Binary(&stream, "moa_stream")
				if err := errors.Join(err, failed); err != nil {
					return nil, err
				}
				slip(labels, goals, ro, stream)
			}
			if err := s.Update(w, start, after, labels, stats); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}
