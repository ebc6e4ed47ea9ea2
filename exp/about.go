package exp

import (
	"fmt"
	"path/filepath"

	"hop/agent"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// LoadAbout returns what each agent of a run that plans has learnt about the
// others, by agent, from the newest checkpoint.
func LoadAbout(dir string) (map[agent.ID]train.About, error) {
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	s, err := Parse(text, filepath.Join(dir, "spec.yaml"), "run", nil)
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
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, err
	}
	g, err := s.Game.Build()
	if err != nil {
		return nil, err
	}
	models, err := train.ModelsOf(f)
	if err != nil {
		return nil, err
	}
	brains, _, err := s.brains(g, models, rng.Key{})
	if err != nil {
		return nil, err
	}
	minds, err := s.minds(g, models, brains, rng.Key{})
	if err != nil {
		return nil, err
	}
	out := map[agent.ID]train.About{}
	for i, m := range minds {
		h := m.(*train.HOP)
		if err := h.LoadWeights(f, fmt.Sprintf("brain/%d/", i)); err != nil {
			return nil, err
		}
		if out[brains[i].Agents[0]], err = h.About(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
