package hop

import (
	"fmt"

	"hop/belief"
	"hop/safetensors"
)

// Save adds everything to f under prefix.
func (m *Mind) Save(f *safetensors.File, prefix string) error {
	if err := m.own.brain.Save(f, prefix); err != nil {
		return err
	}
	m.others.model.Save(f, prefix+"moa/")
	if err := m.models.Save(f); err != nil {
		return err
	}
	m.goals.save.Save(f, prefix+"goals/")
	if err := belief.Save(f, prefix+"beliefs", m.beliefs.held); err != nil {
		return err
	}
	stream, err := m.rand.MarshalBinary()
	if err != nil {
		return err
	}
	f.PutBytes(prefix+"moa_stream", stream)
	f.PutFloat32(prefix+"likelihoods", m.predictions.probs, len(m.predictions.probs))
	predicted := make([]byte, len(m.predictions.made))
	for n, on := range m.predictions.made {
		if on {
			predicted[n] = 1
		}
	}
	f.PutBytes(prefix+"predicted", predicted)
	return nil
}

// Load restores what Save stored, exactly.
func (m *Mind) Load(f *safetensors.File, prefix string) error {
	if err := m.own.brain.Load(f, prefix); err != nil {
		return err
	}
	if err := m.others.model.Load(f, prefix+"moa/"); err != nil {
		return err
	}
	if err := m.goals.save.Load(f, prefix+"goals/", false); err != nil {
		return err
	}
	m.own.changes++
	if err := belief.Load(f, prefix+"beliefs", m.beliefs.held); err != nil {
		return err
	}
	stream, err := f.Bytes(prefix + "moa_stream")
	if err != nil {
		return err
	}
	if err := m.rand.UnmarshalBinary(stream); err != nil {
		return err
	}
	if err := f.Float32(m.predictions.probs, prefix+"likelihoods", len(m.predictions.probs)); err != nil {
		return err
	}
	predicted, err := f.Bytes(prefix + "predicted")
	if err != nil {
		return err
	}
	if len(predicted) != len(m.predictions.made) {
		return fmt.Errorf("hop: loading %spredicted: made for another number of envs", prefix)
	}
	for n := range predicted {
		m.predictions.made[n] = predicted[n] == 1
	}
	return nil
}

// LoadWeights restores the networks alone, to play.
func (m *Mind) LoadWeights(f *safetensors.File, prefix string) error {
	if err := m.own.brain.Params.Load(f, prefix+"net/"); err != nil {
		return err
	}
	m.own.changes++
	if err := m.goals.save.Load(f, prefix+"goals/", true); err != nil {
		return err
	}
	return m.others.model.Load(f, prefix+"moa/")
}
