package pretrain

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"hop/nn"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
)

// course is the way of a training: epoch by epoch, keeping the weights that did
// best on the episodes to choose by.
type course struct {
	kind     string // the key of the checkpoint's metadata, such as vae
	what     string // in words, for errors
	epochs   int    // at most
	patience int    // epochs without a better objective before it stops; 0: never stops

	epoch  int
	best   float64
	bestAt int
	bestW  []float32
	past   []epochTerms
	start  []float32 // the weights before the first epoch
}

// epochTerms is what an epoch left behind, for the curves.
type epochTerms struct {
	Learn, Held map[string]float64
}

// measured are named means over rows.
type measured struct {
	terms map[string]float64
	rows  int
}

// newCourse begins a course with the weights as they are.
func newCourse(kind, what string, epochs, patience int, p *nn.Params) course {
	return course{kind: kind, what: what, epochs: epochs, patience: patience, best: math.Inf(1), bestW: slices.Clone(p.W), start: slices.Clone(p.W)}
}

// lessons are the parts in which courses differ.
type lessons struct {
	params *nn.Params
	metric string                                      // prefix of metrics' names
	pass   func(ctx context.Context) (measured, error) // goes through the rows once
	held   func() (m measured, objective float64)      // judges the weights on the episodes to choose by
	save   func() ([]byte, error)                      // everything that is needed to go on
}

// run learns until the epochs are over, the objective stops falling or ctx ends,
// in which case it returns ctx's error; whole epochs are saved. It ends with the
// best weights in place.
func (c *course) run(ctx context.Context, run *runlog.Run, l lessons, watch func(epoch, epochs int, learn, held map[string]float64)) error {
	for c.epoch < c.epochs && (c.patience == 0 || c.epoch-c.bestAt < c.patience) {
		learnt, err := l.pass(ctx)
		if err != nil {
			return err
		}
		held, objective := l.held()
		if c.epoch++; objective < c.best {
			c.best, c.bestAt = objective, c.epoch
			copy(c.bestW, l.params.W)
		}
		c.past = append(c.past, epochTerms{learnt.terms, held.terms})
		if err := run.Log(append(c.rows(l.metric+"/learn/", learnt), c.rows(l.metric+"/held/", held)...)); err != nil {
			return err
		}
		body, err := l.save()
		if err != nil {
			return err
		}
		if err := run.Checkpoint(int64(c.epoch), body, -c.best, runlog.Keep{Last: 2}); err != nil {
			return err
		}
		if watch != nil {
			watch(c.epoch, c.epochs, learnt.terms, held.terms)
		}
	}
	copy(l.params.W, c.bestW)
	return nil
}

func (c *course) rows(prefix string, m measured) []runlog.Row {
	var rows []runlog.Row
	for _, name := range sortedKeys(m.terms) {
		rows = append(rows, runlog.Row{Step: int64(c.epoch), Name: prefix + name, Agent: -1, Value: m.terms[name], N: m.rows})
	}
	return rows
}

// keeper saves and loads weights with their optimiser and streams.
type keeper interface {
	Save(f *safetensors.File, prefix string)
	Load(f *safetensors.File, prefix string) error
}

// meta is what a checkpoint says about its model.
type meta[C, I any] struct {
	Config C
	Input  I
	Best   float64
	BestAt int
	Past   []epochTerms
}

// pack writes a checkpoint: the learner as it is now, and the best weights.
func pack[C, I any](c *course, config C, input I, p *nn.Params, k keeper) ([]byte, error) {
	text, err := json.Marshal(meta[C, I]{config, input, c.best, c.bestAt, c.past})
	if err != nil {
		return nil, err
	}
	f := &safetensors.File{Meta: map[string]string{c.kind: string(text)}}
	k.Save(f, "now/")
	now := slices.Clone(p.W)
	copy(p.W, c.bestW)
	p.Save(f, "best/")
	copy(p.W, now)
	return f.AppendBinary(nil)
}

// unpack goes back to a checkpoint of the same run.
func unpack[C, I any](c *course, body []byte, epoch int64, p *nn.Params, k keeper) error {
	f, m, err := open[C, I](body, c.kind)
	if err == nil {
		if err = p.Load(f, "best/"); err == nil {
			copy(c.bestW, p.W)
			err = k.Load(f, "now/")
		}
	}
	if err != nil {
		return fmt.Errorf("pretrain: resuming the %s: %w", c.what, err)
	}
	c.epoch, c.best, c.bestAt, c.past = int(epoch), m.Best, m.BestAt, m.Past
	return nil
}

func open[C, I any](body []byte, kind string) (*safetensors.File, meta[C, I], error) {
	var m meta[C, I]
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, m, err
	}
	if err := json.Unmarshal([]byte(f.Meta[kind]), &m); err != nil {
		return nil, m, fmt.Errorf("the checkpoint is not one of hop pretrain %s: %w", kind, err)
	}
	return f, m, nil
}

// load makes the model of a run's folder and gives it its best weights.
func load[M, C, I any](dir, kind string, make func(C, I, rng.Key) (M, *nn.Params, error)) (M, *nn.Params, error) {
	var none M
	body, _, err := runlog.Last(dir)
	if err != nil {
		return none, nil, err
	}
	f, meta, err := open[C, I](body, kind)
	if err != nil {
		return none, nil, fmt.Errorf("pretrain: loading %s: %w; train one with hop pretrain %s", dir, err, kind)
	}
	m, p, err := make(meta.Config, meta.Input, rng.Key{})
	if err == nil {
		err = p.Load(f, "best/")
	}
	if err != nil {
		return none, nil, fmt.Errorf("pretrain: loading %s: %w", dir, err)
	}
	return m, p, nil
}

func sortedKeys(m map[string]float64) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
