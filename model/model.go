// Package model is the checkpoint that models taught before a run are saved in:
// what they are, what they read, their best weights, and how they learnt.
package model

import (
	"encoding/json"
	"fmt"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
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

// Load makes the model of a run's folder and gives it its best weights.
func Load[M, C, I any](runs *runlog.Reader, dir, kind string, layers func(C, I) (M, *nn.Params, error)) (M, *nn.Params, error) {
	var none M
	last, err := runs.Last(dir)
	if err != nil {
		return none, nil, err
	}
	f, meta, err := Open[C, I](last.Body, kind)
	if err != nil {
		return none, nil, fmt.Errorf("loading the %s model of %s: %w; train one with hop pretrain %s", kind, dir, err, kind)
	}
	m, p, err := Fill(f, "best/", meta.Config, meta.Input, layers)
	if err != nil {
		return none, nil, fmt.Errorf("loading the %s model of %s: %w", kind, dir, err)
	}
	return m, p, nil
}

// New makes a model and draws its weights from key.
func New[M, C, I any](c C, in I, key rng.Key, layers func(C, I) (M, *nn.Params, error)) (M, *nn.Params, error) {
	m, p, err := layers(c, in)
	if err == nil {
		p.Init(key)
	}
	return m, p, err
}

// Fill makes a model and loads its weights from under prefix. A file that lies about
// its model is refused before memory is made for it.
func Fill[M, C, I any](f *safetensors.File, prefix string, c C, in I, layers func(C, I) (M, *nn.Params, error)) (M, *nn.Params, error) {
	var none M
	m, p, err := layers(c, in)
	if err == nil {
		err = p.Alloc(f)
	}
	if err == nil {
		err = p.Load(f, prefix)
	}
	if err != nil {
		return none, nil, err
	}
	return m, p, nil
}

// maxLayers bounds how deep a network may be.
const maxLayers = 64

// CheckLayers refuses networks that are too deep to be meant.
func CheckLayers(path string, widths []int) error {
	if n := len(widths); n > maxLayers {
		return config.Bad(path, fmt.Sprintf("a list of %d", n), fmt.Sprintf("at most %d layers", maxLayers))
	}
	return nil
}
