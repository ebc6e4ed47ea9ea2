package train

import (
	"errors"
	"fmt"

	"hop/model/moa"
	"hop/nn"
	"hop/safetensors"
)

// Save adds everything to f under prefix.
func (h *HOP) Save(f *safetensors.File, prefix string) error {
	if err := h.Brain.Save(f, prefix); err != nil {
		return err
	}
	h.moa.Save(f, prefix+"moa/")
	if err := errors.Join(h.models.save(f), h.wants.save(f, prefix+"goals/")); err != nil {
		return err
	}
	var b []byte
	var err error
	for _, x := range h.belief {
		if b, err = x.AppendBinary(b); err != nil {
			return err
		}
	}
	f.PutBytes(prefix+"beliefs", b)
	stream, err := h.rand.MarshalBinary()
	if err != nil {
		return err
	}
	f.PutBytes(prefix+"moa_stream", stream)
	f.PutFloat32(prefix+"thinks", h.thinks, len(h.thinks))
	acted := make([]byte, len(h.acted))
	for n, on := range h.acted {
		if on {
			acted[n] = 1
		}
	}
	f.PutBytes(prefix+"acted", acted)
	return nil
}

// Load restores what Save stored, exactly.
func (h *HOP) Load(f *safetensors.File, prefix string) error {
	if err := h.Brain.Load(f, prefix); err != nil {
		return err
	}
	if err := h.moa.Load(f, prefix+"moa/"); err != nil {
		return err
	}
	if err := h.wants.load(f, prefix+"goals/", false); err != nil {
		return err
	}
	h.version++
	b, err := f.Bytes(prefix + "beliefs")
	if err != nil {
		return err
	}
	if len(h.belief) == 0 || len(b)%len(h.belief) != 0 {
		return fmt.Errorf("train: loading %sbeliefs: made for another number of envs", prefix)
	}
	size := len(b) / len(h.belief)
	for n, x := range h.belief {
		if err := x.UnmarshalBinary(b[n*size : (n+1)*size]); err != nil {
			return err
		}
	}
	stream, err := f.Bytes(prefix + "moa_stream")
	if err != nil {
		return err
	}
	if err := h.rand.UnmarshalBinary(stream); err != nil {
		return err
	}
	if err := f.Float32(h.thinks, prefix+"thinks", len(h.thinks)); err != nil {
		return err
	}
	acted, err := f.Bytes(prefix + "acted")
	if err != nil {
		return err
	}
	if len(acted) != len(h.acted) {
		return fmt.Errorf("train: loading %sacted: made for another number of envs", prefix)
	}
	for n := range acted {
		h.acted[n] = acted[n] == 1
	}
	return nil
}

// LoadWeights restores the networks alone, to play.
func (h *HOP) LoadWeights(f *safetensors.File, prefix string) error {
	if err := h.Params.Load(f, prefix+"net/"); err != nil {
		return err
	}
	h.version++
	if err := h.wants.load(f, prefix+"goals/", true); err != nil {
		return err
	}
	return h.moa.Load(f, prefix+"moa/")
}

// widen puts the weights of a model of others that knows goals alone into one that
// is also told doubt and whom it models: those have no weight at first.
func widen(l *moa.Learner, from *nn.Params, width int) error {
	extra := l.Model.GoalLen - width
	for _, part := range l.Params.Parts {
		old, ok := from.Find(part.Name)
		if !ok || len(old.Shape) != len(part.Shape) {
			return fmt.Errorf("train: the model of others in models.moa has no part %s; give it the net of the spec's moa, such as --set model.hidden=%s", part.Name, fmt.Sprint(l.Model.Hidden))
		}
		src, _ := from.At(old.Span)
		dst, _ := l.Params.At(part.Span)
		clear(dst)
		switch {
		case len(dst) == len(src):
		case part.Name == "body/0/w" && part.Shape[0] == old.Shape[0]+extra && part.Shape[1] == old.Shape[1]:
			// goals come last, and what is added comes after them
		default:
			return fmt.Errorf("train: part %s of the model of others in models.moa is %v, here %v; give it the net of the spec's moa and the game's goals", part.Name, old.Shape, part.Shape)
		}
		copy(dst, src)
	}
	return nil
}
