// Package pretrain trains models before a run: models of others, codes of states,
// the inference of subgoals and world models from recorded steps, and the response
// network by playing among bots that it knows. One file a model, to be read from
// top to bottom; the loop that learns from recorded steps is Training's. Package
// score says what the models are worth.
//
// Whole episodes are dealt to three parts: to learn from, to choose the weights
// by, and to score them by; no two rows of one episode are in two parts. Every
// whole epoch is a checkpoint with all that is needed to go on, so an interrupted
// run ends in the same bytes as an uninterrupted one. All randomness comes from
// the seed by named streams, and numbers do not depend on the machine's cores.
package pretrain

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// Training is how every model learns from recorded data: epoch by epoch, keeping
// the weights that did best on the episodes to choose by. Every whole epoch is a
// checkpoint.
type Training struct {
	Epoch  int           // whole epochs so far
	BestAt int           // the epoch of the best weights
	Past   []model.Epoch // what each epoch left behind
	Start  []float32     // the weights before the first epoch
	Cores  *cores.Pool   // whose workers it learns with, open while it runs; nil: a pool of its own, of all cores

	settings
	best  float64
	bestW []float32
	steps []float64 // of the epoch under way, for those who keep them
}

// settings are what trainings differ in.
type settings struct {
	kind          string // the key of the checkpoint's metadata, as in hop pretrain KIND
	metrics       [2]string
	epochs        int // at most
	patience      int // epochs without a better objective before it stops; 0: never stops
	rows          int // that are learnt from in an epoch
	config, input any // of the model, for the checkpoint
	params        *nn.Params
	beside        func(f *safetensors.File) // adds to a checkpoint what is no weight; nil: nothing
	learner       interface {
		Save(f *safetensors.File, prefix string)
		Load(f *safetensors.File, prefix string) error
		Share(*cores.Pool) // lets workers compute shards
	}
	epoch
}

// epoch is what differs between models in an epoch.
type epoch interface {
	// pass goes through the rows once. It calls step with the rows done so far, and
	// returns its error.
	pass(step func(rows int) error) ([]agent.Stat, error)
	// held scores the weights on the episodes to choose by; the lowest objective is
	// the best. dir is the run's folder.
	held(dir string) (terms []agent.Stat, objective float64, err error)
}

// Progress is what a training says, after every step and after every epoch.
type Progress struct {
	Rows, Total   int // learnt from so far, and at most
	Epoch, Epochs int // whole ones, and at most
	Whole         bool
	Learn, Held   map[string]float64 // the terms of the epoch, if it is whole
}

// newTraining begins a training with the weights as they are.
func newTraining(s settings) *Training {
	return &Training{settings: s, best: math.Inf(1), bestW: slices.Clone(s.params.W), Start: slices.Clone(s.params.W)}
}

// Run learns until the epochs are over, the objective stops falling or ctx ends,
// in which case it returns ctx's error; whole epochs are saved. It ends with the
// best weights in place.
func (t *Training) Run(ctx context.Context, run *runlog.Run, watch func(Progress)) error {
	pool, end := pooled(t.Cores, 0)
	defer end()
	t.learner.Share(pool)
	defer t.learner.Share(nil)
	for t.Epoch < t.epochs && (t.patience == 0 || t.Epoch-t.BestAt < t.patience) {
		learnt, err := t.pass(func(rows int) error {
			if watch != nil {
				watch(Progress{Rows: t.Epoch*t.rows + rows, Total: t.epochs * t.rows, Epoch: t.Epoch, Epochs: t.epochs})
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		held, objective, err := t.held(run.Dir())
		if err != nil {
			return err
		}
		if t.Epoch++; objective < t.best {
			t.best, t.BestAt = objective, t.Epoch
			copy(t.bestW, t.params.W)
		}
		past := model.Epoch{Learn: ByName(learnt), Held: ByName(held), Steps: t.steps}
		t.Past = append(t.Past, past)
		if err := run.Log(append(t.log(t.metrics[0], learnt), t.log(t.metrics[1], held)...)); err != nil {
			return err
		}
		body, err := t.Save()
		if err != nil {
			return err
		}
		if err := run.Checkpoint(int64(t.Epoch), body, -objective, runlog.Keep{Last: 2}); err != nil {
			return err
		}
		if watch != nil {
			watch(Progress{t.Epoch * t.rows, t.epochs * t.rows, t.Epoch, t.epochs, true, past.Learn, past.Held})
		}
	}
	copy(t.params.W, t.bestW)
	return nil
}

// Use has it learn with the workers of an open pool; nil: with a pool of its own.
func (t *Training) Use(pool *cores.Pool) { t.Cores = pool }

// pooled returns a pool to learn with, a new one of so many workers unless there is one, and how to end it.
func pooled(pool *cores.Pool, workers int) (*cores.Pool, func()) {
	if pool != nil {
		return pool, func() {}
	}
	pool = cores.New(workers, nil)
	pool.Open()
	return pool, pool.Close
}

func (t *Training) log(prefix string, terms []agent.Stat) []runlog.Row {
	var rows []runlog.Row
	for _, s := range terms {
		rows = append(rows, runlog.Row{Step: int64(t.Epoch), Name: prefix + s.Name, Agent: -1, Value: s.Value, N: s.N})
	}
	return rows
}

// ByName returns terms by their names.
func ByName(terms []agent.Stat) map[string]float64 {
	out := map[string]float64{}
	for _, s := range terms {
		out[s.Name] = s.Value
	}
	return out
}

// Save returns a checkpoint: the learner as it is now, and the best weights.
func (t *Training) Save() ([]byte, error) {
	text, err := json.Marshal(model.Meta[any, any]{Config: t.config, Input: t.input, Best: t.best, BestAt: t.BestAt, Past: t.Past})
	if err != nil {
		return nil, fmt.Errorf("pretrain: saving the %s model: %w", t.kind, err)
	}
	f := &safetensors.File{Meta: map[string]string{t.kind: string(text)}}
	t.learner.Save(f, "now/")
	best := t.params.Shard()
	best.W = t.bestW
	best.Save(f, "best/")
	if t.beside != nil {
		t.beside(f)
	}
	return f.AppendBinary(nil)
}

// Resume goes back to a checkpoint of the same run.
func (t *Training) Resume(body []byte, epoch int64) error {
	f, m, err := model.Open[any, any](body, t.kind)
	if err == nil {
		err = t.params.Load(f, "best/")
	}
	if err == nil {
		copy(t.bestW, t.params.W)
		err = t.learner.Load(f, "now/")
	}
	if err != nil {
		return fmt.Errorf("pretrain: resuming the %s model: %w", t.kind, err)
	}
	t.Epoch, t.best, t.BestAt, t.Past = int(epoch), m.Best, m.BestAt, m.Past
	return nil
}
