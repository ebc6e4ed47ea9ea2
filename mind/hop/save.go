package hop

import (
	"fmt"

	"hop/belief"
	"hop/safetensors"
)

// Save adds everything to f under prefix.
func (m *Mind) Save(f *safetensors.File, prefix string) error {
	if err := m.Brain.Save(f, prefix); err != nil {
		return err
	}
	m.moa.Save(f, prefix+"moa/")
	if err := m.models.Save(f); err != nil {
		return err
	}
	m.goals.save(f, prefix+"goals/")
	if err := belief.Save(f, prefix+"beliefs", m.beliefs); err != nil {
		return err
	}
	stream, err := m.rand.MarshalBinary()
	if err != nil {
		return err
	}
	f.PutBytes(prefix+"moa_stream", stream)
	f.PutFloat32(prefix+"likelihoods", m.likelihoods, len(m.likelihoods))
	predicted := make([]byte, len(m.predicted))
	for n, on := range m.predicted {
		if on {
			predicted[n] = 1
		}
	}
	f.PutBytes(prefix+"predicted", predicted)
	return nil
}

// Load restores what Save stored, exactly.
func (m *Mind) Load(f *safetensors.File, prefix string) error {
	if err := m.Brain.Load(f, prefix); err != nil {
		return err
	}
	if err := m.moa.Load(f, prefix+"moa/"); err != nil {
		return err
	}
	if err := m.goals.load(f, prefix+"goals/", false); err != nil {
		return err
	}
	m.version++
	if err := belief.Load(f, prefix+"beliefs", m.beliefs); err != nil {
		return err
	}
	stream, err := f.Bytes(prefix + "moa_stream")
	if err != nil {
		return err
	}
	if err := m.rand.UnmarshalBinary(stream); err != nil {
		return err
	}
	if err := f.Float32(m.likelihoods, prefix+"likelihoods", len(m.likelihoods)); err != nil {
		return err
	}
	predicted, err := f.Bytes(prefix + "predicted")
	if err != nil {
		return err
	}
	if len(predicted) != len(m.predicted) {
		return fmt.Errorf("hop: loading %spredicted: made for another number of envs", prefix)
	}
	for n := range predicted {
		m.predicted[n] = predicted[n] == 1
	}
	return nil
}

// LoadWeights restores the networks alone, to play.
func (m *Mind) LoadWeights(f *safetensors.File, prefix string) error {
	if err := m.Params.Load(f, prefix+"net/"); err != nil {
		return err
	}
	m.version++
	if err := m.goals.load(f, prefix+"goals/", true); err != nil {
		return err
	}
	return m.moa.Load(f, prefix+"moa/")
}
