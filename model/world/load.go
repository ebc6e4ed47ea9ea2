package world

import (
	"encoding/json"
	"fmt"

	"hop/nn"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
)

// NewBatch returns room for so many rows.
func NewBatch(in Input, rows int) Batch {
	n, planes := in.Agents, in.Height*in.Width*in.Planes
	return Batch{
		Rows: rows, Obs: make([]float32, rows*in.Len()), Joint: make([]int32, rows*n), Next: make([]float32, rows*planes),
		Reward: make([]float32, rows*n), Over: make([]bool, rows),
	}
}

// Meta is what a checkpoint says about its model.
type Meta struct {
	Config Config
	Input  Input
	Best   float64
	BestAt int
}

// Open reads a checkpoint whose metadata has a Meta under "world".
func Open(body []byte) (*safetensors.File, Meta, error) {
	var meta Meta
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, meta, err
	}
	if err := json.Unmarshal([]byte(f.Meta["world"]), &meta); err != nil {
		return nil, meta, fmt.Errorf("the checkpoint is not of a world model: %w", err)
	}
	return f, meta, nil
}

// Load returns the world model of a run's folder with its best weights.
func Load(dir string) (*Model, *nn.Params, error) {
	body, _, err := runlog.Last(dir)
	if err != nil {
		return nil, nil, err
	}
	f, meta, err := Open(body)
	if err != nil {
		return nil, nil, fmt.Errorf("world: loading the model of %s: %w; train one with hop pretrain world", dir, err)
	}
	m, p, err := New(meta.Config, meta.Input, rng.Key{})
	if err == nil {
		err = p.Load(f, "best/")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("world: loading the model of %s: %w", dir, err)
	}
	return m, p, nil
}
