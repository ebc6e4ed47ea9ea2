package exp

import (
	"fmt"

	"hop/field"
	"hop/game"
	"hop/ppo"
	"hop/rng"
	"hop/train"
)

// social puts opponent-learning awareness or the pay for influence around each
// brain, as the spec says.
func (s *Spec) social(g game.Game, brains []*ppo.Brain, key rng.Key) ([]train.Mind, error) {
	if s.LOLA.On {
		return train.NewLOLA(s.LOLA, s.PPO, brains)
	}
	var minds []train.Mind
	for i, b := range brains {
		m, err := train.NewInfluence(s.Influence, s.Actor, input(g.Spec()), g.Spec().Seats, b, key.Child("mind", i))
		if err != nil {
			return nil, fmt.Errorf("exp: making mind %d: %w", i, err)
		}
		minds = append(minds, m)
	}
	return minds, nil
}

// checkSocial reports what is wrong with LOLA and influence.
func (s *Spec) checkSocial(part func(err error, prefix string)) {
	part(s.LOLA.Validate(), "lola")
	part(s.Influence.Validate(), "influence")
	for _, m := range []struct {
		name string
		on   bool
	}{{"lola", s.LOLA.On}, {"influence", s.Influence.On}} {
		if !m.on {
			continue
		}
		why := ""
		switch {
		case m.name == "influence" && s.LOLA.On:
			why = "lola.on is true"
		case s.Plan.On:
			why = "plan.on is true"
		case s.Imagine.On:
			why = "imagine.on is true"
		case s.Actor.LSTM > 0:
			why = "actor.lstm is above 0"
		case len(s.Train.Brains) > 0:
			why = "train.brains is set, and each agent needs a brain of its own"
		}
		if why != "" {
			part(field.Bad("on", true, "false, because "+why), m.name)
		}
	}
}
