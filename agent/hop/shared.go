package hop

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
)

// Shared is the mind of several agents who have one network: each reads its co-players and plans
// from its own place, and what any of them plays teaches the network. Of the others each learns
// for itself.
type Shared struct {
	brain *ppo.Brain
	minds []*Mind // one an agent
}

// NewShared returns the mind of the agents that the brain belongs to.
func NewShared(c Config, g game.Game, models pretrained.Models, b *ppo.Brain, scale float64, key rng.Key) (*Shared, error) {
	if c.Watches() && (c.GoalLen(g.Spec(), models) > 0 || c.Rank > 0) {
		return nil, config.Bad("train.brains", b.Agents(), "one for each agent, because agents can share a network who learn by PPO (own "+
			"ppo), or from a search by a network that reads no goals (goals.read false) and true rewards (rank 0)")
	}
	s := &Shared{brain: b}
	world, err := newVectors(c, g.Spec(), key)
	if err != nil {
		return nil, err
	}
	for _, a := range b.Agents() {
		m, err := newMind(c, g, models, b, a, scale, key.Child("agent", int(a)))
		if err != nil {
			return nil, err
		}
		m.vectors = world
		s.minds = append(s.minds, m)
	}
	return s, nil
}

// of returns the mind of an agent.
func (s *Shared) of(a agent.ID) *Mind { return s.minds[slices.Index(s.brain.Agents(), a)] }

// first is the one whose settings hold for all.
func (s *Shared) first() *Mind { return s.minds[0] }

// Agents returns whose mind it is.
func (s *Shared) Agents() []agent.ID { return s.brain.Agents() }

// Players returns a player of agent a for each worker.
func (s *Shared) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	m := s.of(a)
	m.search, m.rules = s.first().search, s.first().rules
	return m.Players(a, workers, envs)
}

// Learn lets each learn about the others, and the network from what all of them played: by PPO, or
// from their searches.
func (s *Shared) Learn(w *learner.Window) ([]agent.Stat, error) {
	s.changed()
	others, err := s.learnOthers(w)
	if err != nil {
		return nil, err
	}
	u := s.first().update(w)
	s.first().vectors.Fit(u)
	own, err := s.brain.Update(ppo.Update{Window: w, Search: s.first().own.search})
	return slices.Concat(own, others, u.stats), cmp.Or(u.err, err)
}

// learnOthers is what Mind.Learn does before its own network learns, for each of them; its numbers
// are means over them, by how much is behind each.
func (s *Shared) learnOthers(w *learner.Window) (stats []agent.Stat, err error) {
	if c := s.first().cfg; c.MOA.Passes+c.Goals.VAEPasses+c.Goals.CVAEPasses == 0 {
		return nil, nil
	}
	at := map[string]int{}
	for _, m := range s.minds {
		u := m.update(w)
		m.goals.Label(u)
		m.goals.Fit(u)
		m.others.Score(u)
		m.goals.Recall(u)
		m.others.Fit(u)
		err = cmp.Or(err, u.err)
		for _, x := range u.stats {
			i, ok := at[x.Name]
			if !ok {
				i, at[x.Name], stats = len(stats), len(stats), append(stats, agent.Stat{Name: x.Name})
			}
			to := &stats[i]
			to.Value += (x.Value - to.Value) * float64(x.N) / float64(max(to.N+x.N, 1))
			to.N += x.N
		}
	}
	return stats, err
}

// changed makes caches forget what the network said before.
func (s *Shared) changed() {
	for _, m := range s.minds {
		m.own.changes++
	}
}

// Adapts says that the network can go on learning.
func (s *Shared) Adapts() (others, own bool) { return false, true }

// Adapt lets the network go on learning.
func (s *Shared) Adapt(w *learner.Window, _, own bool) error {
	if !own {
		return nil
	}
	late := *w
	late.Share = 1
	_, err := s.Learn(&late)
	return err
}

// Unwrap returns the network's mind, whose abilities are theirs where they have none of their own.
func (s *Shared) Unwrap() learner.Mind { return s.brain }

// Remember prepares what is remembered of envs copies.
func (s *Shared) Remember(envs, steps int) {
	s.brain.Remember(envs, steps)
	for _, m := range s.minds {
		m.remember(envs)
	}
}

// Save adds everything to f under prefix.
func (s *Shared) Save(f *safetensors.File, prefix string) error {
	s.first().vectors.save(f, prefix)
	err := s.brain.Save(f, prefix)
	for i, m := range s.minds {
		err = cmp.Or(err, m.save(f, s.prefix(prefix, i)))
	}
	return err
}

// prefix is where what one of them knows lies.
func (s *Shared) prefix(all string, i int) string {
	return fmt.Sprintf("%sagent/%d/", all, s.minds[i].sees.me)
}

// Load restores what Save stored, exactly.
func (s *Shared) Load(f *safetensors.File, prefix string) error {
	s.changed()
	err := cmp.Or(s.brain.Load(f, prefix), s.first().vectors.load(f, prefix, false))
	for i, m := range s.minds {
		err = cmp.Or(err, m.load(f, s.prefix(prefix, i)))
	}
	return err
}

// LoadWeights restores the networks alone, to play.
func (s *Shared) LoadWeights(f *safetensors.File, prefix string) error {
	s.changed()
	err := cmp.Or(s.brain.LoadWeights(f, prefix), s.first().vectors.load(f, prefix, true))
	for i, m := range s.minds {
		err = cmp.Or(err, m.loadWeights(f, s.prefix(prefix, i)))
	}
	return err
}

// Freeze makes players whose rows are not to be learnt from.
func (s *Shared) Freeze(greedy bool) {
	for _, m := range s.minds {
		m.Freeze(greedy)
	}
}

// Sure reports that a search ends in one action.
func (s *Shared) Sure() bool { return s.first().Sure() }

// Networks returns the network, and the models beside it.
func (s *Shared) Networks() []learner.Network {
	list := append(s.brain.Networks(), s.first().vectors.Networks()...)
	for _, m := range s.minds {
		for _, x := range append(m.others.Networks(), m.goals.learn.Networks()...) {
			x.Name = fmt.Sprintf("agent %d's %s", m.sees.me, x.Name)
			list = append(list, x)
		}
	}
	return list
}

// GoalLen returns how many numbers about goals the network reads.
func (s *Shared) GoalLen() int { return s.first().goalLen }

// SetGame makes the next Players plan on g's rules.
func (s *Shared) SetGame(g game.Game) error {
	var errs []error
	for _, m := range s.minds {
		errs = append(errs, m.SetGame(g))
	}
	return errors.Join(errs...)
}

// Imagines says why it does not learn from imagined windows.
func (s *Shared) Imagines() error {
	return config.Bad("train.brains", s.brain.Agents(), "one for each agent, because imagine.on is true")
}

// Predictions returns the first agent's view of others.
func (s *Shared) Predictions() (learner.Predict, error) { return s.first().Predictions() }

// Population returns whom a co-player may be.
func (s *Shared) Population() []string { return s.first().Population() }

// Swap replaces parts by the truth.
func (s *Shared) Swap(t learner.Truth) error {
	var errs []error
	for _, m := range s.minds {
		errs = append(errs, m.Swap(t))
	}
	return errors.Join(errs...)
}

// Search returns the search's settings and rules.
func (s *Shared) Search() (*search.Config, *learner.RulesMaker) { return s.first().Search() }

// Trial returns how many episodes a lifetime has while it learns; 0: that is not said.
func (s *Shared) Trial() int { return s.first().Trial() }

// Model returns an agent's model of others, for audits.
func (s *Shared) Model(a agent.ID) *moa.Learner { return s.of(a).Model(a) }

// Models returns the networks that were trained before the run, for audits.
func (s *Shared) Models() pretrained.Models { return s.first().models }

var (
	_ learner.Mind        = (*Shared)(nil)
	_ learner.Rememberer  = (*Shared)(nil)
	_ learner.Saver       = (*Shared)(nil)
	_ learner.Weighted    = (*Shared)(nil)
	_ learner.Freezer     = (*Shared)(nil)
	_ learner.Networked   = (*Shared)(nil)
	_ learner.GoalReading = (*Shared)(nil)
	_ learner.Ruled       = (*Shared)(nil)
	_ learner.Imagining   = (*Shared)(nil)
	_ learner.Adapter     = (*Shared)(nil)
	_ learner.Predicting  = (*Shared)(nil)
	_ learner.Acquainted  = (*Shared)(nil)
	_ learner.Swapper     = (*Shared)(nil)
	_ learner.Searching   = (*Shared)(nil)
	_ learner.Trials      = (*Shared)(nil)
)
