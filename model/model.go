// Package model is the checkpoint that models taught before a run are saved in:
// what they are, what they read, their best weights, and how they learnt.
package model

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
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

// Learner is a Trainer of a model that learns for a number of steps, at a rate that falls
// along half a cosine to a tenth.
type Learner[W any, T interface{ Plus(T) T }] struct {
	*nn.Trainer[W, T]
	Total int // steps planned, for the schedules

	key rng.Key
}

// NewLearner prepares to train for a number of steps, with as many shards as there
// are works.
func NewLearner[W any, T interface{ Plus(T) T }](
	p *nn.Params, lr, maxGrad float64, steps int, key rng.Key, works []W,
) *Learner[W, T] {
	rate := nn.Cosine(lr, lr/10, steps)
	return &Learner[W, T]{nn.NewTrainer[W, T](p, nn.TrainerConfig{Clip: maxGrad}, rate, works), steps, key}
}

// Shards returns into how many shards a batch of so many rows is cut, unless a number was
// asked for.
func Shards(asked, rows int) int {
	if asked > 0 {
		return asked
	}
	return nn.ShardsOf(rows)
}

// Noise returns the stream that a shard of the step draws from.
func (l *Learner[W, T]) Noise(shard int) rng.Rand {
	return l.key.Child("noise", l.Steps(), shard).Rand()
}

// Step takes one gradient step on n rows, or sequences, and returns the terms of its loss.
func (l *Learner[W, T]) Step(n int, add func(s *nn.Shard[W]) T) (sum T, err error) {
	if _, err := l.Trainer.Step(n, &sum, add); err != nil {
		return sum, fmt.Errorf("%w; lower lr", err)
	}
	return sum, nil
}

// Save adds everything that is needed to go on to f, under prefix.
func (l *Learner[W, T]) Save(f *safetensors.File, prefix string) {
	l.Params.Save(f, prefix+"model/")
	l.Adam.Save(f, prefix+"adam/")
	f.PutInt64(prefix+"steps", []int64{int64(l.Steps())}, 1)
}

// Load restores what Save stored.
func (l *Learner[W, T]) Load(f *safetensors.File, prefix string) error {
	var steps [1]int64
	return errors.Join(l.Params.Load(f, prefix+"model/"), l.Adam.Load(f, prefix+"adam/"), f.Int64(steps[:], prefix+"steps", 1))
}

// Conv is convolutions over the first numbers of a row, planes or a picture, flattened and
// followed by the rest of the row.
type Conv struct {
	Out          int // width of what comes out
	planes, flat int
	layer        [3]nn.Convolution
}

// NewConv adds the lower half of HOP's networks to p, layers called name/0 to name/2: 3x3
// convolutions of 16, 32 and 32 channels over the planes.
func NewConv(p *nn.Params, name string, in frame.Input) Conv {
	h, w := in.Height, in.Width
	c := Conv{planes: h * w * in.Planes, flat: h * w * 32}
	c.Out = c.flat + in.Rest + in.Extra
	for i, channels := range [3][2]int{{in.Planes, 16}, {16, 32}, {32, 32}} {
		c.layer[i] = p.Conv3x3(fmt.Sprintf("%s/%d", name, i), h, w, channels[0], channels[1], nn.ReLU)
	}
	return c
}

// Planes returns the 3x3 convolutions over planes, and how many numbers of a row those are; nil: they are
// others.
func (c *Conv) Planes() (layers []nn.Conv3x3, flat int) {
	for _, l := range c.layer {
		if l, ok := l.(nn.Conv3x3); ok {
			layers = append(layers, l)
		}
	}
	return layers, c.planes
}

// SmallestPicture is the least height and width that NewPicture can read.
const SmallestPicture = 36

// NewPicture adds the convolutions of Mnih et al. (2015) to p, layers called name/0 to name/2,
// for rows that begin with a picture of h by w cells with so many channels: 32 of 8x8 every 4
// cells, 64 of 4x4 every 2, 64 of 3x3.
func NewPicture(p *nn.Params, name string, h, w, channels int, in frame.Input) Conv {
	c := Conv{planes: h * w * channels}
	for i, l := range [3]struct{ out, k, stride int }{{32, 8, 4}, {64, 4, 2}, {64, 3, 1}} {
		s := p.Strided(fmt.Sprintf("%s/%d", name, i), h, w, channels, l.out, l.k, l.stride, nn.ReLU)
		c.layer[i], h, w, channels = s, s.OutH, s.OutW, s.Out
	}
	c.flat = h * w * channels
	c.Out = c.flat + in.Rest - c.planes + in.Extra
	return c
}

// ConvWork is one goroutine's memory for up to a number of rows.
type ConvWork struct {
	conv *nn.ConvWork
	x    [4][]float32 // [rows][H][W][channels] the planes, then each layer's output
	d    [4][]float32 // their gradients; that of the planes is not needed

	Y, DY []float32 // [rows][Out] after ForwardSparse, and where the caller puts its gradient
}

// Work allocates memory for up to rows rows.
func (c *Conv) Work(rows int) *ConvWork {
	ws := &ConvWork{conv: nn.NewConvWork(c.layer[:]...), Y: make([]float32, rows*c.Out), DY: make([]float32, rows*c.Out)}
	ws.x[0] = make([]float32, rows*c.planes)
	for i, l := range c.layer {
		_, n := l.Sizes()
		ws.x[i+1], ws.d[i+1] = make([]float32, rows*n), make([]float32, rows*n)
	}
	return ws
}

// ForwardSparse spreads the rows out again, runs the layers and writes Y.
func (c *Conv) ForwardSparse(p *nn.Params, ws *ConvWork, rows *f32.Sparse) {
	m, y := rows.Rows(), ws.Y
	clear(ws.x[0][:m*c.planes])
	clear(y[:m*c.Out])
	for i := range m {
		idx, val := rows.Row(i)
		for k, at := range idx {
			if at := int(at); at < c.planes {
				ws.x[0][i*c.planes+at] = val[k]
			} else {
				y[i*c.Out+c.flat+at-c.planes] = val[k]
			}
		}
	}
	for i, l := range c.layer {
		l.Forward(p, ws.conv, ws.x[i+1], ws.x[i], m)
	}
	for i := range m {
		copy(y[i*c.Out:], ws.x[3][i*c.flat:(i+1)*c.flat])
	}
}

// Backward adds the gradients of the last m rows to p.G, from DY.
func (c *Conv) Backward(p *nn.Params, ws *ConvWork, m int) {
	for i := range m {
		copy(ws.d[3][i*c.flat:(i+1)*c.flat], ws.DY[i*c.Out:])
	}
	for i := 2; i >= 0; i-- {
		c.layer[i].Backward(p, ws.conv, ws.d[i], ws.d[i+1], ws.x[i], ws.x[i+1], m)
	}
}
