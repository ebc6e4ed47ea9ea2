package exp

import (
	"fmt"
	"path/filepath"

	"hop/agent"
	"hop/rng"
	"hop/runlog"
	"hop/train"
)

// LoadAbout returns what each agent of a run that plans has learnt about the
// others, by agent, from the newest checkpoint.
func (r *Registry) LoadAbout(dir string) (map[agent.ID]train.About, error) {
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	s, err := r.Parse(text, filepath.Join(dir, "spec.yaml"), "run", nil)
	if err != nil {
		return nil, err
	}
	if !s.Plan.On {
		return nil, fmt.Errorf("exp: %s holds no models of others: its agents do not plan; name a run with plan.on, such as one of hop-4x4", dir)
	}
	body, _, err := runlog.Last(dir)
	if err != nil {
		return nil, err
	}
	out, err := s.about(body)
	if err != nil {
		return nil, fmt.Errorf("exp: loading the models of others of %s: %w", dir, err)
	}
	return out, nil
}

func (s *Spec) about(body []byte) (map[agent.ID]train.About, error) {
	c, err := s.open(body)
	if err != nil {
		return nil, err
	}
	minds, err := s.minds(c.game, c.models, c.brains, rng.Key{})
	if err != nil {
		return nil, err
	}
	out := map[agent.ID]train.About{}
	for i, m := range minds {
		h := m.(*train.HOP)
		if err := h.LoadWeights(c.f, fmt.Sprintf("brain/%d/", i)); err != nil {
			return nil, err
		}
		if out[c.brains[i].Agents[0]], err = h.About(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
