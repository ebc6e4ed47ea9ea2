package hop

import (
	"fmt"

	"hop/model/moa"
	"hop/nn"
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
	var b []byte
	var err error
	for _, x := range m.beliefs {
		if b, err = x.AppendBinary(b); err != nil {
			return err
		}
	}
	f.PutBytes(prefix+"beliefs", b)
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
	b, err := f.Bytes(prefix + "beliefs")
	if err != nil {
		return err
	}
	if len(m.beliefs) == 0 || len(b)%len(m.beliefs) != 0 {
		return fmt.Errorf("hop: loading %sbeliefs: made for another number of envs", prefix)
	}
	size := len(b) / len(m.beliefs)
	for n, x := range m.beliefs {
		if err := x.UnmarshalBinary(b[n*size : (n+1)*size]); err != nil {
			return err
		}
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

// widen puts the weights of a model of others that knows goals alone into one that
// is also told doubt and whom it models: those have no weight at first.
func widen(l *moa.Learner, from *nn.Params, width int) error {
	extra := l.Model.GoalLen - width
	for _, part := range l.Params.Parts {
		old, ok := from.Find(part.Name)
		if !ok || len(old.Shape) != len(part.Shape) {
			return fmt.Errorf("hop: the model of others in models.moa has no part %s; give it the net of the spec's moa, such as "+
				"--set model.hidden=%s", part.Name, fmt.Sprint(l.Model.Hidden))
		}
		src, _ := from.At(old.Span)
		dst, _ := l.Params.At(part.Span)
		clear(dst)
		switch {
		case len(dst) == len(src):
		case part.Name == "body/0/w" && part.Shape[0] == old.Shape[0]+extra && part.Shape[1] == old.Shape[1]:
			// goals come last, and what is added comes after them
		default:
			return fmt.Errorf("hop: part %s of the model of others in models.moa is %v, here %v; give it the net of the spec's "+
				"moa and the game's goals", part.Name, old.Shape, part.Shape)
		}
		copy(dst, src)
	}
	return nil
}
