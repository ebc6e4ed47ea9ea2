package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/safetensors"
)

// The decay of the mean gradient and of the mean square, as in the paper.
const (
	beta1 = 0.9
	beta2 = 0.999
)

// AdamConfig sets an optimiser.
type AdamConfig struct {
	Eps         float64 // 0: 1e-8
	WeightDecay float64 // decoupled (AdamW)
}

// Adam moves the weights of a model along their gradients (Kingma and Ba 2015; decoupled
// weight decay as in Loshchilov and Hutter 2019). It holds all of a Params, so no weight
// can be left out.
//
// A step is computed in blocks of weights, whose squares are added up in their order.
type Adam struct {
	Cores *cores.Pool // whose workers compute blocks; nil: who asks alone

	cfg    AdamConfig
	p      *Params
	m, v   []float32 // [len(p.W)] mean gradient and mean square
	t      int
	blocks []adamBlock
	now    adamStep
	job    cores.Job
	square func(block int) // made once: handing them over does not allocate
	move   func(block int)
}

// adamBlock is some weights.
type adamBlock struct {
	Span
	sum float64 // of the gradients' squares
	_   [40]byte
}

// adamStep is what all blocks of a step share.
type adamStep struct{ lr, c1, c2, scale float32 }

// blockLen is how many weights a block has at most: a few microseconds of work.
const blockLen = 4096

// NewAdam returns an optimiser of every part of p, after its Init. It panics if a setting
// is not a number from 0 on.
func NewAdam(p *Params, cfg AdamConfig) *Adam {
	if !(cfg.Eps >= 0) || !(cfg.WeightDecay >= 0) {
		panic("nn: Adam's epsilon and weight decay must be at least 0")
	}
	if cfg.Eps == 0 {
		cfg.Eps = 1e-8
	}
	o := &Adam{cfg: cfg, p: p, m: make([]float32, len(p.W)), v: make([]float32, len(p.W))}
	last := p.Parts[len(p.Parts)-1]
	for lo, end := 0, last.Off+last.Len; lo < end; lo += blockLen {
		o.blocks = append(o.blocks, adamBlock{Span: Span{lo, min(blockLen, end-lo)}})
	}
	o.square, o.move = o.squareBlock, o.moveBlock
	return o
}

func (o *Adam) squareBlock(i int) {
	b := &o.blocks[i]
	b.sum = f32.SumSquares(o.p.g(b.Span))
}

func (o *Adam) moveBlock(i int) {
	b, s := &o.blocks[i], &o.now
	w, g := o.p.At(b.Span)
	m, v := o.m[b.Off:b.Off+b.Len], o.v[b.Off:b.Off+b.Len]
	f32.Adam(w, g, m, v, s.lr, beta1, beta2, float32(o.cfg.Eps), float32(o.cfg.WeightDecay), s.c1, s.c2, s.scale)
}

// Steps returns how many steps have been taken.
func (o *Adam) Steps() int { return o.t }

// Moments returns the mean gradients and mean squares, [len(p.W)] each, as views: for who takes
// the steps elsewhere, and says with Took how many.
func (o *Adam) Moments() (mean, square []float32) { return o.m, o.v }

// Took notes steps that were taken elsewhere.
func (o *Adam) Took(steps int) { o.t += steps }

// Eps returns its epsilon.
func (o *Adam) Eps() float64 { return o.cfg.Eps }

// Corrections returns what the mean gradient and the mean square of step t, counted from 1, are
// multiplied by, since both started at 0.
func Corrections(t int) (mean, square float32) {
	return float32(1 / (1 - math.Pow(beta1, float64(t)))), float32(1 / (1 - math.Pow(beta2, float64(t))))
}

// Step takes one step at learning rate lr and clears the gradients. First it
// scales them down to a global norm of at most clip, unless clip is 0. It returns
// the norm before that. If a gradient is not finite nothing is changed, and the
// error names its part.
func (o *Adam) Step(lr, clip float64) (norm float64, err error) {
	o.Cores.Do(&o.job, len(o.blocks), o.square)
	sum := 0.
	for i := range o.blocks {
		sum += o.blocks[i].sum
	}
	norm = math.Sqrt(sum)
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, o.NotFinite()
	}
	o.t++
	o.now = adamStep{lr: float32(lr), scale: 1}
	o.now.c1, o.now.c2 = Corrections(o.t)
	if clip > 0 && norm > clip {
		o.now.scale = float32(clip / norm)
	}
	o.Cores.Do(&o.job, len(o.blocks), o.move)
	return norm, nil
}

// NotFinite names the part whose gradient is not finite.
func (o *Adam) NotFinite() error {
	for _, q := range o.p.Parts {
		if s := f32.SumSquares(o.p.g(q.Span)); math.IsNaN(s) || math.IsInf(s, 0) {
			return fmt.Errorf("nn: the gradient of %s is not finite; the weights were left as they are", q.Name)
		}
	}
	return errors.New("nn: the gradients' norm is not finite; the weights were left as they are")
}

// GradNorm returns the norm of all gradients of p.
func GradNorm(p *Params) float64 { return math.Sqrt(f32.SumSquares(p.G)) }

// Save adds the optimiser's state to f, under names that begin with prefix.
func (o *Adam) Save(f *safetensors.File, prefix string) {
	f.PutInt64(prefix+"steps", []int64{int64(o.t)}, 1)
	for _, q := range o.p.Parts {
		f.PutFloat32(prefix+"mean/"+q.Name, o.m[q.Off:q.Off+q.Len], q.Shape...)
		f.PutFloat32(prefix+"square/"+q.Name, o.v[q.Off:q.Off+q.Len], q.Shape...)
	}
}

// Load restores what Save stored under prefix, exactly. On an error, which names
// every tensor at fault, nothing is changed.
func (o *Adam) Load(f *safetensors.File, prefix string) error {
	l := loader{f: f, prefix: prefix}
	var t [1]int64
	l.note(prefix+"steps", f.Int64(t[:], prefix+"steps", 1))
	for _, q := range o.p.Parts {
		l.read(o.m[q.Off:q.Off+q.Len], "mean/"+q.Name, q.Shape)
		l.read(o.v[q.Off:q.Off+q.Len], "square/"+q.Name, q.Shape)
	}
	if t[0] < 0 {
		l.faults = append(l.faults, fmt.Errorf("nn: tensor %q holds %d steps, want at least 0", prefix+"steps", t[0]))
	}
	if err := l.finish("optimiser"); err != nil {
		return err
	}
	o.t = int(t[0])
	return nil
}
