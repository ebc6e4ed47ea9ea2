// Package pretrained is the networks that a planner was given before its run, and how a
// checkpoint holds them.
package pretrained

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
)

// Models are networks that were trained before the run, with their weights; nil
// where there is none. Minds take copies, except of the world model, of the sequence
// model and of the response network, which do not learn.
type Models struct {
	VAE   *vae.Model
	Codes *nn.Params // the VAE's
	CVAE  *cvae.Model
	Infer *nn.Params // the CVAE's
	MOA   *nn.Params // of a model of others without places for who is modelled
	// Reached is how often agents of each kind that the model of others knows reached each
	// goal, [kinds][goals]; nil if that is not known.
	Reached []float32
	World   *world.Model
	Steps   *nn.Params // the world model's

	Sequence  *sequence.Model // reads whole lifetimes
	Lifetimes *nn.Params      // the sequence model's

	Response      *actor.Model // answers known co-players
	Answers       *nn.Params   // the response network's
	ResponseScale float64      // of rewards in its values
	Population    []string     // whom it was told of
	Met           []float64    // how often it met each of them
}

// shape is a model's layers, as a checkpoint says them.
type shape[C, I any] struct {
	Config C
	Input  I
}

// shapes is what a checkpoint says about the models in it, so that it can be
// loaded without the folders that they came from.
type shapes struct {
	VAE      *shape[vae.Config, vae.Input]           `json:",omitempty"`
	CVAE     *shape[cvae.Config, cvae.Input]         `json:",omitempty"`
	World    *shape[world.Config, world.Input]       `json:",omitempty"`
	Response *response                               `json:",omitempty"`
	Reached  *struct{ Counts []float32 }             `json:",omitempty"`
	Sequence *shape[sequence.Config, sequence.Input] `json:",omitempty"`
}

// response is a response network, and whom it was told of.
type response struct {
	Config actor.Config
	Input  actor.Input
	Scale  float64
	Who    []string  `json:",omitempty"`
	Met    []float64 `json:",omitempty"`
}

// Where a checkpoint holds the models that do not learn, once for all minds.
const (
	responsePrefix = "models/response/"
	worldPrefix    = "models/world/"
	sequencePrefix = "models/sequence/"
)

// shapesKey is the checkpoint's entry for shapes.
const shapesKey = "models"

// Save notes the models' shapes in a checkpoint, and the weights of those that do not
// learn.
func (m Models) Save(f *safetensors.File) error {
	var s shapes
	once := func(p *nn.Params, prefix string) {
		if _, saved := f.Meta[shapesKey]; !saved {
			p.Save(f, prefix)
		}
	}
	if m.VAE != nil {
		s.VAE = &shape[vae.Config, vae.Input]{m.VAE.Config, m.VAE.Input}
	}
	if m.CVAE != nil {
		s.CVAE = &shape[cvae.Config, cvae.Input]{m.CVAE.Config, m.CVAE.Input}
	}
	if m.World != nil {
		s.World = &shape[world.Config, world.Input]{m.World.Config, m.World.Input}
		once(m.Steps, worldPrefix)
	}
	if m.Response != nil {
		s.Response = &response{m.Response.Config, m.Response.Input, m.ResponseScale, m.Population, m.Met}
		once(m.Answers, responsePrefix)
	}
	if m.Sequence != nil {
		s.Sequence = &shape[sequence.Config, sequence.Input]{m.Sequence.Config, m.Sequence.Input}
		once(m.Lifetimes, sequencePrefix)
	}
	if m.Reached != nil {
		s.Reached = &struct{ Counts []float32 }{m.Reached}
	}
	if s == (shapes{}) {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("pretrained: saving the models' shapes: %w", err)
	}
	if f.Meta == nil {
		f.Meta = map[string]string{}
	}
	f.Meta[shapesKey] = string(b)
	return nil
}

// Of returns models of the shapes that a checkpoint holds. The weights of
// those that may learn are nobody's: minds load their own.
func Of(f *safetensors.File) (Models, error) {
	var s shapes
	text, ok := f.Meta[shapesKey]
	if !ok {
		return Models{}, nil
	}
	err := json.Unmarshal([]byte(text), &s)
	var m Models
	if err == nil {
		m, err = s.models(f)
	}
	if err != nil {
		return Models{}, fmt.Errorf("pretrained: loading the models' shapes: %w", err)
	}
	return m, nil
}

func (s shapes) models(f *safetensors.File) (m Models, err error) {
	if s.Reached != nil {
		m.Reached = s.Reached.Counts
	}
	if s.VAE != nil {
		if m.VAE, m.Codes, err = vae.Layers(s.VAE.Config, s.VAE.Input); err == nil {
			err = m.Codes.Alloc(f)
		}
	}
	if err == nil && s.CVAE != nil {
		if m.CVAE, m.Infer, err = cvae.Layers(s.CVAE.Config, s.CVAE.Input); err == nil {
			err = m.Infer.Alloc(f)
		}
	}
	if err == nil && s.World != nil {
		m.World, m.Steps, err = model.Fill(f, worldPrefix, s.World.Config, s.World.Input, world.Layers)
	}
	if err == nil && s.Sequence != nil {
		m.Sequence, m.Lifetimes, err = model.Fill(f, sequencePrefix, s.Sequence.Config, s.Sequence.Input, sequence.Layers)
	}
	if r := s.Response; err == nil && r != nil {
		if len(r.Met) > 0 && (len(r.Met) != len(r.Who) || slices.Min(r.Met) < 0 || slices.Max(r.Met) == 0) {
			return m, fmt.Errorf("the response network met %v of %v", r.Met, r.Who)
		}
		m.ResponseScale, m.Population, m.Met = r.Scale, r.Who, r.Met
		m.Response, m.Answers, err = model.Fill(f, responsePrefix, r.Config, r.Input, actor.Layers)
	}
	return m, err
}

// Check says what a kind of goals lacks.
func (m Models) Check(goals string) error {
	switch {
	case goals == "context" && m.Sequence == nil:
		return errors.New("pretrained: goals.kind context needs a sequence model: set models.sequence to the folder of hop pretrain sequence")
	case goals != "latent" && goals != "classes":
		return nil
	case m.VAE == nil:
		return errors.New("pretrained: learnt goals need a VAE: set models.vae to the folder of hop pretrain vae")
	case goals == "classes" && m.VAE.Discrete == 0:
		return errors.New("pretrained: goals.kind classes needs a VAE with discrete goals: train one with hop pretrain vae --discrete 4")
	case goals == "latent" && m.CVAE == nil:
		return errors.New("pretrained: goals.kind latent needs the inference of goals: set models.cvae to the folder of hop pretrain cvae")
	case goals == "latent" && (m.CVAE.Dim != m.VAE.Width() || m.CVAE.Classes != m.VAE.Discrete):
		return fmt.Errorf("pretrained: the VAE's goals have %d dimensions of %d classes (0: continuous), the inferred ones %d of %d; infer "+
			"over the same VAE", m.VAE.Width(), m.VAE.Discrete, m.CVAE.Dim, m.CVAE.Classes)
	}
	return nil
}
