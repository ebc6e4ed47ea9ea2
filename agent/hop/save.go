package hop

import (
	"cmp"
	"fmt"

	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search/belief"
)

// Save adds everything to f under prefix.
func (m *Mind) Save(f *safetensors.File, prefix string) error {
	m.vectors.save(f, prefix)
	return cmp.Or(m.own.brain.Save(f, prefix), m.save(f, prefix))
}

// save adds everything but the own network.
func (m *Mind) save(f *safetensors.File, prefix string) error {
	m.own.ranks.save(f, prefix)
	m.others.model.Save(f, prefix+"moa/")
	models := m.models.Save(f)
	m.goals.save.Save(f, prefix+"goals/")
	beliefs := belief.Save(f, prefix+"beliefs", m.beliefs.held)
	stream := f.PutBinary(prefix+"moa_stream", &m.rand)
	f.PutFloat32(prefix+"likelihoods", m.predictions.probs, len(m.predictions.probs))
	made := make([]byte, len(m.predictions.made))
	for n, is := range m.predictions.made {
		if is {
			made[n] = 1
		}
	}
	f.PutBytes(prefix+"predicted", made)
	for n, b := range m.unseen {
		f.PutFloat32(fmt.Sprint(prefix, "unseen/", n), b.W, len(b.W))
	}
	return cmp.Or(models, beliefs, stream)
}

// Load restores what Save stored, exactly.
func (m *Mind) Load(f *safetensors.File, prefix string) error {
	m.own.changes++
	return cmp.Or(m.own.brain.Load(f, prefix), m.own.ranks.load(f, prefix), m.vectors.load(f, prefix, false), m.load(f, prefix))
}

// load restores what save stored.
func (m *Mind) load(f *safetensors.File, prefix string) error {
	if err := cmp.Or(m.others.model.Load(f, prefix+"moa/"), m.goals.save.Load(f, prefix+"goals/", false),
		belief.Load(f, prefix+"beliefs", m.beliefs.held)); err != nil {
		return err
	}
	probs := m.predictions.probs
	made, err := f.Bytes(prefix + "predicted")
	if err := cmp.Or(err, f.Binary(&m.rand, prefix+"moa_stream"), f.Float32(probs, prefix+"likelihoods", len(probs))); err != nil {
		return err
	}
	if len(made) != len(m.predictions.made) {
		return fmt.Errorf("hop: loading %spredicted: made for another number of envs", prefix)
	}
	for n := range made {
		m.predictions.made[n] = made[n] == 1
	}
	for n, b := range m.unseen {
		if err := f.Float32(b.W, fmt.Sprint(prefix, "unseen/", n), len(b.W)); err != nil {
			return err
		}
	}
	return nil
}

// LoadWeights restores the networks alone, to play.
func (m *Mind) LoadWeights(f *safetensors.File, prefix string) error {
	m.own.changes++
	return cmp.Or(m.own.brain.LoadWeights(f, prefix), m.own.ranks.load(f, prefix), m.vectors.load(f, prefix, true), m.loadWeights(f, prefix))
}

// loadWeights restores the networks beside the own one.
func (m *Mind) loadWeights(f *safetensors.File, prefix string) error {
	return cmp.Or(m.goals.save.Load(f, prefix+"goals/", true), m.others.model.Load(f, prefix+"moa/"))
}
