package world

import (
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/store/runlog"
)

// NewBatch returns room for so many rows.
func NewBatch(in Input, rows int) Batch {
	n, planes := in.Agents, in.Height*in.Width*in.Planes
	return Batch{
		Rows: rows, Obs: make([]float32, rows*in.Len()), Joint: make([]int32, rows*n), Next: make([]float32, rows*planes),
		Reward: make([]float32, rows*n), Over: make([]bool, rows),
		NextFeat: make([]float32, rows*in.Features),
	}
}

// Load returns the world model of a run's folder with its best weights.
func Load(runs *runlog.Reader, dir string) (*Model, *nn.Params, error) {
	return model.Load(runs, dir, "world", Layers)
}
