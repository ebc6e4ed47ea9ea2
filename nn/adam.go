package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"hop/f32"
	"hop/internal/cores"
	"hop/safetensors"
)

// AdamConfig sets an optimiser. Zero fields take the defaults.
type AdamConfig struct {
	Beta1       float64  // decay of the mean gradient, default 0.9
	Beta2       float64  // decay of the mean square, default 0.999
	Eps         float64  // default 1e-8
	WeightDecay float64  // decoupled (AdamW), default 0
	Frozen      []string // beginnings of names of parts that shall not learn
}

// Adam moves the weights of some Params along their gradients (Kingma and Ba 2015;
// decoupled weight decay as in Loshchilov and Hutter 2019).
//
// A step is computed in blocks of weights, whose squares are added up in their order.
type Adam struct {
	Cores *cores.Pool // whose workers compute blocks; nil: who asks alone

	cfg    AdamConfig
	held   []held
	t      int
	blocks []adamBlock
	now    adamStep
	job    cores.Job
	square func(block int) // made once: handing them over does not allocate
	move   func(block int)
}

// adamBlock is some weights of one of the Params.
type adamBlock struct {
	held int
	Span
	sum float64 // of the gradients' squares
	_   [32]byte
}

// adamStep is what all blocks of a step share.
type adamStep struct{ lr, beta1, beta2, eps, decay, c1, c2, scale float32 }

// blockLen is how many weights a block has at most: a few microseconds of work.
const blockLen = 4096

// held is one Params of an optimiser. Frozen parts have moments too, always zero.
type held struct {
	p    *Params
	m, v []float32
	runs []Span // what to step: all of p, or its parts that are not frozen
}

// NewAdam returns an optimiser of every part of ps, except the frozen ones. It is
// an error if a setting is out of range or Frozen names nothing.
func NewAdam(cfg AdamConfig, ps ...*Params) (*Adam, error) {
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&cfg.Beta1, 0.9)
	def(&cfg.Beta2, 0.999)
	def(&cfg.Eps, 1e-8)
	var faults []error
	for _, c := range []struct {
		name   string
		v, max float64
	}{{"Beta1", cfg.Beta1, 1}, {"Beta2", cfg.Beta2, 1}, {"Eps", cfg.Eps, math.Inf(1)}, {"WeightDecay", cfg.WeightDecay, math.Inf(1)}} {
		if !(c.v >= 0 && c.v < c.max) {
			faults = append(faults, fmt.Errorf("nn: Adam's %s is %v, want at least 0 and below %v", c.name, c.v, c.max))
		}
	}
	for _, f := range cfg.Frozen {
		if !slices.ContainsFunc(ps, func(p *Params) bool {
			return slices.ContainsFunc(p.Parts, func(q Part) bool { return strings.HasPrefix(q.Name, f) })
		}) {
			faults = append(faults, fmt.Errorf("nn: Adam's Frozen names %q, but no part begins so", f))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	o := &Adam{cfg: cfg}
	for _, p := range ps {
		h := held{p: p, m: make([]float32, len(p.W)), v: make([]float32, len(p.W))}
		for _, q := range p.Parts {
			if o.frozen(q.Name) {
				continue
			}
			if n := len(h.runs); n > 0 && h.runs[n-1].Off+roundUp(h.runs[n-1].Len) == q.Off {
				h.runs[n-1].Len = q.Off + q.Len - h.runs[n-1].Off
			} else {
				h.runs = append(h.runs, q.Span)
			}
		}
		o.held = append(o.held, h)
		for _, s := range h.runs {
			for lo := 0; lo < s.Len; lo += blockLen {
				o.blocks = append(o.blocks, adamBlock{held: len(o.held) - 1, Span: Span{s.Off + lo, min(blockLen, s.Len-lo)}})
			}
		}
	}
	o.square, o.move = o.squareBlock, o.moveBlock
	return o, nil
}

func (o *Adam) squareBlock(i int) {
	b := &o.blocks[i]
	b.sum = f32.SumSquares(o.held[b.held].p.g(b.Span))
}

func (o *Adam) moveBlock(i int) {
	b, s := &o.blocks[i], &o.now
	h := &o.held[b.held]
	w, g := h.p.At(b.Span)
	m, v := h.m[b.Off:b.Off+b.Len], h.v[b.Off:b.Off+b.Len]
	f32.Adam(w, g, m, v, s.lr, s.beta1, s.beta2, s.eps, s.decay, s.c1, s.c2, s.scale)
}

func (o *Adam) frozen(name string) bool {
	return slices.ContainsFunc(o.cfg.Frozen, func(f string) bool { return strings.HasPrefix(name, f) })
}

// Missing returns the names of the parts of want that this optimiser does not
// hold and that are not frozen: weights that would silently never learn.
func (o *Adam) Missing(want ...*Params) []string {
	var names []string
	for _, p := range want {
		if slices.ContainsFunc(o.held, func(h held) bool { return h.p == p }) {
			continue
		}
		for _, q := range p.Parts {
			names = append(names, q.Name)
		}
	}
	return names
}

// Check returns an error that names the Missing parts, nil if there are none. A
// model calls it once when it is given its optimiser.
func (o *Adam) Check(want ...*Params) error {
	if names := o.Missing(want...); len(names) > 0 {
		return fmt.Errorf("nn: the optimiser does not hold %s: give it every Params of the model", strings.Join(names, ", "))
	}
	return nil
}

// Steps returns how many steps have been taken.
func (o *Adam) Steps() int { return o.t }

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
		return norm, o.notFinite()
	}
	o.t++
	o.now = adamStep{
		lr: float32(lr), beta1: float32(o.cfg.Beta1), beta2: float32(o.cfg.Beta2), eps: float32(o.cfg.Eps), decay: float32(o.cfg.WeightDecay),
		c1:    float32(1 / (1 - math.Pow(o.cfg.Beta1, float64(o.t)))),
		c2:    float32(1 / (1 - math.Pow(o.cfg.Beta2, float64(o.t)))),
		scale: 1,
	}
	if clip > 0 && norm > clip {
		o.now.scale = float32(clip / norm)
	}
	o.Cores.Do(&o.job, len(o.blocks), o.move)
	for _, h := range o.held {
		if len(o.cfg.Frozen) > 0 {
			h.p.ZeroGrad()
		}
	}
	return norm, nil
}

func (o *Adam) notFinite() error {
	for _, h := range o.held {
		for _, q := range h.p.Parts {
			if s := f32.SumSquares(h.p.g(q.Span)); !o.frozen(q.Name) && (math.IsNaN(s) || math.IsInf(s, 0)) {
				return fmt.Errorf("nn: the gradient of %s is not finite; the weights were left as they are", q.Name)
			}
		}
	}
	return errors.New("nn: the gradients' norm is not finite; the weights were left as they are")
}

// GradNorm returns the norm of all gradients of ps.
func GradNorm(ps ...*Params) float64 {
	sum := 0.
	for _, p := range ps {
		sum += f32.SumSquares(p.G)
	}
	return math.Sqrt(sum)
}

// Save adds the optimiser's state to f, under names that begin with prefix.
func (o *Adam) Save(f *safetensors.File, prefix string) {
	f.PutInt64(prefix+"steps", []int64{int64(o.t)}, 1)
	for _, h := range o.held {
		for _, q := range h.p.Parts {
			f.PutFloat32(prefix+"mean/"+q.Name, h.m[q.Off:q.Off+q.Len], q.Shape...)
			f.PutFloat32(prefix+"square/"+q.Name, h.v[q.Off:q.Off+q.Len], q.Shape...)
		}
	}
}

// Load restores what Save stored under prefix, exactly. On an error, which names
// every tensor at fault, nothing is changed.
func (o *Adam) Load(f *safetensors.File, prefix string) error {
	l := loader{f: f, prefix: prefix}
	var t [1]int64
	l.note(prefix+"steps", f.Int64(t[:], prefix+"steps", 1))
	for _, h := range o.held {
		for _, q := range h.p.Parts {
			l.read(h.m[q.Off:q.Off+q.Len], "mean/"+q.Name, q.Shape)
			l.read(h.v[q.Off:q.Off+q.Len], "square/"+q.Name, q.Shape)
		}
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
