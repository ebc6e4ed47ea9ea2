// Package model is the checkpoint that models taught before a run are saved in:
// what they are, what they read, their best weights, and how they learnt.
package model

import (
	"encoding/json"
	"fmt"

	"hop/nn"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
)

// Epoch is what an epoch of learning left behind: the terms of the loss on the
// rows learnt from and on those to choose the weights by.
type Epoch struct {
	Learn, Held map[string]float64
	Steps       []float64 `json:",omitempty"` // mean loss of every 32 gradient steps, where it is kept
}

// Meta is what a checkpoint says about its model.
type Meta[C, I any] struct {
	Config C
	Input  I
	Best   float64 // objective
	BestAt int     // epoch
	Past   []Epoch
}

// Open reads a checkpoint of hop pretrain kind. The best weights are under best/.
func Open[C, I any](body []byte, kind string) (*safetensors.File, Meta[C, I], error) {
	var m Meta[C, I]
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, m, err
	}
	if err := json.Unmarshal([]byte(f.Meta[kind]), &m); err != nil {
		return nil, m, fmt.Errorf("the checkpoint is not one of hop pretrain %s: %w", kind, err)
	}
	return f, m, nil
}

// Load builds the model of a run's folder and gives it its best weights.
func Load[M, C, I any](runs *runlog.Reader, dir, kind string, build func(C, I, rng.Key) (M, *nn.Params, error)) (M, *nn.Params, error) {
	var none M
	last, err := runs.Last(dir)
	if err != nil {
		return none, nil, err
	}
	f, meta, err := Open[C, I](last.Body, kind)
	if err != nil {
		return none, nil, fmt.Errorf("loading the %s model of %s: %w; train one with hop pretrain %s", kind, dir, err, kind)
	}
	m, p, err := build(meta.Config, meta.Input, rng.Key{})
	if err == nil {
		err = p.Load(f, "best/")
	}
	if err != nil {
		return none, nil, fmt.Errorf("loading the %s model of %s: %w", kind, dir, err)
	}
	return m, p, nil
}
